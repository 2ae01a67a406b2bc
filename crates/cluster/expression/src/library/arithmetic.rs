//! Operators on numbers, text, lists and times.

use std::cmp::Ordering;

use jiff::{SignedDuration, Timestamp};

use super::Function;
use super::time::{DURATION_OVERFLOW, in_range};
use crate::value::equality::compare;
use crate::value::{Failure, Outcome, Value};

const INTEGER_OVERFLOW: &str = "integer overflow";
const UNSIGNED_OVERFLOW: &str = "unsigned integer overflow";
const TIMESTAMP_OVERFLOW: &str = "timestamp overflow";

pub(super) fn shared(function: &str) -> Option<Function> {
    Some(match function {
        "_+_" => add,
        "_-_" => subtract,
        "_*_" => multiply,
        "_/_" => divide,
        "_%_" => modulo,
        "-_" => negate,
        "!_" => not,
        "_<_" => |arguments| ordered(arguments, Ordering::is_lt),
        "_<=_" => |arguments| ordered(arguments, Ordering::is_le),
        "_>_" => |arguments| ordered(arguments, Ordering::is_gt),
        "_>=_" => |arguments| ordered(arguments, Ordering::is_ge),
        "@in" | "in" | "_in_" => contained,
        _ => return None,
    })
}

fn overflow(message: &str) -> Failure {
    Failure::new(message)
}

fn ordered<'a>(arguments: &[Value<'a>], holds: fn(Ordering) -> bool) -> Outcome<'a> {
    let [one, other] = arguments else {
        return Err(Failure::no_such_overload());
    };
    Ok(Value::Bool(holds(compare(one, other)?)))
}

fn contained<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(match arguments {
        [value, Value::List(list)] => list.contains(value)?,
        [key, Value::Map(map)] => map.find(key)?.is_some(),
        _ => return Err(Failure::no_such_overload()),
    }))
}

fn not<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [Value::Bool(value)] => Ok(Value::Bool(!value)),
        _ => Err(Failure::no_such_overload()),
    }
}

fn negate<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [Value::Int(value)] => value
            .checked_neg()
            .map(Value::Int)
            .ok_or_else(|| overflow(INTEGER_OVERFLOW)),
        [Value::Double(value)] => Ok(Value::Double(-value)),
        [Value::Duration(value)] => value
            .checked_neg()
            .map(Value::Duration)
            .ok_or_else(|| overflow(DURATION_OVERFLOW)),
        _ => Err(Failure::no_such_overload()),
    }
}

fn shifted(time: Timestamp, nanoseconds: i64) -> Option<Timestamp> {
    time.checked_add(SignedDuration::from_nanos(nanoseconds))
        .ok()
        .filter(|time| in_range(*time))
}

pub(crate) fn add<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(match arguments {
        [Value::Int(one), Value::Int(other)] => Value::Int(
            one.checked_add(*other)
                .ok_or_else(|| overflow(INTEGER_OVERFLOW))?,
        ),
        [Value::Uint(one), Value::Uint(other)] => Value::Uint(
            one.checked_add(*other)
                .ok_or_else(|| overflow(UNSIGNED_OVERFLOW))?,
        ),
        [Value::Double(one), Value::Double(other)] => Value::Double(one + other),
        [Value::String(one), Value::String(other)] => Value::string(format!("{}{}", &**one, &**other)),
        [Value::Bytes(one), Value::Bytes(other)] => Value::Bytes([&**one, &**other].concat().into()),
        [Value::List(one), Value::List(other)] => Value::List(one.add(other)?),
        [Value::Duration(one), Value::Duration(other)] => Value::Duration(
            one.checked_add(*other)
                .ok_or_else(|| overflow(DURATION_OVERFLOW))?,
        ),
        [Value::Timestamp(time), Value::Duration(by)] | [Value::Duration(by), Value::Timestamp(time)] => {
            Value::Timestamp(shifted(*time, *by).ok_or_else(|| overflow(TIMESTAMP_OVERFLOW))?)
        }
        _ => return Err(Failure::no_such_overload()),
    })
}

fn subtract<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(match arguments {
        [Value::Int(one), Value::Int(other)] => Value::Int(
            one.checked_sub(*other)
                .ok_or_else(|| overflow(INTEGER_OVERFLOW))?,
        ),
        [Value::Uint(one), Value::Uint(other)] => Value::Uint(
            one.checked_sub(*other)
                .ok_or_else(|| overflow(UNSIGNED_OVERFLOW))?,
        ),
        [Value::Double(one), Value::Double(other)] => Value::Double(one - other),
        [Value::Duration(one), Value::Duration(other)] => Value::Duration(
            one.checked_sub(*other)
                .ok_or_else(|| overflow(DURATION_OVERFLOW))?,
        ),
        [Value::Timestamp(time), Value::Duration(by)] => {
            let time = by.checked_neg().and_then(|by| shifted(*time, by));
            Value::Timestamp(time.ok_or_else(|| overflow(TIMESTAMP_OVERFLOW))?)
        }
        [Value::Timestamp(one), Value::Timestamp(other)] => {
            let nanoseconds = one.as_nanosecond() - other.as_nanosecond();
            Value::Duration(i64::try_from(nanoseconds).map_err(|_| overflow(TIMESTAMP_OVERFLOW))?)
        }
        _ => return Err(Failure::no_such_overload()),
    })
}

fn multiply<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(match arguments {
        [Value::Int(one), Value::Int(other)] => Value::Int(
            one.checked_mul(*other)
                .ok_or_else(|| overflow(INTEGER_OVERFLOW))?,
        ),
        [Value::Uint(one), Value::Uint(other)] => Value::Uint(
            one.checked_mul(*other)
                .ok_or_else(|| overflow(UNSIGNED_OVERFLOW))?,
        ),
        [Value::Double(one), Value::Double(other)] => Value::Double(one * other),
        _ => return Err(Failure::no_such_overload()),
    })
}

fn divide<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(match arguments {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            return Err(Failure::new("division by zero"));
        }
        [Value::Int(one), Value::Int(other)] => Value::Int(
            one.checked_div(*other)
                .ok_or_else(|| overflow(INTEGER_OVERFLOW))?,
        ),
        [Value::Uint(one), Value::Uint(other)] => Value::Uint(one / other),
        [Value::Double(one), Value::Double(other)] => Value::Double(one / other),
        _ => return Err(Failure::no_such_overload()),
    })
}

fn modulo<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(match arguments {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            return Err(Failure::new("modulus by zero"));
        }
        [Value::Int(one), Value::Int(other)] => Value::Int(
            one.checked_rem(*other)
                .ok_or_else(|| overflow(INTEGER_OVERFLOW))?,
        ),
        [Value::Uint(one), Value::Uint(other)] => Value::Uint(one % other),
        _ => return Err(Failure::no_such_overload()),
    })
}
