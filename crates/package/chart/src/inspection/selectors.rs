//! Selectors of workloads that change with the chart's version: Kubernetes refuses such an upgrade.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::collisions::{Identity, in_chart};
use super::{Finding, Severity};
use crate::chart::Chart;
use crate::cosmetic;
use crate::document;
use crate::installation::Installation;

/// Kinds whose selectors can never be changed.
const WORKLOADS: &[&str] = &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"];

/// The chart as its next version, of a next version of what it is for.
pub(super) fn next_version(chart: &Arc<Chart>) -> Arc<Chart> {
    let mut next = Chart::clone(&cosmetic::next_version(chart));
    let metadata = Arc::make_mut(&mut next.metadata);
    metadata.app_version.clone_from(&metadata.version);
    Arc::new(next)
}

/// Tells which selectors are others in the next version.
pub(super) fn changing(now: &Installation, next: &Installation) -> Vec<Finding> {
    let next = selectors(next);
    selectors(now)
        .into_iter()
        .filter_map(|(identity, (file, selector))| {
            let (_, changed) = next.get(&identity)?;
            let labels = differing_labels(&selector, changed)?;
            Some(Finding {
                severity: Severity::Warning,
                message: format!(
                    "{}: the selector of {} {:?} changes with the chart's version ({labels}), so every upgrade to another \
                     version fails; leave it out of the selector",
                    in_chart(file),
                    identity.kind,
                    identity.name
                ),
            })
        })
        .collect()
}

fn selectors(installation: &Installation) -> BTreeMap<Identity, (&str, Value)> {
    installation
        .manifests
        .iter()
        .filter(|manifest| WORKLOADS.contains(&manifest.head.kind.as_str()))
        .filter_map(|manifest| {
            let document = document::read(&manifest.content).ok()?;
            let identity = Identity::of(&manifest.head, &document)?;
            let selector = document.get("spec")?.get("selector")?.clone();
            Some((identity, (manifest.name.as_str(), selector)))
        })
        .collect()
}

/// The labels that differ, in words; nothing where the selectors are the same.
fn differing_labels(one: &Value, other: &Value) -> Option<String> {
    if one == other {
        return None;
    }
    let labels = |selector: &Value| {
        selector
            .get("matchLabels")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    };
    let (one, other) = (labels(one), labels(other));
    let differing: Vec<&str> = one
        .iter()
        .filter(|(label, value)| other.get(*label) != Some(value))
        .map(|(label, _)| label.as_str())
        .collect();
    Some(if differing.is_empty() {
        "matchExpressions".to_owned()
    } else {
        differing.join(", ")
    })
}
