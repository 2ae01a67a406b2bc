//! The objects of a bundle's `manifests` directory: the first document of every file, as Kubernetes' decoder sees it.

use bundle::cluster_service_version::KIND;
use bundle::files::BundleFiles;
use serde_json::Value;

use super::RenderError;
use crate::first_document;

/// An object that says its kind.
pub(super) struct Object {
    pub(super) kind: String,
    pub(super) api_version: String,
    pub(super) value: Value,
}

/// Reads the objects in the order of their files' names; of several ClusterServiceVersions the first counts.
pub(super) fn read(files: &BundleFiles) -> Result<Vec<Object>, RenderError> {
    if !files.has_directory("manifests") {
        return Err(RenderError::NoDirectory);
    }
    let mut objects: Vec<Object> = Vec::new();
    let mut version_found = false;
    for (name, bytes) in files.below("manifests") {
        if name.contains('/') || name.starts_with('.') {
            continue;
        }
        // What can't be read is left out; opm only warns.
        let Ok(object) = first_document::read(bytes, first_document::BUNDLE_SNIFFED_BYTES, object) else {
            continue;
        };
        if object.kind == KIND {
            if version_found {
                continue;
            }
            version_found = true;
        }
        objects.push(object);
    }
    if objects.is_empty() {
        return Err(RenderError::NoObjects);
    }
    Ok(objects)
}

/// Takes data for an object: it must say its kind, and its group and version must be well-formed.
fn object(mut value: Value) -> Result<Object, String> {
    as_kubernetes_numbers(&mut value);
    let text = |key| {
        value
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    if !value.is_object() || kind.is_empty() || api_version.matches('/').count() > 1 {
        return Err("Object 'Kind' is missing".to_owned());
    }
    Ok(Object {
        kind,
        api_version,
        value,
    })
}

/// Turns integers beyond 64 bits with a sign into floats, as Kubernetes reads the numbers of objects.
fn as_kubernetes_numbers(value: &mut Value) {
    match value {
        Value::Number(number)
            if number
                .as_u64()
                .is_some_and(|number| i64::try_from(number).is_err()) =>
        {
            if let Some(float) = number.as_f64().and_then(serde_json::Number::from_f64) {
                *number = float;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(as_kubernetes_numbers),
        Value::Object(fields) => fields.values_mut().for_each(as_kubernetes_numbers),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_says_its_kind_and_a_well_formed_version() {
        for (value, expected) in [
            (serde_json::json!({"kind": "A"}), Some("A")),
            (serde_json::json!({"kind": "A", "apiVersion": "a/b"}), Some("A")),
            (serde_json::json!({"kind": "A", "apiVersion": "a/b/c"}), None),
            (serde_json::json!({"kind": 7}), None),
            (serde_json::json!([{"kind": "A"}]), None),
            (serde_json::json!(null), None),
        ] {
            let kind = object(value.clone()).ok().map(|object| object.kind);
            assert_eq!(kind.as_deref(), expected, "{value}");
        }
    }
}
