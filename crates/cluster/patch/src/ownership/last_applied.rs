//! The annotation in which `kubectl apply` keeps what it applied, before it applies on the server.

use goyaml::json::{Escape, to_string};
use serde_json::{Map, Value};

use super::compare::compare;
use super::field_set::field_set;
use super::set::Set;
use super::shape::Shape;
use super::validate::{Duplicates, validate};

/// The annotation.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The bytes that all annotations of an object may have: the API server refuses more.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// Returns whether what the annotation says counts when this manager applies.
pub(super) fn is_heeded_for(manager: &str) -> bool {
    manager == "kubectl"
}

fn annotations(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata")?.get("annotations")?.as_object()
}

fn annotation(object: &Value) -> Option<&str> {
    annotations(object)?
        .get(LAST_APPLIED)?
        .as_str()
        .filter(|text| !text.is_empty())
}

/// Returns the fields that client-side apply wrote and nobody changed since; `None` if the annotation doesn't tell.
pub(super) fn owned(live: &Value, shape: Shape<'_>, api_version: &str) -> Option<Set> {
    let last: Value = serde_json::from_str(annotation(live)?).ok()?;
    validate(live, shape, Duplicates::Refused).ok()?;
    if last.get("apiVersion").and_then(Value::as_str) != Some(api_version) {
        return None;
    }
    validate(&last, shape, Duplicates::Refused).ok()?;
    let changes = compare(&last, live, shape).ok()?;
    let mut fields = field_set(&last, shape);
    for changed in [&changes.modified, &changes.added, &changes.removed] {
        fields.subtract(changed);
    }
    Some(fields)
}

/// Writes what is applied into the annotation, if the object has one: client-side apply then still works.
pub(super) fn refresh(object: &mut Value, applied: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut applied = applied.clone();
    if let Some(Value::Object(annotations)) = applied
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"))
    {
        annotations.remove(LAST_APPLIED);
    }
    // Every JSON value has a JSON form.
    let mut text = to_string(&applied, Escape::Html).unwrap_or_default();
    text.push('\n');
    let Some(Value::Object(annotations)) = object
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"))
    else {
        return;
    };
    annotations.insert(LAST_APPLIED.to_owned(), Value::String(text));
    let bytes: usize = annotations
        .iter()
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum();
    if bytes > MAX_ANNOTATION_BYTES {
        annotations.remove(LAST_APPLIED);
    }
}
