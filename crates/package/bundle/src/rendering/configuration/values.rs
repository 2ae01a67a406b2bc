//! JSON values as a schema sees them, and as messages show them.

use std::collections::HashMap;

use serde_json::Value;

use super::numbers;
use super::violation::quote;

pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The types that a schema wants, in the order in which messages list them.
pub(super) fn wanted_types(types: &Value) -> Vec<&'static str> {
    let order = [
        "null", "boolean", "number", "integer", "string", "array", "object",
    ];
    let wanted = |name: &&str| match types {
        Value::Array(list) => list.iter().any(|each| each == name),
        single => single == name,
    };
    order.into_iter().filter(wanted).collect()
}

pub(super) fn fits_type(value: &Value, wanted: &str) -> bool {
    type_of(value) == wanted
        || wanted == "integer" && value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// Whether two values are the same, whatever way their numbers are written.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    canonical(left) == canonical(right)
}

fn canonical(value: &Value) -> Value {
    match value {
        // The zero with a sign is a zero.
        Value::Number(number) => Value::from(number.as_f64().unwrap_or_default() + 0.0),
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), canonical(value)))
            .collect(),
        other => other.clone(),
    }
}

/// The first item that an earlier one equals, after that one.
pub(super) fn duplicates(items: &[Value]) -> Option<(usize, usize)> {
    let mut seen = HashMap::new();
    for (number, item) in items.iter().enumerate() {
        let first = *seen.entry(canonical(item).to_string()).or_insert(number);
        if first != number {
            return Some((first, number));
        }
    }
    None
}

pub(super) fn enumeration(wanted: &[Value]) -> String {
    if wanted.iter().any(|value| value.is_array() || value.is_object()) {
        return "'enum' failed".to_owned();
    }
    let values: Vec<_> = wanted.iter().map(display).collect();
    match values.as_slice() {
        [single] => format!("value must be {single}"),
        _ => format!("value must be one of {}", values.join(", ")),
    }
}

/// A value in a message; what has parts is not shown.
pub(super) fn display(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => numbers::go(number.as_f64().unwrap_or_default()),
        Value::String(text) => quote(text),
        Value::Array(_) | Value::Object(_) => "value".to_owned(),
    }
}

/// A value as Go's `%v` prints it.
pub(super) fn go_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(go_text).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| format!("{key}:{}", go_text(value)));
            format!("map[{}]", fields.collect::<Vec<_>>().join(" "))
        }
        scalar => display(scalar),
    }
}
