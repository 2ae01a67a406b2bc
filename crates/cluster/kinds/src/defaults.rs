//! What fields are when nobody wrote them.

use serde_json::Value;

/// Fills in the defaults of an object of a built-in kind, in the version it is stored in.
pub fn apply(_group: &str, _kind: &str, _object: &mut Value) {}
