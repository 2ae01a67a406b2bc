//! Go's fmt and strconv packages over template values.
//!
//! ```text
//! sprintf ─ directive ─► Layout (flags, width, precision) + verb ─┐
//! print, println, append_value ────────────────► plain %v ────────┴─► Printer ─► bytes
//!                                                                      ├ value   lists, maps, objects, bad verbs
//!                                                                      ├ scalar  integers, text, characters
//!                                                                      └ float   every way to write a float64
//! quote, unquote, parse_int, parse_float: text to literal and back, as strconv does it
//! ```

mod characters;
mod directive;
mod float;
mod layout;
mod number;
mod quote;
mod scalar;
#[cfg(test)]
mod tests;
mod unquote;
mod utf8;
mod value;

pub use characters::{is_decimal_digit, is_letter, is_print};
pub use directive::sprintf;
pub use float::float_text;
pub use number::{NumberError, NumberErrorKind, parse_float, parse_int, parse_uint};
pub use quote::{quote, quote_ascii, quoted};
pub use unquote::{UnquoteError, unquote, unquote_char};

use crate::types::Kind;
use crate::value::Value;
use layout::Layout;
use value::Printer;

/// Writes a value as `%v` does.
pub fn print_value(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    append_value(&mut out, value);
    out
}

/// Writes a value as `%v` does, for a message: what is not UTF-8 becomes U+FFFD.
pub fn value_text(value: &Value) -> String {
    into_text(print_value(value))
}

/// Takes bytes for text; what is not UTF-8 becomes U+FFFD.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Writes a value as `%v` does, at the end of `out`.
pub fn append_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::String(text) => out.extend_from_slice(text),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        other => Printer::new(out, Layout::default()).argument(other, 'v'),
    }
}

/// Writes values one after the other, with a space between two of which neither is a string.
pub fn print(values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    // As if a string came before: nothing separates the first value.
    let mut after_string = true;
    for value in values {
        let is_string = value.kind() == Kind::String;
        if !is_string && !after_string {
            out.push(b' ');
        }
        append_value(&mut out, value);
        after_string = is_string;
    }
    out
}

/// Writes values with a space between each two and a line feed at the end.
pub fn println(values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        append_value(&mut out, value);
    }
    out.push(b'\n');
    out
}

/// Writes a value in Go syntax, as `%#v` does.
pub fn go_syntax(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    Printer::new(
        &mut out,
        Layout {
            go_syntax: true,
            ..Layout::default()
        },
    )
    .argument(value, 'v');
    out
}
