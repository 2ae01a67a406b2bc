//! What is wrong, root causes first.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::finding::{Finding, Severity};
use crate::picture::Picture;
use crate::rules;
use crate::subject::Subject;

/// The longest chain of consequences; suspicions never lead further in a cluster, and a report is read by people.
const DEEPEST: usize = 16;

/// Everything that is wrong in a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Root causes with what they lead to: the worst first, then by object.
    pub findings: Vec<Finding>,
    /// How many are broken, consequences included.
    pub broken: usize,
    /// How many are risky.
    pub risky: usize,
    /// How many are good to know.
    pub notes: usize,
    /// How many objects were looked at.
    pub looked_at: usize,
}

impl Report {
    /// Looks at a picture with all rules.
    pub fn of(picture: &Picture) -> Self {
        let findings: Vec<Finding> = rules::ALL.iter().flat_map(|look| look(picture)).collect();
        let count = |severity: Severity| {
            let same = findings.iter().filter(|finding| finding.severity == severity);
            same.count()
        };
        Self {
            broken: count(Severity::Broken),
            risky: count(Severity::Risky),
            notes: count(Severity::Note),
            looked_at: picture.size(),
            findings: folded(findings),
        }
    }
}

/// Puts each finding below the one that is its cause: the first of its suspects that something is wrong with.
fn folded(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by(|left, right| order(left).cmp(&order(right)));
    // What is worst of an object stands for the object.
    let mut of_object: BTreeMap<&Subject, usize> = BTreeMap::new();
    for (index, finding) in findings.iter().enumerate() {
        of_object.entry(&finding.object).or_insert(index);
    }
    let mut causes: Vec<Option<usize>> = vec![None; findings.len()];
    for (index, finding) in findings.iter().enumerate() {
        let mut suspects = finding
            .suspects
            .iter()
            .filter_map(|one| of_object.get(one).copied());
        // Two that suspect each other would both vanish.
        causes[index] = suspects.find(|cause| *cause != index && !leads_to(&causes, *cause, index));
    }
    let mut below: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut roots = Vec::new();
    for (index, cause) in causes.iter().enumerate() {
        match cause {
            Some(cause) => below.entry(*cause).or_default().push(index),
            None => roots.push(index),
        }
    }
    let mut findings: Vec<Option<Finding>> = findings.into_iter().map(Some).collect();
    let mut report: Vec<Finding> = roots
        .into_iter()
        .filter_map(|root| with_consequences(root, &below, &mut findings))
        .collect();
    report.sort_by(|left, right| {
        let worst = right.worst().cmp(&left.worst());
        worst.then_with(|| order(left).cmp(&order(right)))
    });
    report
}

/// The worst first, then by object and rule.
fn order(finding: &Finding) -> (std::cmp::Reverse<Severity>, &Subject, &str, &str) {
    (
        std::cmp::Reverse(finding.severity),
        &finding.object,
        finding.rule,
        &finding.cause,
    )
}

/// Returns whether what was found out of causes so far leads from one finding up to another.
fn leads_to(causes: &[Option<usize>], from: usize, to: usize) -> bool {
    let mut seen = BTreeSet::new();
    let mut place = Some(from);
    while let Some(index) = place {
        if index == to || seen.len() >= DEEPEST {
            return true;
        }
        if !seen.insert(index) {
            return true;
        }
        place = causes.get(index).copied().flatten();
    }
    false
}

fn with_consequences(
    index: usize,
    below: &BTreeMap<usize, Vec<usize>>,
    findings: &mut [Option<Finding>],
) -> Option<Finding> {
    let mut finding = findings.get_mut(index)?.take()?;
    for consequence in below.get(&index).into_iter().flatten() {
        finding
            .leads_to
            .extend(with_consequences(*consequence, below, findings));
    }
    Some(finding)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture};

    fn named(name: usize) -> Subject {
        Subject {
            kind: "Thing".to_owned(),
            group: String::new(),
            namespace: String::new(),
            name: format!("{name:02}"),
        }
    }

    fn tree(finding: &Finding) -> String {
        let below: Vec<String> = finding.leads_to.iter().map(tree).collect();
        if below.is_empty() {
            finding.object.to_string()
        } else {
            format!("{} → [{}]", finding.object, below.join(", "))
        }
    }

    #[test]
    fn a_subscription_waits_because_a_catalog_waits_for_its_pod() {
        const ALPHA: &str = "operators.coreos.com/v1alpha1";
        let pod = object(
            "v1",
            "Pod",
            "olm",
            "models-1",
            json!({
            "metadata": {"labels": {"olm.catalogSource": "models"}},
            "status": {"containerStatuses": [{"name": "registry-server", "image": "r.example/c:1",
                "state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}]}}),
        );
        let source = object(
            ALPHA,
            "CatalogSource",
            "olm",
            "models",
            json!({
            "spec": {"sourceType": "grpc", "image": "r.example/c:1"},
            "status": {"registryService": {}, "connectionState": {"lastObservedState": "TRANSIENT_FAILURE"}}}),
        );
        let subscription = object(
            ALPHA,
            "Subscription",
            "apps",
            "web",
            json!({
            "spec": {"name": "web", "source": "models", "sourceNamespace": "olm"},
            "status": {"conditions": [{"type": "ResolutionFailed", "status": "True",
                "reason": "ErrorPreventedResolution", "message": "failed to populate resolver cache"}]}}),
        );
        let group = object(
            "operators.coreos.com/v1",
            "OperatorGroup",
            "apps",
            "apps",
            json!({}),
        );
        let lease = object(
            "coordination.k8s.io/v1",
            "Lease",
            "olm",
            "classic.baton.dev",
            json!({
            "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-06-01T11:59:55Z"}}),
        );
        let report = Report::of(&picture([pod, source, subscription, group, lease]));
        let trees: Vec<String> = report.findings.iter().map(tree).collect();
        assert_eq!(
            trees,
            ["Pod olm/models-1 → [CatalogSource olm/models → [Subscription apps/web]]"]
        );
        assert_eq!((report.broken, report.risky, report.notes), (3, 0, 0));
    }

    #[test]
    fn the_worst_comes_first_and_counts_for_its_cause() {
        let finding = |severity, name, suspects: &[usize]| {
            Finding::about(severity, "rule", named(name)).suspecting(suspects.iter().map(|one| named(*one)))
        };
        let findings = vec![
            finding(Severity::Note, 1, &[]),
            finding(Severity::Risky, 2, &[]),
            finding(Severity::Broken, 3, &[1]),
            finding(Severity::Broken, 4, &[]),
        ];
        let trees: Vec<String> = folded(findings).iter().map(tree).collect();
        assert_eq!(trees, ["Thing 04", "Thing 01 → [Thing 03]", "Thing 02"]);
    }

    fn count(findings: &[Finding]) -> usize {
        findings.iter().map(|one| 1 + count(&one.leads_to)).sum()
    }

    proptest! {
        #[test]
        fn no_finding_is_lost_whoever_suspects_whom(
            suspicions in proptest::collection::vec(proptest::collection::vec(0..20_usize, 0..4), 1..20)
        ) {
            let findings: Vec<Finding> = suspicions
                .iter()
                .enumerate()
                .map(|(name, suspects)| {
                    Finding::about(Severity::Broken, "rule", named(name)).suspecting(suspects.iter().map(|one| named(*one)))
                })
                .collect();
            let folded = folded(findings.clone());
            prop_assert_eq!(count(&folded), findings.len());
            let mut shuffled = findings;
            shuffled.reverse();
            prop_assert_eq!(super::folded(shuffled), folded);
        }
    }
}
