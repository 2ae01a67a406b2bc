//! Times that must not be the only thing that changes.

use serde_json::Value;

use super::managers::managed_fields;

/// Gives `new` the times of `live` if nothing else differs, so that a write that changes nothing gets no new resource
/// version.
///
/// Entries are compared with those at the same position: a manager that came or went is a change.
pub fn keep_times_if_only_they_changed(live: &Value, new: &mut Value) {
    let (Some(Value::Array(before)), Some(Value::Array(after))) = (managed_fields(live), managed_fields(new))
    else {
        return;
    };
    if before.is_empty() || before.len() != after.len() || before == after {
        return;
    }
    let same_but_time = before
        .iter()
        .zip(after)
        .all(|(before, after)| equal_beside(before, after, &["time"]));
    if same_but_time && equal_beside(live, new, &["metadata", "managedFields"]) {
        let before = Value::Array(before.clone());
        if let Some(managed) = new
            .get_mut("metadata")
            .and_then(|metadata| metadata.get_mut("managedFields"))
        {
            *managed = before;
        }
    }
}

/// Returns whether two objects are equal, whatever they have at one path.
fn equal_beside(left: &Value, right: &Value, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return true;
    };
    let (Value::Object(left), Value::Object(right)) = (left, right) else {
        return left == right;
    };
    let others = |name: &String| name != first;
    let count = |map: &serde_json::Map<String, Value>| map.keys().filter(|name| others(name)).count();
    if count(left) != count(right) {
        return false;
    }
    left.iter()
        .filter(|(name, _)| others(name))
        .all(|(name, value)| right.get(name) == Some(value))
        && match (left.get(*first), right.get(*first)) {
            (Some(left), Some(right)) => equal_beside(left, right, rest),
            (left, right) => rest.is_empty() || left == right,
        }
}
