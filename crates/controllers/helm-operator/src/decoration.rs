//! What every object of a release carries so that it is known whose it is.
//!
//! An object that its resource may own has an owner reference to it, and vanishes with it. Others – in another namespace,
//! of the whole cluster, or to be kept – have annotations that name the resource.

use serde_json::{Map, Value, json};

use crate::resource::CustomResource;
use crate::watches::Kind;

/// The annotation with the resource that an object was made for.
pub const PRIMARY_RESOURCE: &str = "operator-sdk/primary-resource";

/// The annotation with its kind.
pub const PRIMARY_RESOURCE_TYPE: &str = "operator-sdk/primary-resource-type";

/// The annotation by which an object survives its release.
const RESOURCE_POLICY: &str = "helm.sh/resource-policy";

/// Whether objects of a kind live in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// They do.
    Namespaced,
    /// They belong to the cluster.
    Cluster,
}

/// Marks an object as one of a resource; an object without a namespace gets that of the release.
pub fn decorate(object: &mut Value, scope: Scope, resource: &CustomResource, kind: &Kind) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let metadata = entry(object, "metadata");
    let namespace = metadata
        .get("namespace")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let namespace = match scope {
        Scope::Cluster => String::new(),
        Scope::Namespaced if namespace.is_empty() => {
            metadata.insert("namespace".to_owned(), json!(resource.id.namespace));
            resource.id.namespace.clone()
        }
        Scope::Namespaced => namespace.to_owned(),
    };
    let is_kept = metadata
        .get("annotations")
        .and_then(|annotations| annotations.get(RESOURCE_POLICY))
        .and_then(Value::as_str)
        .is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"));
    let may_be_owned = resource.id.namespace.is_empty()
        || (scope == Scope::Namespaced && namespace == resource.id.namespace);
    if may_be_owned && !is_kept {
        let references = metadata.entry("ownerReferences").or_insert_with(|| json!([]));
        if let Some(references) = references.as_array_mut() {
            references.push(json!(resource.owner_reference(kind)));
        }
        return;
    }
    let annotations = entry(metadata, "annotations");
    let type_name = if kind.group.is_empty() {
        kind.kind.clone()
    } else {
        format!("{}.{}", kind.kind, kind.group)
    };
    let name = format!("{}/{}", resource.id.namespace, resource.id.name);
    annotations.insert(PRIMARY_RESOURCE.to_owned(), json!(name));
    annotations.insert(PRIMARY_RESOURCE_TYPE.to_owned(), json!(type_name));
}

fn entry<'a>(object: &'a mut Map<String, Value>, field: &str) -> &'a mut Map<String, Value> {
    let value = object.entry(field).or_insert(Value::Null);
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        // The value was made an object right above.
        _ => unreachable!("the value is an object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind() -> Kind {
        Kind {
            group: "doublewordai.co".to_owned(),
            version: "v1alpha1".to_owned(),
            kind: "InferenceStack".to_owned(),
        }
    }

    fn resource(namespace: &str) -> CustomResource {
        CustomResource::read(json!({"metadata": {"name": "stack", "namespace": namespace, "uid": "u"}}))
    }

    fn decorated(mut object: Value, scope: Scope, namespace: &str) -> Value {
        decorate(&mut object, scope, &resource(namespace), &kind());
        object["metadata"].take()
    }

    #[test]
    fn an_object_in_the_namespace_is_owned() {
        assert_eq!(
            decorated(json!({"metadata": {"name": "a"}}), Scope::Namespaced, "models"),
            json!({
                "name": "a", "namespace": "models",
                "ownerReferences": [{
                    "apiVersion": "doublewordai.co/v1alpha1", "kind": "InferenceStack", "name": "stack", "uid": "u",
                    "controller": true, "blockOwnerDeletion": true,
                }],
            })
        );
    }

    #[test]
    fn others_name_the_resource() {
        let kept = json!({"metadata": {"annotations": {"helm.sh/resource-policy": "keep"}}});
        let rows = [
            (json!({}), Scope::Cluster, "models"),
            (
                json!({"metadata": {"namespace": "elsewhere"}}),
                Scope::Namespaced,
                "models",
            ),
            (kept, Scope::Namespaced, "models"),
        ];
        for (object, scope, namespace) in rows {
            let metadata = decorated(object.clone(), scope, namespace);
            assert_eq!(
                metadata["annotations"][PRIMARY_RESOURCE], "models/stack",
                "{object}"
            );
            assert_eq!(
                metadata["annotations"][PRIMARY_RESOURCE_TYPE],
                "InferenceStack.doublewordai.co"
            );
            assert!(metadata.get("ownerReferences").is_none(), "{object}");
        }
    }

    #[test]
    fn a_resource_of_the_cluster_owns_everything() {
        for scope in [Scope::Cluster, Scope::Namespaced] {
            let metadata = decorated(json!({"metadata": {"namespace": "x"}}), scope, "");
            assert_eq!(metadata["ownerReferences"][0]["name"], "stack");
        }
    }
}
