//! Versions that a plan made before the Subscription that it is for could point to it.
//!
//! The server may go away between making a plan and pointing to it, and the plan is carried out all the same. To the
//! resolver, such a version is one that nobody asked for, which stays and which no Subscription may have: for ever. It is
//! left out of the question instead; the answer then leads to the plan that exists.

use apply::owners::is_owned_by;
use classic::{Kind, World};
use resolve::classic::existing::ExistingVersion;
use serde_json::Value;

use super::retention::generation;
use crate::plan::versions;
use crate::subscription::Subscription;

/// Returns whether a plan made this version for one of these Subscriptions, which doesn't say so yet.
pub(super) fn is_for_one_of(
    objects: &[&Value],
    world: &World,
    namespace: &str,
    version: &ExistingVersion,
) -> bool {
    let name = version.entry.name.as_str();
    if version.subscription.is_some()
        || objects
            .iter()
            .any(|object| Subscription(object).current() == name)
    {
        return false;
    }
    let asking = objects
        .iter()
        .filter(|object| Subscription(object).package() == version.entry.package);
    let asking: Vec<&Value> = asking.copied().collect();
    let is_unlinked = |plan: &Value| {
        let is_for = |object: &&Value| {
            generation(plan) > Subscription(object).plan_generation() && is_owned_by(plan, object)
        };
        versions(plan).contains(&name) && asking.iter().any(is_for)
    };
    world
        .in_namespace(Kind::InstallPlan, namespace)
        .any(|plan| is_unlinked(plan))
}
