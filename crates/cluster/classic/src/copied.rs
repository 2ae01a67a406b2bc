//! Which ClusterServiceVersions are copies of one in another namespace.

use apply::object::{annotation, label, text};
use serde_json::Value;

use crate::keys;

/// Returns whether a version is a copy, by its metadata or by what its status says.
pub fn is_copy(version: &Value) -> bool {
    text(version, "/status/reason") == "Copied" || is_marked_as_copy(version)
}

/// Returns whether a version is a copy as far as its metadata says.
pub fn is_marked_as_copy(version: &Value) -> bool {
    label(version, keys::COPIED_FROM).is_some()
        || annotation(version, keys::OPERATOR_NAMESPACE)
            .is_some_and(|namespace| namespace != text(version, "/metadata/namespace"))
}
