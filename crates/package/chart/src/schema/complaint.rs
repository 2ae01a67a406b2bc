//! What is said about values that a schema does not allow.

use std::fmt::Write;

use gotemplate::error::shortened;
use thiserror::Error;

use super::path::{Step, field_name, json_pointer};

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

/// A rule that a value breaks.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field}: {description}")]
pub struct Complaint {
    /// The way to the value, from the root of what was judged.
    pub path: Vec<Step>,
    /// The value in Helm's words: `image.tag` or `(root)` in Helm 3.17, `at '/image/tag'` or `at ''` later.
    pub field: String,
    /// The rule, in words.
    pub description: String,
    /// What was wrong with each of several ways to keep the rule.
    pub causes: Vec<Complaint>,
}

impl Complaint {
    /// The JSON pointer to the value.
    pub fn pointer(&self) -> String {
        json_pointer(&self.path)
    }

    /// Whether all that is wrong is that something is missing which must be there: by such a rule an author says that users
    /// have to decide, and not that a value is bad.
    pub fn asks_for_more(&self) -> bool {
        if self.causes.is_empty() {
            let words = &self.description;
            words.starts_with("missing propert") || words.ends_with(" is required")
        } else {
            self.causes.iter().all(Self::asks_for_more)
        }
    }

    /// The value's name below `root`, as Kubernetes names fields: `spec.replicas`.
    pub fn field_below(&self, root: &str) -> String {
        field_name(root, &self.path)
    }
}

fn lines(complaints: &[Complaint]) -> String {
    let mut text = String::new();
    let mut open = vec![complaints.iter()];
    while let Some(level) = open.last_mut() {
        let Some(complaint) = level.next() else {
            open.pop();
            continue;
        };
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{}- {complaint}", "  ".repeat(open.len() - 1));
        open.push(complaint.causes.iter());
    }
    text
}

/// Values that their charts' schemas do not allow.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{}", sections(.charts))]
pub struct SchemaViolation {
    /// The charts that don't take their values, each chart before its subcharts.
    pub charts: Vec<ChartViolation>,
}

/// A chart whose schema does not allow its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartViolation {
    /// The chart's name.
    pub chart: String,
    /// The keys that lead to the chart's section of the values; none for the root chart.
    pub section: Vec<String>,
    /// What is wrong.
    pub error: SchemaError,
}

/// There can be as many complaints as values.
fn sections(charts: &[ChartViolation]) -> String {
    let sections: Vec<String> = charts
        .iter()
        .map(|violation| [violation.chart.as_str(), ":\n", &violation.error.to_string()].concat())
        .collect();
    shortened(sections.concat())
}

impl SchemaViolation {
    /// The rules that are broken, each with the way from the root of all values to the value that breaks it.
    pub fn complaints(&self) -> impl Iterator<Item = (Vec<Step>, &Complaint)> {
        self.charts.iter().flat_map(|violation| {
            let complaints: &[Complaint] = match &violation.error {
                SchemaError::Complaints(complaints) => complaints,
                SchemaError::Faulty(_) | SchemaError::Unusable(_) => &[],
            };
            complaints.iter().map(|complaint| {
                let section = violation.section.iter().cloned().map(Step::Key);
                (section.chain(complaint.path.iter().cloned()).collect(), complaint)
            })
        })
    }
}
