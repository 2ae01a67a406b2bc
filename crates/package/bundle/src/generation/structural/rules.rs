//! The rules that the API server has for structural schemas.

use serde_json::Value;

use super::{INT_OR_STRING, MAXIMUM_DEPTH, PRESERVE};

/// Every way in which a schema breaks the rules for structural schemas, each with its path; none for a good one.
pub fn violations(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, "", 0, &mut found);
    found
}

fn check(schema: &Value, path: &str, depth: usize, found: &mut Vec<String>) {
    let Value::Object(object) = schema else {
        found.push(format!("{path}: is no schema"));
        return;
    };
    if depth > 4 * MAXIMUM_DEPTH {
        found.push(format!("{path}: nests too deep"));
        return;
    }
    let has = |key: &str| object.contains_key(key);
    match object.get("type").and_then(Value::as_str) {
        Some("object" | "string" | "number" | "integer" | "boolean") => {}
        Some("array") if has("items") => {}
        Some("array") => found.push(format!("{path}: an array must specify its items")),
        Some(other) => found.push(format!("{path}: type {other} does not exist")),
        None if has(PRESERVE) || has(INT_OR_STRING) => {}
        None => found.push(format!("{path}: must have a type")),
    }
    if has("properties") && has("additionalProperties") {
        found.push(format!(
            "{path}: properties and additionalProperties exclude each other"
        ));
    }
    if has("type") && has(INT_OR_STRING) {
        found.push(format!("{path}: an int-or-string must not have a type"));
    }
    if let Some(forbidden) = [
        "$ref",
        "definitions",
        "$defs",
        "oneOf",
        "anyOf",
        "allOf",
        "not",
        "const",
        "patternProperties",
        "if",
        "then",
        "else",
        "dependencies",
        "$schema",
        "$id",
        "uniqueItems",
    ]
    .iter()
    .find(|key| has(key))
    {
        found.push(format!("{path}: {forbidden} is not allowed"));
    }
    for (name, property) in object
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        check(property, &format!("{path}.{name}"), depth + 1, found);
    }
    for (key, suffix) in [("items", "[]"), ("additionalProperties", ".*")] {
        if let Some(inner) = object.get(key) {
            check(inner, &format!("{path}{suffix}"), depth + 1, found);
        }
    }
}
