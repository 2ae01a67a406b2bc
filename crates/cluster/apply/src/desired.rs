//! The object as it is applied: what the revision wants, and the marks by which it is known as the revision's.

use api::keys;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::collision::Claimant;
use crate::fields;
use crate::object::{as_map, set_metadata_entry, text};
use crate::owners::{is_controller, references};

/// The label that says which program looks after an object.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// Returns an object with the marks of the extension and of the revision that applies it.
pub fn marked(object: &Value, claimant: &Claimant, extension: &str) -> Value {
    let mut object = object.clone();
    set_metadata_entry(&mut object, "labels", keys::OWNER_NAME, extension);
    set_metadata_entry(&mut object, "labels", MANAGED_BY, keys::OBJECT_FIELD_OWNER);
    set_metadata_entry(
        &mut object,
        "annotations",
        keys::REVISION,
        &claimant.revision.to_string(),
    );
    keep_encoded(&mut object);
    // A set that isn't stored has no identity yet, and the server takes no reference without one.
    if !claimant.owner.uid.is_empty() {
        set_references(&mut object, vec![claimant.owner.controller_reference()]);
    }
    object
}

/// Writes the plain values of a Secret as the server keeps them: it doesn't know which plain ones were ours.
fn keep_encoded(object: &mut Value) {
    if object.get("kind").and_then(Value::as_str) != Some("Secret")
        || object.get("apiVersion").and_then(Value::as_str) != Some("v1")
    {
        return;
    }
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let Some(Value::Object(plain)) = object.get("stringData") else {
        return;
    };
    // Anything else is for the server to refuse.
    if !plain.values().all(Value::is_string) {
        return;
    }
    let encoded: Vec<(String, Value)> = plain
        .iter()
        .map(|(key, value)| {
            let value = STANDARD.encode(value.as_str().unwrap_or_default());
            (key.clone(), Value::from(value))
        })
        .collect();
    object.remove("stringData");
    as_map(object.entry("data").or_insert(Value::Null)).extend(encoded);
}

/// Returns a marked object as it is applied to the one that exists.
///
/// Owner references that we applied earlier stay, since leaving them out would take them away: another revision removes
/// its own when it is torn down. When an object is adopted, all its owners stay, but none of them as its controller.
pub fn over(marked: &Value, live: &Value, claimant: &Claimant, adopting: bool) -> Value {
    let mut object = marked.clone();
    let mut kept: Vec<Value> = Vec::new();
    for reference in references(live)
        .iter()
        .filter(|reference| !claimant.owner.is(reference))
    {
        if !adopting && !fields::applied_owner_reference(live, text(reference, "/uid")) {
            continue;
        }
        let mut reference = reference.clone();
        if adopting || is_controller(&reference) {
            as_map(&mut reference).insert("controller".to_owned(), json!(false));
        }
        kept.push(reference);
    }
    if !kept.is_empty() {
        kept.extend(references(marked).iter().cloned());
        set_references(&mut object, kept);
    }
    object
}

/// Returns an object that is applied only if the server still has what was seen.
pub fn locked(mut object: Value, live: &Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata") {
        as_map(metadata).insert(
            "resourceVersion".to_owned(),
            Value::from(text(live, "/metadata/resourceVersion")),
        );
    }
    object
}

fn set_references(object: &mut Value, references: Vec<Value>) {
    if let Some(metadata) = object.get_mut("metadata") {
        as_map(metadata).insert("ownerReferences".to_owned(), Value::Array(references));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owners::{Owner, controller};

    fn claimant(name: &str) -> Claimant {
        Claimant {
            owner: Owner {
                name: name.to_owned(),
                uid: name.to_owned(),
            },
            revision: 2,
            siblings: Vec::new(),
        }
    }

    #[test]
    fn an_object_says_whose_it_is() {
        let object = json!({"kind": "ConfigMap", "metadata": {"name": "a", "labels": {"b": "c"}}});
        let marked = marked(&object, &claimant("x-2"), "x");
        assert_eq!(
            marked["metadata"]["labels"],
            json!({"b": "c", MANAGED_BY: "olm.operatorframework.io", keys::OWNER_NAME: "x"})
        );
        assert_eq!(marked["metadata"]["annotations"], json!({keys::REVISION: "2"}));
        assert!(
            claimant("x-2")
                .owner
                .is(controller(&marked).expect("a controller"))
        );
    }

    #[test]
    fn plain_values_of_a_secret_are_applied_as_the_server_keeps_them() {
        let object = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "MQ=="}, "stringData": {"a": "2", "b": "3"}});
        let marked = marked(&object, &claimant("x-2"), "x");
        assert_eq!(marked["data"], json!({"a": "Mg==", "b": "Mw=="}));
        assert_eq!(marked.get("stringData"), None);
    }

    #[test]
    fn an_adopted_object_keeps_its_owners_but_none_controls_it() {
        let before = marked(&json!({"kind": "A"}), &claimant("x-1"), "x");
        let now = marked(&json!({"kind": "A"}), &claimant("x-2"), "x");
        let adopted = over(&now, &before, &claimant("x-2"), true);
        let owners = references(&adopted);
        assert_eq!(owners.len(), 2);
        assert_eq!(owners[0]["controller"], json!(false));
        assert!(
            claimant("x-2")
                .owner
                .is(controller(&adopted).expect("a controller"))
        );
        // Somebody else's reference isn't ours to apply.
        assert_eq!(references(&over(&now, &before, &claimant("x-2"), false)).len(), 1);
    }
}
