//! What Helm's linter does not look for, but operators run into: values that do nothing, upgrades that change objects by
//! themselves or cannot succeed, and releases that get into each other's way.
//!
//! ```text
//! templates, parsed   ─► usage (values), repeatability (random functions)
//! renders, compared   ─► collisions (names), selectors, restarts (pods)
//! ```

mod collisions;
mod repeatability;
mod restarts;
mod selectors;
mod usage;

use std::rc::Rc;
use std::sync::Arc;

use gotemplate::Parsed;

use crate::capabilities::Capabilities;
use crate::chart::Chart;
use crate::cosmetic;
use crate::engine::{self, Engine, Operation, ReleaseContext};
use crate::host::{Host, NoCluster};
use crate::installation::{self, Installation, InstallationRequest};
use crate::source::SystemSource;
use crate::values::Table;

/// How many findings of one sort are listed; whoever has more knows enough by then.
const MAX_FINDINGS_OF_A_SORT: usize = 10;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Will hurt somebody.
    Warning,
}

/// Something that was found in a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The place and what is wrong there.
    pub message: String,
}

/// A chart that is to be looked at, and what it is rendered with.
#[derive(Clone, Copy)]
pub struct InspectionRequest<'request> {
    /// The chart.
    pub chart: &'request Arc<Chart>,
    /// The user's values.
    pub values: &'request Table,
    /// The namespace that it is rendered for.
    pub namespace: &'request str,
    /// The cluster that it is rendered for.
    pub capabilities: &'request Capabilities,
}

/// Looks at a chart.
pub fn inspect(request: &InspectionRequest<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let templates = parsed_templates(request.chart);
    findings.extend(limited(usage::undeclared(request.chart, &templates)));
    findings.extend(limited(usage::unused(request.chart, &templates)));
    findings.extend(limited(repeatability::changing(&templates)));
    let engine = Engine::new();
    // A chart that cannot be rendered has an error already, which Helm's linter tells.
    if let Some(rendered) = render(&engine, request, request.chart, "baton-one") {
        findings.extend(limited(collisions::duplicates(&rendered)));
        if let Some(other) = render(&engine, request, request.chart, "baton-two") {
            findings.extend(limited(collisions::fixed_names(&rendered, &other)));
        }
        let next = selectors::next_version(request.chart);
        if let Some(next) = render(&engine, request, &next, "baton-one") {
            findings.extend(limited(selectors::changing(&rendered, &next)));
        }
        // The version of what the chart is for stays here: with another one, images are others too.
        let next = cosmetic::next_version(request.chart);
        if let Some(next) = render(&engine, request, &next, "baton-one") {
            findings.extend(limited(restarts::needless(&rendered, &next)));
        }
    }
    findings
}

fn limited(mut findings: Vec<Finding>) -> Vec<Finding> {
    let more = findings.len().saturating_sub(MAX_FINDINGS_OF_A_SORT);
    findings.truncate(MAX_FINDINGS_OF_A_SORT);
    if let Some(last) = findings.last().cloned().filter(|_| more > 0) {
        findings.push(Finding {
            message: format!("and {more} more like the last one"),
            ..last
        });
    }
    findings
}

/// A template file of a chart, or of one of its subcharts.
struct TemplateFile<'chart> {
    /// The path in its chart.
    name: &'chart str,
    /// Whether it is the chart's own.
    is_own: bool,
    parsed: Parsed,
}

/// Parses all templates; those with mistakes are left out, because Helm's linter tells them.
fn parsed_templates(chart: &Chart) -> Vec<TemplateFile<'_>> {
    fn collect<'chart>(chart: &'chart Chart, is_own: bool, files: &mut Vec<TemplateFile<'chart>>) {
        files.extend(chart.templates.iter().filter_map(|file| {
            let parsed = Parsed::new(&file.name, file.data.clone(), engine::functions()).ok()?;
            Some(TemplateFile {
                name: &file.name,
                is_own,
                parsed,
            })
        }));
        for subchart in &chart.dependencies {
            collect(subchart, false, files);
        }
    }
    let mut files = Vec::new();
    collect(chart, true, &mut files);
    files
}

fn render(
    engine: &Engine,
    request: &InspectionRequest<'_>,
    chart: &Arc<Chart>,
    release: &str,
) -> Option<Installation> {
    let request = InstallationRequest {
        chart,
        values: request.values,
        release: ReleaseContext {
            name: release.to_owned(),
            namespace: request.namespace.to_owned(),
            operation: Operation::Install,
            revision: 1,
        },
        capabilities: request.capabilities,
        sub_notes: false,
        skip_schema_validation: true,
        strict: false,
    };
    let host = Host::new(Rc::new(SystemSource), Rc::new(NoCluster))
        .linting()
        .in_time();
    installation::plan(engine, &request, &host, None, &mut |_| {}).ok()
}

#[cfg(test)]
mod tests;
