//! A cluster as a recording is played on it: everything that changes in a namespace is taken down.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::kubelet;
use crate::recording::Action;
use crate::sighting::Sighting;
use crate::story::RESOURCES;

/// Who writes what the recordings' harness wrote.
const MANAGER: &str = "hopdata-harness";

/// How long a watch that failed waits; the kind may not be served yet.
const WATCH_PAUSE: Duration = Duration::from_millis(20);

/// The definition that a chart brings along.
pub(crate) const WIDGETS: &str = "widgets.kitchen.baton.test";

/// The kinds that recordings tell of: group and version, kind, plural, and whether it has namespaces.
const KINDS: &[(&str, &str, &str, bool)] = &[
    (
        "doublewordai.co/v1alpha1",
        "InferenceStack",
        "inferencestacks",
        true,
    ),
    ("t.baton.test/v1", "Kitchen", "kitchens", true),
    ("t.baton.test/v1", "Dice", "dice", true),
    ("t.baton.test/v1", "Umbrella", "umbrellas", true),
    ("t.baton.test/v1", "Plain", "plains", true),
    ("kitchen.baton.test/v1", "Widget", "widgets", true),
    ("v1", "Secret", "secrets", true),
    ("v1", "ConfigMap", "configmaps", true),
    ("v1", "Service", "services", true),
    ("v1", "ServiceAccount", "serviceaccounts", true),
    ("v1", "Event", "events", true),
    ("apps/v1", "Deployment", "deployments", true),
    ("batch/v1", "Job", "jobs", true),
    (
        "rbac.authorization.k8s.io/v1",
        "ClusterRole",
        "clusterroles",
        false,
    ),
    (
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        false,
    ),
];

/// What was seen, with the version of the cluster that it belongs to.
type Log = Arc<Mutex<Vec<(u64, Sighting)>>>;

/// A namespace that is watched.
pub(crate) struct Scene {
    client: Client,
    namespace: String,
    log: Log,
    _tasks: JoinSet<()>,
}

impl Scene {
    /// Makes the namespace, and begins to watch.
    pub(crate) async fn new(client: Client, namespace: &str, sees_definition: bool) -> Self {
        let scene = Self {
            client: client.clone(),
            namespace: namespace.to_owned(),
            log: Log::default(),
            _tasks: JoinSet::new(),
        };
        scene
            .create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))
            .await;
        let (listed, mut lists) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        for (_, kind, _, _) in KINDS {
            let log = Arc::clone(&scene.log);
            let (api, prefix) = (scene.api(kind), scene.prefix(kind, sees_definition));
            tasks.spawn(follow(api, kind, prefix, log, listed.clone()));
        }
        // All but the widgets, which may not be there yet.
        for _ in 1..KINDS.len() {
            lists.recv().await.expect("a list");
        }
        tasks.spawn(kubelet::play(client, namespace.to_owned()));
        Self {
            _tasks: tasks,
            ..scene
        }
    }

    /// What names of objects of the whole cluster start with that belong here.
    fn prefix(&self, kind: &str, sees_definition: bool) -> String {
        match kind {
            "ClusterRole" => self.namespace.clone(),
            "CustomResourceDefinition" if sees_definition => WIDGETS.to_owned(),
            "CustomResourceDefinition" => "none".to_owned(),
            _ => String::new(),
        }
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        let known = KINDS.iter().find(|(_, known, _, _)| *known == kind);
        let (api_version, kind, plural, is_namespaced) =
            known.copied().unwrap_or(("v1", "Namespace", "namespaces", false));
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        if is_namespaced {
            Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
        } else {
            Api::all_with(self.client.clone(), &resource)
        }
    }

    /// Returns how much was seen so far.
    pub(crate) fn length(&self) -> usize {
        self.log.lock().expect("no panic").len()
    }

    /// Returns what was seen since, in the order in which it happened.
    pub(crate) fn since(&self, begin: usize) -> Vec<Sighting> {
        let mut seen: Vec<(u64, Sighting)> = self.log.lock().expect("no panic")[begin..].to_vec();
        seen.sort_by_key(|(version, _)| *version);
        seen.into_iter().map(|(_, sighting)| sighting).collect()
    }

    /// Does what was done to the cluster.
    pub(crate) async fn act(&self, action: &Action) {
        match action {
            Action::Create(object) => self.create(object).await,
            Action::Replace(object) => self.replace(object).await,
            Action::Patch {
                object: (kind, name),
                patch,
            } => {
                let parameters = PatchParams {
                    field_manager: Some(MANAGER.to_owned()),
                    ..PatchParams::default()
                };
                let patched = self
                    .api(kind)
                    .patch(name, &parameters, &Patch::Merge(patch))
                    .await;
                patched.expect("patched");
            }
            Action::Delete((kind, name)) => {
                let deleted = self.api(kind).delete(name, &DeleteParams::background()).await;
                deleted.expect("deleted");
            }
            Action::Start { .. } | Action::Stop(_) | Action::Kill(_) => {}
        }
    }

    async fn create(&self, object: &Value) {
        let kind = object["kind"].as_str().expect("a kind");
        let parameters = PostParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PostParams::default()
        };
        let object = serde_json::from_value(object.clone()).expect("an object");
        self.api(kind).create(&parameters, &object).await.expect("made");
    }

    async fn replace(&self, object: &Value) {
        let (kind, name) = (object["kind"].as_str(), object["metadata"]["name"].as_str());
        let (api, name) = (self.api(kind.expect("a kind")), name.expect("a name"));
        let parameters = PostParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PostParams::default()
        };
        // The operator may write the resource at the same moment.
        loop {
            let mut live = api.get(name).await.expect("there");
            live.metadata.labels = serde_json::from_value(object["metadata"]["labels"].clone())
                .ok()
                .flatten();
            live.metadata.annotations = serde_json::from_value(object["metadata"]["annotations"].clone())
                .ok()
                .flatten();
            live.data["spec"] = object["spec"].clone();
            match api.replace(name, &parameters, &live).await {
                Ok(_) => return,
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(fault) => panic!("{name} can't be replaced: {fault}"),
            }
        }
    }
}

async fn follow(
    api: Api<DynamicObject>,
    kind: &'static str,
    prefix: String,
    log: Log,
    listed: mpsc::UnboundedSender<()>,
) {
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()));
    while let Some(event) = events.next().await {
        let (object, is_gone) = match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => (object, false),
            Ok(Event::Delete(object)) => (object, true),
            Ok(Event::InitDone) => {
                listed.send(()).ok();
                continue;
            }
            Ok(Event::Init) => continue,
            Err(_) => {
                tokio::time::sleep(WATCH_PAUSE).await;
                continue;
            }
        };
        let name = object.name_any();
        let is_of_cluster = matches!(name.as_str(), "kube-root-ca.crt" | "default");
        if is_of_cluster || !name.starts_with(&prefix) {
            continue;
        }
        let version = object.resource_version().and_then(|version| version.parse().ok());
        let mut object = serde_json::to_value(object).expect("JSON");
        // What comes in a list doesn't say it.
        object["kind"] = json!(kind);
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        let about = object["involvedObject"]["kind"].as_str().unwrap_or_default();
        if object["kind"] == "Event" && (is_gone || !RESOURCES.contains(&about)) {
            continue;
        }
        let sighting = Sighting::observed(object, is_gone);
        log.lock()
            .expect("no panic")
            .push((version.unwrap_or_default(), sighting));
    }
}
