//! Services and the pods they select, as both Endpoints and `EndpointSlices` see them.

use serde::Deserialize;
use serde_json::{Value, json};

use super::endpoint_slices::SERVICE_NAME;
pub(super) use super::pods::{has_ended, is_ready};
use super::work::Item;
use crate::api::Api;
use crate::client::Named;
use crate::object::Object;
use crate::store::{Event, EventKind, Labels, Stored};

/// The resource of Services.
pub(super) const SERVICES: Named<'static> = ("", "services");

/// The label of what belongs to a Service without an address.
pub(super) const HEADLESS: &str = "service.kubernetes.io/headless";

/// Returns the Services that select a pod, or selected it before, where its endpoint may have changed.
pub(super) fn services_of_pod(api: &Api, event: &Event) -> Vec<Item> {
    let namespace = &event.object.key.namespace;
    let before = event.previous.as_ref().map(|previous| &previous.labels);
    let labels: Vec<&Labels> = before.into_iter().chain([&event.object.labels]).collect();
    let names = api
        .indices
        .services
        .ask(|services| services.of(namespace, &labels));
    if names.is_empty() || !changes_endpoints(event) {
        return Vec::new();
    }
    names
        .into_iter()
        .map(|name| Item {
            namespace: namespace.clone(),
            name,
        })
        .collect()
}

/// Returns whether an event of a pod may change where a Service is reached: most tell of conditions and reasons alone.
fn changes_endpoints(event: &Event) -> bool {
    let (EventKind::Modified, Some(previous)) = (event.kind, &event.previous) else {
        return true;
    };
    let summary = |pod: &Stored| (pod.uid.clone(), pod.generation, pod.deleting);
    if previous.labels != event.object.labels || summary(previous) != summary(&event.object) {
        return true;
    }
    let (Ok(before), Ok(after)) = (Endpoint::read(previous), Endpoint::read(&event.object)) else {
        return true;
    };
    before != after
}

/// What of a pod an endpoint is made from, beside what the summary of a stored object tells.
#[derive(Deserialize, PartialEq)]
struct Endpoint {
    #[serde(default)]
    spec: EndpointSpec,
    #[serde(default)]
    status: EndpointStatus,
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
struct EndpointSpec {
    node_name: Value,
    hostname: Value,
    subdomain: Value,
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
struct EndpointStatus {
    phase: Value,
    #[serde(rename = "podIP")]
    pod_ip: Value,
    #[serde(rename = "podIPs")]
    pod_ips: Value,
    conditions: Vec<EndpointCondition>,
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(default)]
struct EndpointCondition {
    r#type: String,
    status: Value,
}

impl Endpoint {
    fn read(pod: &Stored) -> Result<Self, serde_json::Error> {
        let mut endpoint: Self = serde_json::from_slice(&pod.bytes)?;
        endpoint
            .status
            .conditions
            .retain(|condition| condition.r#type == "Ready");
        Ok(endpoint)
    }
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
    use crate::store::{Change, Expect, Key, Options, ResourceKey, Store, Write};

    #[tokio::test]
    async fn an_event_that_moves_no_endpoint_is_passed_over() {
        let pod = || {
            json!({
                "metadata": {"name": "p", "namespace": "n", "uid": "u", "generation": 1, "labels": {"a": "b"}},
                "spec": {"containers": []},
                "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]},
            })
        };
        let changed = |pointer: &str, value: Value| {
            let mut pod = pod();
            let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
            pod.pointer_mut(parent).expect("it is there")[field] = value;
            pod
        };
        let ready = json!([{"type": "PodScheduled", "status": "False"}, {"type": "Ready", "status": "True"}]);
        let why = json!([{"type": "PodScheduled", "status": "False", "message": "Insufficient cpu"}]);
        for (after, matters) in [
            (pod(), false),
            (changed("/status/conditions", why), false),
            (changed("/status/message", "someone was here".into()), false),
            (changed("/metadata/annotations", json!({"a": "b"})), false),
            (changed("/status/conditions", ready), true),
            (changed("/status/phase", "Running".into()), true),
            (changed("/status/podIP", "10.244.0.1".into()), true),
            (changed("/status/podIPs", json!([{"ip": "10.244.0.1"}])), true),
            (changed("/spec/nodeName", "baton".into()), true),
            (changed("/spec/hostname", "h".into()), true),
            (changed("/metadata/labels", json!({"a": "c"})), true),
            (changed("/metadata/uid", "v".into()), true),
            (changed("/metadata/generation", 2.into()), true),
            (
                changed("/metadata/deletionTimestamp", "2026-01-01T00:00:00Z".into()),
                true,
            ),
        ] {
            let store = Store::in_memory(Options::default());
            let resource = ResourceKey::new("", "pods");
            let mut watch = store.watch(&resource, None, store.revision()).expect("a watch");
            for (expect, object) in [(Expect::Absent, pod()), (Expect::Present, after.clone())] {
                let key = Key::new(&resource, "n", "p");
                let change = Change::Put(object);
                store.write(Write { key, expect, change }).await.expect("a write");
            }
            let added = watch.next().await.expect("an event");
            assert!(changes_endpoints(&added));
            let modified = watch.next().await.expect("an event");
            assert_eq!(changes_endpoints(&modified), matters, "{after}");
        }
    }

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
