//! Values and strings as Go's `fmt` and `strconv` print them, for messages that must equal Helm's.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// Quotes like `%q`: Go escapes, printable Unicode kept.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            _ if is_print(character) => out.push(character),
            _ => {
                let code = character as u32;
                // Writing to a String cannot fail.
                let _ = match code {
                    0..0x20 | 0x7f => write!(out, "\\x{code:02x}"),
                    0..0x1_0000 => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
    out
}

/// Tells whether Go's `unicode.IsPrint` holds: letters, marks, numbers, punctuation, symbols and the plain space.
pub(crate) fn is_print(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    // The standard library keeps its table of printable characters to itself, but its escapes show it. The leading
    // letter is there because a combining mark is escaped only at the start.
    let mut probe = [b'a', 0, 0, 0, 0];
    let length = character.encode_utf8(&mut probe[1..]).len();
    std::str::from_utf8(&probe[..=length]).is_ok_and(|text| text.escape_debug().nth(1) == Some(character))
}

/// Prints a value like `%v`.
pub(crate) fn verb_v(value: &Value) -> String {
    let mut out = String::new();
    write_v(&mut out, value);
    out
}

fn write_v(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number_v(number)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write_v(out, item);
            }
            out.push(']');
        }
        Value::Object(entries) => {
            out.push_str("map[");
            for (index, (key, item)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write_v(out, item);
            }
            out.push(']');
        }
    }
}

/// Prints a value like `%t`, which Go marks as a mistake for anything but a boolean.
pub(crate) fn verb_t(value: &Value) -> String {
    match value {
        Value::Null => "%!t(<nil>)".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) if number.is_f64() => format!("%!t(float64={})", number_v(number)),
        Value::Number(number) => format!("%!t(int64={number})"),
        Value::String(text) => format!("%!t(string={text})"),
        Value::Array(items) => {
            let inner: Vec<String> = items.iter().map(nested_t).collect();
            format!("[{}]", inner.join(" "))
        }
        Value::Object(entries) => {
            let inner: Vec<String> = entries
                .iter()
                .map(|(key, item)| format!("%!t(string={key}):{}", nested_t(item)))
                .collect();
            format!("map[{}]", inner.join(" "))
        }
    }
}

fn nested_t(value: &Value) -> String {
    if value.is_null() {
        "<nil>".to_owned()
    } else {
        verb_t(value)
    }
}

/// Prints a number like `%v`: integers in decimal, floats in the shortest `%g` form.
pub(crate) fn number_v(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => float_g(float),
        _ => number.to_string(),
    }
}

/// Prints like `strconv.FormatFloat(value, 'g', -1, 64)`: the shortest digits that read back as `value`, in exponent
/// form below 1e-4 and from 1e6 on.
pub(crate) fn float_g(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        format!("{value}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{:02}", exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn floats_print_as_go_prints_them() {
        for (value, expected) in [
            (1_000_000.0, "1e+06"),
            (123_456.0, "123456"),
            (1_234_567.0, "1.234567e+06"),
            (1e20, "1e+20"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (3.0, "3"),
            (-2.5, "-2.5"),
        ] {
            assert_eq!(float_g(value), expected);
        }
    }

    #[test]
    fn quoting_escapes_what_go_does_not_print() {
        assert_eq!(
            quote("\u{a0}\u{200b}\u{feff}\u{7f}\u{85}é😀\u{e0001}a\u{301}\"\\"),
            "\"\\u00a0\\u200b\\ufeff\\x7f\\u0085é😀\\U000e0001a\u{301}\\\"\\\\\""
        );
    }

    #[test]
    fn values_print_with_sorted_keys() {
        assert_eq!(
            verb_v(&json!({"b": [1, "x", null], "a": true})),
            "map[a:true b:[1 x <nil>]]"
        );
    }

    #[test]
    fn a_value_that_is_no_boolean_is_marked() {
        assert_eq!(verb_t(&json!(["a", 1.0])), "[%!t(string=a) %!t(float64=1)]");
        assert_eq!(
            verb_t(&json!({"a": 1.5, "b": null})),
            "map[%!t(string=a):%!t(float64=1.5) %!t(string=b):<nil>]"
        );
        assert_eq!(verb_t(&Value::Null), "%!t(<nil>)");
    }
}
