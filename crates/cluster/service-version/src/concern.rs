//! Who is concerned by a change: what a controller must look at again when an object came, changed or went.

use std::collections::BTreeSet;

use apply::object::{annotation, at, label, text};
use apply::owners;
use classic::copied::is_marked_as_copy;
use classic::world::labelled_owner;
use classic::{Decision, Kind, World, keys};
use serde_json::{Map, Value};

use crate::Circumstances;
use crate::operator::operators_of;
use crate::phases::{self, waits_for_retry};
use crate::provided_apis::{Apis, Namespaces, status_namespaces};
use crate::replacement;
use crate::requirements::api_service_name;
use crate::version::ServiceVersion;
use crate::{copies, olm_config, operator, operator_condition, operator_group};

/// Something that can be looked at by itself. A queue of these is all that a controller needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Concern {
    /// A step of a version from phase to phase.
    ServiceVersion(Place),
    /// A version whose installation was refused, and that may try again.
    Retry(Place),
    /// The copies of a version.
    Copies(Place),
    /// The status and the members of a group.
    OperatorGroup(Place),
    /// What an operator says of itself.
    OperatorCondition(Place),
    /// What belongs to the Operator of a Subscription.
    Subscription(Place),
    /// The Operators that a plan belongs to.
    InstallPlan(Place),
    /// What belongs to the Operators of a version.
    Components(Place),
    /// The labels of a Namespace.
    Namespace(String),
    /// What an Operator lists.
    Operator(String),
    /// The one `OLMConfig`.
    OlmConfig,
}

/// A namespace and a name in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Place {
    /// Makes a place.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    fn of(object: &Value) -> Self {
        Self::new(
            text(object, "/metadata/namespace"),
            text(object, "/metadata/name"),
        )
    }
}

impl Concern {
    /// Decides what is done about it.
    pub fn decide(&self, world: &World, circumstances: &Circumstances<'_>) -> Decision {
        match self {
            Self::ServiceVersion(place) => {
                phases::decide(world, &place.namespace, &place.name, circumstances)
            }
            Self::Retry(place) => phases::retry(world, &place.namespace, &place.name, circumstances),
            Self::Copies(place) => copies::decide(world, &place.namespace, &place.name, circumstances),
            Self::OperatorGroup(place) => {
                operator_group::decide(world, &place.namespace, &place.name, circumstances)
            }
            Self::OperatorCondition(place) => {
                operator_condition::decide(world, &place.namespace, &place.name, circumstances.now)
            }
            Self::Subscription(place) => operator::adopt_subscription(world, &place.namespace, &place.name),
            Self::InstallPlan(place) => operator::adopt_plan(world, &place.namespace, &place.name),
            Self::Components(place) => operator::adopt_version(world, &place.namespace, &place.name),
            Self::Namespace(name) => operator_group::decide_namespace(world, name),
            Self::Operator(name) => operator::decide(world, name),
            Self::OlmConfig => olm_config::decide(world, circumstances),
        }
    }

    /// Returns everything that there is to look at, for the first look at a cluster.
    pub fn all(world: &World) -> BTreeSet<Self> {
        let mut found = Found {
            world,
            concerns: BTreeSet::new(),
        };
        for object in world.all(Kind::ClusterServiceVersion) {
            found.itself(object);
        }
        for group in world.all(Kind::OperatorGroup) {
            found.add(Self::OperatorGroup(Place::of(group)));
        }
        for role in world.all(Kind::ClusterRole) {
            // The group may have gone while nobody looked.
            if let Some(owner) = labelled_owner(role)
                && owner.kind == Kind::OperatorGroup
            {
                found.add(Self::OperatorGroup(Place::new(&owner.namespace, &owner.name)));
            }
        }
        for condition in world.all(Kind::OperatorCondition) {
            found.add(Self::OperatorCondition(Place::of(condition)));
        }
        for subscription in world.all(Kind::Subscription) {
            found.add(Self::Subscription(Place::of(subscription)));
        }
        for plan in world.all(Kind::InstallPlan) {
            found.add(Self::InstallPlan(Place::of(plan)));
        }
        for namespace in world.all(Kind::Namespace) {
            found.add(Self::Namespace(text(namespace, "/metadata/name").to_owned()));
        }
        for operator in world.all(Kind::Operator) {
            found.add(Self::Operator(text(operator, "/metadata/name").to_owned()));
        }
        for kind in Kind::ALL {
            for object in world.all(kind) {
                for name in operators_of(object) {
                    found.add(Self::Operator(name.to_owned()));
                }
            }
        }
        found.add(Self::OlmConfig);
        found.concerns
    }
}

