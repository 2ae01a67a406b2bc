//! How Subscriptions come to say that they were resolved.

use std::collections::BTreeMap;

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
        match failures.get(subscription.name()) {
            Some(failure) => {
                let existing = conditions::get(&status, RESOLUTION_FAILED);
                if !existing.is_some_and(|existing| conditions::say_the_same(existing, failure)) {
                    conditions::set(&mut status, failure.clone());
                }
            }
            None => conditions::remove(
                &mut status,
                &[BUNDLE_UNPACKING, BUNDLE_UNPACK_FAILED, RESOLUTION_FAILED],
            ),
        }
        let change = changes
            .iter()
            .find(|change| change.subscription == subscription.name());
        if let (Some(change), Some((plan, generation))) = (change, plan) {
            status["currentCSV"] = Value::from(change.service_version.as_str());
            refer_to_plan(&mut status, plan);
            status["installPlanGeneration"] = Value::from(generation);
            status["state"] = Value::from(state::UPGRADE_PENDING);
        } else if subscription.state() == state::UPGRADE_AVAILABLE {
            // The newer version is gone from the catalog before it could be planned.
            status["state"] = Value::from(state::AT_LATEST_KNOWN);
        }
        (status != status_of(object)).then(|| Write::UpdateStatus(with_status(object, status, now)))
    });
    changed.collect()
}
