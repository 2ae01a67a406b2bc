//! What becomes of an object on its way from the live cluster to the stage.

use std::collections::BTreeSet;

use api::keys;
use apply::object::{as_map, text};
use chart::release::SECRET_TYPE;
use chart::release::chunks::{CHUNK_TYPE, INDEX_TYPE};
use serde_json::{Value, json};

/// What stands on the stage for each value of a Secret: `hidden` in base64.
const PLACEHOLDER: &str = "aGlkZGVu";

/// Where kubectl keeps the whole of what was applied, the values of a Secret too.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The Secrets whose values a rehearsal needs: records of Helm's releases, and the objects of revisions.
const RECORDS: [&str; 4] = [SECRET_TYPE, INDEX_TYPE, CHUNK_TYPE, keys::OBJECT_DATA];

/// Returns an object as it goes to the stage.
///
/// It keeps its identity, so that what it owns stays its own. Of its owners those stay that are on the stage, `known` by
/// their identities: what has lost its owner would be collected there. No value of a Secret comes along that isn't a
/// record.
pub fn copied(mut object: Value, known: &BTreeSet<String>) -> Value {
    let is_secret = text(&object, "/kind") == "Secret" && text(&object, "/apiVersion") == "v1";
    if is_secret && !RECORDS.contains(&text(&object, "/type")) {
        hide(&mut object);
    }
    if let Some(Value::Array(owners)) = object.pointer_mut("/metadata/ownerReferences") {
        owners.retain(|owner| known.contains(text(owner, "/uid")));
    }
    object
}

fn hide(secret: &mut Value) {
    for field in ["data", "stringData"] {
        if let Some(Value::Object(values)) = secret.get_mut(field) {
            values.values_mut().for_each(|value| *value = json!(PLACEHOLDER));
        }
    }
    if let Some(annotations) = secret.pointer_mut("/metadata/annotations") {
        as_map(annotations).remove(LAST_APPLIED);
    }
}

/// Returns a revision of another extension as it goes to the stage: it says what is installed, for those who need it,
/// and has no objects that anybody would look after.
pub fn without_objects(mut revision: Value) -> Value {
    if let Some(spec) = revision.get_mut("spec") {
        as_map(spec).insert("phases".to_owned(), json!([]));
    }
    revision
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(kind: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": {"name": "a", "annotations": {LAST_APPLIED: "{\"data\":{\"p\":\"c2VjcmV0\"}}", "other": "kept"}},
            "data": {"password": "c2VjcmV0", "user": "bWU="},
        })
    }

    #[test]
    fn a_secret_keeps_its_keys_and_leaves_its_values_behind() {
        let copy = copied(secret("Opaque"), &BTreeSet::new());
        assert_eq!(
            copy["data"],
            json!({"password": PLACEHOLDER, "user": PLACEHOLDER})
        );
        assert_eq!(copy["metadata"]["annotations"], json!({"other": "kept"}));
        assert!(!copy.to_string().contains("c2VjcmV0"), "{copy}");
    }

    #[test]
    fn records_come_whole() {
        for kind in RECORDS {
            assert_eq!(copied(secret(kind), &BTreeSet::new()), secret(kind), "{kind}");
        }
    }

    #[test]
    fn owners_that_are_not_on_the_stage_stay_behind() {
        let owner = |uid: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": uid, "uid": uid});
        let object = json!({"kind": "ConfigMap", "metadata": {"uid": "c", "ownerReferences": [owner("a"), owner("b")]}});
        let copy = copied(object, &BTreeSet::from(["b".to_owned()]));
        assert_eq!(
            copy["metadata"],
            json!({"uid": "c", "ownerReferences": [owner("b")]})
        );
    }
}
