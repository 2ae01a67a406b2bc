//! Schemas in the older form.

use serde_json::{Map, Value};

use crate::builtin::{self, INT_OR_STRING, QUANTITY};

const NEWER: &str = "#/components/schemas/";
const OLDER: &str = "#/definitions/";
const KINDS: &str = "x-kubernetes-group-version-kind";
const KEEPS_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";

/// What the older form can't say, or what isn't said in it.
const LEFT_OUT: [&str; 6] = ["default", "allOf", "anyOf", "oneOf", "not", "nullable"];

/// Returns the definition that stands for a component.
pub(super) fn definition(name: &str, component: &Value) -> Value {
    let mut definition = schema(component);
    let Some(fields) = definition.as_object_mut() else {
        return definition;
    };
    if matches!(name, QUANTITY | INT_OR_STRING) {
        fields.insert("type".into(), "string".into());
    }
    // What belongs to every group is told for all of them, since there is one document only.
    let of_all = builtin::document(name).and_then(|mut known| known.get_mut(KINDS).map(Value::take));
    if let Some(of_all @ Value::Array(_)) = of_all {
        fields.insert(KINDS.into(), of_all);
    }
    // Clients of the older form take a resource with any field for one that has these fields only.
    if is_true(component, KEEPS_UNKNOWN) && fields.contains_key(KINDS) {
        let kept = ["x-kubernetes-selectable-fields", KINDS];
        fields.retain(|key, _| kept.contains(&key.as_str()));
        fields.insert("type".into(), "object".into());
    }
    definition
}

fn is_true(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool) == Some(true)
}

/// Returns a reference in the older form.
pub(super) fn reference(target: &str) -> String {
    target
        .strip_prefix(NEWER)
        .map_or_else(|| target.to_owned(), |name| format!("{OLDER}{name}"))
}

/// Returns a schema in the older form.
pub(super) fn schema(newer: &Value) -> Value {
    let Some(fields) = newer.as_object() else {
        return newer.clone();
    };
    let nullable = is_true(newer, "nullable");
    let keeps_unknown = is_true(newer, KEEPS_UNKNOWN);
    let mut older = Map::new();
    for (key, value) in fields {
        let value = match (key.as_str(), value) {
            (key, _) if LEFT_OUT.contains(&key) => continue,
            ("$ref", Value::String(target)) => reference(target).into(),
            // What may be null or anything has no type that clients of the older form could hold it to.
            ("items" | "properties", _) if nullable || keeps_unknown => continue,
            ("type", _) if nullable => continue,
            ("type", Value::String(name)) if keeps_unknown && matches!(name.as_str(), "array" | "object") => {
                continue;
            }
            ("properties", Value::Object(properties)) => Value::Object(
                properties
                    .iter()
                    .map(|(name, property)| (name.clone(), schema(property)))
                    .collect(),
            ),
            ("items" | "additionalProperties", inner) => schema(inner),
            ("required", Value::Array(names)) => {
                let names = required(fields, names, keeps_unknown);
                if names.is_empty() {
                    continue;
                }
                Value::Array(names)
            }
            (_, value) => value.clone(),
        };
        older.insert(key.clone(), value);
    }
    if let Some(target) = only_reference(fields) {
        older.insert("$ref".into(), reference(target).into());
    }
    Value::Object(older)
}

/// A reference with a description or a default stands in a list of one.
fn only_reference(fields: &Map<String, Value>) -> Option<&str> {
    match fields.get("allOf")?.as_array()?.as_slice() {
        [only] => only.get("$ref")?.as_str(),
        _ => None,
    }
}

/// What may be null counts as not required.
fn required(fields: &Map<String, Value>, names: &[Value], keeps_unknown: bool) -> Vec<Value> {
    if fields
        .get("additionalProperties")
        .is_some_and(|inner| is_true(inner, "nullable"))
    {
        return Vec::new();
    }
    let embedded = fields.get(EMBEDDED).and_then(Value::as_bool) == Some(true);
    let can_be_null = |name: &str| {
        fields
            .get("properties")
            .and_then(|properties| properties.get(name))
            .is_some_and(|property| is_true(property, "nullable"))
    };
    names
        .iter()
        .filter(|name| {
            let name = name.as_str().unwrap_or_default();
            !(can_be_null(name) || embedded && keeps_unknown && matches!(name, "apiVersion" | "kind"))
        })
        .cloned()
        .collect()
}
