//! Operands of recorded calls, and native types to print.

use std::any::Any;
use std::rc::Rc;

use serde_json::Value as Recorded;

use crate::object::{Json, Object};
use crate::types::{IntegerKind, Kind, Type};
use crate::value::{Integer, List, Map, Text, Value};

/// Go's `type Point struct { X, Y any }`, or a pointer to one.
pub(super) struct Point {
    pub(super) is_pointer: bool,
    pub(super) coordinates: Vec<Value>,
}

impl Object for Point {
    fn type_name(&self) -> &str {
        if self.is_pointer {
            "*main.Point"
        } else {
            "main.Point"
        }
    }

    fn kind(&self) -> Kind {
        if self.is_pointer {
            Kind::Pointer
        } else {
            Kind::Struct
        }
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        ["X", "Y"]
            .into_iter()
            .zip(self.coordinates.iter().cloned())
            .collect()
    }

    fn equals(&self, _other: &dyn Object) -> bool {
        false
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A Go struct with a `String` method.
struct Named(String);

impl Object for Named {
    fn type_name(&self) -> &'static str {
        "main.Named"
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![("S", Value::string(self.0.as_str()))]
    }

    fn text(&self) -> Option<String> {
        Some(self.0.clone())
    }

    fn equals(&self, _other: &dyn Object) -> bool {
        false
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Go's `time.Duration`: an integer with a `String` method.
struct Duration(i64, String);

impl Object for Duration {
    fn type_name(&self) -> &'static str {
        "time.Duration"
    }

    fn kind(&self) -> Kind {
        Kind::Integer(IntegerKind::Int64)
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn text(&self) -> Option<String> {
        Some(self.1.clone())
    }

    fn json(&self) -> Json {
        Json::Value(Value::int64(self.0))
    }

    fn equals(&self, _other: &dyn Object) -> bool {
        false
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Returns recorded text, which is hexadecimal where it is not UTF-8.
pub(super) fn text(recorded: &Recorded) -> Vec<u8> {
    match recorded {
        Recorded::String(text) => text.clone().into_bytes(),
        other => bytes(&other["hex"]),
    }
}

fn bytes(recorded: &Recorded) -> Vec<u8> {
    let digits = recorded
        .as_str()
        .expect("recorded bytes are hexadecimal digits")
        .as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hexadecimal digit") as u8;
    digits
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

fn items(recorded: &Recorded) -> &[Recorded] {
    recorded.as_array().expect("a recorded list")
}

fn float(recorded: &Recorded) -> f64 {
    recorded
        .as_str()
        .and_then(|text| text.parse().ok())
        .expect("a recorded float")
}

fn integer(kind: IntegerKind, recorded: &Recorded) -> Value {
    let unsigned = || recorded.as_u64().map(|number| number as i64);
    let bits = recorded.as_i64().or_else(unsigned).expect("a recorded integer");
    Value::Integer(Integer { kind, bits })
}

fn pairs<'row, T>(
    recorded: &'row Recorded,
    value: impl Fn(&Recorded) -> T + 'row,
) -> impl Iterator<Item = (Text, T)> + 'row {
    items(recorded)
        .iter()
        .map(move |pair| (Text::from(text(&pair[0])), value(&pair[1])))
}

/// Returns a recorded operand, such as `{"int":1}`.
pub(super) fn operand(recorded: &Recorded) -> Value {
    let (kind, value) = recorded
        .as_object()
        .and_then(|operand| operand.iter().next())
        .expect("an operand with its type");
    match kind.as_str() {
        "nil" => Value::Nil,
        "bool" => Value::Bool(value == &Recorded::Bool(true)),
        "int" => integer(IntegerKind::Int, value),
        "int8" => integer(IntegerKind::Int8, value),
        "int16" => integer(IntegerKind::Int16, value),
        "int32" => integer(IntegerKind::Int32, value),
        "int64" => integer(IntegerKind::Int64, value),
        "uint" => integer(IntegerKind::Uint, value),
        "uint8" => integer(IntegerKind::Uint8, value),
        "uint16" => integer(IntegerKind::Uint16, value),
        "uint32" => integer(IntegerKind::Uint32, value),
        "uint64" => integer(IntegerKind::Uint64, value),
        "float64" => Value::Float(float(value)),
        "complex128" => Value::Complex(float(&value[0]), float(&value[1])),
        "string" => Value::string(text(value)),
        "bytes" => Value::Bytes(bytes(value).into()),
        "list" => Value::list(items(value).iter().map(operand).collect()),
        "strings" => Value::strings(items(value).iter().map(text)),
        "ints" => {
            let numbers = items(value)
                .iter()
                .map(|number| integer(IntegerKind::Int, number));
            Value::List(List::of(Type::INT, numbers.collect()))
        }
        "map" => Value::map(pairs(value, operand)),
        "stringmap" => Value::Map(Map::of(
            Type::String,
            pairs(value, |text_| Value::string(text(text_))).collect(),
        )),
        "nilmap" => Value::TypedNil(Type::Map),
        "nillist" => Value::TypedNil(Type::List),
        "nilbytes" => Value::TypedNil(Type::Bytes),
        "nilptr" => Value::TypedNil(Type::Named("*main.Point", Kind::Pointer)),
        "struct" | "ptr" => {
            let coordinates = items(value).iter().map(operand).collect();
            Value::Object(Rc::new(Point {
                is_pointer: kind == "ptr",
                coordinates,
            }))
        }
        "named" => Value::Object(Rc::new(Named(String::from_utf8_lossy(&text(value)).into_owned()))),
        "duration" => {
            let count = value[0].as_i64().expect("a recorded duration");
            Value::Object(Rc::new(Duration(
                count,
                String::from_utf8_lossy(&text(&value[1])).into_owned(),
            )))
        }
        other => panic!("no operand of type {other} is recorded"),
    }
}
