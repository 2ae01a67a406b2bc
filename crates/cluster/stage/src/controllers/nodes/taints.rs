//! Which taints a node has because of how it is.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::timestamp;

const NOT_READY: &str = crate::admission::nodes::NOT_READY;
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Conditions that taint: the condition, its status, the taint.
const OF_CONDITIONS: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    (
        "NetworkUnavailable",
        "True",
        "node.kubernetes.io/network-unavailable",
    ),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];

/// Returns the taints that a node should have, those of others among them; `None` where it has them.
pub fn decide(node: &Value, now: Timestamp) -> Option<Vec<Value>> {
    let there: Vec<Value> = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let conditions = || node["status"]["conditions"].as_array().into_iter().flatten();
    let ready = conditions().find(|one| one["type"] == "Ready");
    // In the order of the conditions, as upstream adds them.
    let mut wanted: Vec<(&str, &str)> = conditions()
        .filter_map(|one| {
            OF_CONDITIONS
                .iter()
                .find(|(kind, status, _)| one["type"] == **kind && one["status"] == **status)
                .map(|(_, _, key)| (*key, "NoSchedule"))
        })
        .collect();
    if node["spec"]["unschedulable"] == true {
        wanted.push((UNSCHEDULABLE, "NoSchedule"));
    }
    match ready.and_then(|ready| ready["status"].as_str()) {
        Some("False") => wanted.push((NOT_READY, "NoExecute")),
        Some("Unknown") => wanted.push((UNREACHABLE, "NoExecute")),
        _ => {}
    }
    let is_ours = |taint: &Value| {
        let (key, effect) = (
            taint["key"].as_str().unwrap_or_default(),
            taint["effect"].as_str().unwrap_or_default(),
        );
        match effect {
            "NoSchedule" => key == UNSCHEDULABLE || OF_CONDITIONS.iter().any(|(_, _, of)| *of == key),
            "NoExecute" => matches!(key, NOT_READY | UNREACHABLE),
            _ => false,
        }
    };
    let is = |taint: &Value, (key, effect): (&str, &str)| taint["key"] == key && taint["effect"] == effect;
    let mut taints: Vec<Value> = there
        .iter()
        .filter(|taint| !is_ours(taint) || wanted.iter().any(|wanted| is(taint, *wanted)))
        .cloned()
        .collect();
    for one in wanted {
        if !taints.iter().any(|taint| is(taint, one)) {
            taints.push(json!({"key": one.0, "effect": one.1, "timeAdded": timestamp(now)}));
        }
    }
    (taints != there).then_some(taints)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(node: &Value) -> Option<Vec<String>> {
        let taints = decide(node, Timestamp::UNIX_EPOCH)?;
        let text = |taint: &Value| {
            let key = taint["key"].as_str().unwrap_or_default();
            let short = key.rsplit('/').next().unwrap_or_default();
            format!("{short}:{}", taint["effect"].as_str().unwrap_or_default())
        };
        Some(taints.iter().map(text).collect())
    }

    #[test]
    fn conditions_become_taints_and_taints_of_others_stay() {
        let taint = |key: &str, effect: &str| json!({"key": key, "effect": effect});
        let (not_ready, own) = (taint(NOT_READY, "NoSchedule"), taint("mine", "NoExecute"));
        let ready = |status: &str| json!({"type": "Ready", "status": status});
        let node = |taints: Vec<&Value>, conditions: Vec<Value>| json!({"spec": {"taints": taints}, "status": {"conditions": conditions}});
        for (node, expected) in [
            // Upstream takes the taint of a new node away before the node has said anything.
            (node(vec![&not_ready], vec![]), Some(vec![])),
            (
                node(vec![&not_ready, &own], vec![ready("True")]),
                Some(vec!["mine:NoExecute"]),
            ),
            (
                node(vec![&not_ready], vec![ready("False")]),
                Some(vec!["not-ready:NoSchedule", "not-ready:NoExecute"]),
            ),
            (
                node(
                    vec![&not_ready, &taint(NOT_READY, "NoExecute")],
                    vec![ready("Unknown")],
                ),
                Some(vec!["unreachable:NoSchedule", "unreachable:NoExecute"]),
            ),
            (
                node(
                    vec![],
                    vec![json!({"type": "MemoryPressure", "status": "True"}), ready("True")],
                ),
                Some(vec!["memory-pressure:NoSchedule"]),
            ),
            (node(vec![&own], vec![ready("True")]), None),
            (
                json!({"spec": {"unschedulable": true, "taints": [not_ready]}}),
                Some(vec!["unschedulable:NoSchedule"]),
            ),
            (
                json!({"spec": {"taints": [taint(UNSCHEDULABLE, "NoSchedule")]}, "status": {"conditions": [ready("True")]}}),
                Some(vec![]),
            ),
        ] {
            let expected = expected.map(|all| all.iter().map(ToString::to_string).collect());
            assert_eq!(decided(&node), expected, "{node}");
        }
    }
}
