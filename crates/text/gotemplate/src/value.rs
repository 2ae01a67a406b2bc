//! The values that templates compute with: Go's kinds, shared by reference where Go shares them.

use std::fmt;
use std::rc::Rc;

pub use crate::containers::{List, Map};
use crate::function::Function;
use crate::object::Object;
pub use crate::text::Text;
use crate::types::{IntegerKind, Kind, Type};

/// A value of the template language.
///
/// Lists are immutable (no template function changes one in place); maps are shared and mutable, because
/// `set`, `unset` and `merge` must be seen through every other reference to the same map.
#[derive(Clone, Default)]
pub enum Value {
    /// The untyped nil: an interface that holds nothing, or the result of looking into nothing.
    #[default]
    Nil,
    /// `bool`.
    Bool(bool),
    /// Any of Go's integer types.
    Integer(Integer),
    /// `float64`.
    Float(f64),
    /// `complex128`: real and imaginary part.
    Complex(f64, f64),
    /// `string`.
    String(Text),
    /// `[]uint8`.
    Bytes(Text),
    /// A slice.
    List(List),
    /// A map with string keys.
    Map(Map),
    /// A Go struct, pointer or other native type with fields and methods.
    Object(Rc<dyn Object>),
    /// A function value, as `call` takes it.
    Function(&'static Function),
    /// Nil of a known type: a nil map, slice or pointer.
    TypedNil(Type),
}

impl Value {
    /// Returns a `int`, the type of integer literals in templates.
    pub fn int(value: i64) -> Value {
        Value::Integer(Integer::signed(IntegerKind::Int, value))
    }

    /// Returns a `int64`, the type that Sprig's arithmetic gives.
    pub fn int64(value: i64) -> Value {
        Value::Integer(Integer::signed(IntegerKind::Int64, value))
    }

    /// Returns a `uint64`.
    pub fn uint64(value: u64) -> Value {
        Value::Integer(Integer {
            kind: IntegerKind::Uint64,
            bits: value as i64,
        })
    }

    /// Returns a `string`.
    pub fn string(text: impl Into<Text>) -> Value {
        Value::String(text.into())
    }

    /// Returns a `[]interface {}`.
    pub fn list(items: Vec<Value>) -> Value {
        Value::List(List::new(items))
    }

    /// Returns a `[]string`.
    pub fn strings<I>(items: I) -> Value
    where
        I: IntoIterator,
        I::Item: Into<Text>,
    {
        let items = items.into_iter().map(Value::string).collect();
        Value::List(List::of(Type::String, items))
    }

    /// Returns a fresh `map[string]interface {}`.
    pub fn map<I, K>(entries: I) -> Value
    where
        I: IntoIterator<Item = (K, Value)>,
        K: Into<Text>,
    {
        Value::Map(
            entries
                .into_iter()
                .map(|(key, value)| (key.into(), value))
                .collect(),
        )
    }

    /// Returns whether this is nil, typed or not.
    pub fn is_nil(&self) -> bool {
        matches!(self, Value::Nil | Value::TypedNil(_))
    }

    /// Returns Go's reflection kind.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Nil => Kind::Invalid,
            Value::Bool(_) => Kind::Bool,
            Value::Integer(integer) => Kind::Integer(integer.kind),
            Value::Float(_) => Kind::Float64,
            Value::Complex(..) => Kind::Complex128,
            Value::String(_) => Kind::String,
            Value::Bytes(_) | Value::List(_) => Kind::Slice,
            Value::Map(_) => Kind::Map,
            Value::Object(object) => object.kind(),
            Value::Function(_) => Kind::Function,
            Value::TypedNil(nil) => nil.kind(),
        }
    }

    /// Writes the name of the Go type, such as `map[string]interface {}`; `<nil>` for the untyped nil.
    pub fn type_name(&self) -> String {
        match self {
            Value::Nil => "<nil>".into(),
            Value::Bool(_) => "bool".into(),
            Value::Integer(integer) => integer.kind.name().into(),
            Value::Float(_) => "float64".into(),
            Value::Complex(..) => "complex128".into(),
            Value::String(_) => "string".into(),
            Value::Bytes(_) => "[]uint8".into(),
            Value::List(list) => list.type_name(),
            Value::Map(map) => map.type_name(),
            Value::Object(object) => object.type_name().into(),
            Value::Function(function) => function.type_name(),
            Value::TypedNil(nil) => nil.to_string(),
        }
    }

    /// Returns Go's truth: zero numbers, empty text, empty lists and maps, and nil are false.
    pub fn truth(&self) -> bool {
        match self {
            Value::Nil | Value::TypedNil(_) => false,
            Value::Bool(value) => *value,
            Value::Integer(integer) => integer.bits != 0,
            Value::Float(value) => *value != 0.0,
            Value::Complex(real, imaginary) => *real != 0.0 || *imaginary != 0.0,
            Value::String(text) | Value::Bytes(text) => !text.is_empty(),
            Value::List(list) => !list.is_empty(),
            Value::Map(map) => !map.is_empty(),
            Value::Object(object) => object.truth(),
            Value::Function(_) => true,
        }
    }

    /// Returns the text of a string value.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the map, when it is one.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Returns the list, when it is one.
    pub fn as_list(&self) -> Option<&List> {
        match self {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    /// Returns the native object, when it is one of type `T`.
    pub fn as_object<T: Object>(&self) -> Option<&T> {
        match self {
            Value::Object(object) => object.as_any().downcast_ref(),
            _ => None,
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&String::from_utf8_lossy(&crate::format::go_syntax(self)))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::string(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::string(value)
    }
}

impl From<Text> for Value {
    fn from(value: Text) -> Value {
        Value::String(value)
    }
}

/// An integer together with its Go type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// Which of Go's integer types it has.
    pub kind: IntegerKind,
    /// The value; for unsigned kinds its bits.
    pub bits: i64,
}

impl Integer {
    /// Returns a signed integer of the given type.
    pub fn signed(kind: IntegerKind, value: i64) -> Integer {
        Integer { kind, bits: value }
    }

    /// Returns the value as an unsigned number, for unsigned kinds.
    pub fn unsigned(self) -> u64 {
        self.bits as u64
    }

    /// Returns the value without its type, wide enough for every kind.
    pub fn wide(self) -> i128 {
        if self.kind.is_unsigned() {
            i128::from(self.bits as u64)
        } else {
            i128::from(self.bits)
        }
    }
}
