//! What a scalar means: YAML 1.1 as go-yaml v2 understands it, and as v3 does where strings are quoted.

use std::borrow::Cow;

use crate::error::Error;
use crate::numbers::{self, Integer};
use crate::timestamp::is_timestamp;

/// A scalar's meaning.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar<'t> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(Cow<'t, str>),
}

const TAG_PREFIX: &str = "tag:yaml.org,2002:";

/// Finds the meaning of a scalar that carries a tag.
pub(crate) fn resolve_tagged<'t>(tag: &str, text: &'t str) -> Result<Scalar<'t>, Error> {
    let literal = || Scalar::Text(Cow::Borrowed(text));
    let wanted = match tag.strip_prefix(TAG_PREFIX) {
        Some("binary") => return decode_binary(text).map(|text| Scalar::Text(Cow::Owned(text))),
        Some("timestamp") if is_timestamp(text) => return Ok(literal()),
        Some(name @ ("bool" | "int" | "float" | "null" | "timestamp")) => name,
        // Any other tag leaves the text alone.
        _ => return Ok(literal()),
    };
    let meaning = resolve_plain(text);
    let found = match &meaning {
        Scalar::Null => "null",
        Scalar::Bool(_) => "bool",
        Scalar::Int(_) | Scalar::Uint(_) => "int",
        Scalar::Float(_) => "float",
        Scalar::Text(_) => "str",
    };
    match (wanted, meaning) {
        ("float", Scalar::Int(number)) => Ok(Scalar::Float(number as f64)),
        (_, meaning) if found == wanted => Ok(meaning),
        _ => Err(Error::yaml(format_args!(
            "cannot decode !!{found} `{text}` as a !!{wanted}"
        ))),
    }
}

/// Finds the meaning of a plain scalar without a tag.
#[inline]
pub(crate) fn resolve_plain(text: &str) -> Scalar<'_> {
    match text.as_bytes().first() {
        None => Scalar::Null,
        Some(b'~' | b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O') => {
            resolve_word(text)
        }
        Some(b'+' | b'-' | b'0'..=b'9' | b'.') => resolve_number(text),
        _ => Scalar::Text(Cow::Borrowed(text)),
    }
}

fn resolve_word(text: &str) -> Scalar<'_> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        _ => Scalar::Text(Cow::Borrowed(text)),
    }
}

fn resolve_number(text: &str) -> Scalar<'_> {
    if let Some(special) = special_float(text) {
        return Scalar::Float(special);
    }
    let literal = Scalar::Text(Cow::Borrowed(text));
    if text.starts_with('.') {
        return numbers::parse_go_float(text).map_or(literal, Scalar::Float);
    }
    let plain: Cow<'_, str> = if text.contains('_') {
        text.replace('_', "").into()
    } else {
        text.into()
    };
    let binary = || {
        let digits = match plain.strip_prefix("0b") {
            Some(digits) => Cow::Borrowed(digits),
            None => Cow::Owned(format!("-{}", plain.strip_prefix("-0b")?)),
        };
        numbers::parse_integer_in(&digits, 2)
    };
    match numbers::parse_integer(&plain) {
        Some(Integer::Signed(number)) => Scalar::Int(number),
        Some(Integer::Unsigned(number)) => Scalar::Uint(number),
        None => match (numbers::parse_yaml_float(&plain), binary()) {
            (Some(number), _) => Scalar::Float(number),
            (None, Some(Integer::Signed(number))) => Scalar::Int(number),
            (None, Some(Integer::Unsigned(number))) => Scalar::Uint(number),
            (None, None) => literal,
        },
    }
}

/// Returns the value of a name for a float that JSON does not have.
pub(crate) fn special_float(text: &str) -> Option<f64> {
    match text {
        ".nan" | ".NaN" | ".NAN" => Some(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// Whether a string would be read as something else if it stood without quotes, in go-yaml v2.
pub(crate) fn needs_quotes_v2(text: &str) -> bool {
    !matches!(resolve_plain(text), Scalar::Text(_)) || is_timestamp(text) || is_base_60(text)
}

/// Whether a string would be read as something else if it stood without quotes, in go-yaml v3.
pub(crate) fn needs_quotes_v3(text: &str) -> bool {
    // v3 reads `yes` as a string but quotes it for the sake of v2; it knows one more way to write octals.
    needs_quotes_v2(text) || is_signed_octal(text)
}

/// `0o-7` and `-0o7`, which v3 reads by its own rule where Go's general one fails.
fn is_signed_octal(text: &str) -> bool {
    if !text.starts_with(['-', '0']) {
        return false;
    }
    let plain = text.replace('_', "");
    let digits = match plain.strip_prefix("0o") {
        Some(digits) => Some(digits.to_owned()),
        None => plain.strip_prefix("-0o").map(|digits| format!("-{digits}")),
    };
    digits.is_some_and(|digits| numbers::parse_integer_in(&digits, 8).is_some())
}

/// YAML 1.1 reads `12:30:45` as a number to the base 60. go-yaml does not, but quotes it for those that do.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let Some((first, rest)) = unsigned.split_once(':') else {
        return false;
    };
    let (places, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let digits_or_underscores = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    first.starts_with(|character: char| character.is_ascii_digit())
        && digits_or_underscores(first)
        && digits_or_underscores(fraction)
        && places.split(':').all(|place| match place.as_bytes() {
            [ones] => ones.is_ascii_digit(),
            [tens, ones] => (b'0'..=b'5').contains(tens) && ones.is_ascii_digit(),
            _ => false,
        })
}

fn decode_binary(text: &str) -> Result<String, Error> {
    let bytes = crate::base64::decode(text)
        .ok_or_else(|| Error::yaml("!!binary value contains invalid base64 data"))?;
    Ok(replace_invalid_utf8(bytes))
}

/// Go's encoding/json puts one replacement character for each byte that is not UTF-8.
fn replace_invalid_utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let mut text = String::new();
        for chunk in error.as_bytes().utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(std::iter::repeat_n('\u{FFFD}', chunk.invalid().len()));
        }
        text
    })
}
