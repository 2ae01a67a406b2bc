//! What has to be looked at again after a change: what the rules say, in one queue.

use std::collections::BTreeSet;

use apply::object::{at, text};
use classic::{Kind, World};
use install_plan::concerns::Concern as PlanConcern;
use install_plan::settings::Settings;
use serde_json::Value;
use service_version::{Concern as OperatorConcern, Place};

use crate::picture::Change;

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Thing {
    /// A ClusterServiceVersion, its copies, its OperatorGroup, its OperatorCondition, its Operator.
    Operators(OperatorConcern),
    /// What the Subscriptions of a namespace lead to.
    Namespace(String),
    /// The conditions of a Subscription.
    Subscription(Place),
    /// An InstallPlan.
    Plan(Place),
    /// The plans of a namespace that failed for want of permissions.
    Permissions(String),
    /// A CatalogSource.
    Source(Place),
    /// What a CustomResourceDefinition says it was installed with.
    Definition(String),
    /// What the API server serves.
    Discovery,
}

impl From<PlanConcern> for Thing {
    fn from(concern: PlanConcern) -> Self {
        match concern {
            PlanConcern::Namespace(namespace) => Self::Namespace(namespace),
            PlanConcern::Subscription { namespace, name } => Self::Subscription(Place { namespace, name }),
            PlanConcern::Plan { namespace, name } => Self::Plan(Place { namespace, name }),
            PlanConcern::Source { namespace, name } => Self::Source(Place { namespace, name }),
            PlanConcern::Permissions(namespace) => Self::Permissions(namespace),
        }
    }
}

impl Thing {
    /// Returns what it is about, for those who follow the work: a kind, a namespace and a name, each empty where it has none.
    pub fn subject(&self) -> (&'static str, &str, &str) {
        fn at<'a>(kind: &'static str, place: &'a Place) -> (&'static str, &'a str, &'a str) {
            (kind, &place.namespace, &place.name)
        }
        match self {
            Self::Operators(concern) => match concern {
                OperatorConcern::ServiceVersion(place) | OperatorConcern::Retry(place) => {
                    at("ClusterServiceVersion", place)
                }
                OperatorConcern::Copies(place) => at("copies of ClusterServiceVersion", place),
                OperatorConcern::Components(place) => at("components of ClusterServiceVersion", place),
                OperatorConcern::OperatorGroup(place) => at("OperatorGroup", place),
                OperatorConcern::OperatorCondition(place) => at("OperatorCondition", place),
                OperatorConcern::Subscription(place) => at("components of Subscription", place),
                OperatorConcern::InstallPlan(place) => at("components of InstallPlan", place),
                OperatorConcern::Namespace(name) => ("labels of Namespace", "", name),
                OperatorConcern::Operator(name) => ("Operator", "", name),
                OperatorConcern::OlmConfig => ("OLMConfig", "", "cluster"),
            },
            Self::Namespace(name) => ("Namespace", "", name),
            Self::Subscription(place) => at("Subscription", place),
            Self::Plan(place) => at("InstallPlan", place),
            Self::Permissions(namespace) => ("permissions of InstallPlans", namespace, ""),
            Self::Source(place) => at("CatalogSource", place),
            Self::Definition(name) => ("CustomResourceDefinition", "", name),
            Self::Discovery => ("discovery", "", ""),
        }
    }
}

/// Returns everything that there is to look at.
pub fn everything(world: &World, settings: &Settings) -> BTreeSet<Thing> {
    let mut things: BTreeSet<Thing> = OperatorConcern::all(world)
        .into_iter()
        .map(Thing::Operators)
        .collect();
    for kind in Kind::ALL {
        for object in world.all(kind) {
            let planned = install_plan::concerns::concerns(world, None, Some(object), settings);
            things.extend(planned.into_iter().map(Thing::from));
        }
    }
    things
}

