//! Which slices a Service has, and which endpoints are in each.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{MANAGED_BY, MANAGER, SERVICE_NAME};
use crate::controllers::ownership::controller_reference;
use crate::controllers::service_pods::{
    HEADLESS, addresses, has_ended, host_name, is_headless, is_ready, ports, publishes_not_ready, reference,
};
use crate::object::{Object, map_of, timestamp};

/// How many endpoints are in one slice, as the real controller has it.
const MOST_ENDPOINTS: usize = 100;

/// The annotation with the time of what made the slice change.
const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// What is done to the slices of a Service.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    /// A new slice.
    Create(Value),
    /// A slice that has changed.
    Update(Value),
    /// A slice that goes.
    Delete(String),
}

/// Endpoints that share their family and their ports.
struct Group {
    family: String,
    ports: Vec<Value>,
    endpoints: Vec<Value>,
}

/// Decides what is done to the slices of a Service. Endpoints stay in the slice they are in.
pub(super) fn decide(service: &Value, pods: &[Value], slices: &[Value], now: Timestamp) -> Vec<Change> {
    let now = timestamp(now);
    let mut changes = Vec::new();
    let families = families(service);
    for slice in slices {
        if !families
            .iter()
            .any(|family| slice["addressType"] == family.as_str())
        {
            changes.push(Change::Delete(slice.name().to_owned()));
        }
    }
    for family in &families {
        let present: Vec<&Value> = slices
            .iter()
            .filter(|slice| slice["addressType"] == family.as_str())
            .collect();
        decide_family(service, pods, family, &present, &now, &mut changes);
    }
    changes
}

fn families(service: &Value) -> Vec<String> {
    let listed = service["spec"]["ipFamilies"].as_array();
    let families: Vec<String> = listed
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    if families.is_empty() {
        vec!["IPv4".to_owned()]
    } else {
        families
    }
}

fn decide_family(
    service: &Value,
    pods: &[Value],
    family: &str,
    present: &[&Value],
    now: &str,
    changes: &mut Vec<Change>,
) {
    let groups = groups(service, pods, family);
    let mut kept: Vec<&str> = Vec::new();
    for group in &groups {
        let slices: Vec<&&Value> = present
            .iter()
            .filter(|slice| list(&slice["ports"]) == group.ports)
            .collect();
        kept.extend(slices.iter().map(|slice| slice.name()));
        distribute(service, group, &slices, now, changes);
    }
    let mut rest: Vec<&&Value> = present
        .iter()
        .filter(|slice| !kept.contains(&slice.name()))
        .collect();
    if groups.is_empty() {
        // A Service without endpoints has an empty slice, so that everyone sees that there are none.
        let placeholder = Group {
            family: family.to_owned(),
            ports: Vec::new(),
            endpoints: Vec::new(),
        };
        if rest.is_empty() {
            changes.push(Change::Create(new_slice(service, &placeholder, Vec::new(), now)));
            return;
        }
        let first = rest.remove(0);
        update(service, first, Vec::new(), &[], now, changes);
    }
    changes.extend(rest.iter().map(|slice| Change::Delete(slice.name().to_owned())));
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Puts the endpoints of a group into its slices: where they are, then where there is room, then into new ones.
fn distribute(service: &Value, group: &Group, slices: &[&&Value], now: &str, changes: &mut Vec<Change>) {
    let mut waiting = group.endpoints.clone();
    let mut contents: Vec<Vec<Value>> = Vec::new();
    for slice in slices {
        let mut content = Vec::new();
        for old in list(&slice["endpoints"]) {
            let same = |new: &Value| {
                new["targetRef"]["uid"] == old["targetRef"]["uid"] && new["addresses"] == old["addresses"]
            };
            if let Some(index) = waiting.iter().position(same) {
                content.push(waiting.remove(index));
            }
        }
        contents.push(content);
    }
    // The fullest first, so that few slices change.
    let mut order: Vec<usize> = (0..contents.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(contents[index].len()));
    for index in order {
        while contents[index].len() < MOST_ENDPOINTS && !waiting.is_empty() {
            contents[index].push(waiting.remove(0));
        }
    }
    for (slice, content) in slices.iter().zip(contents) {
        if content.is_empty() {
            changes.push(Change::Delete(slice.name().to_owned()));
        } else {
            update(service, slice, content, &group.ports, now, changes);
        }
    }
    for content in waiting.chunks(MOST_ENDPOINTS) {
        changes.push(Change::Create(new_slice(service, group, content.to_vec(), now)));
    }
}

fn update(
    service: &Value,
    slice: &Value,
    endpoints: Vec<Value>,
    ports: &[Value],
    now: &str,
    changes: &mut Vec<Change>,
) {
    let mut wanted = slice.clone();
    if list(&slice["endpoints"]) != endpoints {
        wanted["endpoints"] = list_or_null(endpoints);
    }
    if list(&slice["ports"]) != ports {
        wanted["ports"] = list_or_null(ports.to_vec());
    }
    wanted["metadata"]["labels"] = labels(service).into();
    if wanted != *slice {
        map_of(&mut wanted["metadata"]["annotations"]).insert(TRIGGER_TIME.into(), now.into());
        changes.push(Change::Update(wanted));
    }
}

/// Returns a list as Go writes it: one that was never made is `null`.
fn list_or_null(list: Vec<Value>) -> Value {
    if list.is_empty() { Value::Null } else { list.into() }
}

fn new_slice(service: &Value, group: &Group, endpoints: Vec<Value>, now: &str) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": format!("{}-", service.name()),
            "namespace": service.namespace(),
            "labels": labels(service),
            "annotations": {TRIGGER_TIME: now},
            "ownerReferences": [controller_reference(service)],
        },
        "addressType": group.family,
        "endpoints": list_or_null(endpoints),
        "ports": list_or_null(group.ports.clone()),
    })
}

