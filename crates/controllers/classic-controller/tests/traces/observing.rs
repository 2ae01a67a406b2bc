//! A cluster as a flow is played on it: everything that changes is taken down.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use classic::Kind;
use futures_util::StreamExt as _;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::events::REPORTER;

/// What announces something; not one of the kinds that OLM looks after.
pub(crate) const EVENT: &str = "Event";

/// How long a watch that failed waits.
const WATCH_PAUSE: Duration = Duration::from_millis(20);

/// Returns the objects of a kind.
pub(crate) fn api_of(client: &Client, kind: &str, namespace: &str) -> Api<DynamicObject> {
    let (api_version, plural, is_namespaced) = match Kind::named(kind) {
        Some(kind) => {
            let naming = kind.naming();
            (naming.api_version, naming.plural, naming.is_namespaced)
        }
        None => match kind {
            "Alpha" => ("demo.baton.test/v1", "alphas", true),
            EVENT => ("v1", "events", true),
            other => panic!("{other} is no kind of the recordings"),
        },
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
    if is_namespaced && !namespace.is_empty() {
        Api::namespaced_with(client.clone(), namespace, &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    }
}

/// Something that was seen: the version of the cluster, the kind, the object, and whether it is gone.
#[derive(Debug, Clone)]
pub(crate) struct Sighting {
    version: u64,
    pub(crate) kind: &'static str,
    pub(crate) object: Value,
    pub(crate) is_gone: bool,
}

#[derive(Debug)]
struct Log {
    sightings: Vec<Sighting>,
    last: Instant,
}

/// A cluster that is watched.
pub(crate) struct Scene {
    log: Arc<Mutex<Log>>,
    /// What was there before.
    scenery: BTreeSet<String>,
    _tasks: JoinSet<()>,
}

impl Scene {
    /// Begins to watch.
    pub(crate) async fn new(client: &Client) -> Self {
        let log = Arc::new(Mutex::new(Log {
            sightings: Vec::new(),
            last: Instant::now(),
        }));
        let (listed, mut lists) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        let kinds = Kind::ALL.map(|kind| kind.naming().kind);
        let kinds: Vec<&'static str> = kinds.into_iter().chain([EVENT]).collect();
        for &kind in &kinds {
            tasks.spawn(follow(
                api_of(client, kind, ""),
                kind,
                Arc::clone(&log),
                listed.clone(),
            ));
        }
        for _ in kinds {
            lists.recv().await.expect("a list");
        }
        let scenery = {
            let mut log = log.lock().expect("no panic");
            let there = std::mem::take(&mut log.sightings);
            there.iter().map(|sighting| identity(&sighting.object)).collect()
        };
        Self {
            log,
            scenery,
            _tasks: tasks,
        }
    }

    /// Returns what was seen, in the order in which it happened, of what the recordings tell of.
    pub(crate) fn sightings(&self) -> Vec<Sighting> {
        let mut seen = self.log.lock().expect("no panic").sightings.clone();
        seen.sort_by_key(|sighting| sighting.version);
        seen.retain(|sighting| !self.scenery.contains(&identity(&sighting.object)) && is_told(sighting));
        seen
    }

    /// Returns how much was seen.
    pub(crate) fn count(&self) -> usize {
        self.log.lock().expect("no panic").sightings.len()
    }

    /// Waits until nothing happens for a while.
    pub(crate) async fn quiet(&self, pause: Duration, patience: Duration) {
        let deadline = Instant::now() + patience;
        loop {
            let last = self.log.lock().expect("no panic").last;
            let now = Instant::now();
            if now.duration_since(last) >= pause || now >= deadline {
                return;
            }
            tokio::time::sleep_until(last + pause).await;
        }
    }
}

fn identity(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

/// The recordings leave out the namespaces of the cluster itself, and what every namespace has.
fn is_told(sighting: &Sighting) -> bool {
    let text = |key: &str| sighting.object["metadata"][key].as_str().unwrap_or_default();
    if sighting.kind == EVENT {
        return sighting.object["source"]["component"] == REPORTER;
    }
    let namespace = text("namespace");
    let is_of_cluster = namespace.starts_with("kube-") || matches!(namespace, "default" | "olm");
    let is_of_every = matches!(
        (sighting.kind, text("name")),
        ("ServiceAccount", "default") | ("ConfigMap", "kube-root-ca.crt")
    );
    // Every group of custom resources has one that leads to the server itself.
    let is_local = sighting.kind == "APIService" && sighting.object["spec"]["service"].is_null();
    let is_access = sighting.kind.ends_with("Role") || sighting.kind.ends_with("RoleBinding");
    (!is_of_cluster || is_access) && !is_of_every && !is_local
}

async fn follow(
    api: Api<DynamicObject>,
    kind: &'static str,
    log: Arc<Mutex<Log>>,
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
        let version = object.resource_version().and_then(|version| version.parse().ok());
        let mut object = serde_json::to_value(object).expect("JSON");
        // What comes in a list doesn't say it.
        object["kind"] = json!(kind);
        object["apiVersion"] = json!(Kind::named(kind).map_or("v1", |kind| kind.naming().api_version));
        let mut log = log.lock().expect("no panic");
        log.sightings.push(Sighting {
            version: version.unwrap_or_default(),
            kind,
            object,
            is_gone,
        });
        log.last = Instant::now();
    }
}
