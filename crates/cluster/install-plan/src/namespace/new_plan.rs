//! A plan that is to be made, and how Subscriptions come to point to it.

use std::collections::{BTreeMap, BTreeSet};

use apply::object::{at, text};
use apply::owners::is_owned_by;
use bundle::cluster_service_version::KIND as SERVICE_VERSION;
use classic::{Decision, Kind, World, names};
use serde_json::{Value, json};

use super::retention::generation;
use crate::bundle_lookup::BundleLookup;
use crate::plan::phase;
use crate::reference::{self, ALPHA};
use crate::steps::{Planned, Step, SubscriptionChange};
use crate::subscription::Subscription;

/// What the names of plans begin with.
const BEGINNING: &str = "install-";

/// A plan that is to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPlan {
    /// The plan that is to be created; one with an identity exists already.
    pub object: Value,
    /// The status that it gets.
    pub status: Value,
    /// The Subscriptions that lead to something new.
    pub changes: Vec<SubscriptionChange>,
    /// The conditions of Subscriptions that failed although others didn't.
    pub failures: BTreeMap<String, Value>,
    /// What is told beside it.
    pub decision: Decision,
}

impl NewPlan {
    pub(super) fn new(
        world: &World,
        namespace: &str,
        objects: &[&Value],
        steps: Vec<Step>,
        planned: &Planned,
        failures: BTreeMap<String, Value>,
        decision: Decision,
    ) -> Self {
        let is_manual = objects.iter().any(|object| Subscription(object).is_manual());
        let versions: Vec<&str> = steps
            .iter()
            .filter(|step| step.kind == SERVICE_VERSION)
            .map(|step| step.name.as_str())
            .collect();
        let plans: Vec<&Value> = world
            .in_namespace(Kind::InstallPlan, namespace)
            .map(AsRef::as_ref)
            .collect();
        let linked = objects
            .iter()
            .map(|object| Subscription(object).plan_generation())
            .max()
            .unwrap_or_default();
        let known = plans
            .iter()
            .map(|plan| generation(plan))
            .max()
            .unwrap_or_default();
        let approval = if is_manual { "Manual" } else { "Automatic" };
        let is_ours = |plan: &Value| objects.iter().any(|object| is_owned_by(plan, object));
        let is_installed = |name: &&str| world.get(Kind::ClusterServiceVersion, namespace, name).is_some();
        // A plan that nobody points to yet: making it was cut short, or somebody else makes it at the same time. It may have
        // been approved and carried out since.
        let unlinked = plans.into_iter().find(|plan| {
            let is_open = matches!(
                text(plan, "/status/phase"),
                "" | phase::INSTALLING | phase::REQUIRES_APPROVAL
            );
            let number = generation(plan);
            number > linked
                && number == known
                && is_ours(plan)
                && text(plan, "/spec/approval") == approval
                && at(plan, "/spec/clusterServiceVersionNames") == Some(&json!(versions))
                && (is_open || versions.iter().all(is_installed))
        });
        let object = unlinked.cloned().unwrap_or_else(|| {
            let owner = |object: &&Value| {
                reference::to_owner(
                    Kind::Subscription,
                    text(object, "/metadata/name"),
                    text(object, "/metadata/uid"),
                )
            };
            let generation = linked.max(known) + 1;
            json!({
                "apiVersion": ALPHA,
                "kind": Kind::InstallPlan.naming().kind,
                "metadata": {
                    "generateName": BEGINNING,
                    "name": names::made_up(BEGINNING, &format!("{namespace}/{generation}")),
                    "namespace": namespace,
                    "ownerReferences": objects.iter().map(owner).collect::<Vec<_>>(),
                },
                "spec": {
                    "clusterServiceVersionNames": versions,
                    "approval": approval,
                    "approved": !is_manual,
                    "generation": generation,
                },
            })
        });
        Self {
            status: status(&steps, &planned.lookups, is_manual),
            object,
            changes: planned.changes.clone(),
            failures,
            decision,
        }
    }

    /// Returns whether the plan is there already, so that only its status and its Subscriptions are missing.
    pub fn exists(&self) -> bool {
        !text(&self.object, "/metadata/uid").is_empty()
    }

    /// Returns the created plan with its status, to be written; none if it has one.
    pub fn with_status(&self, created: &Value) -> Option<Value> {
        if !text(created, "/status/phase").is_empty() {
            return None;
        }
        let mut plan = created.clone();
        plan["status"] = self.status.clone();
        Some(plan)
    }

    /// Returns the generation of the plan.
    pub fn generation(&self) -> i64 {
        generation(&self.object)
    }
}

/// Returns the first status of a plan.
pub(crate) fn status(steps: &[Step], lookups: &[BundleLookup], is_manual: bool) -> Value {
    let sources: BTreeSet<&str> = steps.iter().map(|step| step.source.name.as_str()).collect();
    let phase = if is_manual {
        phase::REQUIRES_APPROVAL
    } else {
        phase::INSTALLING
    };
    let mut status = json!({
        "phase": phase,
        "catalogSources": sources,
        "plan": steps.iter().map(Step::to_value).collect::<Vec<_>>(),
    });
    if !lookups.is_empty() {
        status["bundleLookups"] = lookups.iter().map(BundleLookup::finished).collect();
    }
    status
}
