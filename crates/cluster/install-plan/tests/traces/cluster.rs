//! A cluster in memory: it does what the rules decide, and pretends the half of OLM that these rules don't decide.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use apply::object::ObjectId;
use classic::{Decision, Key, Kind, World, Write};
use install_plan::namespace::{self, Answer, Conclusion};
use install_plan::plan::{self, Next, Outcome, Progress, Refusal, RefusalKind};
use install_plan::settings::Settings;
use install_plan::source::{self, Observed};
use install_plan::subscription;
use jiff::Timestamp;
use resolve::classic::entry::{CatalogKey, Deprecations};
use resolve::classic::request::Catalog;
use resolve::classic::snapshot::Snapshot;
use serde_json::{Value, json};

use crate::files::{list, text};

/// The kinds whose history is compared.
pub(crate) const RECORDED: [Kind; 3] = [Kind::Subscription, Kind::InstallPlan, Kind::CatalogSource];

/// What is said of a catalog whose server isn't there.
const UNREACHABLE: &str = "failed to list bundles: rpc error: code = Unavailable desc = connection error: desc = \
                           \"transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused\"";

/// A cluster and what happened in it.
pub(crate) struct Cluster {
    pub(crate) world: World,
    /// What catalogs offer.
    pub(crate) catalogs: BTreeMap<CatalogKey, Arc<Snapshot>>,
    /// Custom resources.
    pub(crate) resources: Vec<Value>,
    /// The phase that each ClusterServiceVersion comes to, as the trace shows it.
    pub(crate) phases: BTreeMap<(String, String), String>,
    /// Whether service accounts of OperatorGroups may do what they are used for.
    pub(crate) permitted: bool,
    /// Every state of every recorded object.
    pub(crate) history: Vec<Value>,
    pub(crate) now: Timestamp,
    settings: Settings,
    versions: u64,
    plans: u64,
}

