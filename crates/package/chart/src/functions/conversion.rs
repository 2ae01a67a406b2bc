//! Conversions that many functions share: any value as text or number, and whether it counts as empty.

use std::borrow::Cow;

use gotemplate::format::print_value;
use gotemplate::{Integer, IntegerKind, Json, Kind, Text, Type, Value};

use super::number_syntax::{float_to_integer, parse_float, parse_integer};

/// Returns a value as text: text and bytes as they are, types with their own text by it, all else as `%v` prints it.
pub(crate) fn strval(value: &Value) -> Text {
    match value {
        Value::String(text) | Value::Bytes(text) => text.clone(),
        Value::TypedNil(Type::Bytes) => Text::default(),
        Value::Object(object) => match object.text() {
            Some(text) => text.into(),
            None => print_value(value).into(),
        },
        _ => print_value(value).into(),
    }
}

/// Returns a value as an integer; 0 for what is not a number.
pub(crate) fn to_int64(value: &Value) -> i64 {
    match value {
        Value::Integer(integer) => integer.bits,
        Value::Float(value) => float_to_integer(*value),
        Value::Bool(value) => i64::from(*value),
        Value::String(text) => parse_integer(without_zero_fraction(text), 0).unwrap_or(0),
        Value::Object(_) => calendar_number(value).unwrap_or(0),
        _ => 0,
    }
}

/// Returns a value as a float; 0 for what is not a number.
pub(crate) fn to_float64(value: &Value) -> f64 {
    match value {
        Value::Integer(integer) => integer.wide() as f64,
        Value::Float(value) => *value,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::String(text) => parse_float(text).unwrap_or(0.0),
        Value::Object(_) => calendar_number(value).unwrap_or(0) as f64,
        _ => 0.0,
    }
}

/// Returns the number of a weekday or month, the only named integers that count as numbers.
fn calendar_number(value: &Value) -> Option<i64> {
    let Value::Object(object) = value else { return None };
    if !matches!(object.type_name(), "time.Month" | "time.Weekday") {
        return None;
    }
    match object.json() {
        Json::Value(Value::Integer(integer)) => Some(integer.bits),
        _ => None,
    }
}

/// Cuts `.0`, `.00` and so on off the end.
fn without_zero_fraction(text: &[u8]) -> &[u8] {
    let zeros = text.iter().rev().take_while(|&&byte| byte == b'0').count();
    match text.split_at(text.len() - zeros) {
        ([whole @ .., b'.'], [_, ..]) => whole,
        _ => text,
    }
}

/// Returns whether a value counts as not given: nil, false, zero, or without content. Structs never do.
pub(crate) fn is_empty(value: &Value) -> bool {
    !value.truth()
}

/// Returns the elements of any kind of slice; none for what is not a slice.
pub(crate) fn elements(value: &Value) -> Option<Cow<'_, [Value]>> {
    match value {
        Value::List(list) => Some(Cow::Borrowed(list)),
        Value::Bytes(bytes) => Some(Cow::Owned(bytes.iter().map(|&byte| byte_value(byte)).collect())),
        Value::TypedNil(nil) if nil.kind() == Kind::Slice => Some(Cow::Owned(Vec::new())),
        _ => None,
    }
}

fn byte_value(byte: u8) -> Value {
    Value::Integer(Integer {
        kind: IntegerKind::Uint8,
        bits: i64::from(byte),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_come_from_every_kind_of_value() {
        for (value, want) in [
            (Value::Nil, 0),
            (Value::from(true), 1),
            (Value::from(1.9), 1),
            (Value::from(-1.9), -1),
            (Value::from("010"), 8),
            (Value::from("0x10"), 16),
            (Value::from("1.0"), 1),
            (Value::from("1.5"), 0),
            (Value::from("1."), 0),
            (Value::from(".0"), 0),
            (Value::from("10.000"), 10),
            (Value::from("9223372036854775808"), 0),
            (Value::from("abc"), 0),
            (Value::uint64(u64::MAX), -1),
            (Value::list(vec![]), 0),
        ] {
            assert_eq!(to_int64(&value), want, "{value:?}");
        }
    }

    #[test]
    fn floats_come_from_every_kind_of_value() {
        for (value, want) in [
            (Value::Nil, 0.0),
            (Value::from(true), 1.0),
            (Value::int(7), 7.0),
            (Value::uint64(u64::MAX), 18_446_744_073_709_551_615.0),
            (Value::from("1e3"), 1000.0),
            (Value::from("x"), 0.0),
        ] {
            assert_eq!(to_float64(&value), want, "{value:?}");
        }
    }

    #[test]
    fn text_and_bytes_are_themselves() {
        assert_eq!(strval(&Value::from("a b")).as_bytes(), b"a b");
        assert_eq!(strval(&Value::Bytes("xyz".into())).as_bytes(), b"xyz");
        assert_eq!(strval(&Value::Nil).as_bytes(), b"<nil>");
        assert_eq!(strval(&Value::int(3)).as_bytes(), b"3");
    }
}
