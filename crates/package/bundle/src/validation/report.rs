//! What came out of a validation, in the two forms that operator-sdk prints.

use std::io::{self, Write};

use gotemplate::format::quoted;
use goyaml::json::{self, Escape};
use serde::Serialize;

use super::finding::Outcome;
use crate::generation::chart_check::{ChartCheck, ChartCheckError, ChartReport};

/// How a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputLevel {
    /// Good to know; only baton's own advice is.
    Info,
    /// Should be looked at.
    Warning,
    /// Must be corrected.
    Error,
}

impl OutputLevel {
    fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One line of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Output {
    /// How it is meant.
    #[serde(rename = "type")]
    pub level: OutputLevel,
    /// What it says.
    pub message: String,
}

/// What came out of a validation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    outputs: Vec<Output>,
    fatal: Option<String>,
}

/// What json-alpha1 prints.
#[derive(Serialize)]
struct JsonReport<'r> {
    passed: bool,
    outputs: Option<&'r [Output]>,
}

impl Report {
    /// A bundle that could not be looked at.
    pub(super) fn stopped(message: String) -> Self {
        Self {
            outputs: Vec::new(),
            fatal: Some(message),
        }
    }

    pub(super) fn push(&mut self, level: OutputLevel, message: String) {
        self.outputs.push(Output { level, message });
    }

    /// Takes in what validators found: of each first the warnings, then the errors.
    pub(super) fn extend(&mut self, outcomes: impl IntoIterator<Item = Outcome>) {
        for outcome in outcomes {
            for (level, findings) in [
                (OutputLevel::Warning, &outcome.warnings),
                (OutputLevel::Error, &outcome.errors),
            ] {
                for finding in findings {
                    self.push(level, finding.to_string());
                }
            }
        }
    }

    /// Takes in what was found in the charts of the operator: faults that are allowed count as warnings.
    ///
    /// # Errors
    ///
    /// When something is allowed that isn't the case.
    pub fn extend_with_charts(
        &mut self,
        charts: &ChartReport,
        allowed: &[ChartCheck],
    ) -> Result<(), ChartCheckError> {
        let (passing, stopping) = match charts.admit(allowed) {
            Ok(passing) => (passing, Vec::new()),
            Err(ChartCheckError::Unusable(faults)) => (Vec::new(), faults),
            Err(error) => return Err(error),
        };
        for warning in &charts.warnings {
            self.push(OutputLevel::Warning, format!("chart: {warning}"));
        }
        for fault in passing {
            self.push(OutputLevel::Warning, format!("allowed: {fault}"));
        }
        for fault in stopping {
            self.push(OutputLevel::Error, format!("chart: {fault}"));
        }
        Ok(())
    }

    /// Whether nothing must be corrected; decides the exit code, 0 or 1.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.fatal.is_none()
            && self
                .outputs
                .iter()
                .all(|output| output.level != OutputLevel::Error)
    }

    /// Every line, in the order they were found.
    #[must_use]
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// Why the bundle could not be looked at, if it could not; upstream prints this alone, to standard error.
    #[must_use]
    pub fn fatal(&self) -> Option<&str> {
        self.fatal.as_deref()
    }

    /// Writes a line for each finding as operator-sdk does where there is no terminal, with `time` as its time stamp.
    ///
    /// Findings go to `out` (standard output), what is said about the run itself to `log` (standard error).
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn write_text(&self, out: &mut impl Write, log: &mut impl Write, time: &str) -> io::Result<()> {
        for output in &self.outputs {
            writeln!(out, "{}", log_line(time, output.level.name(), &output.message))?;
        }
        self.write_end(log, time)
    }

    /// Writes the report as json-alpha1, and to `log` what is said about the run itself.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn write_json(&self, out: &mut impl Write, log: &mut impl Write, time: &str) -> io::Result<()> {
        if self.fatal.is_none() {
            let report = JsonReport {
                passed: self.passed(),
                outputs: (!self.outputs.is_empty()).then_some(&self.outputs),
            };
            let text = json::to_string_pretty(&report, "    ", Escape::Html).map_err(io::Error::other)?;
            writeln!(out, "{text}")?;
        }
        self.write_end(log, time)
    }

    fn write_end(&self, log: &mut impl Write, time: &str) -> io::Result<()> {
        if let Some(message) = &self.fatal {
            return writeln!(log, "{}", log_line(time, "fatal", message));
        }
        if self.passed() {
            let message = "All validation tests have completed successfully";
            writeln!(log, "{}", log_line(time, "info", message))?;
        }
        Ok(())
    }
}

/// A line as logrus writes it where there is no terminal.
#[must_use]
pub fn log_line(time: &str, level: &str, message: &str) -> String {
    format!(
        "time={} level={level} msg={}",
        log_value(time),
        log_value(message)
    )
}

/// A value as logrus writes it: quoted when it holds anything but letters, digits and a few signs.
#[must_use]
pub fn log_value(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-._/@^+".contains(character);
    if text.chars().all(is_plain) {
        text.to_owned()
    } else {
        quoted(text)
    }
}
