//! TOML's numbers and times, with the complaints of `BurntSushi`'s parser.

use gotemplate::Value;
use gotemplate::format::quoted;
use gotemplate::format::{NumberErrorKind, parse_float, parse_int};

use super::parser::Zones;
use crate::time::{Location, Time};

pub(super) fn integer(text: &str) -> Result<Value, String> {
    let shown = quoted(text);
    if !underscores_are_between_digits(text) {
        return Err(format!(
            "Invalid integer {shown}: underscores must be surrounded by digits"
        ));
    }
    if has_leading_zero(text) {
        return Err(format!("Invalid integer {shown}: cannot have leading zeroes"));
    }
    match parse_int(text, 0) {
        Ok(number) => Ok(Value::int64(number)),
        Err(_) => Err(format!("{text} is out of range for int64")),
    }
}

pub(super) fn float(text: &str) -> Result<Value, String> {
    let shown = quoted(text);
    let mut parts = text
        .split(['.', 'e', 'E'])
        .filter(|part| !part.is_empty())
        .peekable();
    let first = parts.peek().copied();
    if !parts.all(underscores_are_between_digits) {
        return Err(format!(
            "Invalid float {shown}: underscores must be surrounded by digits"
        ));
    }
    if first.is_some_and(has_leading_zero) {
        return Err(format!("Invalid float {shown}: cannot have leading zeroes"));
    }
    let digit_follows =
        |(index, _): (usize, &str)| text.as_bytes().get(index + 1).is_some_and(u8::is_ascii_digit);
    if !text.match_indices('.').all(digit_follows) {
        return Err(format!(
            "Invalid float {shown}: '.' must be followed by one or more digits"
        ));
    }
    match text {
        "nan" | "+nan" => return Ok(Value::Float(f64::NAN)),
        "-nan" => return Ok(Value::Float(f64::NAN.copysign(-1.0))),
        _ => {}
    }
    match parse_float(&text.replace('_', "")) {
        Ok(number) => Ok(Value::Float(number)),
        Err(error) if error.kind == NumberErrorKind::Range => {
            Err(format!("{text} is out of range for float64"))
        }
        Err(_) => Err(format!("Invalid float value: {shown}")),
    }
}

fn has_leading_zero(text: &str) -> bool {
    match text.as_bytes() {
        [b'0', second, ..] => !matches!(second, b'b' | b'o' | b'x'),
        [b'-' | b'+', b'0', _, ..] => true,
        _ => false,
    }
}

fn underscores_are_between_digits(text: &str) -> bool {
    if matches!(text, "nan" | "+nan" | "-nan" | "inf" | "-inf" | "+inf") {
        return true;
    }
    let mut after_digit = false;
    for byte in text.bytes() {
        if byte == b'_' && !after_digit {
            return false;
        }
        after_digit = byte.is_ascii_hexdigit();
    }
    after_digit
}

/// Reads a date, a time, or both; without a zone they get one that says what they were.
pub(super) fn time(text: &[u8], zones: &Zones) -> Result<Value, String> {
    let text: Vec<u8> = text
        .iter()
        .map(|byte| match byte {
            b'z' => b'Z',
            b't' | b' ' => b'T',
            byte => *byte,
        })
        .collect();
    let fixed = |name: &str| Location::Fixed(name.into(), zones.offset);
    for (layout, location) in [
        (&b"2006-01-02T15:04:05.999999999Z07:00"[..], zones.local.clone()),
        (b"2006-01-02T15:04:05.999999999", fixed(Time::LOCAL_DATE_TIME)),
        (b"2006-01-02", fixed(Time::LOCAL_DATE)),
        (b"15:04:05.999999999", fixed(Time::LOCAL_TIME)),
    ] {
        if let Ok(time) = Time::parse(layout, &text, &location) {
            if lacks_leading_zero(&text, layout) {
                break;
            }
            return Ok(time.into());
        }
    }
    Err(format!("invalid datetime: {}", quoted(&*text)))
}

/// Go's parser takes an hour of one digit; TOML does not.
fn lacks_leading_zero(text: &[u8], layout: &[u8]) -> bool {
    layout
        .iter()
        .zip(text)
        .take_while(|(expected, _)| !matches!(expected, b'.' | b'Z'))
        .any(|(expected, given)| !expected.is_ascii_digit() && expected != given)
}
