//! Whether the charts of an operator work, found out before anybody installs it.
//!
//! ```text
//! watches.yaml ─► chart ─┬─ values.schema.json, compiled ─┐
//!                        ├─ rendered with its defaults ───┼─► ChartReport ─ admit(--allow) ─► what is let through,
//! config/samples, ───────┼─ rendered with each sample ────┤                                    or why nothing is
//! alm-examples           ├─ linted ───────────────────────┤
//!                        └─ rendered as the next version ─┘
//! ```
//!
//! Everything is done as the operator does it later: values by the same rules, schemas by the same dialect.

mod configuration;
mod position;
mod restarts;
mod trial;

use std::fmt;
use std::path::{Component, Path, PathBuf};

use chart::diagnosis::Diagnosis;
use serde_json::Value;

use super::examples;
use super::project::{Project, Watched};
use trial::Trial;

pub use configuration::{Unfollowed, unfollowed};

/// How many faults a message has; who has more starts with these.
const MAXIMUM_SHOWN_FAULTS: usize = 20;

/// What is checked of a chart. Each has the name by which `--allow` lets its faults through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChartCheck {
    /// Every template can be parsed.
    Templates,
    /// `values.schema.json` is a schema.
    Schema,
    /// The schema takes the chart's own values, and they render to objects.
    Defaults,
    /// The same with each sample of the custom resource.
    Samples,
    /// `helm lint` finds no error.
    Lint,
}

impl ChartCheck {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Templates,
        Self::Schema,
        Self::Defaults,
        Self::Samples,
        Self::Lint,
    ];

    /// The name for `--allow`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Templates => "chart-templates",
            Self::Schema => "chart-schema",
            Self::Defaults => "chart-defaults",
            Self::Samples => "chart-samples",
            Self::Lint => "chart-lint",
        }
    }

    /// The check that has a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.name() == name)
    }
}

/// Something because of which a chart doesn't work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartFault {
    /// The check that found it.
    pub check: ChartCheck,
    /// The file, with line and column where they are known.
    pub place: String,
    /// What is wrong there.
    pub cause: String,
    /// What to do.
    pub remedy: String,
    /// The lines that are meant, and who set the value that is meant.
    pub diagnosis: Diagnosis,
}

impl fmt::Display for ChartFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}: {} ({}); {}",
            self.place,
            self.cause,
            self.check.name(),
            self.remedy
        )
    }
}

/// What was found in the charts of an operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChartReport {
    /// What keeps the charts from working.
    pub faults: Vec<ChartFault>,
    /// What should be looked at.
    pub warnings: Vec<String>,
}

/// Why an operator isn't made of its charts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChartCheckError {
    /// The charts have faults that nobody allowed.
    #[error("{}", unusable(.0))]
    Unusable(Vec<ChartFault>),
    /// A check is allowed to fail, and doesn't.
    #[error("{name} is allowed, but that check of the chart finds nothing: take it out of --allow")]
    Needless {
        /// The name that was given to `--allow`.
        name: &'static str,
    },
    /// There is no check of this name.
    #[error("--allow {name:?} is none of the checks of a chart, which are {}", names(&ChartCheck::ALL))]
    Unknown {
        /// The name that was given to `--allow`.
        name: String,
    },
}

impl ChartCheckError {
    /// The lines that are meant.
    pub fn diagnosis(&self) -> Diagnosis {
        let mut diagnosis = Diagnosis::default();
        if let Self::Unusable(faults) = self {
            for fault in faults.iter().take(MAXIMUM_SHOWN_FAULTS) {
                diagnosis
                    .excerpts
                    .extend(fault.diagnosis.excerpts.iter().cloned());
                diagnosis.notes.extend(fault.diagnosis.notes.iter().cloned());
            }
            diagnosis.notes.dedup();
        }
        diagnosis
    }
}

