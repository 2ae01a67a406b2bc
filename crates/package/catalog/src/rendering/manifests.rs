//! The objects of a bundle's `manifests` directory: the first document of every file, as Kubernetes' decoder sees it.

use bundle::cluster_service_version::KIND;
use bundle::files::BundleFiles;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::RenderError;
use super::object_text::ObjectText;
use crate::first_document;

/// An object that says its kind.
pub(super) struct Object {
    pub(super) kind: String,
    pub(super) api_version: String,
    /// The object as Go writes it.
    pub(super) text: String,
}

/// Reads the objects in the order of their files' names; of several `ClusterServiceVersion`s the first counts.
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
fn object(ObjectText(text): ObjectText) -> Result<Object, String> {
    let (kind, api_version) = kind_of(&text).unwrap_or_default();
    if kind.is_empty() || api_version.matches('/').count() > 1 {
        return Err("Object 'Kind' is missing".to_owned());
    }
    Ok(Object {
        kind,
        api_version,
        text,
    })
}

/// The kind and the API version of an object; what is no text counts as absent.
fn kind_of(text: &str) -> Option<(String, String)> {
    /// The keys that matter stand before all that is large, but the rest has to be passed over.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head<'t> {
        #[serde(borrow, default)]
        kind: Option<&'t RawValue>,
        #[serde(borrow, default)]
        api_version: Option<&'t RawValue>,
    }
    if !text.starts_with('{') {
        return None;
    }
    let head: Head<'_> = serde_json::from_str(text).ok()?;
    let text = |raw: Option<&RawValue>| {
        raw.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok())
            .unwrap_or_default()
    };
    Some((text(head.kind), text(head.api_version)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_says_its_kind_and_a_well_formed_version() {
        for (text, expected) in [
            (r#"{"kind":"A"}"#, Some("A")),
            (r#"{"apiVersion":"a/b","kind":"A","spec":{}}"#, Some("A")),
            (r#"{"apiVersion":7,"kind":"A"}"#, Some("A")),
            (r#"{"apiVersion":"a/b/c","kind":"A"}"#, None),
            (r#"{"kind":7}"#, None),
            (r#"[{"kind":"A"}]"#, None),
            ("null", None),
        ] {
            let kind = object(ObjectText(text.to_owned())).ok().map(|object| object.kind);
            assert_eq!(kind.as_deref(), expected, "{text}");
        }
    }
}
