//! What a pod asks of a node: resources and ports.

use std::collections::BTreeMap;

use kinds::quantity::Quantity;
use serde_json::Value;

/// Amounts of resources by name.
pub type Amounts = BTreeMap<String, Quantity>;

/// A port of the node that a pod takes: protocol, address, number.
pub type HostPort = (String, String, i64);

/// Returns the resources that a pod asks for: those of its containers together, or of an init container that needs
/// more before they start, and what running the pod costs beside.
pub fn of_pod(pod: &Value) -> Amounts {
    total(pod, requests, "requests")
}

/// Returns the most that a pod may use, counted in the same way.
pub fn limits_of_pod(pod: &Value) -> Amounts {
    total(
        pod,
        |container| amounts(&container["resources"]["limits"]),
        "limits",
    )
}

fn total(pod: &Value, requests: fn(&Value) -> Amounts, list: &str) -> Amounts {
    let spec = &pod["spec"];
    let mut together = Amounts::new();
    for container in items(&spec["containers"]) {
        add(&mut together, &requests(container));
    }
    let mut sidecars = Amounts::new();
    let mut starting = Amounts::new();
    for container in items(&spec["initContainers"]) {
        let asked = requests(container);
        if container["restartPolicy"] == "Always" {
            add(&mut together, &asked);
            add(&mut sidecars, &asked);
            raise(&mut starting, &sidecars);
        } else {
            let mut moment = sidecars.clone();
            add(&mut moment, &asked);
            raise(&mut starting, &moment);
        }
    }
    raise(&mut together, &starting);
    // Resources of the pod as a whole stand before those of its containers.
    for (name, amount) in amounts(&spec["resources"][list]) {
        together.insert(name, amount);
    }
    add(&mut together, &amounts(&spec["overhead"]));
    together
}

/// Returns the ports of the node that a pod takes.
pub fn host_ports(pod: &Value) -> Vec<HostPort> {
    let text = |value: &Value, default: &str| {
        value
            .as_str()
            .filter(|text| !text.is_empty())
            .unwrap_or(default)
            .to_owned()
    };
    items(&pod["spec"]["containers"])
        .flat_map(|container| items(&container["ports"]))
        .filter_map(|port| {
            let number = port["hostPort"].as_i64().filter(|&number| number > 0)?;
            Some((
                text(&port["protocol"], "TCP"),
                text(&port["hostIP"], "0.0.0.0"),
                number,
            ))
        })
        .collect()
}

/// Returns the amounts of a list such as `requests`.
pub fn amounts(list: &Value) -> Amounts {
    let list = list.as_object().into_iter().flatten();
    list.map(|(name, amount)| (name.clone(), read(amount))).collect()
}

fn read(amount: &Value) -> Quantity {
    match amount {
        Value::String(text) => Quantity::read(text),
        other => Quantity::read(&other.to_string()),
    }
}

fn requests(container: &Value) -> Amounts {
    let mut asked = amounts(&container["resources"]["requests"]);
    for (name, limit) in amounts(&container["resources"]["limits"]) {
        asked.entry(name).or_insert(limit);
    }
    asked
}

pub(super) fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Adds amounts to a sum.
pub fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let there = sum.entry(name.clone()).or_insert_with(|| Quantity::read("0"));
        *there = there.plus(*amount);
    }
}

/// Takes amounts from a sum.
pub fn subtract(sum: &mut Amounts, less: &Amounts) {
    for (name, amount) in less {
        if let Some(there) = sum.get_mut(name) {
            *there = there.minus(*amount);
        }
    }
}

fn raise(most: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let there = most.entry(name.clone()).or_insert(*amount);
        if amount.is_more_than(*there) {
            *there = *amount;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cpu(pod: &Value) -> i64 {
        of_pod(pod).get("cpu").map_or(0, |amount| amount.thousandths())
    }

    #[test]
    fn a_pod_asks_for_the_sum_of_its_containers_or_the_largest_moment_before() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let sidecar = |cpu: &str| json!({"restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}});
        let pod = |init: Vec<Value>, containers: Vec<Value>| json!({"spec": {"initContainers": init, "containers": containers}});
        for (pod, expected) in [
            (pod(vec![], vec![container("100m"), container("1")]), 1100),
            (pod(vec![container("2")], vec![container("1")]), 2000),
            (
                pod(vec![sidecar("1"), container("2")], vec![container("500m")]),
                3000,
            ),
            (pod(vec![sidecar("1")], vec![container("500m")]), 1500),
            (
                json!({"spec": {"overhead": {"cpu": "10m"}, "containers": [container("1")]}}),
                1010,
            ),
            (
                json!({"spec": {"resources": {"requests": {"cpu": "3"}}, "containers": [container("1")]}}),
                3000,
            ),
            (
                json!({"spec": {"containers": [{"resources": {"limits": {"cpu": "1"}}}]}}),
                1000,
            ),
        ] {
            assert_eq!(cpu(&pod), expected, "{pod}");
        }
    }
}
