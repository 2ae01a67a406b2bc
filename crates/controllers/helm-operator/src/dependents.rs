//! What resources made, watched: who must be looked at when an object changes, vanishes or becomes ready.
//!
//! Each kind is watched once, as long as some release has objects of it: workloads whole, because whether they work
//! stands in their status, everything else by metadata alone. All objects of releases carry Helm's label, by which the
//! watch picks them.

mod asking;
mod following;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apply::object::ObjectId;
use apply::served::Served;
use apply::troubles::{Troubles, Workload};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use release::drift::Fingerprint;
use release::readiness::{self, Readiness};
use serde_json::Value;
use tokio::task::AbortHandle;

use asking::{Asker, because};
use following::{Follower, Look};

/// What Helm's label is on every object of a release.
const MANAGED_BY_HELM: &str = "app.kubernetes.io/managed-by=Helm";

/// How many objects are asked for at once: those of a page are in memory together.
pub(crate) const PAGE: u32 = 100;

/// A kind: its API version and its name.
type Kind = (String, String);

/// What happened to an object of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    /// Somebody took a field, or the whole object.
    Drifted,
    /// Whether it works has changed.
    Readiness,
}

/// Tells that something happened to an object of the holder.
pub type Tell<H> = Arc<dyn Fn(&H, &ObjectId, Happening) + Send + Sync>;

/// The objects of resources. `H` is who holds an object.
pub struct Dependents<H> {
    state: Arc<Mutex<State<H>>>,
    client: Client,
    manager: String,
    /// Where resources are looked after; everywhere if it is empty.
    namespaces: Vec<String>,
    tell: Tell<H>,
    /// Why workloads aren't ready.
    troubles: Arc<Troubles>,
}

struct State<H> {
    objects: HashMap<ObjectId, Held<H>>,
    /// What was seen of objects that nobody holds: whoever takes one over must not wait for it to change.
    strangers: HashMap<ObjectId, Sight>,
    of_holder: HashMap<H, HashSet<ObjectId>>,
    running: HashMap<Kind, Vec<AbortHandle>>,
}

/// What was last seen of an object.
#[derive(Clone)]
struct Sight {
    uid: String,
    version: u64,
    readiness: Readiness,
    /// The workload, if it isn't ready.
    unready: Option<Box<Workload>>,
}

struct Held<H> {
    by: H,
    /// What an object looks like that nobody took a field from; none before it was written.
    fingerprint: Option<Fingerprint>,
    uid: String,
    /// The newest state that was written or seen.
    version: u64,
    readiness: Readiness,
    /// The workload, if it isn't ready.
    unready: Option<Box<Workload>>,
}

impl<H: PartialEq> State<H> {
    /// Notes that a holder no longer has an object, unless another has it already; returns whether nobody has it now.
    fn let_go(&mut self, id: &ObjectId, holder: &H) -> bool {
        if self.objects.get(id).is_none_or(|held| held.by != *holder) {
            return false;
        }
        if let Some(held) = self.objects.remove(id).filter(|held| !held.uid.is_empty()) {
            let sight = Sight {
                uid: held.uid,
                version: held.version,
                readiness: held.readiness,
                unready: held.unready,
            };
            self.strangers.insert(id.clone(), sight);
        }
        true
    }
}

impl<H> State<H> {
    fn leave(&mut self, left: &[Left]) {
        for left in left {
            if let Some(held) = self.objects.get_mut(&left.id) {
                held.fingerprint = Some(left.fingerprint);
                held.uid.clone_from(&left.uid);
                held.version = held
                    .version
                    .max(left.resource_version.parse().unwrap_or_default());
            }
        }
    }

    fn kinds(&self) -> HashSet<(&str, &str)> {
        self.objects
            .keys()
            .map(|id| (id.api_version.as_str(), id.kind.as_str()))
            .collect()
    }
}

/// An object as it was left.
#[derive(Debug, Clone)]
pub struct Left {
    /// Which object.
    pub id: ObjectId,
    /// Its identity.
    pub uid: String,
    /// The state that it was left in.
    pub resource_version: String,
    /// What it looks like while nobody takes a field.
    pub fingerprint: Fingerprint,
}

