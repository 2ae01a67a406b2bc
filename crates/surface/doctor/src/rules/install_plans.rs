//! InstallPlans of OLM v0 that wait for somebody, failed, or take too long.

use std::collections::BTreeSet;

use apply::object::{is_terminating, text};
use install_plan::approval::waits;
use install_plan::plan::{phase, versions};
use install_plan::standing::plan_message;
use serde_json::Value;

use crate::conditions::shortened;
use crate::finding::Finding;
use crate::finding::Severity::{Broken, Note, Risky};
use crate::kinds;
use crate::moment::{PATIENCE_SECONDS, seconds_since, words};
use crate::picture::Picture;
use crate::rules::leases;
use crate::subject::Subject;

/// Looks at the plans that Subscriptions are about; older ones are history.
pub fn look(picture: &Picture) -> Vec<Finding> {
    let current: BTreeSet<(&str, &str)> = picture
        .all(kinds::SUBSCRIPTION)
        .map(|subscription| {
            (
                text(subscription, "/metadata/namespace"),
                text(subscription, "/status/installPlanRef/name"),
            )
        })
        .collect();
    picture
        .all(kinds::INSTALL_PLAN)
        .filter(|plan| !is_terminating(plan))
        .filter(|plan| {
            let place = (text(plan, "/metadata/namespace"), text(plan, "/metadata/name"));
            current.contains(&place)
        })
        .filter_map(|plan| judge(picture, plan))
        .collect()
}

fn judge(picture: &Picture, plan: &Value) -> Option<Finding> {
    let (namespace, name) = (text(plan, "/metadata/namespace"), text(plan, "/metadata/name"));
    let installs = versions(plan).join(", ");
    let describe = Subject::of(plan).describe();
    if waits(plan) {
        return Some(
            Finding::new(Note, "plan-waits-for-approval", plan)
                .at("spec.approved")
                .because(format!(
                    "it would install {installs}, and waits for somebody's word"
                ))
                .next(format!("baton classic approve {name} -n {namespace}")),
        );
    }
    let state = text(plan, "/status/phase");
    let said = match (unfetched(plan), plan_message(plan)) {
        (Some(bundle), _) => bundle,
        (None, message) if message.is_empty() => "it doesn't say why".to_owned(),
        (None, message) => shortened(&message),
    };
    if state == phase::FAILED {
        return Some(
            Finding::new(Broken, "plan-failed", plan)
                .at("status.conditions[Installed]")
                .because(format!("installing {installs} failed: {said}"))
                .next(format!(
                    "put the cause right ({describe}), then delete the plan so that another one is made: kubectl delete {}",
                    Subject::of(plan).for_kubectl()
                )),
        );
    }
    let age = seconds_since(plan, "/metadata/creationTimestamp", picture.now)?;
    (state != phase::COMPLETE && age > PATIENCE_SECONDS).then(|| {
        Finding::new(Risky, "plan-not-done", plan)
            .at("status.phase")
            .because(format!("installing {installs} has taken {}: {said}", words(age)))
            .next(describe)
            .suspecting(leases::of_subscriptions(picture))
    })
}

/// A bundle of a plan that can't be had.
fn unfetched(plan: &Value) -> Option<String> {
    let lookups = plan.pointer("/status/bundleLookups").and_then(Value::as_array)?;
    lookups.iter().find_map(|lookup| {
        let conditions = lookup.get("conditions").and_then(Value::as_array)?;
        let bad = conditions
            .iter()
            .find(|said| text(said, "/status") == "True" && !text(said, "/message").is_empty())?;
        Some(format!(
            "bundle {}: {}",
            text(lookup, "/path"),
            shortened(text(bad, "/message"))
        ))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture, told};

    #[test]
    fn a_plan_is_done_or_says_why_not() {
        const ALPHA: &str = "operators.coreos.com/v1alpha1";
        let plan = |spec: Value, status: Value| {
            let mut spec = spec;
            spec["clusterServiceVersionNames"] = json!(["web.v2"]);
            object(
                ALPHA,
                "InstallPlan",
                "apps",
                "install-1",
                json!({"spec": spec, "status": status}),
            )
        };
        let subscription = |plan: &str| {
            let status = json!({"status": {"installPlanRef": {"name": plan}}});
            object(ALPHA, "Subscription", "apps", "web", status)
        };
        let failed = json!({"phase": "Failed", "conditions": [{"type": "Installed", "status": "False", "message": "no rights"}]});
        for (plan, current, expected) in [
            (
                plan(json!({"approved": true}), json!({"phase": "Complete"})),
                "install-1",
                &[][..],
            ),
            (
                plan(json!({"approved": false}), json!({"phase": "RequiresApproval"})),
                "install-1",
                &[
                    "note plan-waits-for-approval InstallPlan apps/install-1: it would install web.v2, and waits for somebody's word",
                ][..],
            ),
            (
                plan(json!({"approved": true}), failed.clone()),
                "install-1",
                &["broken plan-failed InstallPlan apps/install-1: installing web.v2 failed: no rights"][..],
            ),
            (plan(json!({"approved": true}), failed), "install-2", &[][..]),
            (
                plan(
                    json!({"approved": true}),
                    json!({"phase": "Installing", "bundleLookups": [
                    {"path": "r.example/b:1", "conditions": [{"type": "BundleLookupPending", "status": "True", "message": "no such image"}]}]}),
                ),
                "install-1",
                &[
                    "risky plan-not-done InstallPlan apps/install-1: installing web.v2 has taken 2 h: bundle r.example/b:1: no such image",
                ][..],
            ),
        ] {
            assert_eq!(told(&look(&picture([plan, subscription(current)]))), expected);
        }
    }
}
