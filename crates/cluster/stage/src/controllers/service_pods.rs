//! Services and the pods they select, as both Endpoints and `EndpointSlices` see them.

use serde_json::{Value, json};

use super::endpoint_slices::SERVICE_NAME;
pub(super) use super::pods::{has_ended, is_ready};
use super::work::Item;
use crate::api::Api;
use crate::client::Named;
use crate::object::Object;
use crate::selectors::LabelSelector;
use crate::store::{Event, ResourceKey};

/// The resource of Services.
pub(super) const SERVICES: Named<'static> = ("", "services");

/// The label of what belongs to a Service without an address.
pub(super) const HEADLESS: &str = "service.kubernetes.io/headless";

/// Returns the Services that select a pod, or selected it before.
pub(super) fn services_of_pod(api: &Api, event: &Event) -> Vec<Item> {
    let namespace = &event.object.key.namespace;
    let services = ResourceKey::new("", "services");
    let listed = api.store.list(&services, Some(namespace), None, None, None);
    let items = listed.map(|listing| listing.items).unwrap_or_default();
    let selects = |service: &Value| {
        let Some(selector) = service["spec"]["selector"].as_object() else {
            return false;
        };
        let selector = LabelSelector::from_map(selector);
        selector.matches(&event.object.labels)
            || event
                .previous
                .as_ref()
                .is_some_and(|previous| selector.matches(&previous.labels))
    };
    items
        .iter()
        .filter(|service| selects(&service.value()))
        .map(|service| Item::of(service))
        .collect()
}

/// Returns the Service that a slice or an Endpoints object is of.
pub(super) fn service_of_slice(_: &Api, event: &Event) -> Vec<Item> {
    let slice = &event.object;
    let name = slice.labels.get(SERVICE_NAME);
    Vec::from_iter(name.map(|name| Item::new(&slice.key.namespace, name)))
}

/// Returns a pod's addresses of one family.
pub(super) fn addresses<'a>(pod: &'a Value, family: &str) -> Vec<&'a str> {
    let of_family = |address: &&str| address.contains(':') == (family == "IPv6");
    let listed = pod["status"]["podIPs"].as_array();
    let mut addresses: Vec<&str> = listed
        .into_iter()
        .flatten()
        .filter_map(|address| address["ip"].as_str())
        .collect();
    if addresses.is_empty() {
        addresses.extend(
            pod["status"]["podIP"]
                .as_str()
                .filter(|address| !address.is_empty()),
        );
    }
    addresses.retain(of_family);
    addresses
}

/// Returns the host name that a pod has in the domain of a Service.
pub(super) fn host_name<'a>(service: &Value, pod: &'a Value) -> Option<&'a str> {
    let name = pod["spec"]["hostname"].as_str().filter(|name| !name.is_empty())?;
    (pod["spec"]["subdomain"].as_str() == Some(service.name())).then_some(name)
}

/// Returns the ports of a Service as a pod has them; those that the pod doesn't name are left out.
pub(super) fn ports(service: &Value, pod: &Value) -> Vec<Value> {
    let listed = service["spec"]["ports"].as_array();
    listed
        .into_iter()
        .flatten()
        .filter_map(|port| {
            let number = target_port(port, pod)?;
            let mut found = json!({
                "name": port["name"].as_str().unwrap_or_default(),
                "port": number,
                "protocol": protocol(port),
            });
            if let Some(application) = port["appProtocol"].as_str() {
                found["appProtocol"] = application.into();
            }
            Some(found)
        })
        .collect()
}

fn protocol(port: &Value) -> &str {
    port["protocol"].as_str().unwrap_or("TCP")
}

fn target_port(port: &Value, pod: &Value) -> Option<i64> {
    match &port["targetPort"] {
        Value::String(name) => {
            let lists = [&pod["spec"]["containers"], &pod["spec"]["initContainers"]];
            let sidecar = |container: &&Value| container["restartPolicy"] == "Always";
            let containers = lists[0].as_array().into_iter().flatten();
            let sidecars = lists[1].as_array().into_iter().flatten().filter(sidecar);
            containers
                .chain(sidecars)
                .flat_map(|container| container["ports"].as_array().into_iter().flatten())
                .find(|one| one["name"] == name.as_str() && protocol(one) == protocol(port))
                .and_then(|one| one["containerPort"].as_i64())
        }
        target => target
            .as_i64()
            .filter(|number| *number != 0)
            .or_else(|| port["port"].as_i64()),
    }
}

/// Returns the reference to a pod that an endpoint has.
pub(super) fn reference(pod: &Value) -> Value {
    json!({"kind": "Pod", "namespace": pod.namespace(), "name": pod.name(), "uid": pod.uid()})
}

/// Returns whether a Service shows pods before they are ready.
pub(super) fn publishes_not_ready(service: &Value) -> bool {
    service["spec"]["publishNotReadyAddresses"] == true
}

/// Returns whether a Service has no address of its own.
pub(super) fn is_headless(service: &Value) -> bool {
    service["spec"]["clusterIP"] == "None"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_port_is_looked_up_in_the_pod() {
        let service = json!({"spec": {"ports": [
            {"name": "a", "port": 80, "targetPort": "http"},
            {"name": "b", "port": 81, "targetPort": "missing"},
            {"name": "c", "port": 82, "protocol": "UDP", "targetPort": "http"},
            {"name": "d", "port": 83, "targetPort": 8083, "appProtocol": "x"},
        ]}});
        let pod = json!({"spec": {"containers": [
            {"ports": [{"name": "http", "containerPort": 8080}]},
            {"ports": [{"name": "http", "containerPort": 8081, "protocol": "UDP"}]},
        ]}});
        assert_eq!(
            json!(ports(&service, &pod)),
            json!([
                {"name": "a", "port": 8080, "protocol": "TCP"},
                {"name": "c", "port": 8081, "protocol": "UDP"},
                {"name": "d", "port": 8083, "protocol": "TCP", "appProtocol": "x"},
            ])
        );
    }

    #[test]
    fn a_pod_has_a_host_name_in_the_domain_of_its_service_alone() {
        let service = json!({"metadata": {"name": "s"}});
        let pod = |domain: &str| json!({"spec": {"hostname": "h", "subdomain": domain}});
        assert_eq!(host_name(&service, &pod("s")), Some("h"));
        assert_eq!(host_name(&service, &pod("t")), None);
    }

    #[test]
    fn addresses_are_of_the_family_that_is_asked_for() {
        let pod = json!({"status": {"podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}, {"ip": "fd00::1"}]}});
        assert_eq!(addresses(&pod, "IPv4"), ["10.1.2.3"]);
        assert_eq!(addresses(&pod, "IPv6"), ["fd00::1"]);
    }
}
