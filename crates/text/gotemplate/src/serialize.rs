//! Values to and from JSON, as Go's encoding/json sees them.

use std::borrow::Cow;
use std::cell::Cell;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Error, Serialize, Serializer};

use crate::format::float_text;
use crate::object::Json;
use crate::stack;
use crate::types::{IntegerKind, Type};
use crate::value::{List, Value};

/// How many maps, lists and pointers may contain each other. From this depth on, encoding/json looks for a value
/// that contains itself; one that is only deep gives the same error here, so that writing always ends.
const MAX_DEPTH: usize = 1_000;

/// How many values may be written: lists that hold the same list many times write far more than they store.
const MAX_VALUES: usize = 5_000_000;

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = Cell::new(0);
        Nested {
            value: self,
            depth: 0,
            written: &written,
        }
        .serialize(serializer)
    }
}

/// Returns the value as JSON; the error has encoding/json's words.
pub fn to_json(value: &Value) -> Result<serde_json::Value, String> {
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// A value and the number of containers around it.
struct Nested<'value> {
    value: &'value Value,
    depth: usize,
    /// How many values were written so far.
    written: &'value Cell<usize>,
}

impl Serialize for Nested<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = self.written;
        written.set(written.get() + 1);
        if written.get() > MAX_VALUES {
            return Err(S::Error::custom(format_args!(
                "the value holds more than {MAX_VALUES} values"
            )));
        }
        match self.value {
            Value::Nil | Value::TypedNil(_) => serializer.serialize_unit(),
            Value::Bool(truth) => serializer.serialize_bool(*truth),
            Value::Integer(integer) if integer.kind.is_unsigned() => {
                serializer.serialize_u64(integer.unsigned())
            }
            Value::Integer(integer) => serializer.serialize_i64(integer.bits),
            Value::Float(number) if number.is_finite() => serializer.serialize_f64(*number),
            Value::Float(number) => {
                let shown = float_text(*number, b'g', None);
                Err(S::Error::custom(format_args!("json: unsupported value: {shown}")))
            }
            Value::String(text) => serializer.serialize_str(&json_text(text)),
            Value::Bytes(bytes) => serializer.serialize_str(&STANDARD.encode(bytes)),
            Value::List(list) if list.element() == Type::Integer(IntegerKind::Uint8) => {
                serializer.serialize_str(&STANDARD.encode(bytes_of(list)))
            }
            Value::List(list) => {
                let depth = self.inner_depth()?;
                stack::with_room(|| {
                    serializer.collect_seq(list.iter().map(|value| Nested {
                        value,
                        depth,
                        written,
                    }))
                })
            }
            Value::Map(map) => {
                let depth = self.inner_depth()?;
                let entries = map.borrow();
                let members = entries.iter().map(|(key, value)| {
                    (
                        json_text(key),
                        Nested {
                            value,
                            depth,
                            written,
                        },
                    )
                });
                stack::with_room(|| serializer.collect_map(members))
            }
            Value::Object(object) => {
                let depth = self.inner_depth()?;
                match object.json() {
                    Json::Value(value) => stack::with_room(|| {
                        Nested {
                            value: &value,
                            depth,
                            written,
                        }
                        .serialize(serializer)
                    }),
                    Json::Object(members) => {
                        let members = members.iter().map(|(name, value)| {
                            (
                                name,
                                Nested {
                                    value,
                                    depth,
                                    written,
                                },
                            )
                        });
                        stack::with_room(|| serializer.collect_map(members))
                    }
                }
            }
            Value::Complex(..) | Value::Function(_) => {
                let type_name = self.value.type_name();
                Err(S::Error::custom(format_args!(
                    "json: unsupported type: {type_name}"
                )))
            }
        }
    }
}

impl Nested<'_> {
    /// Returns the depth of what this container contains.
    fn inner_depth<E: Error>(&self) -> Result<usize, E> {
        if self.depth < MAX_DEPTH {
            return Ok(self.depth + 1);
        }
        let type_name = self.value.type_name();
        Err(E::custom(format_args!(
            "json: unsupported value: encountered a cycle via {type_name}"
        )))
    }
}

/// Returns text as JSON can hold it: each byte that is not UTF-8 becomes U+FFFD.
fn json_text(text: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(text) {
        return Cow::Borrowed(text);
    }
    let mut valid = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        valid.push_str(chunk.valid());
        valid.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(valid)
}

fn bytes_of(list: &List) -> Vec<u8> {
    list.iter()
        .filter_map(|item| match item {
            Value::Integer(integer) => Some(integer.unsigned() as u8),
            _ => None,
        })
        .collect()
}

impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Value {
        match json {
            serde_json::Value::Null => Value::Nil,
            serde_json::Value::Bool(truth) => Value::Bool(*truth),
            serde_json::Value::Number(number) => Value::from(number),
            serde_json::Value::String(text) => Value::string(text.as_str()),
            serde_json::Value::Array(items) => {
                stack::with_room(|| Value::list(items.iter().map(Value::from).collect()))
            }
            serde_json::Value::Object(members) => stack::with_room(|| {
                Value::map(
                    members
                        .iter()
                        .map(|(name, value)| (name.as_str(), Value::from(value))),
                )
            }),
        }
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Value {
        match json {
            serde_json::Value::String(text) => Value::string(text),
            serde_json::Value::Array(items) => {
                stack::with_room(|| Value::list(items.into_iter().map(Value::from).collect()))
            }
            serde_json::Value::Object(members) => stack::with_room(|| {
                Value::map(
                    members
                        .into_iter()
                        .map(|(name, value)| (name, Value::from(value))),
                )
            }),
            scalar => Value::from(&scalar),
        }
    }
}

