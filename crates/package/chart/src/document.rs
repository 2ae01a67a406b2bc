//! YAML and JSON in and out, with the texts of the libraries that Helm uses.

use goyaml::{Numbers, ReadOptions};
use serde::Serialize;
use serde_json::Value;

/// Puts the words of Helm's YAML library in front of a mismatch that Go's JSON reported.
pub(crate) fn decoding_error(mismatch: String) -> String {
    format!("error unmarshaling JSON: while decoding JSON: {mismatch}")
}

/// Reads a YAML document; whole numbers stay whole.
pub(crate) fn read(data: &[u8]) -> Result<Value, String> {
    goyaml::to_value(data).map_err(|error| error.in_sigs_words())
}

/// Reads a YAML document; every number is a float, as it is in Go's untyped JSON.
pub(crate) fn read_floats(data: &[u8]) -> Result<Value, String> {
    goyaml::to_value_float64(data).map_err(|error| error.in_sigs_words())
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
