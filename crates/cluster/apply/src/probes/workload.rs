//! What the status of a workload means where it says nothing.
//!
//! Workloads leave out counts that are zero, and a `StatefulSet` never says that it is available. Taken by the letter, a
//! Deployment that is scaled to nothing and every `StatefulSet` would hold up a rollout for ever.

use serde_json::Value;

use crate::object::ObjectId;

/// The kinds of `apps` whose status counts replicas.
const COUNTING: &[&str] = &["Deployment", "StatefulSet", "ReplicaSet"];

/// Returns the zero that a workload left out of its status; none before its controller has looked at it.
pub(super) fn unwritten_count(object: &Value, path: &str) -> Option<Value> {
    let id = ObjectId::of(object);
    let counts = path
        .trim_matches('.')
        .strip_prefix("status.")
        .is_some_and(|field| field == "replicas" || field.ends_with("Replicas"));
    (counts && id.group() == "apps" && COUNTING.contains(&id.kind.as_str()) && is_observed(object))
        .then(|| Value::from(0))
}

/// Returns the status of a condition that a `StatefulSet` doesn't have but could.
pub(super) fn derived_condition(object: &Value, condition: &str) -> Option<&'static str> {
    let id = ObjectId::of(object);
    if condition != "Available" || id.group() != "apps" || id.kind != "StatefulSet" || !is_observed(object) {
        return None;
    }
    let count = |pointer: &str, otherwise: i64| {
        object
            .pointer(pointer)
            .and_then(Value::as_i64)
            .unwrap_or(otherwise)
    };
    let ready = count("/status/availableReplicas", 0) >= count("/spec/replicas", 1);
    Some(if ready { "True" } else { "False" })
}

fn is_observed(object: &Value) -> bool {
    object
        .pointer("/status/observedGeneration")
        .is_some_and(Value::is_i64)
}
