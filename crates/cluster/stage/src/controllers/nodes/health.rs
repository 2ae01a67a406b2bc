//! When a node counts as lost: it neither writes its status nor renews its lease.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::left_of;
use crate::object::{Object, timestamp};

/// How long nothing may be heard of a node, as upstream.
const MONITOR_GRACE: Duration = Duration::from_secs(50);

/// How long a node that was never heard of has to start, as upstream.
const STARTUP_GRACE: Duration = Duration::from_mins(1);

/// The conditions that nobody knows when a node is lost. Whether there is a network is for others to say.
const CONDITIONS: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// What was last heard of a node.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    uid: String,
    heartbeat: Value,
    renewal: Value,
    at: Option<Timestamp>,
}

impl Heard {
    /// Notes what a node and its lease say, and returns how long the node may still be silent.
    pub fn listen(&mut self, node: &Value, lease: Option<&Value>, now: Timestamp) -> Duration {
        let ready = condition(node, "Ready");
        let heartbeat = ready
            .map(|ready| ready["lastHeartbeatTime"].clone())
            .unwrap_or_default();
        let renewal = lease
            .map(|lease| lease["spec"]["renewTime"].clone())
            .unwrap_or_default();
        let is_new = self.uid != node.uid();
        if is_new || self.heartbeat != heartbeat || self.renewal != renewal || self.at.is_none() {
            // The clock of the node doesn't matter, only that it said something new.
            let never = ready.is_none() && lease.is_none();
            let created = node.metadata_text("creationTimestamp").parse().ok();
            *self = Self {
                uid: node.uid().to_owned(),
                heartbeat,
                renewal,
                at: Some(created.filter(|_| never).unwrap_or(now)),
            };
        }
        let grace = if ready.is_some() {
            MONITOR_GRACE
        } else {
            STARTUP_GRACE
        };
        left_of(grace, self.at.unwrap_or(now), now)
    }
}

fn condition<'a>(node: &'a Value, kind: &str) -> Option<&'a Value> {
    crate::controllers::conditions::find(&node["status"], kind)
}

/// Returns the conditions of a node that is lost; `None` where they say so already.
pub fn lost(node: &Value, now: Timestamp) -> Option<Vec<Value>> {
    if condition(node, "Ready").is_some_and(|ready| ready["status"] == "Unknown") {
        return None;
    }
    let mut conditions = node["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    for kind in CONDITIONS {
        match conditions.iter_mut().find(|one| one["type"] == kind) {
            None => conditions.push(json!({
                "type": kind, "status": "Unknown", "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
                "lastHeartbeatTime": node.metadata_text("creationTimestamp"), "lastTransitionTime": timestamp(now),
            })),
            Some(there) if there["status"] != "Unknown" => {
                there["status"] = "Unknown".into();
                there["reason"] = "NodeStatusUnknown".into();
                there["message"] = "Kubelet stopped posting node status.".into();
                there["lastTransitionTime"] = timestamp(now).into();
            }
            Some(_) => {}
        }
    }
    Some(conditions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
    }

    #[test]
    fn a_node_is_lost_when_it_is_silent_for_too_long() {
        let node = |beat: i64| {
            json!({"metadata": {"uid": "1", "creationTimestamp": timestamp(at(0))},
            "status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": timestamp(at(beat))}]}})
        };
        let lease = |renewed: i64| json!({"spec": {"renewTime": timestamp(at(renewed))}});
        let mut heard = Heard::default();
        assert_eq!(heard.listen(&node(0), None, at(100)).as_secs(), 50);
        assert_eq!(heard.listen(&node(0), None, at(149)).as_secs(), 1);
        assert_eq!(heard.listen(&node(0), Some(&lease(1)), at(149)).as_secs(), 50);
        assert_eq!(heard.listen(&node(0), Some(&lease(1)), at(200)).as_secs(), 0);
        assert_eq!(heard.listen(&node(7), Some(&lease(1)), at(200)).as_secs(), 50);
        let mut heard = Heard::default();
        let silent = json!({"metadata": {"uid": "2", "creationTimestamp": timestamp(at(0))}});
        assert_eq!(heard.listen(&silent, None, at(45)).as_secs(), 15);
    }

    #[test]
    fn a_lost_nodes_conditions_are_unknown_once() {
        let node = json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "status": {"conditions": [
            {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "m"}]}});
        let conditions = lost(&node, at(0)).expect("conditions");
        assert_eq!(conditions.len(), 4);
        assert_eq!(conditions[0]["reason"], "NodeStatusUnknown");
        assert_eq!(conditions[1]["reason"], "NodeStatusNeverUpdated");
        assert_eq!(lost(&json!({"status": {"conditions": conditions}}), at(1)), None);
    }
}