impl Cluster {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            world: World::default(),
            catalogs: BTreeMap::new(),
            resources: Vec::new(),
            phases: BTreeMap::new(),
            permitted: false,
            history: Vec::new(),
            now: "2026-01-01T00:00:00Z".parse().expect("a time"),
            settings,
            versions: 0,
            plans: 0,
        }
    }

    /// Stores an object as the server would.
    pub(crate) fn put(&mut self, mut object: Value) -> Value {
        self.versions += 1;
        let Some(kind) = Kind::named(text(&object, "/kind")) else {
            self.resources
                .retain(|resource| ObjectId::of(resource) != ObjectId::of(&object));
            self.resources.push(object.clone());
            return object;
        };
        if text(&object, "/metadata/name").is_empty() {
            self.plans += 1;
            object["metadata"]["name"] = json!(format!("install-<{}>", self.plans));
        }
        let (namespace, name) = (
            text(&object, "/metadata/namespace").to_owned(),
            text(&object, "/metadata/name").to_owned(),
        );
        let place = if namespace.is_empty() {
            name
        } else {
            format!("{namespace}/{name}")
        };
        object["metadata"]["uid"] = json!(format!("<uid:{}/{place}>", kind.naming().kind));
        object["metadata"]["resourceVersion"] = json!(self.versions.to_string());
        if object["metadata"]["creationTimestamp"].is_null() {
            object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        if kind == Kind::CustomResourceDefinition {
            let condition = |name: &str| json!({"type": name, "status": "True"});
            object["status"]["conditions"] = json!([condition("Established"), condition("NamesAccepted")]);
            let stored = list(&object, "/spec/versions").iter();
            let stored = stored.filter(|version| version["storage"] == true);
            let stored: Vec<Value> = stored.map(|version| version["name"].clone()).collect();
            if object["status"]["storedVersions"].is_null() {
                object["status"]["storedVersions"] = json!(stored);
            }
        }
        if RECORDED.contains(&kind) {
            self.history.push(object.clone());
        }
        self.world.put(object.clone());
        object
    }

    /// Deletes an object, and plans that nobody owns any more.
    pub(crate) fn delete(&mut self, kind: Kind, namespace: &str, name: &str) {
        self.world.remove(&Key::new(kind, namespace, name));
        let orphans: Vec<String> = self
            .world
            .in_namespace(Kind::InstallPlan, namespace)
            .filter(|plan| {
                let mut owners = list(plan, "/metadata/ownerReferences").iter().peekable();
                owners.peek().is_some()
                    && owners.all(|owner| {
                        self.world
                            .get(Kind::Subscription, namespace, text(owner, "/name"))
                            .is_none()
                    })
            })
            .map(|plan| text(plan, "/metadata/name").to_owned())
            .collect();
        for plan in orphans {
            self.world.remove(&Key::new(Kind::InstallPlan, namespace, &plan));
        }
    }

    /// Merges a patch into an object.
    pub(crate) fn patch(&mut self, kind: Kind, namespace: &str, name: &str, patch: &Value) {
        let Some(object) = self.world.get(kind, namespace, name) else {
            return;
        };
        let mut object = object.as_ref().clone();
        merge(&mut object, patch);
        self.put(object);
    }

    fn existing(&self, object: &Value) -> Option<Value> {
        let key = Key::of(object)?;
        let existing = self.world.get(key.kind, &key.namespace, &key.name)?;
        Some(existing.as_ref().clone())
    }

    /// Makes a write; returns what the server answers.
    fn write(&mut self, write: Write) -> (Outcome, Option<Value>) {
        match write {
            Write::Create { object, or_update } => match self.existing(&object) {
                Some(_) if !or_update => (Outcome::Exists, None),
                Some(_) => (Outcome::Updated, Some(self.put(object))),
                None => (Outcome::Created, Some(self.put(object))),
            },
            Write::Update(mut object) => {
                let existing = self.existing(&object).expect("what is updated exists");
                object["status"] = existing["status"].clone();
                (Outcome::Updated, Some(self.put(object)))
            }
            Write::UpdateStatus(object) => {
                let mut changed = self.existing(&object).expect("what is updated exists");
                changed["status"] = object["status"].clone();
                (Outcome::Updated, Some(self.put(changed)))
            }
            Write::Delete { id, .. } => {
                let kind = Kind::named(&id.kind).expect("a kind");
                self.delete(kind, &id.namespace, &id.name);
                (Outcome::Updated, None)
            }
            Write::Merge { id, patch } => {
                let kind = Kind::named(&id.kind).expect("a kind");
                self.patch(kind, &id.namespace, &id.name, &patch);
                (Outcome::Updated, None)
            }
            Write::Apply { .. } => panic!("these rules apply nothing"),
        }
    }

    fn act(&mut self, decision: Decision) -> bool {
        let acts = !decision.writes.is_empty();
        for write in decision.writes {
            self.write(write);
        }
        acts
    }

    fn names(&self, kind: Kind) -> Vec<(String, String)> {
        self.world
            .all(kind)
            .map(|object| {
                (
                    text(object, "/metadata/namespace").to_owned(),
                    text(object, "/metadata/name").to_owned(),
                )
            })
            .collect()
    }

    /// Looks at everything until nothing is left to do.
    pub(crate) fn settle(&mut self) {
        for _ in 0..300 {
            self.now = self.now.checked_add(Duration::from_millis(50)).expect("a time");
            let mut moved = false;
            moved |= self.pretend_groups();
            for (namespace, name) in self.names(Kind::CatalogSource) {
                let observed = self.observed(&namespace, &name);
                let decided = source::decide(&self.world, &namespace, &name, &observed, self.now);
                moved |= self.act(decided.decision);
            }
            for (namespace, name) in self.names(Kind::Subscription) {
                let deprecations = self.deprecations(&namespace, &name);
                let decided = subscription::decide(
                    &self.world,
                    &namespace,
                    &name,
                    deprecations.as_ref(),
                    &self.settings,
                    self.now,
                );
                moved |= self.act(decided);
            }
            for (_, namespace) in self.names(Kind::Namespace) {
                moved |= self.resolve(&namespace);
            }
            for (namespace, name) in self.names(Kind::InstallPlan) {
                moved |= self.execute(&namespace, &name);
            }
            for (namespace, name) in self.names(Kind::ClusterServiceVersion) {
                moved |= self.pretend_version(&namespace, &name);
            }
            if !moved {
                return;
            }
        }
        panic!("it doesn't come to rest");
    }

    fn observed(&self, namespace: &str, name: &str) -> Observed {
        let state = if self.catalogs.contains_key(&CatalogKey::new(namespace, name)) {
            "READY"
        } else {
            "TRANSIENT_FAILURE"
        };
        Observed {
            connection: Some(state.to_owned()),
            ..Observed::default()
        }
    }

    fn deprecations(&self, namespace: &str, name: &str) -> Option<Deprecations> {
        let object = self.world.get(Kind::Subscription, namespace, name)?;
        let subscription = subscription::Subscription(object);
        let snapshot = self.catalogs.get(&subscription.source())?;
        let entry = snapshot.entries().iter().find(|entry| {
            entry.package == subscription.package()
                && entry.channel == subscription.channel()
                && entry.name == subscription.installed()
        })?;
        Some(entry.deprecations.clone())
    }

    /// Resolves a namespace; returns whether something was written.
    pub(crate) fn resolve(&mut self, namespace: &str) -> bool {
        let survey = namespace::survey(&self.world, namespace, &self.settings, self.now);
        let acts = self.act(survey.decision);
        let Some(question) = survey.question else {
            return acts;
        };
        let catalog = |key: &CatalogKey| Catalog {
            key: key.clone(),
            priority: 0,
            content: self
                .catalogs
                .get(key)
                .cloned()
                .ok_or_else(|| UNREACHABLE.to_owned()),
        };
        let catalogs: Vec<Catalog> = question.sources.iter().map(catalog).collect();
        let resolution = resolve::classic::resolve(&question.request(&catalogs, None));
        let answer = Answer::of_resolution(&question, &resolution);
        match namespace::conclude(&self.world, namespace, &answer, &BTreeMap::new(), self.now) {
            Conclusion::Settled(decision) => self.act(decision) || acts,
            Conclusion::NeedsBundles { .. } => panic!("the traces have no images"),
            Conclusion::Plan(new) => {
                let (_, created) = self.write(Write::Create {
                    object: new.object.clone(),
                    or_update: false,
                });
                let created = created.expect("a new plan");
                let with_status = new.with_status(&created).expect("a status");
                let (_, created) = self.write(Write::UpdateStatus(with_status));
                let linked =
                    namespace::linked(&self.world, namespace, &new, &created.expect("a plan"), self.now);
                self.act(linked);
                true
            }
        }
    }

    fn execute(&mut self, namespace: &str, name: &str) -> bool {
        let mut progress = Progress::default();
        let mut acts = false;
        loop {
            let next = plan::decide(
                &self.world,
                namespace,
                name,
                &progress,
                &(),
                &self.settings,
                self.now,
            );
            match next {
                Next::Rest(decision) => return self.act(decision) || acts,
                Next::Write(action) if action.account.is_some() && !self.permitted => {
                    progress.record(action.step, Outcome::Refused(forbidden(namespace)), Vec::new());
                }
                Next::Write(action) => {
                    let (outcome, _) = self.write(action.write);
                    progress.record(action.step, outcome, Vec::new());
                    acts = true;
                }
                Next::Look(id) => progress.looked(id),
                Next::Check(upgrade) => {
                    let versions: Vec<&str> = upgrade.versions().collect();
                    let verdict = self.resources.iter().try_for_each(|resource| {
                        versions
                            .iter()
                            .try_for_each(|version| upgrade.check(version, resource))
                    });
                    progress.checked(&upgrade.name, verdict.into());
                }
                Next::Bundle(reference) => panic!("the traces have no images: {reference:?}"),
            }
        }
    }

    /// Returns what the rules want of the cluster as it is, without doing it.
    pub(crate) fn wanted(&mut self) -> Vec<String> {
        let before = self.history.len();
        let versions = self.versions;
        let mut wanted = Vec::new();
        for (namespace, name) in self.names(Kind::CatalogSource) {
            let observed = self.observed(&namespace, &name);
            let decided = source::decide(&self.world, &namespace, &name, &observed, self.now);
            wanted.extend(decided.decision.writes.iter().map(shown));
        }
        for (namespace, name) in self.names(Kind::Subscription) {
            let deprecations = self.deprecations(&namespace, &name);
            let decided = subscription::decide(
                &self.world,
                &namespace,
                &name,
                deprecations.as_ref(),
                &self.settings,
                self.now,
            );
            wanted.extend(decided.writes.iter().map(shown));
        }
        for (namespace, name) in self.names(Kind::InstallPlan) {
            if self.execute(&namespace, &name) {
                wanted.push(format!("plan {namespace}/{name} goes on"));
            }
        }
        for (_, namespace) in self.names(Kind::Namespace) {
            if self.resolve(&namespace) {
                wanted.push(format!("namespace {namespace} is resolved anew"));
            }
        }
        let written = self.history.split_off(before);
        assert!(self.versions >= versions);
        wanted.extend(
            written
                .into_iter()
                .map(|object| format!("{} {}", text(&object, "/kind"), object["status"])),
        );
        wanted
    }

    /// Finds the namespaces and the service accounts of OperatorGroups, as the other half of OLM would.
    fn pretend_groups(&mut self) -> bool {
        let mut moved = false;
        for (namespace, name) in self.names(Kind::OperatorGroup) {
            let group = self
                .world
                .get(Kind::OperatorGroup, &namespace, &name)
                .expect("a group")
                .clone();
            let account = text(&group, "/spec/serviceAccountName");
            let mut status = json!({"namespaces": [namespace]});
            if !account.is_empty() {
                let Some(found) = self.world.get(Kind::ServiceAccount, &namespace, account) else {
                    continue;
                };
                status["serviceAccountRef"] = json!({
                    "apiVersion": "v1", "kind": "ServiceAccount", "name": account, "namespace": namespace,
                    "uid": text(found, "/metadata/uid"),
                });
            }
            if group.get("status") != Some(&status) {
                let mut group = group.as_ref().clone();
                group["status"] = status;
                self.put(group);
                moved = true;
            }
        }
        moved
    }

    /// Takes a ClusterServiceVersion a phase further, as the other half of OLM would.
    fn pretend_version(&mut self, namespace: &str, name: &str) -> bool {
        let Some(version) = self.world.get(Kind::ClusterServiceVersion, namespace, name) else {
            return false;
        };
        let version = version.as_ref().clone();
        let phase = text(&version, "/status/phase").to_owned();
        let replacement = self
            .world
            .in_namespace(Kind::ClusterServiceVersion, namespace)
            .find(|other| text(other, "/spec/replaces") == name)
            .cloned();
        let before = self.world.get(
            Kind::ClusterServiceVersion,
            namespace,
            text(&version, "/spec/replaces"),
        );
        let next = match replacement {
            Some(replacement) if phase == "Replacing" && before.is_none() => {
                if text(&replacement, "/status/phase") == "Succeeded" {
                    self.delete(Kind::ClusterServiceVersion, namespace, name);
                    return true;
                }
                return false;
            }
            Some(_) => "Replacing".to_owned(),
            None => {
                let key = (namespace.to_owned(), name.to_owned());
                self.phases
                    .get(&key)
                    .cloned()
                    .unwrap_or_else(|| "Succeeded".to_owned())
            }
        };
        // A new version waits until the one before it knows.
        let waits = before.is_some_and(|before| text(before, "/status/phase") != "Replacing");
        let next = if waits { "Pending".to_owned() } else { next };
        if next == phase {
            return false;
        }
        let mut version = version;
        version["status"]["phase"] = json!(next);
        self.put(version);
        true
    }
}

fn shown(write: &Write) -> String {
    match write {
        Write::UpdateStatus(object) => format!("{} {}", text(object, "/kind"), object["status"]),
        other => format!("{other:?}"),
    }
}

fn forbidden(namespace: &str) -> Refusal {
    Refusal {
        kind: RefusalKind::Forbidden,
        is_of_update: false,
        message: format!(
            "clusterserviceversions.operators.coreos.com is forbidden: User \"system:serviceaccount:{namespace}:installer\" \
             cannot create resource \"clusterserviceversions\" in API group \"operators.coreos.com\" in the namespace \
             \"{namespace}\""
        ),
    }
}

fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    let into = apply::object::as_map(into);
    for (key, value) in patch {
        if value.is_null() {
            into.remove(key);
        } else {
            merge(into.entry(key).or_insert(Value::Null), value);
        }
    }
}
