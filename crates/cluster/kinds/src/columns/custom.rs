//! The columns of custom resources: what `additionalPrinterColumns` of their definition says.

use goyaml::json::Escape;
use jiff::Timestamp;
use serde_json::Value;

use super::cells::{Cells, items_at, text_at};
use super::json_path::JsonPath;
use super::{Column, Row, default_columns};

/// The columns of one version of a custom resource.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Columns {
    columns: Vec<Column>,
    paths: Vec<JsonPath>,
}

/// Why a definition's columns can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    /// The definition has no version of this name.
    #[error("the CustomResourceDefinition has no version {0:?}")]
    NoVersion(String),
    /// A column's path can't be read.
    #[error("unrecognized column definition {0:?}")]
    BadPath(String),
}

impl Columns {
    /// Returns the columns of a version of a CustomResourceDefinition.
    pub fn from_crd(definition: &Value, version: &str) -> Result<Self, ColumnsError> {
        let found = items_at(definition, "spec.versions")
            .iter()
            .find(|one| text_at(one, "name") == version);
        let found = found.ok_or_else(|| ColumnsError::NoVersion(version.to_owned()))?;
        Self::from_definitions(items_at(found, "additionalPrinterColumns"))
    }

    /// Returns the columns that `additionalPrinterColumns` names; the age, if it names none.
    pub fn from_definitions(definitions: &[Value]) -> Result<Self, ColumnsError> {
        let mut columns: Vec<Column> = default_columns().first().cloned().into_iter().collect();
        let mut paths = Vec::new();
        for definition in definitions {
            let path = text_at(definition, "jsonPath");
            paths.push(JsonPath::parse(path).map_err(|_| ColumnsError::BadPath(path.to_owned()))?);
            let description = match text_at(definition, "description") {
                "" => format!("Custom resource definition column (in JSONPath format): {path}"),
                text => text.to_owned(),
            };
            columns.push(Column {
                name: text_at(definition, "name").to_owned(),
                column_type: text_at(definition, "type").to_owned(),
                format: text_at(definition, "format").to_owned(),
                description,
                priority: definition
                    .get("priority")
                    .and_then(Value::as_i64)
                    .unwrap_or_default() as i32,
            });
        }
        if definitions.is_empty() {
            let path = ".metadata.creationTimestamp";
            paths.push(JsonPath::parse(path).map_err(|_| ColumnsError::BadPath(path.to_owned()))?);
            columns.extend(default_columns().get(1).map(|created| Column {
                name: "Age".to_owned(),
                column_type: "date".to_owned(),
                ..created.clone()
            }));
        }
        Ok(Self { columns, paths })
    }

    /// Returns the columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns what an object has in the columns.
    pub fn row(&self, object: &Value, now: Timestamp) -> Row {
        let cells = Cells::new(object, now);
        let mut out = vec![cells.name()];
        for (column, path) in self.columns.iter().skip(1).zip(&self.paths) {
            let found = path.find(object).unwrap_or_default();
            out.push(
                found
                    .first()
                    .map_or(Value::Null, |value| cell(&column.column_type, value, &cells)),
            );
        }
        Row {
            cells: out,
            conditions: Vec::new(),
        }
    }
}

/// Returns a value as a column of this type shows it; null if it isn't of the type.
fn cell(column_type: &str, value: &Value, cells: &Cells<'_>) -> Value {
    match (column_type, value) {
        ("string", value) => printed(value).into(),
        ("integer", Value::Number(number)) if number.is_f64() => number
            .as_f64()
            .map_or(Value::Null, |float| Value::from(float as i64)),
        ("integer" | "number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(text)) => match text.as_str() {
            "" | "null" => "<unknown>".into(),
            text if text.parse::<Timestamp>().is_err() => "<invalid>".into(),
            text => cells.since_text(text).into(),
        },
        _ => Value::Null,
    }
}

/// Returns a value as kubectl's `JSONPath` prints it.
fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<no value>".to_owned(),
        Value::Number(number) if number.is_f64() => number.as_f64().map(printed_float).unwrap_or_default(),
        Value::Array(_) | Value::Object(_) => {
            goyaml::json::to_string(value, Escape::Html).unwrap_or_default()
        }
        other => other.to_string(),
    }
}

/// Returns a float as Go's `%v` prints it.
fn printed_float(float: f64) -> String {
    let magnitude = float.abs();
    if magnitude == 0.0 || (1e-4..1e21).contains(&magnitude) {
        return float.to_string();
    }
    let text = format!("{float:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent
        .strip_prefix('-')
        .map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

#[cfg(test)]
mod tests;
