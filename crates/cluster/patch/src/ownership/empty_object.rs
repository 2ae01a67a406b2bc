//! The object that a created one is compared with.
//!
//! The API server holds a built-in kind in a structure whose fields are there before anyone wrote them. A created
//! Deployment therefore doesn't own `.spec.template`, but each field in it; a created custom resource owns `.spec`.

use schema::{Reference, Schema};
use serde_json::{Map, Value};

use super::fields_v1::MAX_DEPTH;

/// Whether the API server holds objects of a kind in a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A built-in kind: some fields are always there.
    Structured,
    /// A custom resource: only what was written is there.
    Unstructured,
}

/// Returns the object of a kind in which nothing has been written yet.
pub fn empty_object(schema: &Schema, form: Form, api_version: &str, kind: &str) -> Value {
    let mut object = match form {
        Form::Structured => always_there(schema, 0),
        Form::Unstructured => Map::new(),
    };
    object.insert("apiVersion".to_owned(), Value::String(api_version.to_owned()));
    object.insert("kind".to_owned(), Value::String(kind.to_owned()));
    Value::Object(object)
}

/// A structure that isn't behind a pointer has the default `{}`; a scalar that is written even when it was never set has
/// its zero as default; a list that is written though it was never made is null.
fn always_there(schema: &Schema, depth: usize) -> Map<String, Value> {
    let mut fields = Map::new();
    if depth > MAX_DEPTH {
        return fields;
    }
    for (name, reference) in &schema.properties {
        let default = match reference {
            Reference::Inline(schema) => schema.default.as_ref(),
            Reference::Definition { beside, .. } => beside.default.as_ref(),
        };
        let value = match default {
            Some(Value::Object(_)) => Value::Object(always_there(reference.schema(), depth + 1)),
            Some(zero) if is_zero(zero) => zero.clone(),
            None if schema.required.contains(name) => Value::Null,
            _ => continue,
        };
        fields.insert(name.to_string(), value);
    }
    fields
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(value) => !value,
        _ => false,
    }
}
