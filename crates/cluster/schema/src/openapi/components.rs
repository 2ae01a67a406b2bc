//! The schemas that a document's operations reach.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::builtin::{self, Descriptions};

const PREFIX: &str = "#/components/schemas/";

/// The options of a deletion, which belong to every group.
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
/// An event of a watch, which belongs to every group.
const WATCH_EVENT: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent";

/// The groups whose kinds the part of a server that serves custom resources doesn't know.
const UNKNOWN_TO_CUSTOM: [&str; 4] = [
    "admission.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "imagepolicy.k8s.io",
];

/// Returns all schemas that the paths refer to, directly or through others. `own` are those of custom resources.
pub(super) fn reached(
    paths: &BTreeMap<String, Value>,
    mut own: BTreeMap<String, Value>,
    api_version: &str,
) -> BTreeMap<String, Value> {
    let is_custom = !own.is_empty();
    let descriptions = Descriptions::unpack();
    let described = descriptions.by_definition();
    let mut wanted: Vec<String> = Vec::new();
    for path in paths.values() {
        references(path, &mut wanted);
    }
    let mut schemas = BTreeMap::new();
    let mut seen: BTreeSet<String> = wanted.iter().cloned().collect();
    while let Some(name) = wanted.pop() {
        let schema = match own.remove(&name) {
            Some(schema) => Some(schema),
            None => definition(&name, &described, api_version, is_custom),
        };
        let Some(schema) = schema else { continue };
        let mut inner = Vec::new();
        references(&schema, &mut inner);
        wanted.extend(inner.into_iter().filter(|name| seen.insert(name.clone())));
        schemas.insert(name, schema);
    }
    schemas
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                match field {
                    Value::String(target) if key == "$ref" => {
                        found.extend(target.strip_prefix(PREFIX).map(str::to_owned));
                    }
                    other => references(other, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// Returns a reference to a schema of the document.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{PREFIX}{name}") })
}

/// Returns a built-in definition with its descriptions and its kind.
fn definition(
    name: &str,
    described: &BTreeMap<&str, &str>,
    api_version: &str,
    is_custom: bool,
) -> Option<Value> {
    let mut schema = builtin::document(name)?;
    let fields = schema.as_object_mut()?;
    let texts: Map<String, Value> = described
        .get(name)
        .and_then(|line| serde_json::from_str(line).ok())
        .unwrap_or_default();
    for (field, text) in texts {
        if field.is_empty() {
            fields.insert("description".into(), text);
        } else if let Some(Value::Object(property)) = fields
            .get_mut("properties")
            .and_then(|properties| properties.get_mut(&field))
        {
            property.insert("description".into(), text);
        }
    }
    if matches!(name, DELETE_OPTIONS | WATCH_EVENT) {
        let kind = name.rsplit('.').next().unwrap_or_default();
        let of_all = fields.remove("x-kubernetes-group-version-kind");
        let kinds = if is_custom {
            known_to_custom(of_all)
        } else {
            shared_kinds(kind, api_version)
        };
        fields.insert("x-kubernetes-group-version-kind".into(), kinds);
    } else if let Some(own) = builtin::kind_of(name) {
        let kinds = json!([{ "group": own.group, "kind": own.kind, "version": own.version }]);
        fields.insert("x-kubernetes-group-version-kind".into(), kinds);
    }
    Some(schema)
}

/// In a document of built-in kinds, what belongs to every group belongs to the core group and the document's own.
fn shared_kinds(kind: &str, api_version: &str) -> Value {
    let mut kinds = vec![json!({ "group": "", "kind": kind, "version": "v1" })];
    if let Some((group, version)) = api_version.split_once('/') {
        kinds.push(json!({ "group": group, "kind": kind, "version": version }));
    }
    Value::Array(kinds)
}

fn known_to_custom(of_all: Option<Value>) -> Value {
    let mut kinds = of_all.unwrap_or_default();
    if let Value::Array(kinds) = &mut kinds {
        kinds.retain(|kind| {
            let group = kind.get("group").and_then(Value::as_str).unwrap_or_default();
            !UNKNOWN_TO_CUSTOM.contains(&group)
        });
    }
    kinds
}
