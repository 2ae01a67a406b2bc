//! A new node isn't ready: nothing is put on it before whoever watches over nodes has seen that it is.

use serde_json::{Value, json};

use super::{Operation, Review};
use crate::object::map_of;

/// The taint of nodes that aren't ready.
pub const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// Taints a new node as not ready.
pub fn taint(review: &mut Review<'_>) {
    if review.operation != Operation::Create || !review.is_to("", "nodes") {
        return;
    }
    let Some(node) = review.object.as_mut() else {
        return;
    };
    let spec = map_of(map_of(node).entry("spec").or_insert(Value::Null));
    let taints = spec.entry("taints").or_insert(Value::Null);
    if taints.is_null() {
        *taints = json!([]);
    }
    let Some(taints) = taints.as_array_mut() else {
        return;
    };
    let is_there = |taint: &Value| taint["key"] == NOT_READY && taint["effect"] == "NoSchedule";
    if !taints.iter().any(is_there) {
        taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
}
