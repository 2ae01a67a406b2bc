//! Pods that start anew with every version of the chart, though nothing of them is different.

use super::collisions::in_chart;
use super::{Finding, Severity};
use crate::cosmetic;
use crate::installation::Installation;

/// Tells which workloads have such pods.
pub(super) fn needless(now: &Installation, next: &Installation) -> Vec<Finding> {
    let restarts = cosmetic::restarted_by_version(now, next).into_iter();
    restarts
        .map(|(file, restart)| Finding {
            severity: Severity::Warning,
            message: format!("{}: {}", in_chart(&file), restart.with_every_version()),
        })
        .collect()
}
