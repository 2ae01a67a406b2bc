//! Values as Go decodes text into `interface {}`: every number is a float64.

use std::fmt;

use gotemplate::{Map, Text, Value};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A decoded value, built without a detour through another tree.
pub(crate) struct Generic(pub(crate) Value);

impl<'de> Deserialize<'de> for Generic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Generic, D::Error> {
        deserializer.deserialize_any(GenericVisitor).map(Generic)
    }
}

struct GenericVisitor;

impl<'de> Visitor<'de> for GenericVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Float(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Float(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::string(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Generic(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::list(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let map = Map::default();
        {
            let mut entries = map.borrow_mut();
            while let Some((Key(key), Generic(value))) = members.next_entry()? {
                entries.insert(key, value);
            }
        }
        Ok(Value::Map(map))
    }
}

/// A key, copied once.
struct Key(Text);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(KeyVisitor)
    }
}

struct KeyVisitor;

impl Visitor<'_> for KeyVisitor {
    type Value = Key;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E>(self, value: &str) -> Result<Key, E> {
        Ok(Key(value.into()))
    }
}

/// Returns the word that encoding/json has for a kind of value.
pub(crate) fn kind_word(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Integer(_) | Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
        _ => "null",
    }
}

/// Says that a value of another kind cannot become the Go type of that name.
pub(crate) fn mismatch(value: &Value, wanted: &str) -> String {
    format!(
        "json: cannot unmarshal {} into Go value of type {wanted}",
        kind_word(value)
    )
}

/// The name of the type of `fromYaml` and `fromJson`.
pub(crate) const MAP_TYPE: &str = "map[string]interface {}";
/// The name of the type of `fromYamlArray` and `fromJsonArray`.
pub(crate) const LIST_TYPE: &str = "[]interface {}";

/// Returns an error as the functions for maps do: as the entry `Error` of a map.
pub(crate) fn error_map(error: String) -> Value {
    Value::map([("Error", Value::string(error))])
}

/// Returns an error as the functions for lists do: as the only element of a list.
pub(crate) fn error_list(error: String) -> Value {
    Value::list(vec![Value::string(error)])
}
