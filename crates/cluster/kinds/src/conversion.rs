//! One version of a kind as another.

use serde_json::Value;

/// Returns an object of a built-in kind in another version of its group, or of the group that shares its storage.
pub fn convert(_group: &str, _kind: &str, _from: &str, _to: &str, object: Value) -> Value {
    object
}
