//! `values.schema.json`: what the values of a chart must look like, judged and worded as Helm does.
//!
//! ```text
//! bytes ─ compile, by a dialect ─► Schema ─ validate(values) ─► complaints, each with the way to its value
//! ```
//!
//! Helm changed its schema library once, and with it what schemas mean: which drafts there are, what stands beside a
//! reference, which formats are checked, when judging a value ends, whether a complaint has complaints below it, and
//! how a schema is refused. The two have paths, numbers, expressions and addresses in common, and these are shared. An
//! evaluation for both would ask at each keyword which one it is, so there are two:
//!
//! - `gojsonschema`: Helm 3.17. Complaints are a list; of several alternatives the closest one is told.
//! - `jsonschema_v6`: Helm since 3.18.5, and Helm 4. Complaints are a tree; a schema is judged by its own schema first.
//!
//! Where Helm's order is that of a hash map, and so different each time, this one's is by name.

mod cache;
mod complaint;
mod gojsonschema;
mod json_text;
mod jsonschema_v6;
mod number;
mod path;

use serde_json::Value;

use crate::dependencies::ActiveChart;
use crate::values::Table;

pub(crate) use cache::Schemas;
pub use complaint::{ChartViolation, Complaint, SchemaError, SchemaViolation};
pub use path::{Step, field_name, json_pointer};

/// Which Helm is followed in what schemas mean and in what is said about values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Helm 3.17, and others before 3.18.5.
    #[default]
    Helm3_17,
    /// Helm since 3.18.5, and Helm 4.
    Helm4,
}

/// A compiled schema.
#[derive(Debug)]
pub struct Schema(Compiled);

#[derive(Debug)]
enum Compiled {
    Helm3_17(gojsonschema::Schema),
    Helm4(jsonschema_v6::Schema),
}

impl Schema {
    /// Reads a schema; every fault that Helm finds in a schema is found here.
    pub fn compile(bytes: &[u8], dialect: Dialect) -> Result<Self, SchemaError> {
        Ok(Self(match dialect {
            Dialect::Helm3_17 => Compiled::Helm3_17(gojsonschema::Schema::compile(bytes)?),
            Dialect::Helm4 => Compiled::Helm4(jsonschema_v6::Schema::compile(bytes)?),
        }))
    }

    /// Judges values.
    pub fn validate(&self, values: &Table) -> Result<(), SchemaError> {
        match &self.0 {
            Compiled::Helm3_17(schema) => schema.validate(values),
            Compiled::Helm4(schema) => schema.validate(values),
        }
    }
}

/// Checks values against one schema, as Helm 3.17 does.
pub fn validate(schema: &[u8], values: &Table) -> Result<(), SchemaError> {
    Schema::compile(schema, Dialect::Helm3_17)?.validate(values)
}

/// Checks values against the schemas of a chart and its subcharts, each on its own section, as Helm 3.17 does.
pub fn validate_chart(chart: &ActiveChart, values: &Table) -> Result<(), SchemaViolation> {
    validate_chart_by(chart, values, Dialect::Helm3_17)
}

/// Checks values against the schemas of a chart and its subcharts, each on its own section.
pub fn validate_chart_by(
    chart: &ActiveChart,
    values: &Table,
    dialect: Dialect,
) -> Result<(), SchemaViolation> {
    Schemas::default().validate_chart(chart, values, dialect)
}

/// A walk through a chart and its subcharts.
struct Walk<'w> {
    schemas: &'w Schemas,
    dialect: Dialect,
    section: Vec<String>,
    violations: Vec<ChartViolation>,
}

impl Walk<'_> {
    fn visit(&mut self, chart: &ActiveChart, values: &Table) {
        if let Some(schema) = &chart.chart.schema
            && let Err(error) = self.schemas.validate(schema, values, self.dialect)
        {
            self.complain(chart, error);
        }
        let nothing = Table::new();
        for subchart in &chart.dependencies {
            let section = match (values.get(subchart.name()), self.dialect) {
                (Some(Value::Object(section)), _) => section,
                (_, Dialect::Helm3_17) => &nothing,
                // Without values there is nothing to judge.
                (None | Some(Value::Null), Dialect::Helm4) => continue,
                (Some(other), Dialect::Helm4) => {
                    let given = goyaml::json::go_type(other);
                    let error = format!("invalid type for values: expected object (map), got {given}\n");
                    self.section.push(subchart.name().to_owned());
                    self.complain(subchart, SchemaError::Faulty(error));
                    self.section.pop();
                    continue;
                }
            };
            self.section.push(subchart.name().to_owned());
            self.visit(subchart, section);
            self.section.pop();
        }
    }

    fn complain(&mut self, chart: &ActiveChart, error: SchemaError) {
        self.violations.push(ChartViolation {
            chart: chart.name().to_owned(),
            section: self.section.clone(),
            error,
        });
    }
}
