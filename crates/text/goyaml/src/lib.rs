//! Reads and writes YAML and JSON exactly as Go's sigs.k8s.io/yaml (go-yaml v2) and encoding/json do.
//!
//! ```text
//! read:   bytes ─ input ─► text ─ scanner ─► tokens ─ parser ─► events ─ tree ─► nodes
//!         nodes ─ check (what Go refuses) ─┬─ build ─► serde_json::Value
//!                                          └─ de ────► any Deserialize type
//! write:  any Serialize type ─ write::source ─┬─ write::yaml ─► YAML (v2 by way of JSON, or v3)
//!                                             └─ json::writer ─► JSON
//! ```
//!
//! `resolve` and `numbers` know what a scalar means, `meaning` what a mapping means (merging, keys).
//! [`typed`] gives JSON data the shape of a Go type, for those who show Go's words for what does not fit.
//! JSON text has its own reader in [`json`], because Go reads it with another library.

mod base64;
mod build;
mod check;
mod de;
mod documents;
mod error;
mod go_syntax;
mod input;
pub mod json;
pub mod limits;
mod meaning;
mod numbers;
mod options;
mod parser;
mod resolve;
mod scanner;
mod timestamp;
mod tree;
pub mod typed;
mod write;
mod written;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use documents::{Chunk, Document, Documents, chunks, documents};
pub use error::{Error, Stage};
pub use options::{Numbers, ReadOptions};
pub use written::Written;

/// Reads the first document into a type, as `yaml.Unmarshal` does.
///
/// Of a repeated key the last one counts; fields that the type does not have are ignored; no document at all
/// is null. See [`ReadOptions`] for more strictness.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    from_slice_with(bytes, ReadOptions::default())
}

/// Reads the first document into a type, as `yaml.UnmarshalStrict` does.
///
/// A repeated key is an error, and so is a field that a struct does not have. Structs with `#[serde(flatten)]`
/// take any field, because serde does not tell which ones they have.
pub fn from_slice_strict<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    from_slice_with(
        bytes,
        ReadOptions {
            strict: true,
            ..ReadOptions::default()
        },
    )
}

/// As [`from_slice`], for text.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    from_slice(text.as_bytes())
}

/// As [`from_slice_strict`], for text.
pub fn from_str_strict<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    from_slice_strict(text.as_bytes())
}

/// Reads the first document into a type.
pub fn from_slice_with<T: DeserializeOwned>(bytes: &[u8], options: ReadOptions) -> Result<T, Error> {
    match documents::first_document(bytes, options)? {
        Some(document) => document.deserialize(options),
        None => documents::null().deserialize(options),
    }
}

/// Converts the first document to JSON data, as `yaml.YAMLToJSON` does. No document at all is null.
pub fn to_value(bytes: &[u8]) -> Result<Value, Error> {
    to_value_with(bytes, ReadOptions::default())
}

/// Converts the first document to JSON data in which every number is a float, as Go's `interface{}` gets it.
pub fn to_value_float64(bytes: &[u8]) -> Result<Value, Error> {
    to_value_with(
        bytes,
        ReadOptions {
            numbers: Numbers::Float64,
            ..ReadOptions::default()
        },
    )
}

/// Converts the first document to JSON data.
pub fn to_value_with(bytes: &[u8], options: ReadOptions) -> Result<Value, Error> {
    documents::first_document(bytes, options)?.map_or(Ok(Value::Null), |document| document.to_value(options))
}

/// Writes a value as YAML, as `yaml.Marshal` of sigs.k8s.io/yaml does.
///
/// The value is taken for JSON data: keys are sorted (numbers inside of them by value), a float without a
/// fraction is an integer. Sequences are not indented below their key, and long lines are folded.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    write::yaml::write_v2(value)
}

/// Writes a value as YAML, as go-yaml v3's encoder with an indentation of two does; this is Helm's `toYamlPretty`.
///
/// The value is written as it is: sequences are indented, no line is folded, a float keeps its notation.
pub fn to_string_v3_indented<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    write::yaml::write_v3(value)
}
