//! Which plans of a namespace are kept.

use std::collections::BTreeSet;

use apply::object::{ObjectId, at, text};
use classic::{Kind, World, Write};
use serde_json::Value;

use super::subscriptions;
use crate::subscription::Subscription;

/// How many plans of a namespace are kept, beside those that Subscriptions point to.
pub const MAXIMUM_PLANS: usize = 5;

/// Returns the deletions of plans that are too old: those with the lowest generation first.
///
/// A plan that isn't finished stays, and so does one that a Subscription points to: upstream deletes these too, and the
/// Subscription then complains about a plan that is missing.
pub(super) fn deletions(world: &World, namespace: &str) -> Vec<Write> {
    let mut plans: Vec<&Value> = world
        .in_namespace(Kind::InstallPlan, namespace)
        .map(AsRef::as_ref)
        .collect();
    let Some(surplus) = plans
        .len()
        .checked_sub(MAXIMUM_PLANS)
        .filter(|surplus| *surplus > 0)
    else {
        return Vec::new();
    };
    let subscriptions = subscriptions(world, namespace);
    let pointed_to: BTreeSet<&str> = subscriptions
        .iter()
        .map(|object| Subscription(object).plan())
        .collect();
    plans.sort_by_key(|plan| {
        (
            generation(plan),
            text(plan, "/metadata/creationTimestamp"),
            text(plan, "/metadata/name"),
        )
    });
    let is_spare = |plan: &&Value| {
        matches!(text(plan, "/status/phase"), "Complete" | "Failed")
            && !pointed_to.contains(text(plan, "/metadata/name"))
    };
    let deletion = |plan: &Value| Write::Delete {
        id: ObjectId::of(plan),
        uid: Some(text(plan, "/metadata/uid").to_owned()).filter(|uid| !uid.is_empty()),
    };
    // The newest ones are kept even where an older one must stay.
    let old = plans.iter().take(surplus).copied();
    old.filter(is_spare).map(deletion).collect()
}

/// Returns the generation of a plan.
pub(super) fn generation(plan: &Value) -> i64 {
    at(plan, "/spec/generation")
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(name: &str, generation: i64, phase: &str) -> Value {
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan",
            "metadata": {"name": name, "namespace": "ns", "uid": name},
            "spec": {"generation": generation}, "status": {"phase": phase},
        })
    }

    #[test]
    fn the_oldest_finished_plans_go() {
        let mut world = World::default();
        for generation in 1..=8 {
            let phase = if generation == 2 {
                "RequiresApproval"
            } else {
                "Complete"
            };
            world.put(plan(&format!("p{generation}"), generation, phase));
        }
        world.put(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "s", "namespace": "ns"},
            "status": {"installPlanRef": {"name": "p3"}},
        }));
        let deleted: Vec<String> = deletions(&world, "ns")
            .into_iter()
            .filter_map(|write| match write {
                Write::Delete { id, .. } => Some(id.name),
                _ => None,
            })
            .collect();
        assert_eq!(deleted, ["p1"], "one waits for approval, and one is pointed to");
        assert_eq!(deletions(&World::default(), "ns"), []);
    }
}
