//! YAML and JSON in and out, with the texts of the libraries that Helm uses.

use goyaml::{Numbers, ReadOptions};
use serde::Serialize;
use serde_json::Value;

/// Puts the words of Helm's YAML library in front of a mismatch that Go's JSON reported.
pub(crate) fn decoding_error(mismatch: impl std::fmt::Display) -> String {
    format!("error unmarshaling JSON: while decoding JSON: {mismatch}")
}

/// Reads a YAML document; whole numbers stay whole.
pub(crate) fn read(data: &[u8]) -> Result<Value, String> {
    goyaml::to_value(data).map_err(|error| error.in_sigs_words())
}

/// How many keys and values a document of values, or a text that a template reads, may have: ten times the largest
/// that is known. Each takes up to 1.5 kB while a chart is rendered, so that more would take more memory than small
/// machines have.
pub(crate) const MAX_VALUES: usize = 200_000;

/// Reads YAML with every number a float, as it is in Go's untyped JSON.
pub(crate) const VALUES: ReadOptions = ReadOptions {
    numbers: Numbers::Float64,
    strict: false,
    most_values: Some(MAX_VALUES),
};

/// Reads a document of values.
pub(crate) fn read_floats(data: &[u8]) -> Result<Value, String> {
    goyaml::to_value_with(data, VALUES).map_err(|error| error.in_sigs_words())
}

/// Reads JSON; every number is a float.
pub(crate) fn read_json_floats(data: &[u8]) -> Result<Value, String> {
    let options = ReadOptions {
        numbers: Numbers::Float64,
        ..ReadOptions::default()
    };
    goyaml::json::to_value(data, options).map_err(|error| error.to_string())
}

/// Writes a YAML document with sorted keys.
pub(crate) fn write(document: &impl Serialize) -> Result<String, String> {
    goyaml::to_string(document).map_err(|error| error.in_sigs_words())
}

/// The JSON value at the start of a text, as Go's stream decoder cuts it off; whether it is one, its reader says.
pub(crate) fn first_json_value(text: &str) -> &str {
    &text[..json_length(text)]
}

/// How many bytes the value at the start has, brackets and quotes taken into account.
fn json_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b'{' | b'[' | b'"') => {}
        Some(b'-' | b'0'..=b'9') => return number_length(bytes),
        _ => {
            let known = ["true", "false", "null"]
                .into_iter()
                .find(|literal| text.starts_with(literal));
            return known.map_or(bytes.len(), str::len);
        }
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && !in_string {
            return at + 1;
        }
    }
    bytes.len()
}

/// How many bytes the number at the start has; a number ends where its grammar does, whatever follows.
fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| {
        bytes
            .iter()
            .skip(from)
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    at += if bytes.get(at) == Some(&b'0') {
        1
    } else {
        digits(at)
    };
    if bytes.get(at) == Some(&b'.') {
        at += 1 + digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        at += digits(at);
    }
    at
}
