//! What resources wait for that can't be made true: objects that their charts looked up, that are in the way, or that
//! define what the server lacks. Each is watched, by metadata alone, as long as somebody waits for it; who may not watch
//! it has to wait for the next try.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apply::object::ObjectId;
use futures_util::StreamExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use release::cluster::Cluster;
use tokio::task::AbortHandle;

use crate::dependents::PAGE;

/// The most things that one resource waits for: charts look up a handful, and each is a watch.
const MOST_THINGS: usize = 16;

/// Something that a resource waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Thing {
    /// An object, or all of its kind if it has no name.
    Object(ObjectId),
    /// The definition of a kind of this group.
    Definition {
        /// The group.
        group: String,
    },
}

/// Tells that something changed that the waiting one waits for.
pub type Tell<W> = Arc<dyn Fn(&W) + Send + Sync>;

/// Everything that is waited for. `W` is who waits.
pub struct Awaited<W> {
    cluster: Cluster,
    tell: Tell<W>,
    state: Arc<Mutex<HashMap<Thing, Watched<W>>>>,
}

struct Watched<W> {
    by: HashSet<W>,
    task: AbortHandle,
}

impl<W> Drop for Watched<W> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<W: Clone + Eq + Hash + Send + 'static> Awaited<W> {
    /// Makes an empty set.
    pub fn new(cluster: Cluster, tell: Tell<W>) -> Self {
        Self {
            cluster,
            tell,
            state: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, HashMap<Thing, Watched<W>>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes all that somebody waits for from now on; what was watched before stays watched without a gap.
    pub fn wait_for(&self, who: &W, things: BTreeSet<Thing>) {
        let mut state = self.state();
        for (thing, watched) in state.iter_mut() {
            if !things.contains(thing) {
                watched.by.remove(who);
            }
        }
        for thing in things.into_iter().take(MOST_THINGS) {
            let watched = state.entry(thing).or_insert_with_key(|thing| Watched {
                by: HashSet::new(),
                task: self.follow(thing.clone()),
            });
            watched.by.insert(who.clone());
        }
        state.retain(|_, watched| !watched.by.is_empty());
    }

    /// Notes that somebody waits for nothing any more.
    pub fn forget(&self, who: &W) {
        let mut state = self.state();
        state.retain(|_, watched| {
            watched.by.remove(who);
            !watched.by.is_empty()
        });
    }

    /// Returns how many things are watched.
    pub fn watched(&self) -> usize {
        self.state().len()
    }

    fn follow(&self, thing: Thing) -> AbortHandle {
        let (cluster, tell) = (self.cluster.clone(), Arc::clone(&self.tell));
        let state = Arc::downgrade(&self.state);
        let task = tokio::spawn(async move {
            let changed = || {
                let Some(state) = state.upgrade() else { return };
                let waiting: Vec<W> = {
                    let state = state.lock().unwrap_or_else(PoisonError::into_inner);
                    let watched = state.get(&thing);
                    watched
                        .into_iter()
                        .flat_map(|watched| watched.by.iter().cloned())
                        .collect()
                };
                for who in &waiting {
                    tell(who);
                }
            };
            follow(&cluster, &thing, changed).await;
        });
        task.abort_handle()
    }
}

/// Calls `changed` whenever a thing does.
async fn follow(cluster: &Cluster, thing: &Thing, changed: impl Fn()) {
    let config = watcher::Config::default().page_size(PAGE);
    match thing {
        Thing::Definition { group } => {
            let definitions: Api<PartialObjectMeta<CustomResourceDefinition>> =
                Api::all(cluster.client().clone());
            let end = format!(".{group}");
            let is_meant = |name: &str| name.ends_with(&end);
            attend(watcher(definitions, config), is_meant, changed).await;
        }
        Thing::Object(id) => {
            // A kind that isn't served has no objects.
            let Ok(served) = cluster.served(id).await else {
                return;
            };
            let client = cluster.client().clone();
            let objects: Api<PartialObjectMeta<DynamicObject>> =
                if served.is_namespaced && !id.namespace.is_empty() {
                    Api::namespaced_with(client, &id.namespace, &served.resource)
                } else {
                    Api::all_with(client, &served.resource)
                };
            let config = if id.name.is_empty() {
                config
            } else {
                config.fields(&format!("metadata.name={}", id.name))
            };
            attend(watcher(objects, config), |_| true, changed).await;
        }
    }
}

async fn attend<K>(
    events: impl futures_util::Stream<Item = Result<Event<PartialObjectMeta<K>>, watcher::Error>>,
    is_meant: impl Fn(&str) -> bool,
    changed: impl Fn(),
) {
    let mut events = std::pin::pin!(events.default_backoff());
    let mut was_listed = false;
    while let Some(event) = events.next().await {
        match event {
            // The list that a watch begins with is what the try saw; that of a later one may have changed.
            Ok(Event::InitDone) => {
                if std::mem::replace(&mut was_listed, true) {
                    changed();
                }
            }
            Ok(Event::Apply(object) | Event::Delete(object)) => {
                if is_meant(object.metadata.name.as_deref().unwrap_or_default()) {
                    changed();
                }
            }
            Ok(Event::Init | Event::InitApply(_)) => {}
            Err(fault) if is_forbidden(&fault) => {
                tracing::debug!(%fault, "what a resource waits for may not be watched");
                return;
            }
            Err(fault) => tracing::debug!(%fault, "the watch of what a resource waits for begins anew"),
        }
    }
}

fn is_forbidden(fault: &watcher::Error) -> bool {
    match fault {
        watcher::Error::InitialListFailed(fault) | watcher::Error::WatchStartFailed(fault) => {
            matches!(fault, kube::Error::Api(status) if status.is_forbidden())
        }
        _ => false,
    }
}
