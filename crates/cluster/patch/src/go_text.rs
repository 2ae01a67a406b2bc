//! Values as Go's `fmt` prints them, because errors of the merge show them so.

use serde_json::{Number, Value};

/// Returns a text as `%q` prints it.
pub(crate) fn quoted(text: &str) -> String {
    schema::field_error::shown(&Value::String(text.to_owned()))
}

/// Returns a value as `%s` prints it, which complains about what isn't a text.
pub(crate) fn printed_as_text(value: &Value) -> String {
    let mut out = String::new();
    print(&mut out, value, true);
    out
}

/// Returns the fields of an object as `%v` prints a map.
pub(crate) fn printed_fields(fields: &serde_json::Map<String, Value>) -> String {
    let mut out = String::new();
    print_fields(&mut out, fields, false);
    out
}

/// Returns the items of a list as `%v` prints a slice.
pub(crate) fn printed_items(items: &[Value]) -> String {
    let mut out = String::new();
    print_items(&mut out, items, false);
    out
}

fn print(out: &mut String, value: &Value, as_text: bool) {
    match value {
        Value::String(text) => out.push_str(text),
        Value::Object(fields) => print_fields(out, fields, as_text),
        Value::Array(items) => print_items(out, items, as_text),
        Value::Null => out.push_str(if as_text { "%!s(<nil>)" } else { "<nil>" }),
        Value::Bool(_) | Value::Number(_) => {
            let text = match value {
                Value::Number(number) => number_text(number),
                other => other.to_string(),
            };
            if as_text {
                out.extend(["%!s(", type_name(value), "=", &text, ")"]);
            } else {
                out.push_str(&text);
            }
        }
    }
}

fn print_fields(out: &mut String, fields: &serde_json::Map<String, Value>, as_text: bool) {
    out.push_str("map[");
    for (index, (name, value)) in fields.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        out.push_str(name);
        out.push(':');
        print(out, value, as_text);
    }
    out.push(']');
}

fn print_items(out: &mut String, items: &[Value], as_text: bool) {
    out.push('[');
    for (index, value) in items.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        print(out, value, as_text);
    }
    out.push(']');
}

/// Returns a number as `%v` prints it: floats with an exponent below 1e-4 and from 1e+21 on.
fn number_text(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    let magnitude = float.abs();
    if magnitude != 0.0 && !(1e-4..1e21).contains(&magnitude) {
        let text = format!("{float:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = exponent
            .strip_prefix('-')
            .map_or(('+', exponent), |digits| ('-', digits));
        return format!("{mantissa}e{sign}{digits:0>2}");
    }
    format!("{float}")
}

/// Returns the Go type of a value that was read from JSON.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        value => goyaml::json::go_type(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_print_as_go_prints_them() {
        let value = json!({"b": [1, 2.5, "x y", null, true, 1e21, 1e-5, 100_000.0], "a": {}});
        let printed = printed_items(&[value]);
        assert_eq!(
            printed,
            "[map[a:map[] b:[1 2.5 x y <nil> true 1e+21 1e-05 100000]]]"
        );
        assert_eq!(
            printed_as_text(&json!([1, null, "a", 1.5])),
            "[%!s(int64=1) %!s(<nil>) a %!s(float64=1.5)]"
        );
    }
}
