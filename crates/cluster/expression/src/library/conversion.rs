//! Conversions from one type to another.

use gotemplate::format::{parse_float, parse_int, parse_uint};
use jiff::Timestamp;

use super::Function;
use super::time;
use crate::value::text;
use crate::value::{Failure, Outcome, Value};

pub(super) fn shared(function: &str) -> Option<Function> {
    Some(match function {
        "dyn" => |arguments| arguments.first().cloned().ok_or_else(Failure::no_such_overload),
        "type" => |arguments| match arguments {
            [value] => Ok(Value::Type(value.type_name().into())),
            _ => Err(Failure::no_such_overload()),
        },
        _ => return None,
    })
}

pub(super) fn overload(id: &str) -> Option<Function> {
    Some(match id {
        "bool_to_bool"
        | "bytes_to_bytes"
        | "double_to_double"
        | "int64_to_int64"
        | "uint64_to_uint64"
        | "string_to_string"
        | "duration_to_duration"
        | "timestamp_to_timestamp" => {
            |arguments| arguments.first().cloned().ok_or_else(Failure::no_such_overload)
        }
        "string_to_bool" => to_bool,
        "string_to_bytes" => |arguments| match arguments {
            [Value::String(text)] => Ok(Value::Bytes(text.as_bytes().into())),
            _ => Err(Failure::no_such_overload()),
        },
        "int64_to_double" | "uint64_to_double" | "string_to_double" => to_double,
        "double_to_int64" | "duration_to_int64" | "string_to_int64" | "timestamp_to_int64"
        | "uint64_to_int64" => to_int,
        "double_to_uint64" | "int64_to_uint64" | "string_to_uint64" => to_uint,
        "bool_to_string"
        | "bytes_to_string"
        | "double_to_string"
        | "duration_to_string"
        | "int64_to_string"
        | "timestamp_to_string"
        | "uint64_to_string"
        | "ip_to_string"
        | "cidr_to_string" => to_string,
        "int64_to_duration" | "string_to_duration" => to_duration,
        "int64_to_timestamp" | "string_to_timestamp" => to_timestamp,
        _ => return None,
    })
}

fn impossible(from: &Value<'_>, to: &str) -> Failure {
    Failure::new(format!(
        "type conversion error from '{}' to '{to}'",
        from.type_name()
    ))
}

fn to_bool<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [from @ Value::String(text)] = arguments else {
        return Err(Failure::no_such_overload());
    };
    match &**text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
        _ => Err(impossible(from, "bool")),
    }
}

fn to_double<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [Value::Int(value)] => Ok(Value::Double(*value as f64)),
        [Value::Uint(value)] => Ok(Value::Double(*value as f64)),
        [from @ Value::String(text)] => parse_float(text)
            .map(Value::Double)
            .map_err(|_| impossible(from, "double")),
        _ => Err(Failure::no_such_overload()),
    }
}

fn to_int<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let overflow = || Failure::new("integer overflow");
    match arguments {
        [Value::Double(value)] => {
            if value.is_finite() && *value > i64::MIN as f64 && *value < i64::MAX as f64 {
                Ok(Value::Int(*value as i64))
            } else {
                Err(overflow())
            }
        }
        [Value::Duration(nanoseconds)] => Ok(Value::Int(*nanoseconds)),
        [Value::Timestamp(time)] => Ok(Value::Int(time.as_second())),
        [Value::Uint(value)] => i64::try_from(*value).map(Value::Int).map_err(|_| overflow()),
        [from @ Value::String(text)] => parse_int(text, 10)
            .map(Value::Int)
            .map_err(|_| impossible(from, "int")),
        _ => Err(Failure::no_such_overload()),
    }
}

fn to_uint<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let overflow = || Failure::new("unsigned integer overflow");
    match arguments {
        [Value::Double(value)] => {
            if *value >= 0.0 && *value < u64::MAX as f64 {
                Ok(Value::Uint(*value as u64))
            } else {
                Err(overflow())
            }
        }
        [Value::Int(value)] => u64::try_from(*value).map(Value::Uint).map_err(|_| overflow()),
        [from @ Value::String(text)] => parse_uint(text, 10)
            .map(Value::Uint)
            .map_err(|_| impossible(from, "uint")),
        _ => Err(Failure::no_such_overload()),
    }
}

/// Returns the value as text, when its type can be written.
pub(crate) fn to_string<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::string(match arguments {
        [Value::Bool(value)] => value.to_string(),
        [Value::Int(value)] => value.to_string(),
        [Value::Uint(value)] => value.to_string(),
        [Value::Double(value)] => text::double(*value),
        [Value::String(_)] => return Ok(arguments.first().cloned().unwrap_or(Value::Null)),
        [Value::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Err(Failure::new("invalid UTF-8 in bytes, cannot convert to string")),
        },
        [Value::Duration(nanoseconds)] => time::seconds(*nanoseconds),
        [Value::Timestamp(at)] => time::rfc3339(*at),
        [Value::Type(name)] => name.to_string(),
        [Value::Ip(address)] => address.to_string(),
        [Value::Cidr { address, bits }] => format!("{address}/{bits}"),
        _ => return Err(Failure::no_such_overload()),
    }))
}

fn to_duration<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [Value::Int(nanoseconds)] => Ok(Value::Duration(*nanoseconds)),
        [from @ Value::String(text)] => time::parse_go_duration(text)
            .map(Value::Duration)
            .ok_or_else(|| impossible(from, "google.protobuf.Duration")),
        _ => Err(Failure::no_such_overload()),
    }
}

fn to_timestamp<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let overflow = || Failure::new("timestamp overflow");
    match arguments {
        [Value::Int(seconds)] => {
            let at = Timestamp::from_second(*seconds).map_err(|_| overflow())?;
            if time::in_range(at) {
                Ok(Value::Timestamp(at))
            } else {
                Err(overflow())
            }
        }
        [from @ Value::String(text)] => {
            let at =
                time::parse_rfc3339(text).ok_or_else(|| impossible(from, "google.protobuf.Timestamp"))?;
            if time::in_range(at) {
                Ok(Value::Timestamp(at))
            } else {
                Err(overflow())
            }
        }
        _ => Err(Failure::no_such_overload()),
    }
}