/// Returns what must be looked at again after an object came, changed or went; the world is as it is afterwards.
pub fn concerns(world: &World, before: Option<&Value>, after: Option<&Value>) -> BTreeSet<Concern> {
    let mut found = Found {
        world,
        concerns: BTreeSet::new(),
    };
    if let (Some(before), Some(after)) = (before, after)
        && is_same(before, after)
    {
        return found.concerns;
    }
    let change = Change { before, after };
    for object in change.both() {
        found.by_ownership(object);
    }
    let Some(object) = after.or(before) else {
        return found.concerns;
    };
    match Kind::named(text(object, "/kind")) {
        Some(Kind::ClusterServiceVersion) => found.version(&change, object),
        Some(Kind::OperatorGroup) => found.group(&change, object),
        Some(Kind::Namespace) => found.namespace(&change, object),
        Some(Kind::CustomResourceDefinition) => found.definition(text(object, "/metadata/name")),
        Some(Kind::ApiService) => found.api_service(text(object, "/metadata/name")),
        Some(Kind::ServiceAccount) => found.account(object),
        Some(Kind::Role) => found.role(&change, object),
        Some(Kind::ClusterRole) => found.cluster_role(object),
        Some(Kind::RoleBinding | Kind::ClusterRoleBinding) => found.binding(&change),
        Some(Kind::OperatorCondition) => found.condition(object),
        Some(Kind::Subscription) => found.subscription(&change),
        Some(Kind::InstallPlan) => found.add(Concern::InstallPlan(Place::of(object))),
        Some(Kind::Operator) => found.add(Concern::Operator(text(object, "/metadata/name").to_owned())),
        Some(Kind::OlmConfig) => found.config(),
        _ => {}
    }
    found.concerns
}

/// Returns whether two states of an object differ in nothing but their version.
fn is_same(before: &Value, after: &Value) -> bool {
    /// Compares two maps but for some of their fields.
    fn are_equal(before: Option<&Value>, after: Option<&Value>, besides: &[&str]) -> bool {
        let (Some(Value::Object(before)), Some(Value::Object(after))) = (before, after) else {
            return before == after;
        };
        let fields =
            |map: &Map<String, Value>| map.keys().filter(|key| !besides.contains(&key.as_str())).count();
        fields(before) == fields(after)
            && before
                .iter()
                .filter(|(key, _)| !besides.contains(&key.as_str()))
                .all(|(key, value)| after.get(key) == Some(value))
    }
    let (old, new) = (before.get("metadata"), after.get("metadata"));
    are_equal(old, new, &["resourceVersion", "managedFields"])
        && are_equal(Some(before), Some(after), &["metadata"])
}

struct Change<'a> {
    before: Option<&'a Value>,
    after: Option<&'a Value>,
}

impl<'a> Change<'a> {
    fn both(&self) -> impl Iterator<Item = &'a Value> {
        self.before.into_iter().chain(self.after)
    }

    /// Returns whether a part of the object differs, or the object came or went.
    fn touches(&self, pointer: &str) -> bool {
        match (self.before, self.after) {
            (Some(before), Some(after)) => at(before, pointer) != at(after, pointer),
            _ => true,
        }
    }

    /// Returns whether one of several parts differs, or the object came or went.
    fn touches_any(&self, pointers: &[&str]) -> bool {
        pointers.iter().any(|pointer| self.touches(pointer))
    }

    /// Returns whether something that is true of one state isn't of the other, or the object came or went.
    fn differs(&self, is_so: impl Fn(&Value) -> bool) -> bool {
        match (self.before, self.after) {
            (Some(before), Some(after)) => is_so(before) != is_so(after),
            _ => true,
        }
    }
}

