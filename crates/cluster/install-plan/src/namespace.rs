//! A namespace: what its Subscriptions are resolved from, and the plan that they lead to.
//!
//! ```text
//! survey ─┬─► writes: plans that are too old, states of Subscriptions
//!         └─► Question ─ resolve ─► Answer ─ conclude ─┬─► conditions, when it failed
//!                                                      ├─► images to pull
//!                                                      └─► NewPlan ─ create ─ linked ─► Subscriptions point to it
//! ```

mod answer;
mod conclusion;
mod link;
mod new_plan;
mod obstacles;
mod retention;
mod states;
mod unlinked;
mod upgrading;

use std::collections::BTreeMap;

use apply::object::{ObjectId, annotation, text};
use classic::{Decision, Kind, Notice, World, keys};
use jiff::Timestamp;
use resolve::classic::entry::CatalogKey;
use resolve::classic::existing::{Existing, UpgradeStrategy};
use resolve::classic::request::{Catalog, Forbid, Isolation, Request, Subscription as Asking};
use serde_json::Value;

pub use answer::{Answer, Failure};
pub use conclusion::{Conclusion, conclude, conclude_planned};
pub(crate) use conclusion::{Images, unpack};
pub use link::{linked, refused};
pub use new_plan::NewPlan;
pub(crate) use new_plan::status as first_status;
pub use obstacles::due_again;
pub use retention::MAXIMUM_PLANS;
pub use states::unpack_timeout;

use crate::conditions::{self, condition};
use crate::settings::Settings;
use crate::subscription::{RESOLUTION_FAILED, Subscription, state};

/// What is to be resolved for a namespace. The catalogs come from the controller.
#[derive(Debug, Clone)]
pub struct Question {
    /// The namespace.
    pub namespace: String,
    /// The CatalogSources that take part, by namespace and name.
    pub sources: Vec<CatalogKey>,
    /// The Subscriptions that take part.
    pub subscriptions: Vec<Asking>,
    /// The operators that are installed.
    pub existing: Existing,
    /// How far a failure reaches.
    pub isolation: Isolation,
}

impl Question {
    /// Returns what the resolver is asked, with the catalogs of [`Self::sources`].
    pub fn request<'a>(&'a self, catalogs: &'a [Catalog], forbid: Option<Forbid<'a>>) -> Request<'a> {
        Request {
            namespace: &self.namespace,
            catalogs,
            existing: &self.existing,
            subscriptions: &self.subscriptions,
            isolation: self.isolation,
            forbid,
        }
    }
}

/// What a look at a namespace leads to.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// What is written at once.
    pub decision: Decision,
    /// What is to be resolved; none while something is written first, or when there is nothing to find.
    pub question: Option<Question>,
}

/// Returns what is written for a namespace at once, and what is to be resolved.
pub fn survey(world: &World, namespace: &str, settings: &Settings, now: Timestamp) -> Survey {
    let mut survey = Survey::default();
    survey.decision.writes = retention::deletions(world, namespace);
    let objects: Vec<&Value> = subscriptions(world, namespace);
    if objects.is_empty() {
        return survey;
    }
    let groups: Vec<&Value> = world
        .in_namespace(Kind::OperatorGroup, namespace)
        .map(AsRef::as_ref)
        .collect();
    let [group] = groups.as_slice() else {
        // Upstream only logs this, and users wonder why nothing happens.
        let found = format!("found {} {EXPECTED_GROUPS}", groups.len());
        let wanted = condition(
            RESOLUTION_FAILED,
            "True",
            "ErrorPreventedResolution",
            &format!("{found}: {}", group_remedy(namespace, &groups)),
        );
        let failures: BTreeMap<String, Value> = objects
            .iter()
            .map(|object| (Subscription(object).name().to_owned(), wanted.clone()))
            .collect();
        survey
            .decision
            .writes
            .extend(link::settled(&objects, &[], &failures, None, now));
        survey.decision.notices.push(failed(namespace, &found));
        return survey;
    };
    let strategy = UpgradeStrategy::of_group(group);
    let changed = states::changes(world, &objects, strategy, now);
    if !changed.is_empty() {
        survey.decision.writes.extend(changed);
        return survey;
    }
    let waits = |object: &&Value| {
        let subscription = Subscription(object);
        !subscription.plan().is_empty() && subscription.state() == state::UPGRADE_PENDING
    };
    if objects.iter().all(waits) {
        // Nothing is resolved, so nobody else takes back what was said while there was no group.
        let outdated: Vec<&Value> = objects
            .into_iter()
            .filter(|object| misses_group(object))
            .collect();
        let lifted = link::settled(&outdated, &[], &BTreeMap::new(), None, now);
        survey.decision.writes.extend(lifted);
        return survey;
    }
    survey.question = Some(question(world, namespace, &objects, group, settings));
    survey
}