/// Returns the labels of the slices: those of the Service, and those that say whose they are.
fn labels(service: &Value) -> Map<String, Value> {
    let mut labels = service["metadata"]["labels"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    labels.remove(HEADLESS);
    if is_headless(service) {
        labels.insert(HEADLESS.to_owned(), "".into());
    }
    labels.insert(SERVICE_NAME.to_owned(), service.name().into());
    labels.insert(MANAGED_BY.to_owned(), MANAGER.into());
    labels
}

fn groups(service: &Value, pods: &[Value], family: &str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for pod in pods {
        let addresses = addresses(pod, family);
        if has_ended(pod) || addresses.is_empty() {
            continue;
        }
        let ports = ports(service, pod);
        let endpoint = endpoint(service, pod, &addresses);
        match groups.iter_mut().find(|group| group.ports == ports) {
            Some(group) => group.endpoints.push(endpoint),
            None => groups.push(Group {
                family: family.to_owned(),
                ports,
                endpoints: vec![endpoint],
            }),
        }
    }
    groups
}

fn endpoint(service: &Value, pod: &Value, addresses: &[&str]) -> Value {
    let serving = is_ready(pod);
    let terminating = pod.is_being_deleted();
    let mut endpoint = json!({
        "addresses": addresses,
        "conditions": {
            "ready": publishes_not_ready(service) || (serving && !terminating),
            "serving": serving,
            "terminating": terminating,
        },
        "targetRef": reference(pod),
    });
    if let Some(node) = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty()) {
        endpoint["nodeName"] = node.into();
    }
    if let Some(name) = host_name(service, pod) {
        endpoint["hostname"] = name.into();
    }
    endpoint
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Value {
        json!({
            "metadata": {"name": "s", "namespace": "a", "uid": "su", "labels": {"mine": "x"}},
            "spec": {
                "clusterIP": "10.96.0.9",
                "ipFamilies": ["IPv4"],
                "selector": {"a": "b"},
                "ports": [{"name": "web", "port": 80, "targetPort": "http"}],
            },
        })
    }

    fn pod(number: usize, port: u16, ready: bool) -> Value {
        json!({
            "metadata": {"name": format!("p{number}"), "namespace": "a", "uid": format!("u{number}")},
            "spec": {"nodeName": "n", "containers": [{"ports": [{"name": "http", "containerPort": port}]}]},
            "status": {
                "phase": "Running",
                "podIP": format!("10.1.{}.{}", number / 200, number % 200),
                "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}],
            },
        })
    }

    /// Does what was decided, as the API would.
    fn apply(slices: &mut Vec<Value>, changes: Vec<Change>) -> usize {
        let count = changes.len();
        for change in changes {
            match change {
                Change::Create(mut slice) => {
                    slice["metadata"]["name"] = format!("s-{}", slices.len()).into();
                    slices.push(slice);
                }
                Change::Update(slice) => {
                    let old = slices.iter_mut().find(|old| old.name() == slice.name()).unwrap();
                    *old = slice;
                }
                Change::Delete(name) => slices.retain(|slice| slice.name() != name),
            }
        }
        count
    }

    fn look(slices: &mut Vec<Value>, service: &Value, pods: &[Value]) -> usize {
        let changes = decide(service, pods, slices, Timestamp::UNIX_EPOCH);
        let count = apply(slices, changes);
        assert_eq!(
            decide(service, pods, slices, Timestamp::UNIX_EPOCH),
            [],
            "it is settled"
        );
        count
    }

    #[test]
    fn a_service_without_pods_has_an_empty_slice() {
        let mut slices = Vec::new();
        look(&mut slices, &service(), &[]);
        assert_eq!(slices.len(), 1);
        assert_eq!(slices[0]["endpoints"], Value::Null);
        assert_eq!(slices[0]["ports"], Value::Null);
        assert_eq!(
            slices[0]["metadata"]["labels"],
            json!({"mine": "x", SERVICE_NAME: "s", MANAGED_BY: MANAGER})
        );
    }

    #[test]
    fn endpoints_say_who_is_ready_who_serves_and_who_goes() {
        let mut slices = Vec::new();
        let mut going = pod(2, 8080, true);
        going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        let mut ended = pod(3, 8080, false);
        ended["status"]["phase"] = "Succeeded".into();
        let pods = [pod(0, 8080, true), pod(1, 8080, false), going, ended];
        look(&mut slices, &service(), &pods);
        let conditions: Vec<&Value> = slices[0]["endpoints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["conditions"])
            .collect();
        assert_eq!(
            json!(conditions),
            json!([
                {"ready": true, "serving": true, "terminating": false},
                {"ready": false, "serving": false, "terminating": false},
                {"ready": false, "serving": true, "terminating": true},
            ])
        );
        let mut eager = service();
        eager["spec"]["publishNotReadyAddresses"] = true.into();
        look(&mut slices, &eager, &pods);
        assert_eq!(slices[0]["endpoints"][1]["conditions"]["ready"], true);
    }

    #[test]
    fn pods_with_other_ports_have_slices_of_their_own() {
        let mut slices = Vec::new();
        look(&mut slices, &service(), &[pod(0, 8080, true), pod(1, 9090, true)]);
        let ports: Vec<&Value> = slices.iter().map(|slice| &slice["ports"][0]["port"]).collect();
        assert_eq!(json!(ports), json!([8080, 9090]));
        look(&mut slices, &service(), &[pod(1, 9090, true)]);
        assert_eq!(slices.len(), 1);
        look(&mut slices, &service(), &[]);
        assert_eq!(slices.len(), 1);
        assert_eq!(slices[0]["endpoints"], Value::Null);
    }

    #[test]
    fn a_hundred_endpoints_fill_a_slice_and_one_change_touches_one_slice() {
        let mut slices = Vec::new();
        let mut pods: Vec<Value> = (0..150).map(|number| pod(number, 8080, true)).collect();
        assert_eq!(look(&mut slices, &service(), &pods), 2);
        assert_eq!(slices[0]["endpoints"].as_array().unwrap().len(), 100);
        pods[120] = pod(120, 8080, false);
        assert_eq!(look(&mut slices, &service(), &pods), 1);
        pods.remove(3);
        assert_eq!(look(&mut slices, &service(), &pods), 1);
    }

    #[test]
    fn the_slices_of_a_headless_service_say_so() {
        let mut headless = service();
        headless["spec"]["clusterIP"] = "None".into();
        let mut slices = Vec::new();
        look(&mut slices, &headless, &[]);
        assert_eq!(slices[0]["metadata"]["labels"][HEADLESS], "");
    }
}
