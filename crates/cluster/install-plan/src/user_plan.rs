//! InstallPlans that users write: they name ClusterServiceVersions, and get the steps for them and for what they need.
//!
//! Upstream ignores such plans for ever. Here they are planned (`Planning`), then wait for approval or are executed like
//! any other.

use std::collections::BTreeMap;

use apply::object::{at, text};
use apply::owners;
use classic::{Decision, Kind, World, Write};
use jiff::Timestamp;
use resolve::classic::entry::{CatalogKey, Entry};
use resolve::classic::existing::{Existing, UpgradeStrategy};
use resolve::classic::request::{Catalog, Isolation, Subscription as Asking};
use serde_json::{Value, json};

use crate::bundle_lookup::{BundleLookup, Unpacked};
use crate::conditions::{self, condition};
use crate::moment;
use crate::namespace::{self, Answer, Question};
use crate::plan::{has_content, phase, versions};
use crate::settings::Settings;
use crate::steps;
use crate::subscription::Subscription;

/// The condition that says whether it is known what a plan takes.
pub const RESOLVED: &str = "Resolved";

/// Returns whether a plan was written by a user, and nobody has found out yet what it takes.
pub fn is_unplanned(plan: &Value) -> bool {
    let status = plan.get("status").unwrap_or(&Value::Null);
    matches!(conditions::field(status, "phase"), phase::NONE | phase::PLANNING)
        && !has_content(status)
        && !versions(plan).is_empty()
        && owners::names(plan, Kind::Subscription.naming().kind)
            .next()
            .is_none()
}

/// What is to be resolved for a plan.
#[derive(Debug, Clone)]
pub struct PlanQuestion {
    /// The question; its Subscriptions stand for the ClusterServiceVersions that the plan names.
    pub question: Question,
    /// The version that is wanted of each package.
    pub wanted: BTreeMap<String, String>,
}

impl PlanQuestion {
    /// Returns why an entry may not be selected: the plan names another version of its package.
    pub fn forbids(&self, entry: &Entry) -> Option<String> {
        let wanted = self.wanted.get(&entry.package)?;
        (*wanted != entry.name).then(|| format!("the InstallPlan asks for {wanted}"))
    }
}

/// What a plan of a user needs next.
#[derive(Debug, Clone)]
pub enum Step {
    /// These writes, and nothing else.
    Write(Decision),
    /// An answer to this.
    Resolve(Box<PlanQuestion>),
    /// These images, and then [`conclude`] again.
    NeedsBundles(Vec<BundleLookup>),
}

/// Returns what a plan of a user needs first: the phase `Planning`, then an answer. `catalogs` are those of
/// [`sources`].
pub fn request(
    world: &World,
    plan: &Value,
    catalogs: &[Catalog],
    settings: &Settings,
    now: Timestamp,
) -> Step {
    if text(plan, "/status/phase") != phase::PLANNING {
        let mut planning = plan.clone();
        planning["status"] = json!({"phase": phase::PLANNING, "catalogSources": []});
        return Step::Write(status_write(planning));
    }
    let namespace = text(plan, "/metadata/namespace");
    let groups: Vec<&Value> = world
        .in_namespace(Kind::OperatorGroup, namespace)
        .map(AsRef::as_ref)
        .collect();
    let [group] = groups.as_slice() else {
        // It goes on when there is one; until then it is as the plan says: not known what it takes.
        let message = format!("found {} operatorGroups, expected 1", groups.len());
        return Step::Write(unresolved(plan, &message, false, now));
    };
    let mut wanted = BTreeMap::new();
    let mut asking = Vec::new();
    let present: Vec<&Value> = world
        .in_namespace(Kind::ClusterServiceVersion, namespace)
        .map(AsRef::as_ref)
        .collect();
    let installed = Existing::read(namespace, &present, &[], UpgradeStrategy::of_group(group));
    for name in versions(plan) {
        let Some(entry) = find(plan, catalogs, name) else {
            let faults = catalogs
                .iter()
                .filter_map(|catalog| catalog.content.as_ref().err());
            let faults: Vec<&str> = faults.map(String::as_str).collect();
            let mut message =
                format!("no operators found with name {name} in the catalogs of namespace {namespace}");
            if !faults.is_empty() {
                message = format!("{message}; catalogs that can't be asked: {}", faults.join(", "));
            }
            return Step::Write(unresolved(plan, &message, faults.is_empty(), now));
        };
        let current = installed
            .versions
            .iter()
            .find(|version| version.entry.is_of_package(&entry.package));
        wanted.insert(entry.package.clone(), entry.name.clone());
        asking.push(Asking {
            name: format!("installplan-{}-{name}", text(plan, "/metadata/name")),
            package: entry.package.clone(),
            channel: entry.channel.clone(),
            catalog: entry.catalog.clone(),
            starting_csv: entry.name.clone(),
            installed_csv: current.map_or_else(String::new, |current| current.entry.name.clone()),
            current_csv: String::new(),
        });
    }
    let existing = Existing::read(namespace, &present, &asking, UpgradeStrategy::of_group(group));
    Step::Resolve(Box::new(PlanQuestion {
        question: Question {
            namespace: namespace.to_owned(),
            sources: namespace::sources(world, namespace, group, settings),
            subscriptions: asking,
            existing,
            isolation: Isolation::Namespace,
        },
        wanted,
    }))
}