/// What a version says of itself, apart from how far it has come.
const DESCRIPTION: [&str; 6] = [
    "/spec",
    "/metadata/uid",
    "/metadata/labels",
    "/metadata/annotations",
    "/metadata/deletionTimestamp",
    "/metadata/ownerReferences",
];

/// What a group says of itself, apart from what its members provide.
const GROUP: [&str; 5] = [
    "/spec",
    "/status",
    "/metadata/uid",
    "/metadata/labels",
    "/metadata/deletionTimestamp",
];

struct Found<'a> {
    world: &'a World,
    concerns: BTreeSet<Concern>,
}

impl<'a> Found<'a> {
    fn add(&mut self, concern: Concern) {
        self.concerns.insert(concern);
    }

    fn add_version(&mut self, version: ServiceVersion<'_>) {
        self.add(Concern::ServiceVersion(Place::of(version.object)));
    }

    /// Adds the versions of a namespace.
    fn add_versions_in(&mut self, namespace: &str) {
        for version in ServiceVersion::all_in(self.world, namespace) {
            self.add_version(version);
        }
    }

    /// Returns all versions of the cluster that are no copies.
    fn versions(&self) -> impl Iterator<Item = ServiceVersion<'a>> + use<'a> {
        self.world.originals().map(|object| ServiceVersion::of(object))
    }

    /// Whoever owns an object looks after it, and Operators list it.
    fn by_ownership(&mut self, object: &Value) {
        for name in operators_of(object) {
            self.add(Concern::Operator(name.to_owned()));
        }
        let namespace = text(object, "/metadata/namespace");
        if !namespace.is_empty() {
            for name in owners::names(object, "ClusterServiceVersion") {
                self.owner(namespace, name);
            }
            for name in owners::names(object, "OperatorCondition") {
                self.add(Concern::OperatorCondition(Place::new(namespace, name)));
            }
        }
        if let Some(owner) = labelled_owner(object) {
            match owner.kind {
                Kind::ClusterServiceVersion => self.owner(&owner.namespace, &owner.name),
                Kind::OperatorGroup => {
                    self.add(Concern::OperatorGroup(Place::new(&owner.namespace, &owner.name)));
                }
                _ => {}
            }
        }
        if let Some(from) = label(object, keys::COPIED_FROM)
            && let Some(name) = label(object, keys::OWNER)
        {
            self.add(Concern::Copies(Place::new(from, name)));
        }
    }

    fn owner(&mut self, namespace: &str, name: &str) {
        if self
            .world
            .get(Kind::ClusterServiceVersion, namespace, name)
            .is_some()
        {
            self.add(Concern::ServiceVersion(Place::new(namespace, name)));
            self.add(Concern::Components(Place::new(namespace, name)));
        }
    }

    /// Adds what there is to look at of a version, whatever changed.
    fn itself(&mut self, object: &Value) {
        let place = Place::of(object);
        if is_marked_as_copy(object) {
            let from = label(object, keys::COPIED_FROM)
                .or_else(|| annotation(object, keys::OPERATOR_NAMESPACE))
                .unwrap_or_default();
            self.add(Concern::Copies(Place::new(from, &place.name)));
            if operators_of(object).next().is_some() {
                self.add(Concern::Components(place));
            }
            return;
        }
        self.add(Concern::ServiceVersion(place.clone()));
        self.add(Concern::Copies(place.clone()));
        self.add(Concern::OperatorCondition(place.clone()));
        self.add(Concern::Components(place));
    }

    fn version(&mut self, change: &Change<'_>, object: &Value) {
        if is_marked_as_copy(object) || change.touches_any(&DESCRIPTION) {
            self.itself(object);
        } else {
            // How far it has come matters to itself and its copies alone.
            self.add(Concern::ServiceVersion(Place::of(object)));
            self.add(Concern::Copies(Place::of(object)));
        }
        if is_marked_as_copy(object) {
            return;
        }
        let namespace = text(object, "/metadata/namespace").to_owned();
        let is_new = change.touches("/spec") || change.touches("/metadata/deletionTimestamp");
        if is_new || change.touches("/status/phase") {
            // Those before and after it wait for it, and so does whoever wants what it has.
            for name in replacement::chain(self.world, ServiceVersion::of(object)) {
                self.add(Concern::ServiceVersion(Place::new(&namespace, name)));
            }
            for version in self
                .versions()
                .filter(|version| version.reason() == "OwnerConflict")
            {
                self.add_version(version);
            }
        }
        if is_new || change.differs(|version| operator_group::awaits(ServiceVersion::of(version))) {
            self.groups_in(&namespace);
        }
    }

