//! What a change of an object makes worth looking at again.

use std::collections::BTreeSet;

use apply::object::{at, text};
use apply::owners;
use classic::{Kind, World, copied};
use serde_json::Value;

use crate::plan::phase;
use crate::settings::Settings;
use crate::steps::{DEFINITION, StepStatus};
use crate::subscription::Subscription;

/// Something to look at again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Concern {
    /// A namespace, by [`namespace::survey`](crate::namespace::survey).
    Namespace(String),
    /// A Subscription, by [`subscription::decide`](crate::subscription::decide).
    Subscription {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A plan, by [`plan::decide`](crate::plan::decide).
    Plan {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A CatalogSource, by [`source::decide`](crate::source::decide).
    Source {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// The plans of a namespace that failed for want of permissions, by
    /// [`plan::permissions_changed`](crate::plan::permissions_changed).
    Permissions(String),
}

impl Concern {
    fn subscription(namespace: &str, name: &str) -> Self {
        Self::Subscription {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    fn plan(namespace: &str, name: &str) -> Self {
        Self::Plan {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    fn source(namespace: &str, name: &str) -> Self {
        Self::Source {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

/// Returns what to look at after an object changed; `world` is as it is now.
pub fn concerns(
    world: &World,
    before: Option<&Value>,
    after: Option<&Value>,
    settings: &Settings,
) -> BTreeSet<Concern> {
    let Some(object) = after.or(before) else {
        return BTreeSet::new();
    };
    let namespace = text(object, "/metadata/namespace");
    let name = text(object, "/metadata/name");
    let mut found = BTreeSet::new();
    match Kind::named(text(object, "/kind")) {
        Some(Kind::CatalogSource) => of_source(world, before, after, namespace, name, settings, &mut found),
        Some(Kind::Subscription) => {
            found.insert(Concern::subscription(namespace, name));
            // What else a Subscription says of itself, its own look wrote.
            if before.map(resolved_from) != after.map(resolved_from) {
                found.insert(Concern::Namespace(namespace.to_owned()));
            }
        }
        Some(Kind::OperatorGroup) => {
            found.insert(Concern::Namespace(namespace.to_owned()));
            found.extend(open_plans(world, namespace));
        }
        Some(Kind::Namespace) if before.is_none() => {
            found.insert(Concern::Namespace(name.to_owned()));
        }
        Some(Kind::InstallPlan) => of_plan(world, before, after, namespace, name, &mut found),
        // What changes in a copy is the business of its original.
        Some(Kind::ClusterServiceVersion)
            if !copied::is_marked_as_copy(object)
                && before.map(version_matters) != after.map(version_matters) =>
        {
            found.insert(Concern::Namespace(namespace.to_owned()));
        }
        Some(Kind::CustomResourceDefinition) => {
            let waiting = world.all(Kind::InstallPlan).filter(|plan| waits_for(plan, name));
            found.extend(waiting.map(|plan| plan_concern(plan)));
        }
        Some(Kind::Role | Kind::RoleBinding | Kind::ServiceAccount) => {
            found.extend(scoped_plans(world.in_namespace(Kind::InstallPlan, namespace)));
        }
        Some(Kind::ClusterRole | Kind::ClusterRoleBinding) => {
            found.extend(scoped_plans(world.all(Kind::InstallPlan)));
        }
        Some(kind @ (Kind::ConfigMap | Kind::Secret)) => {
            let uses = |source: &&std::sync::Arc<Value>| match kind {
                Kind::ConfigMap => text(source, "/spec/configMap") == name,
                _ => source
                    .pointer("/spec/secrets")
                    .and_then(Value::as_array)
                    .is_some_and(|secrets| secrets.iter().any(|secret| secret == name)),
            };
            let sources = world.in_namespace(Kind::CatalogSource, namespace).filter(uses);
            found.extend(sources.map(|source| Concern::source(namespace, text(source, "/metadata/name"))));
        }
        _ => {}
    }
    found
}

/// What a resolution sees of a ClusterServiceVersion. Of its phases only those matter that let others take its place: between
/// its creation and its success there are half a dozen more.
fn version_matters(version: &Value) -> ([Option<&Value>; 3], &str) {
    let parts = [
        "/metadata/deletionTimestamp",
        "/metadata/annotations/operatorframework.io~1properties",
        "/spec",
    ];
    let phase = match text(version, "/status/phase") {
        phase @ ("Failed" | "Replacing" | "Deleting") => phase,
        _ => "",
    };
    (parts.map(|pointer| at(version, pointer)), phase)
}

/// What a resolution sees of a Subscription.
fn resolved_from(subscription: &Value) -> [Option<&Value>; 8] {
    [
        "/spec",
        "/metadata/annotations",
        "/metadata/deletionTimestamp",
        "/status/currentCSV",
        "/status/installedCSV",
        "/status/state",
        "/status/installPlanRef/name",
        "/status/installplan/name",
    ]
    .map(|pointer| at(subscription, pointer))
}

fn of_source(
    world: &World,
    before: Option<&Value>,
    after: Option<&Value>,
    namespace: &str,
    name: &str,
    settings: &Settings,
    found: &mut BTreeSet<Concern>,
) {
    found.insert(Concern::source(namespace, name));
    let is_global = namespace == settings.global_namespace;
    let affected: Vec<Subscription<'_>> = if is_global {
        world
            .all(Kind::Subscription)
            .map(|object| Subscription(object))
            .collect()
    } else {
        world
            .in_namespace(Kind::Subscription, namespace)
            .map(|object| Subscription(object))
            .collect()
    };
    for subscription in &affected {
        found.insert(Concern::subscription(
            subscription.namespace(),
            subscription.name(),
        ));
    }
    // A catalog that got ready may have new content, however it was before.
    let offers = |source: &Value| {
        let state = text(source, "/status/connectionState/lastObservedState") == "READY";
        let since = text(source, "/status/connectionState/lastConnect").to_owned();
        let priority = at(source, "/spec/priority").cloned();
        (state, state.then_some(since), priority)
    };
    if before.map(offers) != after.map(offers) {
        found.extend(
            affected
                .iter()
                .map(|subscription| Concern::Namespace(subscription.namespace().to_owned())),
        );
    }
}

fn of_plan(
    world: &World,
    before: Option<&Value>,
    after: Option<&Value>,
    namespace: &str,
    name: &str,
    found: &mut BTreeSet<Concern>,
) {
    if after.is_some() {
        found.insert(Concern::plan(namespace, name));
    }
    let kind = Kind::Subscription.naming().kind;
    let owners = [before, after]
        .into_iter()
        .flatten()
        .flat_map(|plan| owners::names(plan, kind));
    found.extend(owners.map(|owner| Concern::subscription(namespace, owner)));
    let pointing = world
        .in_namespace(Kind::Subscription, namespace)
        .map(|object| Subscription(object))
        .filter(|subscription| subscription.plan() == name || subscription.generated_by() == Some(name));
    found.extend(pointing.map(|subscription| Concern::subscription(namespace, subscription.name())));
    let phase = |plan: &Value| text(plan, "/status/phase").to_owned();
    if before.map(phase) != after.map(phase) {
        found.insert(Concern::Namespace(namespace.to_owned()));
    }
}

fn plan_concern(plan: &Value) -> Concern {
    Concern::plan(text(plan, "/metadata/namespace"), text(plan, "/metadata/name"))
}

/// The plans of a namespace that aren't finished.
fn open_plans(world: &World, namespace: &str) -> impl Iterator<Item = Concern> {
    let plans = world.in_namespace(Kind::InstallPlan, namespace);
    let open = plans.filter(|plan| !matches!(text(plan, "/status/phase"), phase::COMPLETE | phase::FAILED));
    let open: Vec<Concern> = open.map(|plan| plan_concern(plan)).collect();
    open.into_iter()
}

/// The plans that act as a service account: those under way, and the namespaces of those that failed.
fn scoped_plans<'a>(plans: impl Iterator<Item = &'a std::sync::Arc<Value>>) -> impl Iterator<Item = Concern> {
    let scoped =
        plans.filter(|plan| at(plan, "/status/attenuatedServiceAccountRef").is_some_and(Value::is_object));
    scoped.filter_map(|plan| match text(plan, "/status/phase") {
        phase::FAILED => Some(Concern::Permissions(text(plan, "/metadata/namespace").to_owned())),
        phase::COMPLETE => None,
        _ => Some(plan_concern(plan)),
    })
}

/// Returns whether a plan waits for a definition, or failed to update it.
fn waits_for(plan: &Value, definition: &str) -> bool {
    if text(plan, "/status/phase") != phase::INSTALLING {
        return false;
    }
    let steps = at(plan, "/status/plan").and_then(Value::as_array);
    steps.into_iter().flatten().any(|step| {
        text(step, "/resource/kind") == DEFINITION
            && text(step, "/resource/name") == definition
            && text(step, "/status") != StepStatus::Present.as_str()
            && text(step, "/status") != StepStatus::Created.as_str()
    })
}
