//! Endpoints: the older form of `EndpointSlices`, one object for each Service.

use serde_json::{Map, Value, json};

use super::endpoint_slices::SERVICE_NAME;
use super::service_pods::{
    HEADLESS, SERVICES, addresses, has_ended, host_name, is_headless, is_ready, ports, publishes_not_ready,
    reference, services_of_pod,
};
use super::work::{Affected, Controller, Item, Next, itself};
use crate::client::{Client, Named};
use crate::object::{Object, map_of};
use crate::options::DeleteOptions;
use crate::selectors::LabelSelector;
use crate::status::Status;
use crate::store::ResourceKey;

const ENDPOINTS: Named<'static> = ("", "endpoints");

/// The label that says who keeps an Endpoints object.
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";

/// Who keeps the Endpoints of Services that select pods.
const MANAGER: &str = "endpoint-controller";

/// How many addresses an object has at most, so that it can be stored.
const MOST_ADDRESSES: usize = 1000;

/// The annotation of an object that doesn't have all addresses.
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";

/// Keeps the Endpoints of Services that select pods.
#[derive(Debug)]
pub struct Endpoints;

impl Controller for Endpoints {
    const NAME: &'static str = "endpoint-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new("", "services"), itself),
            (ResourceKey::new("", "pods"), services_of_pod),
            (ResourceKey::new("", "endpoints"), itself),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let present = client.get(ENDPOINTS, &item.namespace, &item.name)?;
        let Some(service) = client.get(SERVICES, &item.namespace, &item.name)? else {
            // What others made for a Service without a selector goes with it too, as upstream has it.
            if present.is_some_and(|present| present.label(MANAGED_BY) == Some(MANAGER)) {
                let options = DeleteOptions::default();
                client
                    .delete(ENDPOINTS, &item.namespace, &item.name, &options)
                    .await?;
            }
            return Ok(Next::Wait);
        };
        let Some(selector) = service["spec"]["selector"].as_object() else {
            return Ok(Next::Wait);
        };
        if service["spec"]["type"] == "ExternalName" || service.is_being_deleted() {
            return Ok(Next::Wait);
        }
        let selector = LabelSelector::from_map(selector);
        let pods = client.list_selected(("", "pods"), &item.namespace, &selector)?;
        match decide(&service, &pods, present.as_ref()) {
            None => {}
            Some(wanted) if present.is_none() => drop(client.create(ENDPOINTS, wanted).await?),
            Some(wanted) => drop(client.update(ENDPOINTS, wanted).await?),
        }
        Ok(Next::Wait)
    }
}

/// Returns the Endpoints of a Service, unless they are as they should be.
fn decide(service: &Value, pods: &[Value], present: Option<&Value>) -> Option<Value> {
    let (subsets, is_whole) = subsets(service, pods);
    let mut wanted = present.cloned().unwrap_or_else(|| {
        json!({
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": service.name(), "namespace": service.namespace()},
        })
    });
    if subsets.is_empty() {
        map_of(&mut wanted).remove("subsets");
    } else {
        wanted["subsets"] = subsets.into();
    }
    wanted["metadata"]["labels"] = labels(service).into();
    if is_whole {
        let annotations = wanted["metadata"]["annotations"].as_object_mut();
        if let Some(annotations) = annotations {
            annotations.remove(OVER_CAPACITY);
        } else {
            map_of(&mut wanted["metadata"]).remove("annotations");
        }
    } else {
        map_of(&mut wanted["metadata"]["annotations"]).insert(OVER_CAPACITY.into(), "truncated".into());
    }
    (present != Some(&wanted)).then_some(wanted)
}

