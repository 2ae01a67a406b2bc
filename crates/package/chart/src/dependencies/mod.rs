//! Which subcharts take part in a render, under which names, and which of their values the parent imports.
//!
//! A loaded chart is shared by all renders, so the work is done on a light copy: [`activate`] gives the chart as one
//! render sees it.

mod imports;
mod plan;

use std::sync::Arc;

use thiserror::Error;

use crate::chart::Chart;
use crate::metadata::Metadata;
use crate::values::{ChartValues, CoalesceError, Table};
use crate::warning::WarningSink;

/// A chart as one render sees it: without disabled subcharts, with aliases as names and imports in its values.
#[derive(Clone, Debug)]
pub struct ActiveChart {
    /// The files, schema and lock, shared with every other render.
    pub chart: Arc<Chart>,
    /// The metadata, with the alias as name and only the dependencies that are enabled.
    pub metadata: Arc<Metadata>,
    /// The default values, imports included.
    pub values: Option<Arc<Table>>,
    /// The path in front of template names, such as `parent/charts/child`.
    pub full_path: String,
    /// Whether this is the chart that was asked for, not a subchart.
    pub is_root: bool,
    /// The enabled subcharts, in the order in which they are rendered.
    pub dependencies: Vec<ActiveChart>,
}

impl ActiveChart {
    /// The name under which the parent configures the chart.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }
}

impl ChartValues for &ActiveChart {
    fn name(&self) -> &str {
        &self.metadata.name
    }

    fn values(&self) -> Option<&Table> {
        self.values.as_deref()
    }

    fn subcharts(&self) -> Vec<Self> {
        self.dependencies.iter().collect()
    }
}

/// Dependencies that cannot be processed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DependencyError {
    /// The chart's values and those of a subchart do not fit together.
    #[error(transparent)]
    Coalesce(#[from] CoalesceError),
    /// An entry of `import-values` lacks one of its two paths.
    #[error("import-values of dependency {dependency} must have the strings \"child\" and \"parent\"")]
    IncompleteImport {
        /// The dependency.
        dependency: String,
    },
    /// Imports put a table into itself, or multiply each other beyond all measure.
    #[error("import-values lead in a circle or to too many values at {path}")]
    CircularImport {
        /// Where in the parent's values.
        path: String,
    },
}

/// Dependencies that are declared, but whose charts are not there.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("found in Chart.yaml, but missing in charts/ directory: {}", .0.join(", "))]
pub struct MissingDependencies(pub Vec<String>);

impl MissingDependencies {
    /// The text with which Helm refuses to render or install such a chart.
    pub fn advice(&self) -> String {
        format!(
            "An error occurred while checking for chart dependencies. You may need to run `helm dependency build` to \
             fetch missing dependencies: {self}"
        )
    }
}

/// Checks that every declared dependency is there, by name.
pub fn check(chart: &Chart) -> Result<(), MissingDependencies> {
    let declared = chart.metadata.dependencies.as_deref().unwrap_or_default();
    let missing: Vec<String> = declared
        .iter()
        .filter(|dependency| {
            !chart
                .dependencies
                .iter()
                .any(|subchart| subchart.name() == dependency.name)
        })
        .map(|dependency| dependency.name.clone())
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(MissingDependencies(missing))
    }
}

/// Applies aliases, tags, conditions and imports for the user's values.
pub fn activate(
    chart: &Arc<Chart>,
    user: &Table,
    warn: WarningSink<'_>,
) -> Result<ActiveChart, DependencyError> {
    let mut plan = plan::Plan::new(chart);
    plan.enable(plan::ROOT, user, "", warn)?;
    plan.import(plan::ROOT, warn)?;
    Ok(plan.into_active())
}
