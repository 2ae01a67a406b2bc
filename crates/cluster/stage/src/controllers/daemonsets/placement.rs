//! On which nodes the Pods of a DaemonSet belong.

use serde_json::{Value, json};

use crate::object::{Object, map_of};

/// What every daemon endures, so that it runs where other Pods don't: taint and effect.
const TOLERATED: &[(&str, &str)] = &[
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

const NETWORK_UNAVAILABLE: (&str, &str) = ("node.kubernetes.io/network-unavailable", "NoSchedule");

/// Adds to the spec of a Pod what daemons endure, and the one node it is for.
pub(super) fn place_on(spec: &mut Value, node: &str) {
    let host_network = spec["hostNetwork"] == true;
    let map = map_of(spec);
    let tolerations = map.entry("tolerations").or_insert_with(|| json!([]));
    if let Value::Array(all) = tolerations {
        let network = host_network.then_some(&NETWORK_UNAVAILABLE);
        for (key, effect) in TOLERATED.iter().chain(network) {
            let wanted = json!({"key": key, "operator": "Exists", "effect": effect});
            if !all.contains(&wanted) {
                all.push(wanted);
            }
        }
    }
    let only = json!([{"key": "metadata.name", "operator": "In", "values": [node]}]);
    let affinity = map_of(map.entry("affinity").or_insert(Value::Null));
    let node_affinity = map_of(affinity.entry("nodeAffinity").or_insert(Value::Null));
    let required = node_affinity
        .entry("requiredDuringSchedulingIgnoredDuringExecution")
        .or_insert(Value::Null);
    match map_of(required).get_mut("nodeSelectorTerms") {
        Some(Value::Array(terms)) if !terms.is_empty() => {
            for term in terms {
                map_of(term).insert("matchFields".into(), only.clone());
            }
        }
        _ => {
            map_of(required).insert("nodeSelectorTerms".into(), json!([{"matchFields": only}]));
        }
    }
}

/// Returns whether Pods of the set should run on a node, and whether those that do may stay.
pub(super) fn fits(set: &Value, node: &Value) -> (bool, bool) {
    let mut spec = set["spec"]["template"]["spec"].clone();
    let named = spec["nodeName"].as_str().unwrap_or_default();
    if !named.is_empty() && named != node.name() {
        return (false, false);
    }
    place_on(&mut spec, node.name());
    if !is_selected(&spec, node) {
        return (false, false);
    }
    let taints: Vec<&Value> = node["spec"]["taints"].as_array().into_iter().flatten().collect();
    let endures = |taint: &Value| {
        let tolerations = spec["tolerations"].as_array();
        tolerations
            .into_iter()
            .flatten()
            .any(|toleration| tolerates(toleration, taint))
    };
    let repels = |effects: &[&str]| {
        taints
            .iter()
            .filter(|taint| {
                taint["effect"]
                    .as_str()
                    .is_some_and(|effect| effects.contains(&effect))
            })
            .any(|taint| !endures(taint))
    };
    (!repels(&["NoSchedule", "NoExecute"]), !repels(&["NoExecute"]))
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let effect = text(toleration, "effect");
    let key = text(toleration, "key");
    if (!effect.is_empty() && effect != text(taint, "effect"))
        || (!key.is_empty() && key != text(taint, "key"))
    {
        return false;
    }
    match text(toleration, "operator").as_str() {
        "Exists" => true,
        "" | "Equal" => text(toleration, "value") == text(taint, "value"),
        "Lt" => numbers(toleration, taint).is_some_and(|(limit, value)| value < limit),
        "Gt" => numbers(toleration, taint).is_some_and(|(limit, value)| value > limit),
        _ => false,
    }
}

fn numbers(toleration: &Value, taint: &Value) -> Option<(i64, i64)> {
    let number = |value: &Value| value["value"].as_str()?.parse().ok();
    Some((number(toleration)?, number(taint)?))
}

fn is_selected(spec: &Value, node: &Value) -> bool {
    let selector = spec["nodeSelector"].as_object();
    let matches_labels = selector
        .into_iter()
        .flatten()
        .all(|(key, value)| node.label(key) == value.as_str());
    let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let terms = required["nodeSelectorTerms"].as_array();
    matches_labels && terms.is_none_or(|terms| terms.iter().any(|term| term_matches(term, node)))
}

fn term_matches(term: &Value, node: &Value) -> bool {
    let all = |list: &str| term[list].as_array().cloned().unwrap_or_default();
    let (expressions, fields) = (all("matchExpressions"), all("matchFields"));
    if expressions.is_empty() && fields.is_empty() {
        return false;
    }
    let by_label = |one: &Value| requirement_met(one, node.label(one["key"].as_str().unwrap_or_default()));
    let by_field = |one: &Value| one["key"] == "metadata.name" && requirement_met(one, Some(node.name()));
    expressions.iter().all(by_label) && fields.iter().all(by_field)
}

fn requirement_met(requirement: &Value, found: Option<&str>) -> bool {
    let values: Vec<&str> = requirement["values"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let compared = || -> Option<std::cmp::Ordering> {
        let limit: i64 = values.first()?.parse().ok()?;
        Some(found?.parse::<i64>().ok()?.cmp(&limit))
    };
    match requirement["operator"].as_str().unwrap_or_default() {
        "In" => found.is_some_and(|found| values.contains(&found)),
        "NotIn" => !found.is_some_and(|found| values.contains(&found)),
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        "Gt" => compared().is_some_and(std::cmp::Ordering::is_gt),
        "Lt" => compared().is_some_and(std::cmp::Ordering::is_lt),
        _ => false,
    }
}

/// Returns the node that a Pod of a set is on, or is for.
pub(super) fn node_of(pod: &Value) -> Option<&str> {
    if let Some(bound) = pod["spec"]["nodeName"].as_str().filter(|name| !name.is_empty()) {
        return Some(bound);
    }
    let required = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let terms = required["nodeSelectorTerms"].as_array()?;
    terms
        .iter()
        .flat_map(|term| term["matchFields"].as_array().into_iter().flatten())
        .find(|field| field["key"] == "metadata.name" && field["operator"] == "In")
        .and_then(|field| field["values"].as_array()?.first()?.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_fits_by_its_labels_and_taints() {
        let node = json!({"metadata": {"name": "n", "labels": {"disk": "ssd", "size": "4"}}, "spec": {}});
        let tainted = |effect: &str| {
            let mut node = node.clone();
            node["spec"]["taints"] = json!([{"key": "k", "value": "v", "effect": effect}]);
            node
        };
        let set = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
        let affinity = |operator: &str, value: &str| {
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "size", "operator": operator, "values": [value]}]}]}}}})
        };
        let table = [
            (json!({}), node.clone(), (true, true)),
            (
                json!({"nodeSelector": {"disk": "ssd"}}),
                node.clone(),
                (true, true),
            ),
            (
                json!({"nodeSelector": {"disk": "hdd"}}),
                node.clone(),
                (false, false),
            ),
            (json!({"nodeName": "other"}), node.clone(), (false, false)),
            (affinity("Gt", "3"), node.clone(), (true, true)),
            (affinity("Lt", "3"), node.clone(), (false, false)),
            (json!({}), tainted("NoSchedule"), (false, true)),
            (json!({}), tainted("NoExecute"), (false, false)),
            (json!({}), tainted("PreferNoSchedule"), (true, true)),
            (
                json!({"tolerations": [{"operator": "Exists"}]}),
                tainted("NoExecute"),
                (true, true),
            ),
            (
                json!({"tolerations": [{"key": "k", "value": "w"}]}),
                tainted("NoSchedule"),
                (false, true),
            ),
        ];
        for (spec, node, wanted) in table {
            assert_eq!(fits(&set(spec.clone()), &node), wanted, "{spec} on {node}");
        }
    }

    #[test]
    fn a_pod_is_for_the_node_it_was_made_for() {
        let mut spec = json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}}});
        place_on(&mut spec, "n");
        assert_eq!(node_of(&json!({"spec": spec})), Some("n"));
        assert_eq!(node_of(&json!({"spec": {"nodeName": "m"}})), Some("m"));
        assert_eq!(node_of(&json!({"spec": {}})), None);
    }
}