/// What upstream says where a namespace has no OperatorGroup, or several.
const EXPECTED_GROUPS: &str = "operatorGroups, expected 1";

/// What helps where a namespace has no OperatorGroup, or several.
fn group_remedy(namespace: &str, groups: &[&Value]) -> String {
    let names: Vec<&str> = groups.iter().map(|group| text(group, "/metadata/name")).collect();
    if names.is_empty() {
        return format!(
            "make an OperatorGroup in namespace {namespace}, which says what its operators watch"
        );
    }
    format!(
        "of {} keep the one that says what the operators of namespace {namespace} watch, and delete the others",
        names.join(", ")
    )
}

/// Whether a Subscription says that its namespace has no OperatorGroup, or several.
fn misses_group(object: &Value) -> bool {
    let said = conditions::get(Subscription(object).status(), RESOLUTION_FAILED);
    said.is_some_and(|said| conditions::field(said, "message").contains(EXPECTED_GROUPS))
}

/// Returns the Subscriptions of a namespace, by name.
pub(crate) fn subscriptions<'a>(world: &'a World, namespace: &'a str) -> Vec<&'a Value> {
    world
        .in_namespace(Kind::Subscription, namespace)
        .map(AsRef::as_ref)
        .collect()
}

/// The event that a namespace couldn't be resolved.
fn failed(namespace: &str, message: &str) -> Notice {
    Notice {
        about: ObjectId {
            api_version: "v1".to_owned(),
            kind: "Namespace".to_owned(),
            namespace: String::new(),
            name: namespace.to_owned(),
        },
        is_warning: true,
        reason: "ResolutionFailed".to_owned(),
        message: message.to_owned(),
    }
}

fn question(
    world: &World,
    namespace: &str,
    objects: &[&Value],
    group: &Value,
    settings: &Settings,
) -> Question {
    let upgrading = upgrading::find(world, namespace, objects);
    let taking_part = objects
        .iter()
        .filter(|object| !upgrading.subscriptions.contains(Subscription(object).name()));
    let subscriptions: Vec<Asking> = taking_part.map(|object| Asking::from_object(object)).collect();
    let versions: Vec<&Value> = world
        .in_namespace(Kind::ClusterServiceVersion, namespace)
        .map(AsRef::as_ref)
        .filter(|version| !upgrading.replaced.contains(text(version, "/metadata/name")))
        .collect();
    let strategy = UpgradeStrategy::of_group(group);
    let mut existing = Existing::read(namespace, &versions, &subscriptions, strategy);
    existing
        .versions
        .retain(|version| !unlinked::is_for_one_of(objects, world, namespace, version));
    Question {
        namespace: namespace.to_owned(),
        sources: sources(world, namespace, group, settings),
        existing,
        subscriptions,
        isolation: if settings.failures_stay_apart {
            Isolation::Subscription
        } else {
            Isolation::Namespace
        },
    }
}

/// Returns the CatalogSources that a namespace is resolved from: its own, then the global ones.
pub(crate) fn sources(world: &World, namespace: &str, group: &Value, settings: &Settings) -> Vec<CatalogKey> {
    let mut namespaces = vec![namespace];
    let excludes_global = annotation(group, keys::EXCLUDE_GLOBAL_CATALOGS) == Some("true");
    if !excludes_global && settings.global_namespace != namespace {
        namespaces.push(&settings.global_namespace);
    }
    let in_each = namespaces
        .into_iter()
        .flat_map(|namespace| world.in_namespace(Kind::CatalogSource, namespace));
    in_each
        .map(|source| {
            CatalogKey::new(
                text(source, "/metadata/namespace"),
                text(source, "/metadata/name"),
            )
        })
        .collect()
}
