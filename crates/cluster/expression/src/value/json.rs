//! How JSON becomes values, by its schema.

use schema::{Schema, Type};
use serde_json::Value as Json;

use super::list::List;
use super::map::{Map, Shape};
use super::{Failure, Outcome, Text, Value};
use crate::library::time;

/// Converts JSON: by its schema, or as it is when there is none. `resource` says that it is the root of a resource.
pub(crate) fn value<'a>(json: &'a Json, schema: Option<&'a Schema>, resource: bool) -> Outcome<'a> {
    match schema {
        Some(schema) => by_schema(json, schema, resource),
        None => Ok(dynamic(json)),
    }
}

/// Converts JSON of which nothing is known.
pub(crate) fn dynamic(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(value) => Value::Int(value),
            None => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::String(Text::Borrowed(text)),
        Json::Array(items) => Value::List(List::dynamic(items)),
        Json::Object(fields) => Value::Map(Map::Json {
            fields,
            shape: Shape::Dynamic,
        }),
    }
}

/// Returns what Go calls the type of decoded JSON.
fn go_type(json: &Json) -> &'static str {
    match json {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.as_i64().is_some() => "int64",
        Json::Number(_) => "float64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    }
}

fn by_schema<'a>(json: &'a Json, schema: &'a Schema, resource: bool) -> Outcome<'a> {
    let wrong = |expected: &str| {
        Failure::new(format!(
            "invalid data, expected {expected}, got {}",
            go_type(json)
        ))
    };
    if json.is_null() {
        return if schema.nullable {
            Ok(Value::Null)
        } else {
            Err(Failure::new(
                "invalid data, got null for schema with nullable=false",
            ))
        };
    }
    match (schema.value_type, json) {
        (Type::IntegerOrString, Json::String(text)) => Ok(Value::String(Text::Borrowed(text))),
        (Type::IntegerOrString | Type::Integer, Json::Number(number)) if number.as_i64().is_some() => {
            Ok(Value::Int(number.as_i64().unwrap_or_default()))
        }
        (Type::IntegerOrString, _) => Err(Failure::new(
            "invalid data, expected XIntOrString value to be either a string or integer",
        )),
        (Type::Object, Json::Object(fields)) => Ok(Value::Map(Map::Json {
            fields,
            shape: shape(schema, resource),
        })),
        (Type::Object, _) => Err(Failure::new(
            "invalid data, expected a map for the provided schema with type=object",
        )),
        (Type::Array, Json::Array(items)) => match &schema.items {
            Some(item) => Ok(Value::List(List::from_schema(items, schema, item.schema()))),
            None => Err(Failure::new(
                "invalid array type, expected Items with a non-empty Schema",
            )),
        },
        (Type::Array, _) => Err(Failure::new(
            "invalid data, expected an array for the provided schema with type=array",
        )),
        (Type::String, Json::String(text)) => string(text, schema),
        (Type::String, _) => Err(wrong("string")),
        (Type::Number, Json::Number(number)) => Ok(Value::Double(number.as_f64().unwrap_or(f64::NAN))),
        (Type::Number, _) => Err(wrong("float")),
        (Type::Integer, _) => Err(wrong("int")),
        (Type::Boolean, Json::Bool(value)) => Ok(Value::Bool(*value)),
        (Type::Boolean, _) => Err(wrong("bool")),
        (Type::Any, json) if schema.preserve_unknown_fields => Ok(Value::Preserved(json)),
        (Type::Any, _) => Err(Failure::new(
            "invalid type, expected object, array, number, integer, boolean or string, or no type with \
             x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ",
        )),
    }
}

fn shape(schema: &Schema, resource: bool) -> Shape<'_> {
    let resource = resource || schema.embedded_resource;
    if resource || !schema.properties.is_empty() {
        Shape::Object { schema, resource }
    } else if let Some(values) = &schema.additional_properties {
        Shape::Values(values.schema())
    } else {
        Shape::Closed
    }
}

fn string<'a>(text: &'a str, schema: &Schema) -> Outcome<'a> {
    Ok(match schema.format.as_deref() {
        Some("duration") => Value::Duration(
            time::parse_openapi_duration(text)
                .map_err(|cause| Failure::new(format!("Invalid duration {text}: {cause}")))?,
        ),
        Some("date") => Value::Timestamp(
            time::parse_date(text)
                .map_err(|cause| Failure::new(format!("Invalid date formatted string {text}: {cause}")))?,
        ),
        Some("date-time") => {
            Value::Timestamp(time::parse_openapi_time(text).map_err(|cause| {
                Failure::new(format!("Invalid date-time formatted string {text}: {cause}"))
            })?)
        }
        Some("byte") => Value::Bytes(
            crate::library::formats::decode_base64(text)
                .map_err(|cause| Failure::new(format!("Invalid byte formatted string {text}: {cause}")))?
                .into(),
        ),
        _ => Value::String(Text::Borrowed(text)),
    })
}
