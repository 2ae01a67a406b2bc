//! What is kept of an object: what decisions read, and nothing that only fills memory.

use apply::object::label;
use classic::Kind;
use classic::keys::{COPIED_FROM, LAST_APPLIED, MANAGED};
use serde_json::Value;
use service_version::copies::reduced;

/// What of an object's metadata is kept, whatever its kind.
const METADATA: [&str; 11] = [
    "annotations",
    "creationTimestamp",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
];

/// Returns whether objects of a kind are looked at only when they have the label [`MANAGED`]: clusters hold many of them
/// that are no concern of ours.
pub fn is_managed_only(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Secret
            | Kind::ConfigMap
            | Kind::Service
            | Kind::Deployment
            | Kind::MutatingWebhookConfiguration
            | Kind::ValidatingWebhookConfiguration
    )
}

/// Returns what is kept of an object; none if it is not looked at.
pub fn pruned(kind: Kind, mut object: Value) -> Option<Value> {
    if is_managed_only(kind) && label(&object, MANAGED).is_none() {
        return None;
    }
    let fields = object.as_object_mut()?;
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, _| name == "uid" || METADATA.contains(&name.as_str()));
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    match kind {
        // A cluster may hold thousands of copies.
        Kind::ClusterServiceVersion if label(&object, COPIED_FROM).is_some() => {
            return Some(reduced(&object));
        }
        Kind::CustomResourceDefinition => prune_definition(&mut object),
        Kind::Namespace => keep(&mut object, &["status"]),
        Kind::Role | Kind::ClusterRole => keep(&mut object, &["rules", "aggregationRule"]),
        Kind::RoleBinding | Kind::ClusterRoleBinding => keep(&mut object, &["roleRef", "subjects"]),
        _ => {}
    }
    Some(object)
}

/// Keeps the names of an object and of its other fields only those that are named.
fn keep(object: &mut Value, names: &[&str]) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| {
            matches!(name.as_str(), "apiVersion" | "kind" | "metadata") || names.contains(&name.as_str())
        });
    }
}

/// Schemas are what a definition is mostly made of, and no decision reads those of the cluster.
fn prune_definition(object: &mut Value) {
    let Some(versions) = object.pointer_mut("/spec/versions").and_then(Value::as_array_mut) else {
        return;
    };
    for version in versions.iter_mut().filter_map(Value::as_object_mut) {
        version.retain(|name, _| !matches!(name.as_str(), "schema" | "additionalPrinterColumns"));
    }
}

#[cfg(test)]
mod tests {
    use classic::definitions::lacks_schemas;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_decisions_read_is_kept() {
        let role = json!({
            "kind": "Role",
            "metadata": {"name": "r", "uid": "u", "managedFields": [1], "annotations": {LAST_APPLIED: "{}", "a": "b"}},
            "rules": [], "extra": 1,
        });
        let kept = pruned(Kind::Role, role).expect("kept");
        assert_eq!(
            kept,
            json!({"kind": "Role", "metadata": {"name": "r", "uid": "u", "annotations": {"a": "b"}}, "rules": []})
        );
        let definition = json!({
            "kind": "CustomResourceDefinition", "metadata": {},
            "spec": {"versions": [{"name": "v1", "schema": {}}]},
        });
        assert!(!lacks_schemas(&definition));
        let kept = pruned(Kind::CustomResourceDefinition, definition).expect("kept");
        assert!(lacks_schemas(&kept));
    }

    #[test]
    fn a_secret_of_somebody_else_is_not_looked_at() {
        let secret = |labels: Value| json!({"kind": "Secret", "metadata": {"labels": labels}, "data": {}});
        assert_eq!(pruned(Kind::Secret, secret(json!({}))), None);
        assert!(pruned(Kind::Secret, secret(json!({MANAGED: "true"}))).is_some());
    }

    #[test]
    fn a_copy_is_kept_without_its_content() {
        let copy = json!({
            "kind": "ClusterServiceVersion", "spec": {}, "status": {},
            "metadata": {"name": "a", "labels": {COPIED_FROM: "n"}, "annotations": {"olm.a": "b", "alm-examples": "[]"}},
        });
        let kept = pruned(Kind::ClusterServiceVersion, copy).expect("kept");
        assert_eq!((kept.get("spec"), kept.get("status")), (None, None));
        assert_eq!(kept["metadata"]["annotations"]["olm.a"], "b");
        assert_eq!(kept["metadata"]["annotations"].get("alm-examples"), None);
    }
}
