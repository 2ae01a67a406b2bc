//! ResourceQuotas and PodDisruptionBudgets that stand in the way of operators.

use std::collections::BTreeSet;

use apply::object::text;
use serde_json::Value;

use crate::finding::Finding;
use crate::finding::Severity::{Note, Risky};
use crate::kinds;
use crate::picture::Picture;
use crate::subject::Subject;

/// Looks at the namespaces in which something is installed.
pub fn look(picture: &Picture) -> Vec<Finding> {
    let namespaces: BTreeSet<&str> = [kinds::DEPLOYMENT, kinds::SUBSCRIPTION, kinds::CATALOG_SOURCE]
        .into_iter()
        .flat_map(|kind| picture.all(kind))
        .map(|object| text(object, "/metadata/namespace"))
        .collect();
    let is_there = |object: &&Value| namespaces.contains(text(object, "/metadata/namespace"));
    let quotas = picture
        .all(kinds::RESOURCE_QUOTA)
        .filter(is_there)
        .filter_map(used_up);
    let budgets = picture
        .all(kinds::DISRUPTION_BUDGET)
        .filter(is_there)
        .filter_map(unmovable);
    quotas.chain(budgets).collect()
}

fn used_up(quota: &Value) -> Option<Finding> {
    let hard = quota.pointer("/status/hard")?.as_object()?;
    let used = quota.pointer("/status/used")?.as_object()?;
    let full: Vec<String> = hard
        .iter()
        .filter(|(resource, limit)| used.get(*resource) == Some(limit) && limit.as_str() != Some("0"))
        .map(|(resource, limit)| format!("{resource} {}", limit.as_str().unwrap_or_default()))
        .collect();
    let namespace = text(quota, "/metadata/namespace");
    (!full.is_empty()).then(|| {
        Finding::new(Risky, "quota-used-up", quota)
            .at("status.used")
            .because(format!(
                "namespace {namespace}, in which operators run, has used up {}: an upgrade that needs more is refused",
                full.join(", ")
            ))
            .next(format!("raise spec.hard: kubectl edit {}", Subject::of(quota).for_kubectl()))
    })
}

fn unmovable(budget: &Value) -> Option<Finding> {
    let count = |field: &str| {
        budget
            .pointer(&format!("/status/{field}"))
            .and_then(Value::as_i64)
    };
    let is_well = count("currentHealthy")? >= count("desiredHealthy")?;
    let expected = count("expectedPods")?;
    (is_well && expected > 0 && count("disruptionsAllowed")? == 0).then(|| {
        Finding::new(Note, "budget-allows-nothing", budget)
            .at("status.disruptionsAllowed")
            .because(format!(
                "all of its {expected} pods must run, so that no node with one of them can be drained"
            ))
            .next(format!(
                "run one more replica, or allow one to be missing: kubectl edit {}",
                Subject::of(budget).for_kubectl()
            ))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture, told};

    #[test]
    fn what_stands_in_the_way_of_operators_is_told_of() {
        let operator = || {
            object(
                "operators.coreos.com/v1alpha1",
                "Subscription",
                "apps",
                "web",
                json!({}),
            )
        };
        let quota = |namespace: &str, used: &str| {
            object(
                "v1",
                "ResourceQuota",
                namespace,
                "small",
                json!({"status": {
                "hard": {"pods": "4", "services.loadbalancers": "0"},
                "used": {"pods": used, "services.loadbalancers": "0"}}}),
            )
        };
        let budget = |allowed: i64, healthy: i64| {
            object(
                "policy/v1",
                "PodDisruptionBudget",
                "apps",
                "web",
                json!({"status": {
                "disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": 2, "expectedPods": 2}}),
            )
        };
        for (object, expected) in [
            (quota("apps", "3"), None),
            (quota("elsewhere", "4"), None),
            (
                quota("apps", "4"),
                Some(
                    "risky quota-used-up ResourceQuota apps/small: namespace apps, in which operators run, has used up pods 4: an upgrade that needs more is refused",
                ),
            ),
            (budget(1, 2), None),
            // What isn't well says so elsewhere.
            (budget(0, 1), None),
            (
                budget(0, 2),
                Some(
                    "note budget-allows-nothing PodDisruptionBudget apps/web: all of its 2 pods must run, so that no node with one of them can be drained",
                ),
            ),
        ] {
            let findings = told(&look(&picture([operator(), object])));
            assert_eq!(findings, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
