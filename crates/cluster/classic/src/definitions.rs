//! What the picture of a cluster holds of definitions of custom resources: all but their schemas, which are most of them.

use apply::object::{at, text};
use serde_json::Value;

/// Returns whether an object is a definition without the schemas that the cluster's has: it can't be compared as a whole, and
/// must not be written.
pub fn lacks_schemas(object: &Value) -> bool {
    let versions = at(object, "/spec/versions").and_then(Value::as_array);
    text(object, "/kind") == "CustomResourceDefinition"
        && versions.is_some_and(|versions| versions.iter().any(|version| version.get("schema").is_none()))
}