impl From<&serde_json::Number> for Value {
    /// Integers become `int64`, or `uint64` where only that holds them; all others `float64`.
    fn from(number: &serde_json::Number) -> Value {
        match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => Value::int64(integer),
            (None, Some(integer)) => Value::uint64(integer),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::any::Any;
    use std::rc::Rc;

    use serde_json::json;

    use super::to_json;
    use crate::function::Function;
    use crate::object::{Json, Object};
    use crate::types::{IntegerKind, Type};
    use crate::value::{Integer, List, Map, Value};

    /// A struct whose members stand in another order than that of their names.
    struct Person;

    impl Object for Person {
        fn type_name(&self) -> &'static str {
            "main.Person"
        }

        fn fields(&self) -> Vec<(&'static str, Value)> {
            vec![("Name", "Ann".into()), ("Age", Value::int(7))]
        }

        fn json(&self) -> Json {
            Json::Object(vec![
                ("name".to_owned(), "Ann".into()),
                ("age".to_owned(), Value::int(7)),
            ])
        }

        fn equals(&self, _other: &dyn Object) -> bool {
            false
        }

        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    #[test]
    fn values_become_json_as_go_encodes_them() {
        let uint8 = |bits| {
            Value::Integer(Integer {
                kind: IntegerKind::Uint8,
                bits,
            })
        };
        let rows = [
            (Value::Nil, "null"),
            (Value::TypedNil(Type::Map), "null"),
            (Value::TypedNil(Type::Strings), "null"),
            (Value::Bool(true), "true"),
            (Value::int64(i64::MIN), "-9223372036854775808"),
            (Value::uint64(u64::MAX), "18446744073709551615"),
            (Value::Float(1.5), "1.5"),
            (Value::string("a\"é"), "\"a\\\"é\""),
            (
                Value::string(b"a\xff\xe2\x82b".as_slice()),
                "\"a\u{fffd}\u{fffd}\u{fffd}b\"",
            ),
            (Value::Bytes(b"hello".as_slice().into()), "\"aGVsbG8=\""),
            (
                Value::List(List::of(
                    Type::Integer(IntegerKind::Uint8),
                    vec![uint8(1), uint8(255)],
                )),
                "\"Af8=\"",
            ),
            (Value::list(vec![Value::Nil, Value::int(1)]), "[null,1]"),
            (
                Value::map([("b", Value::int(1)), ("a", Value::list(vec![]))]),
                "{\"a\":[],\"b\":1}",
            ),
            (Value::Object(Rc::new(Person)), "{\"name\":\"Ann\",\"age\":7}"),
        ];
        for (value, text) in rows {
            assert_eq!(serde_json::to_string(&value).expect("it can be encoded"), text);
        }
    }

    #[test]
    fn what_json_cannot_hold_is_refused_in_the_words_of_go() {
        static JOIN: Function = Function::variadic("join", &[Type::String], Type::String, |_| Ok(Value::Nil));
        let rows = [
            (Value::Float(f64::NAN), "json: unsupported value: NaN"),
            (Value::Float(f64::INFINITY), "json: unsupported value: +Inf"),
            (Value::Float(f64::NEG_INFINITY), "json: unsupported value: -Inf"),
            (Value::Complex(1.0, 2.0), "json: unsupported type: complex128"),
            (
                Value::Function(&JOIN),
                "json: unsupported type: func(string, ...string)",
            ),
        ];
        for (value, message) in rows {
            assert_eq!(to_json(&Value::list(vec![value])), Err(message.to_owned()));
        }
    }

    #[test]
    fn a_map_that_contains_itself_is_refused() {
        let map = Map::new();
        map.insert("first", Value::Map(map.clone()));
        map.insert("second", Value::list(vec![Value::Map(map.clone())]));
        assert_eq!(
            to_json(&Value::Map(map.clone())),
            Err("json: unsupported value: encountered a cycle via map[string]interface {}".to_owned())
        );
        map.remove("first");
        map.remove("second");
    }

    #[test]
    fn what_is_nested_a_thousand_times_is_written() {
        let mut value = Value::Nil;
        for _ in 0..1_000 {
            value = Value::map([("k", value)]);
        }
        assert!(to_json(&value).is_ok());
    }

    #[test]
    fn json_becomes_values_with_the_types_of_their_numbers() {
        let json = json!({
            "null": null, "truth": true, "text": "x", "list": [1, -1, 1.0],
            "large": u64::MAX, "map": {"k": "v"},
        });
        let expected = "map[string]interface {}{\"large\":0xffffffffffffffff, \
            \"list\":[]interface {}{1, -1, 1}, \"map\":map[string]interface {}{\"k\":\"v\"}, \
            \"null\":interface {}(nil), \"text\":\"x\", \"truth\":true}";
        let borrowed = Value::from(&json);
        assert_eq!(format!("{borrowed:?}"), expected);
        let list = borrowed
            .as_map()
            .and_then(|map| map.get("list"))
            .expect("the list is there");
        let types: Vec<String> = list
            .as_list()
            .expect("it is a list")
            .iter()
            .map(Value::type_name)
            .collect();
        assert_eq!(types, ["int64", "int64", "float64"]);
        assert_eq!(to_json(&borrowed), Ok(json.clone()));
        assert_eq!(format!("{:?}", Value::from(json)), expected);
    }
}
