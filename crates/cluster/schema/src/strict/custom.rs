//! A body read as a custom resource: any JSON, then taken in by its schema.

use std::sync::LazyLock;

use serde_json::Value;

use super::problems::Problems;
use super::scanner::Scanner;
use super::untyped;
use crate::structural::metadata::Malformed;
use crate::{Schema, structural};

/// The schema of custom resources that keep every field.
static KEEPS_ALL: LazyLock<Schema> = LazyLock::new(|| Schema {
    preserve_unknown_fields: true,
    ..Schema::anything()
});

/// Reads JSON, and returns what strict decoding finds, or what the decoder says against it.
pub(super) fn decode(json: &[u8], schema: Option<&Schema>) -> Result<(Value, Vec<String>), String> {
    let mut scanner = Scanner::new(json);
    let mut problems = Problems::default();
    let mut value = untyped::value(&mut scanner, &mut problems).map_err(|error| error.to_string())?;
    if let Some(overflow) = problems.overflow() {
        return Err(overflow.to_owned());
    }
    let schema = schema.unwrap_or(&KEEPS_ALL);
    let unknown =
        structural::coerce(schema, &mut value, Malformed::Refuse).map_err(|error| error.to_string())?;
    let mut told = problems.into_told();
    told.extend(unknown.problems());
    Ok((value, told))
}