/// Returns the CatalogSources that a plan of a user is planned from.
pub fn sources(world: &World, plan: &Value, settings: &Settings) -> Vec<CatalogKey> {
    let namespace = text(plan, "/metadata/namespace");
    let group = world.in_namespace(Kind::OperatorGroup, namespace).next();
    let group = group.map_or(&Value::Null, AsRef::as_ref);
    namespace::sources(world, namespace, group, settings)
}

/// Finds a ClusterServiceVersion in the catalogs: in the one that the plan names, or the first by priority and name; in
/// the default channel where it is there.
fn find<'a>(plan: &Value, catalogs: &'a [Catalog], name: &str) -> Option<&'a Entry> {
    let (source, source_namespace) = (text(plan, "/spec/source"), text(plan, "/spec/sourceNamespace"));
    let mut candidates: Vec<&Catalog> = catalogs
        .iter()
        .filter(|catalog| source.is_empty() || catalog.key.name == source)
        .filter(|catalog| source_namespace.is_empty() || catalog.key.namespace == source_namespace)
        .collect();
    let own = text(plan, "/metadata/namespace");
    candidates.sort_by_key(|catalog| {
        (
            -i64::from(catalog.priority),
            catalog.key.namespace != own,
            catalog.key.clone(),
        )
    });
    candidates.into_iter().find_map(|catalog| {
        let snapshot = catalog.content.as_ref().ok()?;
        let named = snapshot.entries().iter().filter(|entry| entry.name == name);
        let best = named.min_by_key(|entry| (!entry.is_in_default_channel, entry.channel.as_str()));
        best.map(AsRef::as_ref)
    })
}

/// Returns what the answer makes of a plan of a user.
pub fn conclude(
    world: &World,
    plan: &Value,
    answer: &Answer,
    unpacked: &BTreeMap<String, Unpacked>,
    now: Timestamp,
) -> Step {
    if let Some(failure) = answer.failures.values().next() {
        return Step::Write(unresolved(plan, &failure.text(), failure.is_unsatisfiable, now));
    }
    let namespace = text(plan, "/metadata/namespace");
    let objects = namespace::subscriptions(world, namespace);
    let views: Vec<Subscription<'_>> = objects.iter().map(|object| Subscription(object)).collect();
    let planned = match steps::of_resolution(world, namespace, &views, &answer.selected) {
        Ok(planned) => planned,
        Err(error) => return Step::Write(unresolved(plan, &error.to_string(), true, now)),
    };
    let mut all = match namespace::unpack(namespace, &planned, unpacked) {
        namespace::Images::Ready(more) => [planned.steps, more].concat(),
        namespace::Images::Missing { lookups, .. } => return Step::NeedsBundles(lookups),
        namespace::Images::Broken(error) => {
            return Step::Write(unresolved(plan, &error.to_string(), true, now));
        }
        namespace::Images::Failed { reason, message } => {
            let message = format!("Bundle unpacking failed - {reason}: {message}");
            return Step::Write(unresolved(plan, &message, false, now));
        }
    };
    // Whoever names a version asks for that version, and not to be kept up to date.
    let named = versions(plan);
    all.retain(|step| step.kind != "Subscription" || !named.contains(&step.resolving.as_str()));
    let approved = at(plan, "/spec/approved") == Some(&Value::Bool(true));
    let is_manual = text(plan, "/spec/approval") == "Manual" && !approved;
    let mut changed = plan.clone();
    let mut status = namespace::first_status(&all, &planned.lookups, is_manual);
    if all.is_empty() {
        // Everything that it names is there already.
        let mut installed = condition(crate::plan::INSTALLED, "True", "", "");
        for field in ["lastTransitionTime", "lastUpdateTime"] {
            installed[field] = Value::from(moment::text(now));
        }
        status["phase"] = Value::from(phase::COMPLETE);
        conditions::set(&mut status, installed);
    }
    changed["status"] = status;
    Step::Write(status_write(changed))
}

/// Says that it isn't known what a plan takes; for good, or until something changes.
fn unresolved(plan: &Value, message: &str, is_final: bool, now: Timestamp) -> Decision {
    let mut changed = plan.clone();
    let mut wanted = condition(RESOLVED, "False", "DependenciesConflict", message);
    let status = &mut changed["status"];
    let existing = conditions::get(status, RESOLVED);
    if !existing.is_some_and(|existing| conditions::say_the_same(existing, &wanted)) {
        for field in ["lastTransitionTime", "lastUpdateTime"] {
            wanted[field] = Value::from(moment::text(now));
        }
        conditions::set(status, wanted);
    }
    status["message"] = Value::from(message);
    if is_final {
        status["phase"] = Value::from(phase::FAILED);
    }
    let mut decision = if changed == *plan {
        Decision::default()
    } else {
        status_write(changed)
    };
    decision.look_again_after = (!is_final).then_some(std::time::Duration::from_secs(30));
    decision
}

fn status_write(plan: Value) -> Decision {
    Decision {
        writes: vec![Write::UpdateStatus(plan)],
        ..Decision::default()
    }
}
