//! The conditions of a status, which keep the time of their last change.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::object::{map_of, timestamp};

/// A condition to be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The kind of the condition, such as `Available`.
    pub kind: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// The reason, one word.
    pub reason: String,
    /// The reason, for people.
    pub message: String,
}

impl Condition {
    /// Returns a condition.
    pub fn new(
        kind: &'static str,
        status: &'static str,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            status,
            reason: reason.into(),
            message: message.into(),
        }
    }
}

/// Returns the condition of a kind in a status.
pub fn find<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    status
        .get("conditions")?
        .as_array()?
        .iter()
        .find(|one| one["type"] == kind)
}

/// Returns whether a status has a condition that is `True`.
pub fn is_true(status: &Value, kind: &str) -> bool {
    find(status, kind).is_some_and(|one| one["status"] == "True")
}

/// Removes a condition.
pub fn remove(status: &mut Value, kind: &str) {
    let status = map_of(status);
    if let Some(Value::Array(all)) = status.get_mut("conditions") {
        all.retain(|one| one["type"] != kind);
        if all.is_empty() {
            status.remove("conditions");
        }
    }
}

/// Adds a condition at the end, in place of one of the same kind.
pub fn put(status: &mut Value, condition: Value) {
    if let Some(kind) = condition["type"].as_str() {
        remove(status, kind);
    }
    match map_of(status).entry("conditions").or_insert_with(|| json!([])) {
        Value::Array(all) => all.push(condition),
        other => *other = json!([condition]),
    }
}

/// Sets a condition of a Deployment: one with the same status and reason stays as it is, message and times included.
pub fn set_with_update_time(status: &mut Value, condition: &Condition, now: Timestamp) {
    let found = find(status, condition.kind);
    let same_status = found.is_some_and(|one| one["status"] == condition.status);
    if same_status && found.is_some_and(|one| one["reason"] == *condition.reason) {
        return;
    }
    let now = Value::from(timestamp(now));
    let changed = found
        .filter(|_| same_status)
        .map_or_else(|| now.clone(), |one| one["lastTransitionTime"].clone());
    let built = json!({
        "type": condition.kind,
        "status": condition.status,
        "lastUpdateTime": now,
        "lastTransitionTime": changed,
        "reason": condition.reason,
        "message": condition.message,
    });
    put(status, built);
}

/// Sets a condition that has the time of its last change alone: one with the same status and reason stays as it is.
pub fn set(status: &mut Value, condition: &Condition, now: Timestamp) {
    let found = find(status, condition.kind);
    if found.is_some_and(|one| one["status"] == condition.status && one["reason"] == *condition.reason) {
        return;
    }
    let built = json!({
        "type": condition.kind,
        "status": condition.status,
        "lastTransitionTime": timestamp(now),
        "reason": condition.reason,
        "message": condition.message,
    });
    put(status, built);
}

/// Sets a number of a status, which isn't written when it is 0.
pub fn set_count(status: &mut Map<String, Value>, name: &str, count: i64) {
    if count == 0 {
        status.remove(name);
    } else {
        status.insert(name.to_owned(), count.into());
    }
}
