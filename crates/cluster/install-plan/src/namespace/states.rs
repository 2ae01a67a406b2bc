//! The states of Subscriptions, from the plans and versions that exist.

use std::time::Duration;

use apply::object::{annotation, text};
use classic::{Kind, World, Write, keys};
use jiff::Timestamp;
use resolve::classic::existing::UpgradeStrategy;
use serde_json::Value;

use crate::settings::Settings;
use crate::subscription::plan_condition::{forget_plan, refer_to_plan};
use crate::subscription::{Subscription, state, status_of, with_status};

/// How soon an image that can't be pulled is tried again, unless the OperatorGroup says otherwise. Upstream waits five
/// minutes, since a Job must expire first.
const RETRY_AFTER_UNPACKING: Duration = Duration::from_mins(1);

/// Returns the statuses of the Subscriptions whose state isn't what the cluster shows.
pub(super) fn changes(
    world: &World,
    objects: &[&Value],
    strategy: UpgradeStrategy,
    now: Timestamp,
) -> Vec<Write> {
    let changed = objects.iter().filter_map(|object| {
        let status = change(world, object, strategy)?;
        Some(Write::UpdateStatus(with_status(object, status, now)))
    });
    changed.collect()
}

fn change(world: &World, object: &Value, strategy: UpgradeStrategy) -> Option<Value> {
    let fails_forward = strategy == UpgradeStrategy::UnsafeFailForward;
    let mut status = status_of(object);
    if let Some(plan) = generating_plan(world, object) {
        refer_to_plan(&mut status, plan);
        status["currentCSV"] = Value::from(Subscription(object).starting());
        let has_failed = fails_forward && text(plan, "/status/phase") == "Failed";
        status["state"] = Value::from(if has_failed {
            state::UPGRADE_FAILED
        } else {
            state::UPGRADE_PENDING
        });
    }
    let mut seen = object.clone();
    seen["status"] = status.clone();
    let subscription = Subscription(&seen);
    if was_deleted(world, subscription) {
        forget_plan(&mut status);
        if let Some(fields) = status.as_object_mut() {
            fields.remove("installedCSV");
        }
    } else if let Some(wanted) = wanted_state(world, subscription, fails_forward)
        && wanted != subscription.state()
    {
        status["state"] = Value::from(wanted);
        if wanted == state::AT_LATEST_KNOWN {
            status["installedCSV"] = Value::from(subscription.current());
        }
    }
    (status != status_of(object)).then_some(status)
}

/// The plan that made a Subscription for a dependency, as long as the Subscription doesn't point to it.
fn generating_plan<'a>(world: &'a World, object: &Value) -> Option<&'a Value> {
    let subscription = Subscription(object);
    if subscription.names_a_plan() {
        return None;
    }
    // Upstream waits for ever for a plan that is gone; without it, this is a Subscription like any other.
    let name = subscription.generated_by()?;
    let plan = world.get(Kind::InstallPlan, subscription.namespace(), name)?;
    Some(plan.as_ref())
}

fn wanted_state(world: &World, subscription: Subscription<'_>, fails_forward: bool) -> Option<&'static str> {
    let (namespace, current) = (subscription.namespace(), subscription.current());
    if current.is_empty() {
        return None;
    }
    if world
        .get(Kind::ClusterServiceVersion, namespace, current)
        .is_some()
    {
        // Only a resolution knows whether the newer version that was found is still there.
        return (subscription.state() != state::UPGRADE_AVAILABLE).then_some(state::AT_LATEST_KNOWN);
    }
    let plan = world.get(Kind::InstallPlan, namespace, subscription.plan());
    let has_failed = plan.is_some_and(|plan| text(plan, "/status/phase") == "Failed");
    Some(if fails_forward && has_failed {
        state::UPGRADE_FAILED
    } else {
        state::UPGRADE_PENDING
    })
}

/// Returns whether the version was installed and somebody deleted it. Upstream leaves it at that; here it is installed
/// again, since the Subscription still asks for it.
fn was_deleted(world: &World, subscription: Subscription<'_>) -> bool {
    let (namespace, current) = (subscription.namespace(), subscription.current());
    let plan = world.get(Kind::InstallPlan, namespace, subscription.plan());
    !current.is_empty()
        && current == subscription.installed()
        && world
            .get(Kind::ClusterServiceVersion, namespace, current)
            .is_none()
        && plan.is_none_or(|plan| text(plan, "/status/phase") == "Complete")
}

/// Returns how long pulling a bundle image may take in a namespace; zero for as long as it takes.
pub fn unpack_timeout(world: &World, namespace: &str, settings: &Settings) -> Duration {
    duration(world, namespace, keys::UNPACK_TIMEOUT).unwrap_or(settings.unpack_timeout)
}

/// Returns how soon an image that can't be pulled is tried again in a namespace.
pub(super) fn unpack_retry(world: &World, namespace: &str) -> Duration {
    duration(world, namespace, keys::UNPACK_MINIMUM_RETRY_INTERVAL)
        .filter(|interval| !interval.is_zero())
        .unwrap_or(RETRY_AFTER_UNPACKING)
}

/// Returns the duration that an annotation of the namespace's OperatorGroup sets; none where it sets none that can be
/// read, which upstream treats the same.
fn duration(world: &World, namespace: &str, key: &str) -> Option<Duration> {
    let mut groups = world.in_namespace(Kind::OperatorGroup, namespace);
    let group = groups.next()?;
    if groups.next().is_some() {
        return None;
    }
    chart::go_duration::parse(annotation(group, key)?).ok()
}
