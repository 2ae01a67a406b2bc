//! How Subscriptions come to say that they were resolved.

use std::collections::BTreeMap;

use apply::object::text;
use classic::{Decision, Kind, World, Write};
use jiff::Timestamp;
use serde_json::Value;

use super::new_plan::NewPlan;
use super::subscriptions;
use crate::conditions;
use crate::steps::SubscriptionChange;
use crate::subscription::plan_condition::refer_to_plan;
use crate::subscription::{
    BUNDLE_UNPACK_FAILED, BUNDLE_UNPACKING, RESOLUTION_FAILED, Subscription, state, status_of, with_status,
};

/// Returns what is written once a plan was created and has its status: the Subscriptions that it is for point to it, and
/// what failed before isn't said any more.
pub fn linked(world: &World, namespace: &str, plan: &NewPlan, created: &Value, now: Timestamp) -> Decision {
    let objects = subscriptions(world, namespace);
    let pointer = Some((created, plan.generation()));
    let mut decision = plan.decision.clone();
    decision
        .writes
        .extend(settled(&objects, &plan.changes, &plan.failures, pointer, now));
    decision
}

/// Returns what is written when the plan that is needed couldn't be created.
pub fn refused(world: &World, namespace: &str, error: &str, now: Timestamp) -> Decision {
    let message = format!("error ensuring InstallPlan: {error}");
    let wanted = conditions::condition(BUNDLE_UNPACK_FAILED, "True", "EnsureInstallPlanFailed", &message);
    let objects = world.in_namespace(Kind::Subscription, namespace);
    let writes = objects.filter_map(|object| {
        let mut status = status_of(object);
        let existing = conditions::get(&status, BUNDLE_UNPACK_FAILED);
        if existing.is_some_and(|existing| conditions::say_the_same(existing, &wanted)) {
            return None;
        }
        conditions::set(&mut status, wanted.clone());
        Some(Write::UpdateStatus(with_status(object, status, now)))
    });
    Decision {
        writes: writes.collect(),
        ..Decision::default()
    }
}

/// Returns the statuses of Subscriptions after a resolution: what failed, where it failed; else what they lead to.
pub(super) fn settled(
    objects: &[&Value],
    changes: &[SubscriptionChange],
    failures: &BTreeMap<String, Value>,
    plan: Option<(&Value, i64)>,
    now: Timestamp,
) -> Vec<Write> {
    let changed = objects.iter().filter_map(|object| {
        let subscription = Subscription(object);
        let mut status = status_of(object);
        let failure = failures.get(subscription.name());
        conditions::remove(&mut status, &outdated(failure));
        if let Some(failure) = failure {
            let existing = conditions::get(&status, conditions::field(failure, "type"));
            if !existing.is_some_and(|existing| conditions::say_the_same(existing, failure)) {
                conditions::set(&mut status, failure.clone());
            }
        }
        let change = changes
            .iter()
            .find(|change| change.subscription == subscription.name());
        if let (Some(change), Some((plan, generation))) = (change, plan) {
            // Somebody else who makes the same plan may have been faster; how far it came since is not to be undone.
            let is_linked = subscription.plan() == text(plan, "/metadata/name")
                && subscription.plan_generation() == generation
                && subscription.current() == change.service_version;
            if !is_linked {
                status["currentCSV"] = Value::from(change.service_version.as_str());
                refer_to_plan(&mut status, plan);
                status["installPlanGeneration"] = Value::from(generation);
                status["state"] = Value::from(state::UPGRADE_PENDING);
            }
        } else if subscription.state() == state::UPGRADE_AVAILABLE && !failure.is_some_and(waits_for_image) {
            // The newer version is gone from the catalog before it could be planned.
            status["state"] = Value::from(state::AT_LATEST_KNOWN);
        }
        (status != status_of(object)).then(|| Write::UpdateStatus(with_status(object, status, now)))
    });
    changed.collect()
}

/// The conditions that aren't true any more when this one is what failed, or nothing did. What can't be resolved leaves what
/// was said of images.
fn outdated(failure: Option<&Value>) -> Vec<&'static str> {
    let kind = failure.map(|failure| conditions::field(failure, "type"));
    let all = [BUNDLE_UNPACKING, BUNDLE_UNPACK_FAILED, RESOLUTION_FAILED];
    let is_outdated = |said: &&str| kind != Some(RESOLUTION_FAILED) && kind != Some(*said);
    all.into_iter().filter(is_outdated).collect()
}

/// Whether a condition says that a newer version was found, and only its image is missing.
fn waits_for_image(condition: &Value) -> bool {
    [BUNDLE_UNPACKING, BUNDLE_UNPACK_FAILED].contains(&conditions::field(condition, "type"))
}