/// Returns what a change concerns.
pub fn concerns(world: &World, change: &Change, settings: &Settings) -> BTreeSet<Thing> {
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    let operators = service_version::concerns(world, before, after);
    let planned = install_plan::concerns::concerns(world, before, after, settings);
    let mut things: BTreeSet<Thing> = operators.into_iter().map(Thing::Operators).collect();
    things.extend(planned.into_iter().map(Thing::from));
    if change.key.kind == Kind::ClusterServiceVersion && after.is_none() {
        things.extend(installed_with(world, &change.key.namespace, &change.key.name));
    }
    let offers = matches!(change.key.kind, Kind::CustomResourceDefinition | Kind::ApiService);
    if offers && before.map(offer) != after.map(offer) {
        things.insert(Thing::Discovery);
    }
    things
}

/// Returns the definitions that say they were installed with a version.
fn installed_with(world: &World, namespace: &str, name: &str) -> Vec<Thing> {
    let version = (namespace.to_owned(), name.to_owned());
    let definitions = world.all(Kind::CustomResourceDefinition);
    definitions
        .filter(|definition| install_plan::alongside::read(definition).contains(&version))
        .map(|definition| Thing::Definition(text(definition, "/metadata/name").to_owned()))
        .collect()
}

/// Returns what a definition or an APIService says is served.
fn offer(object: &Value) -> (Option<&Value>, Vec<(&str, &str)>) {
    let conditions = at(object, "/status/conditions").and_then(Value::as_array);
    let conditions = conditions.into_iter().flatten();
    let conditions = conditions.map(|condition| (text(condition, "/type"), text(condition, "/status")));
    (object.get("spec"), conditions.collect())
}

/// Returns what may have waited for a kind that the API server serves now.
pub fn waiting(world: &World) -> Vec<Thing> {
    let versions = world
        .originals()
        .filter(|version| matches!(text(version, "/status/phase"), "Pending" | "Failed" | "Succeeded"));
    let plans = world
        .all(Kind::InstallPlan)
        .filter(|plan| text(plan, "/status/phase") == "Installing");
    let versions = versions.map(|version| Thing::Operators(OperatorConcern::ServiceVersion(place(version))));
    versions
        .chain(plans.map(|plan| Thing::Plan(place(plan))))
        .collect()
}

fn place(object: &Value) -> Place {
    Place::new(
        text(object, "/metadata/namespace"),
        text(object, "/metadata/name"),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use classic::Key;
    use serde_json::json;

    use super::*;

    fn world(objects: Vec<Value>) -> World {
        let mut world = World::default();
        for object in objects {
            world.put(object);
        }
        world
    }

    fn added(object: Value) -> Change {
        Change {
            key: Key::of(&object).expect("a kind"),
            before: None,
            after: Some(Arc::new(object)),
        }
    }

    #[test]
    fn a_definition_wakes_the_versions_that_need_it_and_is_asked_for() {
        let needs = json!({
            "kind": "ClusterServiceVersion", "metadata": {"name": "a", "namespace": "n"},
            "spec": {"customresourcedefinitions": {"required": [{"name": "as.g", "kind": "A", "version": "v1"}]}},
        });
        let world = world(vec![needs]);
        let change = added(json!({"kind": "CustomResourceDefinition", "metadata": {"name": "as.g"}}));
        let found = concerns(&world, &change, &Settings::default());
        let version = Thing::Operators(OperatorConcern::ServiceVersion(Place::new("n", "a")));
        assert!(found.contains(&version), "{found:?}");
        assert!(found.contains(&Thing::Discovery), "{found:?}");
    }

    #[test]
    fn a_global_catalog_wakes_every_namespace_and_another_one_its_own() {
        let subscription = json!({
            "kind": "Subscription", "metadata": {"name": "s", "namespace": "n"},
            "spec": {"name": "p", "source": "c", "sourceNamespace": "olm"},
        });
        let world = world(vec![subscription]);
        let wakes = |namespace: &str| {
            let source = json!({"kind": "CatalogSource", "metadata": {"name": "c", "namespace": namespace}});
            let found = concerns(&world, &added(source), &Settings::default());
            found.contains(&Thing::Namespace("n".to_owned()))
        };
        assert_eq!(["olm", "n", "other"].map(wakes), [true, true, false]);
    }
}
