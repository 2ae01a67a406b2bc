//! When two values are equal, and which of two comes first.

use std::cmp::Ordering;

use super::{Failure, Value};

/// Returns whether two values are equal. Values from objects refuse to be compared with values of another kind; others
/// just aren't equal.
pub(crate) fn equal<'a>(one: &Value<'a>, other: &Value<'a>) -> Result<bool, Failure> {
    Ok(match (one, other) {
        (Value::Null, other) => matches!(other, Value::Null),
        (_, Value::Null) => false,
        (Value::Bool(one), Value::Bool(other)) => one == other,
        (
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
        ) => compare_numbers(one, other) == Some(Ordering::Equal),
        (Value::String(one), Value::String(other)) => **one == **other,
        (Value::Bytes(one), Value::Bytes(other)) => one == other,
        (Value::Duration(one), Value::Duration(other)) => one == other,
        (Value::Timestamp(one), Value::Timestamp(other)) => one == other,
        (Value::List(list), other) => list.equals(other)?,
        (Value::Map(map), other) => map.equals(other)?,
        (Value::Optional(one), Value::Optional(other)) => match (one, other) {
            (None, None) => true,
            (Some(one), Some(other)) => equal(one, other)?,
            _ => false,
        },
        (Value::Type(one), Value::Type(other)) => one == other,
        (
            Value::Quantity { amount, .. },
            Value::Quantity {
                amount: other,
                computed: false,
            },
        ) => amount.compare(other) == Ordering::Equal,
        (Value::Url(one), Value::Url(other)) => one.to_string() == other.to_string(),
        (Value::Ip(one), Value::Ip(other)) => one == other,
        (
            Value::Cidr { address, bits },
            Value::Cidr {
                address: other,
                bits: other_bits,
            },
        ) => address == other && bits == other_bits,
        (Value::Format(one), Value::Format(other)) => one.name == other.name,
        (Value::Semver(one), Value::Semver(other)) => one.precedence(other) == Ordering::Equal,
        (Value::Preserved(one), Value::Preserved(other)) => one == other,
        (Value::Preserved(_), _) => false,
        (
            Value::Quantity { .. }
            | Value::Url(_)
            | Value::Ip(_)
            | Value::Cidr { .. }
            | Value::Format(_)
            | Value::Semver(_)
            | Value::Authorization(_),
            _,
        ) => return Err(Failure::no_such_overload()),
        _ => false,
    })
}

/// Returns which of two values comes first.
pub(crate) fn compare(one: &Value<'_>, other: &Value<'_>) -> Result<Ordering, Failure> {
    Ok(match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::String(one), Value::String(other)) => one.as_bytes().cmp(other.as_bytes()),
        (Value::Bytes(one), Value::Bytes(other)) => one.cmp(other),
        (Value::Duration(one), Value::Duration(other)) => one.cmp(other),
        (Value::Timestamp(one), Value::Timestamp(other)) => one.cmp(other),
        (
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
        ) => compare_numbers(one, other).ok_or_else(|| Failure::new("NaN values cannot be ordered"))?,
        _ => return Err(Failure::no_such_overload()),
    })
}

/// Compares two numbers of any types; `None` when one of them is no number.
fn compare_numbers(one: &Value<'_>, other: &Value<'_>) -> Option<Ordering> {
    match (one, other) {
        (Value::Int(one), Value::Int(other)) => Some(one.cmp(other)),
        (Value::Uint(one), Value::Uint(other)) => Some(one.cmp(other)),
        (Value::Double(one), Value::Double(other)) => one.partial_cmp(other),
        (Value::Int(one), Value::Uint(other)) => Some(i128::from(*one).cmp(&i128::from(*other))),
        (Value::Uint(one), Value::Int(other)) => Some(i128::from(*one).cmp(&i128::from(*other))),
        (Value::Double(one), Value::Int(other)) => {
            compare_double(*one, i128::from(*other), (I64_FROM, I64_TO))
        }
        (Value::Double(one), Value::Uint(other)) => compare_double(*one, i128::from(*other), (0.0, U64_TO)),
        (Value::Int(one), Value::Double(other)) => {
            compare_double(*other, i128::from(*one), (I64_FROM, I64_TO)).map(Ordering::reverse)
        }
        (Value::Uint(one), Value::Double(other)) => {
            compare_double(*other, i128::from(*one), (0.0, U64_TO)).map(Ordering::reverse)
        }
        _ => None,
    }
}

const I64_FROM: f64 = i64::MIN as f64;
const I64_TO: f64 = i64::MAX as f64;
const U64_TO: f64 = u64::MAX as f64;

/// Compares a double with a whole number: outside the range of the whole type by the range, inside as doubles.
fn compare_double(one: f64, other: i128, (from, to): (f64, f64)) -> Option<Ordering> {
    if one.is_nan() {
        None
    } else if one < from {
        Some(Ordering::Less)
    } else if one > to {
        Some(Ordering::Greater)
    } else {
        one.partial_cmp(&(other as f64))
    }
}