    fn groups_in(&mut self, namespace: &str) {
        for group in self.world.in_namespace(Kind::OperatorGroup, namespace) {
            self.add(Concern::OperatorGroup(Place::of(group)));
        }
    }

    fn group(&mut self, change: &Change<'_>, object: &Value) {
        let namespace = text(object, "/metadata/namespace");
        self.add(Concern::OperatorGroup(Place::of(object)));
        let provided = |state: &Value| Apis::read(annotation(state, keys::PROVIDED_APIS).unwrap_or_default());
        let states: Vec<Apis> = change.both().map(provided).collect();
        let is_about_apis_alone = !change.touches_any(&GROUP);
        // Those who provide what came or went are asked again; where more than that changed, everybody whom it may concern.
        let concerned = match states.as_slice() {
            [before, after] if is_about_apis_alone => {
                before.difference(after).union(&after.difference(before))
            }
            states => states.iter().fold(Apis::default(), |all, apis| all.union(apis)),
        };
        for version in self.versions() {
            if version.provided_apis().is_some_and(|apis| apis.meets(&concerned)) {
                self.add_version(version);
            }
        }
        if is_about_apis_alone {
            return;
        }
        self.groups_in(namespace);
        for version in ServiceVersion::all_in(self.world, namespace) {
            self.add_version(version);
            self.add(Concern::Copies(Place::of(version.object)));
        }
        for target in change.both().filter_map(status_namespaces).flatten() {
            if !target.is_empty() {
                self.add(Concern::Namespace(target.to_owned()));
            }
        }
        if change.touches("/status/namespaces") {
            self.add(Concern::OlmConfig);
        }
    }

    fn namespace(&mut self, change: &Change<'_>, object: &Value) {
        let name = text(object, "/metadata/name");
        self.add(Concern::Namespace(name.to_owned()));
        let is_new = change.before.is_none() || change.after.is_none() || change.touches("/status/phase");
        for group in self.world.all(Kind::OperatorGroup) {
            let selects = group
                .pointer("/spec/selector")
                .is_some_and(|selector| !selector.is_null());
            if selects && change.touches("/metadata/labels") {
                self.add(Concern::OperatorGroup(Place::of(group)));
            }
            let targets = status_namespaces(group).unwrap_or_default();
            let targets = Namespaces(targets.into_iter().map(str::to_owned).collect());
            if is_new && targets.contains(name) {
                self.add(Concern::OperatorGroup(Place::of(group)));
                let namespace = text(group, "/metadata/namespace");
                for version in ServiceVersion::all_in(self.world, namespace) {
                    self.add(Concern::Copies(Place::of(version.object)));
                }
            }
        }
        if is_new {
            self.add(Concern::OlmConfig);
        }
    }

    fn definition(&mut self, name: &str) {
        for version in self.versions().filter(|version| version.names_definition(name)) {
            self.add_version(version);
            if version.owns_definition(name) {
                self.add(Concern::Components(Place::of(version.object)));
            }
        }
    }

    fn api_service(&mut self, name: &str) {
        let names = |descriptions: &[Value]| {
            descriptions
                .iter()
                .any(|description| api_service_name(description) == name)
        };
        for version in self.versions() {
            if names(version.owned_api_services())
                || names(version.required_api_services())
                || names(version.native_apis())
            {
                self.add_version(version);
            }
        }
    }

    /// Lets those versions of a namespace try again that were refused.
    fn retries_in(&mut self, namespace: &str) {
        for version in ServiceVersion::all_in(self.world, namespace) {
            if waits_for_retry(version) {
                self.add(Concern::Retry(Place::of(version.object)));
            }
        }
    }

    /// Lets the versions look at their permissions that a service account works for.
    fn permissions_of(&mut self, namespace: &str, account: &str) {
        for version in ServiceVersion::all_in(self.world, namespace) {
            let mut permissions = version.permissions().iter().chain(version.cluster_permissions());
            if permissions.any(|permission| text(permission, "/serviceAccountName") == account) {
                self.add_version(version);
            }
        }
        self.retries_in(namespace);
    }

