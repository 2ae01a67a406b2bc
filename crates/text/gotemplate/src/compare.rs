//! `eq` and `lt` as Go's templates define them: by basic kind, integers across signedness, nil with nil.

use std::rc::Rc;

use crate::evaluate::shown_as_text;
use crate::execute::Dialect;
use crate::format::value_text;
use crate::object::Json;
use crate::types::Kind;
use crate::value::Value;

/// The kinds that can be compared with each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basic {
    None,
    Bool,
    Complex,
    Integer,
    Float,
    String,
    Unsigned,
}

fn basic(value: &Value) -> Basic {
    match value.kind() {
        Kind::Bool => Basic::Bool,
        Kind::Integer(kind) if kind.is_unsigned() => Basic::Unsigned,
        Kind::Integer(_) => Basic::Integer,
        Kind::Float64 => Basic::Float,
        Kind::Complex128 => Basic::Complex,
        Kind::String => Basic::String,
        _ => Basic::None,
    }
}

fn incompatible(left: &Value, right: &Value, dialect: Dialect) -> String {
    match dialect {
        Dialect::Go1_23 => "incompatible types for comparison".into(),
        Dialect::Go1_26 => {
            format!(
                "incompatible types for comparison: {} and {}",
                left.type_name(),
                right.type_name()
            )
        }
    }
}

/// Returns the number behind a named integer type such as `time.Month`, or the value itself.
fn underlying(value: &Value) -> Value {
    if let Value::Object(object) = value
        && matches!(object.kind(), Kind::Integer(_))
        && let Json::Value(number) = object.json()
    {
        return number;
    }
    value.clone()
}

/// Returns whether two values are equal, or why they cannot be compared.
pub(crate) fn equal(left: &Value, right: &Value, dialect: Dialect) -> Result<bool, String> {
    let (left, right) = (&underlying(left), &underlying(right));
    let kinds = (basic(left), basic(right));
    Ok(match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => left.wide() == right.wide(),
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Float(left), Value::Float(right)) => left == right,
        (Value::Complex(..), Value::Complex(..)) => match (left, right) {
            (Value::Complex(a, b), Value::Complex(c, d)) => a == c && b == d,
            _ => false,
        },
        (Value::String(left), Value::String(right)) => left == right,
        _ if kinds.0 != kinds.1 => {
            if matches!(left, Value::Nil) || matches!(right, Value::Nil) {
                return Ok(false);
            }
            return Err(incompatible(left, right, dialect));
        }
        // Pointers are equal when they point to the same thing, whatever is in it.
        (Value::Object(left_object), Value::Object(right_object)) if left_object.kind() == Kind::Pointer => {
            std::ptr::addr_eq(Rc::as_ptr(left_object), Rc::as_ptr(right_object))
        }
        (Value::Object(left_object), Value::Object(right_object)) => {
            left_object.type_name() == right_object.type_name() && left_object.equals(right_object.as_ref())
        }
        _ if left.is_nil() || right.is_nil() => {
            if !can_compare(left, right) {
                return Err(non_comparable_types(left, right));
            }
            left.is_nil() && right.is_nil()
        }
        _ => {
            if !can_compare(left, right) {
                return Err(non_comparable_types(left, right));
            }
            return Err(format!(
                "non-comparable type {}: {}",
                shown_as_text(right),
                right.type_name()
            ));
        }
    })
}

fn can_compare(left: &Value, right: &Value) -> bool {
    let (left, right) = (left.kind(), right.kind());
    left == right || left == Kind::Invalid || right == Kind::Invalid
}

fn non_comparable_types(left: &Value, right: &Value) -> String {
    format!(
        "non-comparable types {}: {}, {}: {}",
        shown_as_text(left),
        left.type_name(),
        right.type_name(),
        value_text(right)
    )
}

/// Returns whether `left` is less than `right`, or why they have no order.
pub(crate) fn less(left: &Value, right: &Value, dialect: Dialect) -> Result<bool, String> {
    const NO_ORDER: &str = "invalid type for comparison";
    let (left, right) = (&underlying(left), &underlying(right));
    let kinds = (basic(left), basic(right));
    if kinds.0 == Basic::None || kinds.1 == Basic::None {
        return Err(NO_ORDER.into());
    }
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Ok(left.wide() < right.wide()),
        (Value::Float(left), Value::Float(right)) => Ok(left < right),
        (Value::String(left), Value::String(right)) => Ok(left < right),
        _ if kinds.0 == kinds.1 => Err(NO_ORDER.into()),
        _ => Err(incompatible(left, right, dialect)),
    }
}
