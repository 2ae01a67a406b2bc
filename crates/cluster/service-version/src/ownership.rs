//! Who owns an object: by reference within a namespace, by labels across namespaces.

use apply::object::{label, set_metadata_entry, text};
use apply::owners;
use classic::{Key, Kind, keys};
use serde_json::{Value, json};

/// Returns a reference to an owner whose deletion it doesn't hold up.
pub fn reference(owner: &Value, is_controller: bool) -> Value {
    json!({
        "apiVersion": text(owner, "/apiVersion"),
        "kind": text(owner, "/kind"),
        "name": text(owner, "/metadata/name"),
        "uid": text(owner, "/metadata/uid"),
        "blockOwnerDeletion": false,
        "controller": is_controller,
    })
}

/// Returns whether versions own an object, but not this one: then it may vanish with the other.
///
/// In another namespace it is the copy of this one that owns an object, which has its name.
pub fn belongs_to_another(object: &Value, version: &Value) -> bool {
    let namespace = text(object, "/metadata/namespace");
    let is_elsewhere = !namespace.is_empty() && namespace != text(version, "/metadata/namespace");
    let mut is_owned = false;
    for reference in owners::references(object) {
        if text(reference, "/kind") != "ClusterServiceVersion" {
            continue;
        }
        if text(reference, "/name") == text(version, "/metadata/name")
            && (is_elsewhere || text(reference, "/uid") == text(version, "/metadata/uid"))
        {
            return false;
        }
        is_owned = true;
    }
    is_owned
}

/// Adds the labels that name an owner.
pub fn add_labels(object: &mut Value, owner: &Key) {
    set_metadata_entry(object, "labels", keys::OWNER, &owner.name);
    set_metadata_entry(object, "labels", keys::OWNER_NAMESPACE, &owner.namespace);
    set_metadata_entry(object, "labels", keys::OWNER_KIND, owner.kind.naming().kind);
}

/// Adds the label of everything that OLM makes.
pub fn add_managed(object: &mut Value) {
    set_metadata_entry(object, "labels", keys::MANAGED, keys::MANAGED_VALUE);
}

/// Returns whether the labels of an object name an owner.
pub fn is_labelled_with(object: &Value, owner: &Key) -> bool {
    label(object, keys::OWNER_KIND) == Some(owner.kind.naming().kind)
        && label(object, keys::OWNER_NAMESPACE) == Some(&owner.namespace)
        && label(object, keys::OWNER) == Some(&owner.name)
}

/// Makes an object of a kind with its name and the label of everything that OLM makes.
pub fn managed(kind: Kind, namespace: &str, name: &str) -> Value {
    let naming = kind.naming();
    let mut object = json!({
        "apiVersion": naming.api_version,
        "kind": naming.kind,
        "metadata": {"name": name, "labels": {keys::MANAGED: keys::MANAGED_VALUE}},
    });
    if naming.is_namespaced {
        object["metadata"]["namespace"] = Value::from(namespace);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_of_another_version_is_not_ours() {
        let version = json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"name": "a", "namespace": "n", "uid": "1"}});
        let owned_by = |owners: Value| json!({"metadata": {"ownerReferences": owners}});
        assert!(!belongs_to_another(&owned_by(json!([])), &version));
        assert!(!belongs_to_another(
            &owned_by(json!([reference(&version, false)])),
            &version
        ));
        let other = json!({"kind": "ClusterServiceVersion", "name": "b", "uid": "2"});
        assert!(belongs_to_another(&owned_by(json!([other])), &version));
        assert!(!belongs_to_another(
            &owned_by(json!([{"kind": "Role", "name": "b", "uid": "2"}])),
            &version
        ));
    }
}
