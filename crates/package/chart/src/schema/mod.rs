//! `values.schema.json`: what the values of a chart must look like, judged and worded as Helm 3.17 does.
//!
//! ```text
//! bytes ─ documents (references made absolute) ─► compile ─► Schema ─ evaluate(values) ─► complaints
//! ```
//!
//! Where Helm's order is that of a hash map, and so different each time, this one's is by name.

mod compile;
mod documents;
mod email;
mod evaluate;
mod format;
mod number;

use serde_json::Value;
use thiserror::Error;

use crate::dependencies::ActiveChart;
use crate::values::Table;

pub use compile::Schema;

/// Values that their charts' schemas do not allow.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{0}")]
pub struct SchemaViolation(String);

/// Why values were not accepted by one schema, or the schema itself by its reader.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SchemaError {
    /// The schema is no JSON, breaks the rules of schemas, or refers to something that cannot be read.
    #[error("{0}")]
    Faulty(String),
    /// The schema leads in circles, or judging the values by it takes too long.
    #[error("unable to validate schema: {0}")]
    Unusable(String),
    /// The values break rules; one line for each.
    #[error("{}", lines(.0))]
    Complaints(Vec<Complaint>),
}

fn lines(complaints: &[Complaint]) -> String {
    complaints.iter().fold(String::new(), |text, complaint| {
        text + &format!("- {complaint}\n")
    })
}

/// A rule that a value breaks.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field}: {description}")]
pub struct Complaint {
    /// The dotted path of the value; `(root)` is all of them.
    pub field: String,
    /// The rule, in words.
    pub description: String,
}

/// Checks values against the schemas of a chart and its subcharts, each on its own section.
pub fn validate_chart(chart: &ActiveChart, values: &Table) -> Result<(), SchemaViolation> {
    let mut text = String::new();
    collect(chart, values, &mut text);
    if text.is_empty() {
        Ok(())
    } else {
        Err(SchemaViolation(text))
    }
}

fn collect(chart: &ActiveChart, values: &Table, text: &mut String) {
    if let Some(schema) = &chart.chart.schema
        && let Err(error) = validate(schema, values)
    {
        text.push_str(chart.name());
        text.push_str(":\n");
        text.push_str(&error.to_string());
    }
    let nothing = Table::new();
    for subchart in &chart.dependencies {
        let section = match values.get(subchart.name()) {
            Some(Value::Object(section)) => section,
            _ => &nothing,
        };
        collect(subchart, section, text);
    }
}

/// Checks values against one schema.
pub fn validate(schema: &[u8], values: &Table) -> Result<(), SchemaError> {
    Schema::compile(schema)?.validate(values)
}
