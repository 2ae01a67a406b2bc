//! Checks of what a chart declares to need against what is in it.

use std::collections::HashSet;
use std::path::Path;

use super::{Findings, Severity, require};
use crate::chart::Chart;
use crate::loader;
use crate::metadata::Dependency;
use crate::warning::WarningSink;

pub(super) fn check(directory: &Path, findings: &mut Findings, warn: WarningSink<'_>) {
    let chart = match loader::load_directory(directory, warn) {
        Ok(chart) => chart,
        Err(error) => {
            findings.rule(
                Severity::Error,
                "",
                Err(format!("unable to load chart\n\t{error}")),
            );
            return;
        }
    };
    let path = directory.to_string_lossy();
    findings.rule(Severity::Error, &path, all_declared(&chart));
    findings.rule(Severity::Error, &path, all_unique(&chart));
    findings.rule(Severity::Warning, &path, all_present(&chart));
}

fn declared(chart: &Chart) -> &[Dependency] {
    chart.metadata.dependencies.as_deref().unwrap_or_default()
}

fn all_declared(chart: &Chart) -> Result<(), String> {
    let missing: Vec<&str> = chart
        .dependencies
        .iter()
        .map(|subchart| subchart.name())
        .filter(|name| !declared(chart).iter().any(|dependency| dependency.name == *name))
        .collect();
    require(missing.is_empty(), || {
        format!(
            "chart metadata is missing these dependencies: {}",
            missing.join(",")
        )
    })
}

fn all_unique(chart: &Chart) -> Result<(), String> {
    let mut seen = HashSet::new();
    let repeated: Vec<&str> = declared(chart)
        .iter()
        .map(|dependency| {
            if dependency.alias.is_empty() {
                &dependency.name
            } else {
                &dependency.alias
            }
        })
        .filter(|key| !seen.insert(*key))
        .map(String::as_str)
        .collect();
    require(repeated.is_empty(), || {
        format!("multiple dependencies with name or alias: {}", repeated.join(","))
    })
}

fn all_present(chart: &Chart) -> Result<(), String> {
    let missing: Vec<&str> = declared(chart)
        .iter()
        .map(|dependency| dependency.name.as_str())
        .filter(|name| !chart.dependencies.iter().any(|subchart| subchart.name() == *name))
        .collect();
    require(missing.is_empty(), || {
        format!(
            "chart directory is missing these dependencies: {}",
            missing.join(",")
        )
    })
}