    fn account(&mut self, object: &Value) {
        let (namespace, name) = (
            text(object, "/metadata/namespace"),
            text(object, "/metadata/name"),
        );
        self.permissions_of(namespace, name);
        for group in self.world.in_namespace(Kind::OperatorGroup, namespace) {
            if text(group, "/spec/serviceAccountName") == name {
                self.add(Concern::OperatorGroup(Place::of(group)));
            }
        }
    }

    fn role(&mut self, change: &Change<'_>, object: &Value) {
        if !change.touches("/rules") {
            return;
        }
        let (namespace, name) = (
            text(object, "/metadata/namespace"),
            text(object, "/metadata/name"),
        );
        for binding in self.world.in_namespace(Kind::RoleBinding, namespace) {
            if text(binding, "/roleRef/name") == name && text(binding, "/roleRef/kind") != "ClusterRole" {
                self.subjects(binding);
            }
        }
        self.retries_in(namespace);
    }

    fn binding(&mut self, change: &Change<'_>) {
        if change.touches("/subjects") || change.touches("/roleRef") {
            for object in change.both() {
                self.subjects(object);
            }
        }
    }

    /// Lets the versions look whose service accounts a binding is about.
    fn subjects(&mut self, binding: &Value) {
        let namespace = text(binding, "/metadata/namespace");
        let subjects = binding.get("subjects").and_then(Value::as_array);
        for subject in subjects.into_iter().flatten() {
            if text(subject, "/kind") == "ServiceAccount" {
                self.permissions_of(text(subject, "/namespace"), text(subject, "/name"));
            } else {
                // A group, or a user by the name that an account has.
                self.add_versions_in(namespace);
            }
        }
        self.retries_in(namespace);
    }

    fn cluster_role(&mut self, object: &Value) {
        let name = text(object, "/metadata/name");
        for kind in [Kind::ClusterRoleBinding, Kind::RoleBinding] {
            for binding in self.world.all(kind) {
                if text(binding, "/roleRef/name") == name && text(binding, "/roleRef/kind") == "ClusterRole" {
                    self.subjects(binding);
                }
            }
        }
        for reference in owners::references(object) {
            match text(reference, "/kind") {
                "customresourcedefinition" | "CustomResourceDefinition" => {
                    self.definition(text(reference, "/name"));
                }
                "APIService" => self.api_service(text(reference, "/name")),
                _ => {}
            }
        }
    }

    fn condition(&mut self, object: &Value) {
        let place = Place::of(object);
        let version = ServiceVersion::find(self.world, &place.namespace, &place.name);
        if let Some(next) = version.and_then(|version| replacement::next(self.world, version)) {
            self.add_version(next);
        }
        self.add(Concern::OperatorCondition(place));
    }

    fn subscription(&mut self, change: &Change<'_>) {
        for object in change.both() {
            let place = Place::of(object);
            for pointer in ["/status/installedCSV", "/status/currentCSV"] {
                let version = text(object, pointer);
                if !version.is_empty() {
                    self.add(Concern::ServiceVersion(Place::new(&place.namespace, version)));
                }
            }
            let plan = text(object, "/status/installPlanRef/name");
            if !plan.is_empty() {
                self.add(Concern::InstallPlan(Place::new(&place.namespace, plan)));
            }
            // One that was the latest before has to know it, too; between two plans a Subscription may name none.
            for plan in self.world.in_namespace(Kind::InstallPlan, &place.namespace) {
                if classic::components::labels(plan).next().is_some() {
                    self.add(Concern::InstallPlan(Place::of(plan)));
                }
            }
            self.add(Concern::Subscription(place));
        }
    }

    fn config(&mut self) {
        self.add(Concern::OlmConfig);
        for group in self.world.all(Kind::OperatorGroup) {
            if status_namespaces(group).is_some_and(|targets| targets == [""]) {
                let namespace = text(group, "/metadata/namespace");
                for version in ServiceVersion::all_in(self.world, namespace) {
                    self.add(Concern::Copies(Place::of(version.object)));
                }
            }
        }
    }
}
