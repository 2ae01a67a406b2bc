//! How numbers and values are written.

use gotemplate::format::float_text;

use super::Value;

/// Writes a double as expressions show it: `1.5`, `1e+20`, `+Inf`.
pub(crate) fn double(value: f64) -> String {
    float_text(value, b'g', None)
}

/// Returns the whole number that a double is, when a 64-bit one can hold it.
pub(crate) fn exact_int(value: f64) -> Option<i64> {
    let in_range = value > i64::MIN as f64 && value < i64::MAX as f64;
    (in_range && value.fract() == 0.0).then_some(value as i64)
}

/// Writes a value as messages show it.
pub(crate) fn go(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => double(*value),
        Value::String(text) => text.to_string(),
        Value::Bytes(bytes) => {
            let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
            format!("[{}]", numbers.join(" "))
        }
        Value::Type(name) => name.to_string(),
        other => debug(other),
    }
}

/// Writes a value so that two values are written alike only if they are alike.
pub(crate) fn debug(value: &Value<'_>) -> String {
    match value {
        Value::List(list) => {
            let items: Vec<String> = list
                .iter()
                .map(|item| item.map_or_else(|failure| failure.to_string(), |item| debug(&item)))
                .collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let entries: Vec<String> = map
                .entries()
                .into_iter()
                .map(|(key, value)| {
                    let value = value.map_or_else(|failure| failure.to_string(), |value| debug(&value));
                    format!("{}: {value}", debug(&key))
                })
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("bool({value})"),
        Value::Int(value) => format!("int({value})"),
        Value::Uint(value) => format!("uint({value})"),
        Value::Double(value) => format!("double({})", double(*value)),
        Value::String(text) => format!("string({})", serde_json::Value::String(text.to_string())),
        Value::Bytes(bytes) => {
            let hexadecimal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("bytes({hexadecimal})")
        }
        Value::Duration(nanoseconds) => {
            format!("duration({})", crate::library::time::go_duration(*nanoseconds))
        }
        Value::Timestamp(time) => format!("timestamp({})", crate::library::time::rfc3339(*time)),
        Value::Type(name) => format!("type({name})"),
        Value::Optional(None) => "optional.none".to_owned(),
        Value::Optional(Some(value)) => format!("optional({})", debug(value)),
        Value::Quantity { amount, .. } => format!("quantity({amount})"),
        other => other.type_name().to_owned(),
    }
}
