//! One version of a kind as another.
//!
//! Only two kinds have versions that differ: autoscalers, whose version 1 keeps what it has no fields for in annotations,
//! and events, which are served by two groups under different names of fields.

mod autoscalers;
mod events;
mod go_json;
mod metrics;

use serde_json::Value;

use crate::tree::Tree;

/// Returns an object of a built-in kind in another `apiVersion`: of its group, or of the group that shares its storage.
pub fn convert(kind: &str, from: &str, to: &str, mut object: Value) -> Value {
    let Some(fields) = object.as_object_mut() else {
        return object;
    };
    match (kind, from, to) {
        ("HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2") => autoscalers::to_second(fields),
        ("HorizontalPodAutoscaler", "autoscaling/v2", "autoscaling/v1") => autoscalers::to_first(fields),
        ("Event", "v1", "events.k8s.io/v1") => events::to_group(fields),
        ("Event", "events.k8s.io/v1", "v1") => events::to_core(fields),
        _ => {}
    }
    fields.set("apiVersion", to);
    object
}

#[cfg(test)]
mod tests;