impl<H: Clone + Eq + std::hash::Hash + Send + 'static> Dependents<H> {
    /// Makes an empty set; `manager` is who owns the fields that are watched, `namespaces` where, everywhere if empty.
    pub fn new(client: Client, manager: &str, namespaces: &[String], tell: Tell<H>) -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                objects: HashMap::new(),
                strangers: HashMap::new(),
                of_holder: HashMap::new(),
                running: HashMap::new(),
            })),
            troubles: Arc::new(Troubles::new(client.clone())),
            client,
            manager: manager.to_owned(),
            namespaces: namespaces.to_vec(),
            tell,
        }
    }

    fn state(&self) -> MutexGuard<'_, State<H>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the objects that a holder has from now on, and watches their kinds.
    ///
    /// Objects that were just written say how they were left; of the others it is not known, and the first sight decides.
    pub fn hold(&self, holder: &H, objects: &[(ObjectId, Served)], left: &[Left]) {
        let mut state = self.state();
        let wanted: HashSet<ObjectId> = objects.iter().map(|(id, _)| id.clone()).collect();
        let before = state
            .of_holder
            .insert(holder.clone(), wanted.clone())
            .unwrap_or_default();
        for gone in before.difference(&wanted) {
            if state.let_go(gone, holder) {
                self.troubles.forget(gone);
            }
        }
        for (id, _) in objects {
            let sight = state.strangers.remove(id).unwrap_or_else(|| Sight {
                uid: String::new(),
                version: 0,
                readiness: if readiness::matters(id) {
                    Readiness::Waiting("not seen yet".to_owned())
                } else {
                    Readiness::Ready
                },
                unready: None,
            });
            let held = state.objects.entry(id.clone()).or_insert_with(|| Held {
                by: holder.clone(),
                fingerprint: None,
                uid: sight.uid,
                version: sight.version,
                readiness: sight.readiness,
                unready: sight.unready,
            });
            held.by = holder.clone();
            if let Some(workload) = &held.unready {
                self.asker().ask(id, workload);
            }
        }
        state.leave(left);
        for (id, served) in objects {
            self.watch(&mut state, id, served);
        }
        Self::unwatch(&mut state);
    }

    /// Notes how objects that are held already were left.
    pub fn left(&self, left: &[Left]) {
        self.state().leave(left);
    }

    /// Forgets a holder and its objects.
    pub fn release(&self, holder: &H) {
        let mut state = self.state();
        for id in state.of_holder.remove(holder).unwrap_or_default() {
            if state.let_go(&id, holder) {
                self.troubles.forget(&id);
            }
        }
        Self::unwatch(&mut state);
    }

    /// Returns whether the objects of a holder are known.
    pub fn holds(&self, holder: &H) -> bool {
        self.state().of_holder.contains_key(holder)
    }

    /// Returns what each object of a holder that may take its time waits for, why, as its pods tell it, and whether it is ready.
    pub fn readiness(&self, holder: &H) -> Vec<(ObjectId, Readiness)> {
        let state = self.state();
        let mut all: Vec<(ObjectId, Readiness)> = state
            .of_holder
            .get(holder)
            .into_iter()
            .flatten()
            .filter(|id| readiness::matters(id))
            .filter_map(|id| {
                let readiness = state.objects.get(id)?.readiness.clone();
                Some((id.clone(), because(readiness, || self.troubles.cause(id))))
            })
            .collect();
        all.sort_by(|left, right| left.0.cmp(&right.0));
        all
    }

    /// Returns how many kinds are watched.
    pub fn watched_kinds(&self) -> usize {
        self.state().running.len()
    }

    fn unwatch(state: &mut State<H>) {
        let needed: HashSet<Kind> = state
            .kinds()
            .into_iter()
            .map(|(api_version, kind)| (api_version.to_owned(), kind.to_owned()))
            .collect();
        // Of what isn't watched any more nothing is known.
        state
            .strangers
            .retain(|id, _| needed.contains(&(id.api_version.clone(), id.kind.clone())));
        state.running.retain(|kind, watches| {
            let stays = needed.contains(kind);
            if !stays {
                watches.iter().for_each(AbortHandle::abort);
            }
            stays
        });
    }

    fn watch(&self, state: &mut State<H>, id: &ObjectId, served: &Served) {
        let kind = (id.api_version.clone(), id.kind.clone());
        if state.running.contains_key(&kind) {
            return;
        }
        let everywhere = [String::new()];
        let places = if served.is_namespaced && !self.namespaces.is_empty() {
            self.namespaces.as_slice()
        } else {
            &everywhere
        };
        let tasks = places
            .iter()
            .map(|namespace| self.follow(&kind, namespace, &served.resource, readiness::matters(id)))
            .collect();
        state.running.insert(kind, tasks);
    }

    fn asker(&self) -> Asker<H> {
        Asker {
            state: Arc::downgrade(&self.state),
            troubles: Arc::downgrade(&self.troubles),
            tell: Arc::clone(&self.tell),
        }
    }

    /// Starts one watch, in one namespace or, if it has no name, everywhere.
    fn follow(&self, kind: &Kind, namespace: &str, resource: &ApiResource, is_workload: bool) -> AbortHandle {
        let follower = Follower {
            kind: kind.clone(),
            namespace: namespace.to_owned(),
            manager: self.manager.clone(),
            asker: self.asker(),
        };
        let config = watcher::Config::default().labels(MANAGED_BY_HELM).page_size(PAGE);
        let client = self.client.clone();
        let task = if is_workload {
            let api: Api<DynamicObject> = if namespace.is_empty() {
                Api::all_with(client, resource)
            } else {
                Api::namespaced_with(client, namespace, resource)
            };
            let events = watcher(api, config).default_backoff();
            let (api_version, kind) = kind.clone();
            tokio::spawn(follower.follow(events, move |object| {
                let metadata = object.metadata.clone();
                let mut value = serde_json::to_value(object).unwrap_or(Value::Null);
                // A list names the kind of its items once, and an object without a kind would look ready.
                value["apiVersion"] = Value::from(api_version.as_str());
                value["kind"] = Value::from(kind.as_str());
                let readiness = readiness::of(&value);
                let unready = match readiness {
                    Readiness::Ready => None,
                    Readiness::Waiting(_) | Readiness::Failed(_) => Workload::of(&value).map(Box::new),
                };
                Look {
                    metadata,
                    readiness,
                    unready,
                }
            }))
        } else {
            let api: Api<PartialObjectMeta<DynamicObject>> = if namespace.is_empty() {
                Api::all_with(client, resource)
            } else {
                Api::namespaced_with(client, namespace, resource)
            };
            let events = watcher(api, config).default_backoff();
            tokio::spawn(follower.follow(events, |object| Look {
                metadata: object.metadata,
                readiness: Readiness::Ready,
                unready: None,
            }))
        };
        task.abort_handle()
    }
}

impl<H> Drop for Dependents<H> {
    fn drop(&mut self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.running.values().flatten().for_each(AbortHandle::abort);
    }
}