fn labels(service: &Value) -> Map<String, Value> {
    let mut labels = service["metadata"]["labels"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    labels.remove(HEADLESS);
    labels.remove(SERVICE_NAME);
    if is_headless(service) {
        labels.insert(HEADLESS.to_owned(), "".into());
    }
    labels.insert(MANAGED_BY.to_owned(), MANAGER.into());
    labels
}

/// Pods that share their ports.
#[derive(Default)]
struct Subset {
    ports: Vec<Value>,
    ready: Vec<Value>,
    not_ready: Vec<Value>,
}

/// Returns the subsets, and whether all addresses are in them.
fn subsets(service: &Value, pods: &[Value]) -> (Vec<Value>, bool) {
    let family = service["spec"]["ipFamilies"][0].as_str().unwrap_or("IPv4");
    let publishes = publishes_not_ready(service);
    let mut subsets: Vec<Subset> = Vec::new();
    let mut count = 0;
    for pod in pods {
        let Some(address) = addresses(pod, family).into_iter().next() else {
            continue;
        };
        if has_ended(pod) || (pod.is_being_deleted() && !publishes) {
            continue;
        }
        let ports = ports(service, pod);
        let has_ports = service["spec"]["ports"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        // A pod without any of the ports has nothing to offer, unless the Service is about addresses alone.
        if ports.is_empty() && has_ports {
            continue;
        }
        count += 1;
        if count > MOST_ADDRESSES {
            continue;
        }
        let index = subsets.iter().position(|subset| subset.ports == ports);
        let index = index.unwrap_or_else(|| {
            subsets.push(Subset {
                ports,
                ..Subset::default()
            });
            subsets.len() - 1
        });
        let address = endpoint_address(service, pod, address);
        if publishes || is_ready(pod) {
            subsets[index].ready.push(address);
        } else {
            subsets[index].not_ready.push(address);
        }
    }
    let written = subsets.into_iter().map(write_subset).collect();
    (written, count <= MOST_ADDRESSES)
}

fn endpoint_address(service: &Value, pod: &Value, address: &str) -> Value {
    let mut found = json!({"ip": address, "targetRef": reference(pod)});
    if let Some(node) = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty()) {
        found["nodeName"] = node.into();
    }
    if let Some(name) = host_name(service, pod) {
        found["hostname"] = name.into();
    }
    found
}

fn write_subset(subset: Subset) -> Value {
    let mut written = Map::new();
    for (name, mut list) in [
        ("addresses", subset.ready),
        ("notReadyAddresses", subset.not_ready),
    ] {
        list.sort_by(|one, other| one["ip"].as_str().cmp(&other["ip"].as_str()));
        if !list.is_empty() {
            written.insert(name.to_owned(), list.into());
        }
    }
    let mut ports = subset.ports;
    for port in &mut ports {
        // The name of a port without one is left out here, while slices have it empty.
        if port["name"] == "" {
            map_of(port).remove("name");
        }
    }
    if !ports.is_empty() {
        written.insert("ports".to_owned(), ports.into());
    }
    written.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Value {
        json!({
            "metadata": {"name": "s", "namespace": "a", "labels": {"mine": "x"}},
            "spec": {"clusterIP": "10.96.0.9", "ports": [{"port": 80, "targetPort": 8080}]},
        })
    }

    fn pod(name: &str, address: &str, ready: &str) -> Value {
        json!({
            "metadata": {"name": name, "namespace": "a", "uid": name},
            "spec": {"nodeName": "n"},
            "status": {
                "phase": "Running", "podIP": address, "conditions": [{"type": "Ready", "status": ready}],
            },
        })
    }

    #[test]
    fn pods_are_listed_by_address_and_apart_when_they_are_not_ready() {
        let mut going = pod("d", "10.1.0.4", "True");
        going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        let pods = [
            pod("b", "10.1.0.2", "True"),
            pod("a", "10.1.0.1", "True"),
            pod("c", "10.1.0.3", "False"),
            going,
        ];
        let made = decide(&service(), &pods, None).unwrap();
        let subset = &made["subsets"][0];
        assert_eq!(subset["addresses"][0]["ip"], "10.1.0.1");
        assert_eq!(subset["addresses"][1]["ip"], "10.1.0.2");
        assert_eq!(subset["addresses"].as_array().unwrap().len(), 2);
        assert_eq!(subset["notReadyAddresses"][0]["ip"], "10.1.0.3");
        assert_eq!(subset["ports"], json!([{"port": 8080, "protocol": "TCP"}]));
        assert_eq!(
            made["metadata"]["labels"],
            json!({"mine": "x", MANAGED_BY: MANAGER})
        );
        assert_eq!(decide(&service(), &pods, Some(&made)), None);
        let emptied = decide(&service(), &[], Some(&made)).unwrap();
        assert_eq!(emptied.get("subsets"), None);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let pods: Vec<Value> = (0..1001)
            .map(|number| {
                pod(
                    &format!("p{number}"),
                    &format!("10.1.{}.{}", number / 250, number % 250),
                    "True",
                )
            })
            .collect();
        let made = decide(&service(), &pods, None).unwrap();
        assert_eq!(made["metadata"]["annotations"][OVER_CAPACITY], "truncated");
        assert_eq!(made["subsets"][0]["addresses"].as_array().unwrap().len(), 1000);
    }
}
