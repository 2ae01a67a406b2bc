//! JSON as Go's encoding/json reads and writes it.

mod reader;
mod writer;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;
use crate::options::ReadOptions;
use crate::write::source::tell;
pub(crate) use writer::check_finite;

/// Which characters are escaped besides those that JSON itself requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// `<`, `>` and `&` as well, as `json.Marshal` does.
    Html,
    /// None, as an encoder with `SetEscapeHTML(false)` does.
    None,
}

/// Writes a value as JSON on one line, as `json.Marshal` does: the keys of maps sorted, structs as declared.
pub fn to_string<T: Serialize + ?Sized>(value: &T, escape: Escape) -> Result<String, Error> {
    let mut writer = writer::JsonWriter::new(None, escape);
    tell(value, &mut writer)?;
    Ok(writer.finish())
}

/// Writes a value as JSON over several lines, as `json.MarshalIndent` does; `indent` stands for one level.
pub fn to_string_pretty<T: Serialize + ?Sized>(
    value: &T,
    indent: &str,
    escape: Escape,
) -> Result<String, Error> {
    let mut writer = writer::JsonWriter::new(Some(indent), escape);
    tell(value, &mut writer)?;
    Ok(writer.finish())
}

/// Reads JSON, with Go's words for what is wrong with it; of a repeated key the last one counts.
///
/// Strictness about unknown fields is not Go's here but serde's: it depends on the type.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8], options: ReadOptions) -> Result<T, Error> {
    let value = reader::read(bytes, options)?;
    T::deserialize(value).map_err(<Error as serde::de::Error>::custom)
}

/// Reads JSON data, with Go's words for what is wrong with it.
pub fn to_value(bytes: &[u8], options: ReadOptions) -> Result<Value, Error> {
    reader::read(bytes, options)
}

/// Prints a finite number as `json.Marshal` does; `None` for what JSON has no number for.
pub fn number_text(number: f64) -> Option<String> {
    number.is_finite().then(|| crate::numbers::format_json(number))
}

/// Returns the type that Go gives a value that was read from JSON, as `%T` prints it.
pub fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Returns the word that Go's errors have for a kind of JSON value, as in
/// `json: cannot unmarshal array into Go value of type map[string]interface {}`.
pub fn kind_word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