fn unusable(faults: &[ChartFault]) -> String {
    let mut text = "the operator's chart does not work, and neither would what is made with it:".to_owned();
    for fault in faults.iter().take(MAXIMUM_SHOWN_FAULTS) {
        text = text + "\n  - " + &fault.to_string();
    }
    if let Some(more) = faults
        .len()
        .checked_sub(MAXIMUM_SHOWN_FAULTS)
        .filter(|more| *more > 0)
    {
        text = format!("{text}\n  and {more} more");
    }
    let mut checks: Vec<ChartCheck> = faults.iter().map(|fault| fault.check).collect();
    checks.sort();
    checks.dedup();
    let flags: Vec<String> = checks
        .iter()
        .map(|check| format!("--allow {}", check.name()))
        .collect();
    text + "\ncorrect what is named; if it really must go out like this, say so: " + &flags.join(" ")
}

fn names(checks: &[ChartCheck]) -> String {
    let names: Vec<&str> = checks.iter().map(|check| check.name()).collect();
    names.join(", ")
}

impl ChartReport {
    /// Lets an operator pass if everything that is wrong with its charts is allowed. Returns what is let through.
    pub fn admit(&self, allowed: &[ChartCheck]) -> Result<Vec<&ChartFault>, ChartCheckError> {
        let (passing, stopping): (Vec<&ChartFault>, Vec<&ChartFault>) = self
            .faults
            .iter()
            .partition(|fault| allowed.contains(&fault.check));
        if !stopping.is_empty() {
            return Err(ChartCheckError::Unusable(stopping.into_iter().cloned().collect()));
        }
        // A slip must not pass for care.
        let is_needless = |check: &&ChartCheck| !self.faults.iter().any(|fault| fault.check == **check);
        match allowed.iter().find(is_needless) {
            Some(check) => Err(ChartCheckError::Needless { name: check.name() }),
            None => Ok(passing),
        }
    }
}

/// A custom resource that the chart is rendered with.
struct Sample {
    /// Where it is written.
    place: String,
    resource: Value,
}

/// Checks every chart that `watches.yaml` names. `examples` are custom resources of a bundle that was made of the tree; those
/// of the tree itself are looked at anyway.
pub fn check(project: &Project, examples: &[Value]) -> ChartReport {
    let mut report = ChartReport::default();
    for watched in &project.watched {
        let (samples, are_written) = samples(project, watched, examples);
        Trial::new(watched).check(&samples, are_written, &mut report);
        report.warnings.extend(restarts::of_versions(watched, &samples));
    }
    let mut seen: Vec<(String, String)> = Vec::new();
    report.faults.retain(|fault| {
        let said = (fault.place.clone(), fault.cause.clone());
        let is_new = !seen.contains(&said);
        seen.push(said);
        is_new
    });
    report
}

/// The samples of a kind, and whether a person has written them: otherwise they are the chart's defaults once more.
fn samples(project: &Project, watched: &Watched, others: &[Value]) -> (Vec<Sample>, bool) {
    let watch = &watched.watch;
    let mut samples: Vec<Sample> = project
        .samples
        .iter()
        .filter(|(_, resource)| examples::is_of(resource, watch))
        .map(|(file, resource)| Sample {
            place: file.clone(),
            resource: resource.clone(),
        })
        .collect();
    let are_written = !samples.is_empty();
    let mut generated = Vec::new();
    if !are_written {
        generated = examples::examples(project, watched, watch);
    }
    for resource in generated.iter().chain(others) {
        let is_known = |sample: &Sample| sample.resource.get("spec") == resource.get("spec");
        if examples::is_of(resource, watch) && !samples.iter().any(is_known) {
            let name = resource.pointer("/metadata/name").and_then(Value::as_str);
            samples.push(Sample {
                place: format!("alm-examples, {} {}", watch.kind, name.unwrap_or_default()),
                resource: resource.clone(),
            });
        }
    }
    (samples, are_written)
}

/// A path as people write it, without `./` in front.
fn plain(path: &Path) -> PathBuf {
    let parts: PathBuf = path
        .components()
        .filter(|part| !matches!(part, Component::CurDir))
        .collect();
    if parts.as_os_str().is_empty() {
        path.to_owned()
    } else {
        parts
    }
}

#[cfg(test)]
mod tests;
