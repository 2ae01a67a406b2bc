//! Helm's checks of a chart: what will not work, what is not as it should be, what would be nice.
//!
//! Rendering is not done here: whoever lints hands in a function that renders.

mod addresses;
mod chart_file;
mod dependencies;
mod deprecations;
mod object_names;
mod templates;
mod values;

use std::fmt;
use std::path::Path;

use bytes::Bytes;

use crate::dependencies::ActiveChart;
use crate::values::Table;
use crate::warning::WarningSink;

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It could be better.
    Info,
    /// It works, but is not as it should be.
    Warning,
    /// It will not work.
    Error,
}

/// Something that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// How bad it is.
    pub severity: Severity,
    /// The file in the chart; empty for the chart as a whole.
    pub path: String,
    /// What it is.
    pub text: String,
}

impl fmt::Display for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Info => "INFO",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
        };
        write!(formatter, "[{severity}] {}: {}", self.path, self.text)
    }
}

/// What is linted, and how.
pub struct LintInput<'a> {
    /// The chart's directory.
    pub directory: &'a Path,
    /// The user's values.
    pub values: &'a Table,
    /// The major and minor version of Kubernetes that is meant; 1.32 where nobody says.
    pub kubernetes: Option<(u32, u32)>,
    /// Whether values are not checked against schemas.
    pub skip_schema_validation: bool,
}

/// Renders a chart with coalesced values: the files by name, or the text of the error.
pub type Render<'a> = &'a mut dyn FnMut(&ActiveChart, &Table) -> Result<Vec<(String, Bytes)>, String>;

/// The version of Kubernetes that Helm 3.17 was built for.
const DEFAULT_KUBERNETES: (u32, u32) = (1, 32);

/// Runs all checks, in Helm's order.
pub fn lint(input: &LintInput<'_>, render: Render<'_>, warn: WarningSink<'_>) -> Vec<Message> {
    let directory = std::path::absolute(input.directory).unwrap_or_else(|_| input.directory.to_owned());
    let mut findings = Findings::default();
    chart_file::check(&directory, &mut findings);
    values::check(&directory, input, &mut findings, warn);
    templates::check(&directory, input, render, &mut findings, warn);
    dependencies::check(&directory, &mut findings, warn);
    findings.messages
}

/// What was found so far.
#[derive(Default)]
struct Findings {
    messages: Vec<Message>,
}

impl Findings {
    /// Notes the outcome of a rule; tells whether it was kept.
    fn rule(&mut self, severity: Severity, path: &str, outcome: Result<(), String>) -> bool {
        match outcome {
            Ok(()) => true,
            Err(text) => {
                self.messages.push(Message {
                    severity,
                    path: path.to_owned(),
                    text,
                });
                false
            }
        }
    }
}

/// The rule is kept if the condition holds.
fn require(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}
