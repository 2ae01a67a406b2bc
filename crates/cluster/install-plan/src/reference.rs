//! How one object names another: owner references and object references, field by field as upstream's.

use apply::object::text;
use classic::Kind;
use serde_json::{Value, json};

/// The version of the API of most kinds of OLM v0.
pub const ALPHA: &str = "operators.coreos.com/v1alpha1";

/// Returns a reference to an object, as statuses hold it; what the object doesn't say is left out.
pub fn to_object(kind: Kind, object: &Value) -> Value {
    let naming = kind.naming();
    let mut reference = json!({"apiVersion": naming.api_version, "kind": naming.kind});
    for name in ["name", "namespace", "uid", "resourceVersion"] {
        let value = text(object, &format!("/metadata/{name}"));
        if !value.is_empty() {
            reference[name] = Value::from(value);
        }
    }
    reference
}

/// Returns an owner reference that blocks nothing and controls nothing.
pub fn to_owner(kind: Kind, name: &str, uid: &str) -> Value {
    let naming = kind.naming();
    json!({
        "apiVersion": naming.api_version,
        "kind": naming.kind,
        "name": name,
        "uid": uid,
        "controller": false,
        "blockOwnerDeletion": false,
    })
}
