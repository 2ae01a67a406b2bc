//! Whether pods start anew with every version of a chart, though nothing of them is different.

use std::collections::BTreeMap;

use chart::cosmetic::{self, NeedlessRestart};

use super::super::project::Watched;
use super::Sample;
use super::trial::Trial;

/// Names the templates with such pods, each with a workload; nothing where the author has said what is to become of them.
pub(super) fn of_versions(watched: &Watched, samples: &[Sample]) -> Vec<String> {
    if watched.watch.cosmetic.is_some() {
        return Vec::new();
    }
    let trial = Trial::new(watched);
    let this = trial.renders(samples);
    let next = Trial::of_next_version(watched).renders(samples);
    let mut found: BTreeMap<String, NeedlessRestart> = BTreeMap::new();
    for (this, next) in this.iter().zip(&next) {
        let (Some(this), Some(next)) = (this, next) else {
            continue;
        };
        for (file, restart) in cosmetic::restarted_by_version(this, next) {
            found.entry(file).or_insert(restart);
        }
    }
    let found = found.into_iter();
    found
        .map(|(file, restart)| format!("{}: {}", trial.file(&file), restart.with_every_version()))
        .collect()
}
