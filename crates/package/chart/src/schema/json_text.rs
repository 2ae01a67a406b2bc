//! The JSON of schema files, as Go's stream decoder reads it.

use goyaml::ReadOptions;
use serde_json::Value;

use super::SchemaError;

/// The first value of a text and what follows it; whether it is one, [`read`] says.
pub(super) fn cut(text: &str) -> Result<(&str, &str), SchemaError> {
    let text = text.trim_start_matches([' ', '\t', '\r', '\n']);
    if text.is_empty() {
        return Err(SchemaError::Faulty("EOF".to_owned()));
    }
    Ok(text.split_at(crate::document::first_json_value(text).len()))
}

/// Reads a value; integers stay integers.
pub(super) fn read(text: &str) -> Result<Value, SchemaError> {
    goyaml::json::to_value(text.as_bytes(), ReadOptions::default()).map_err(|error| {
        let is_cut_off = error.to_string() == "unexpected end of JSON input"
            || ["true", "false", "null"]
                .iter()
                .any(|literal| literal.starts_with(text.trim_end()));
        SchemaError::Faulty(if is_cut_off {
            "unexpected EOF".to_owned()
        } else {
            error.to_string()
        })
    })
}
