//! Whether an operator's charts work, told to the author; what doesn't stops the road unless it is allowed by name.

use bundle::generation::chart_check::{ChartCheck, ChartCheckError, ChartFault, ChartReport};
use clap::Args;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Which faults of a chart are let through.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Chart")]
pub(crate) struct ChartCheckFlags {
    /// Let this check of the chart fail: chart-templates, chart-schema, chart-defaults, chart-samples or chart-lint
    #[arg(long, value_name = "CHECK")]
    allow: Vec<String>,
}

impl ChartCheckFlags {
    /// The checks that may fail.
    pub(super) fn allowed(&self) -> Result<Vec<ChartCheck>, Failure> {
        let named = |name: &String| {
            ChartCheck::named(name).ok_or_else(|| ChartCheckError::Unknown { name: name.clone() })
        };
        Ok(self.allow.iter().map(named).collect::<Result<Vec<_>, _>>()?)
    }
}

/// Lets an operator pass whose charts have no faults but allowed ones, and says what should be looked at.
pub(super) fn admit(
    report: &ChartReport,
    allowed: &[ChartCheck],
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    for warning in &report.warnings {
        terminal.remark(format!("chart: {warning}"));
    }
    for fault in pass(report.admit(allowed))? {
        terminal.remark(format!("allowed: {fault}"));
    }
    Ok(())
}

fn pass(admitted: Result<Vec<&ChartFault>, ChartCheckError>) -> Result<Vec<&ChartFault>, Failure> {
    admitted.map_err(|error| Failure::with_diagnosis(error.to_string(), error.diagnosis()))
}
