//! What resources made, watched: who must be looked at when an object changes, vanishes or becomes ready.
//!
//! Each kind is watched once, as long as some release has objects of it: workloads whole, because whether they work
//! stands in their status, everything else by metadata alone. All objects of releases carry Helm's label, by which the
//! watch picks them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use apply::object::ObjectId;
use apply::served::Served;
use futures_util::StreamExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use release::drift::{self, Fingerprint};
use release::readiness::{self, Readiness};
use serde_json::Value;
use tokio::task::AbortHandle;

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
}

struct Held<H> {
    by: H,
    /// What an object looks like that nobody took a field from; none before it was written.
    fingerprint: Option<Fingerprint>,
    uid: String,
    /// The newest state that was written or seen.
    version: u64,
    readiness: Readiness,
}

impl<H: PartialEq> State<H> {
    /// Notes that a holder no longer has an object, unless another has it already.
    fn let_go(&mut self, id: &ObjectId, holder: &H) {
        if self.objects.get(id).is_none_or(|held| held.by != *holder) {
            return;
        }
        if let Some(held) = self.objects.remove(id).filter(|held| !held.uid.is_empty()) {
            let sight = Sight {
                uid: held.uid,
                version: held.version,
                readiness: held.readiness,
            };
            self.strangers.insert(id.clone(), sight);
        }
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
            state.let_go(gone, holder);
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
            });
            let held = state.objects.entry(id.clone()).or_insert_with(|| Held {
                by: holder.clone(),
                fingerprint: None,
                uid: sight.uid,
                version: sight.version,
                readiness: sight.readiness,
            });
            held.by = holder.clone();
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
            state.let_go(&id, holder);
        }
        Self::unwatch(&mut state);
    }

    /// Returns whether the objects of a holder are known.
    pub fn holds(&self, holder: &H) -> bool {
        self.state().of_holder.contains_key(holder)
    }

    /// Returns what each object of a holder that may take its time waits for, and whether it is ready.
    pub fn readiness(&self, holder: &H) -> Vec<(ObjectId, Readiness)> {
        let state = self.state();
        let mut all: Vec<(ObjectId, Readiness)> = state
            .of_holder
            .get(holder)
            .into_iter()
            .flatten()
            .filter(|id| readiness::matters(id))
            .filter_map(|id| Some((id.clone(), state.objects.get(id)?.readiness.clone())))
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

    /// Starts one watch, in one namespace or, if it has no name, everywhere.
    fn follow(&self, kind: &Kind, namespace: &str, resource: &ApiResource, is_workload: bool) -> AbortHandle {
        let follower = Follower {
            kind: kind.clone(),
            namespace: namespace.to_owned(),
            state: Arc::downgrade(&self.state),
            manager: self.manager.clone(),
            tell: Arc::clone(&self.tell),
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
            tokio::spawn(follower.follow(events, |object| {
                let metadata = object.metadata.clone();
                let value = serde_json::to_value(object).unwrap_or(Value::Null);
                (metadata, readiness::of(&value))
            }))
        } else {
            let api: Api<PartialObjectMeta<DynamicObject>> = if namespace.is_empty() {
                Api::all_with(client, resource)
            } else {
                Api::namespaced_with(client, namespace, resource)
            };
            let events = watcher(api, config).default_backoff();
            tokio::spawn(follower.follow(events, |object| (object.metadata, Readiness::Ready)))
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

/// Feeds the state with what one watch sees.
struct Follower<H> {
    kind: Kind,
    /// Where it looks; everywhere if it is empty.
    namespace: String,
    state: Weak<Mutex<State<H>>>,
    manager: String,
    tell: Tell<H>,
}

impl<H: Clone + Eq + std::hash::Hash + Send + 'static> Follower<H> {
    async fn follow<K: Send>(
        self,
        events: impl futures_util::Stream<Item = Result<Event<K>, watcher::Error>> + Send,
        read: impl Fn(K) -> (ObjectMeta, Readiness) + Send,
    ) {
        let mut events = std::pin::pin!(events);
        let mut listed: HashSet<ObjectId> = HashSet::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(object)) => {
                    let (metadata, readiness) = read(object);
                    listed.insert(self.seen(&metadata, readiness));
                }
                Ok(Event::InitDone) => self.list_ended(&std::mem::take(&mut listed)),
                Ok(Event::Apply(object)) => {
                    let (metadata, readiness) = read(object);
                    self.seen(&metadata, readiness);
                }
                Ok(Event::Delete(object)) => {
                    let (metadata, _) = read(object);
                    self.gone(&self.id(&metadata), metadata.uid.as_deref().unwrap_or_default());
                }
                Err(fault) => {
                    tracing::debug!(kind = self.kind.1, %fault, "the watch of objects begins anew");
                }
            }
        }
    }

    fn id(&self, metadata: &ObjectMeta) -> ObjectId {
        ObjectId {
            api_version: self.kind.0.clone(),
            kind: self.kind.1.clone(),
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }

    fn seen(&self, metadata: &ObjectMeta, readiness: Readiness) -> ObjectId {
        let id = self.id(metadata);
        let Some(state) = self.state.upgrade() else {
            return id;
        };
        let mut news = Vec::new();
        {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let version = metadata.resource_version.as_deref().unwrap_or_default();
            let version: u64 = version.parse().unwrap_or_default();
            if let Some(held) = state.objects.get_mut(&id) {
                let fields = metadata.managed_fields.as_deref().unwrap_or_default();
                let now = drift::fingerprint(fields, &self.manager);
                let is_deleted = metadata.deletion_timestamp.is_some();
                // What was written here comes back as an event, perhaps after a newer write.
                let is_old = version < held.version;
                if !is_old && !is_deleted && held.fingerprint.is_some_and(|left| left != now) {
                    news.push((held.by.clone(), Happening::Drifted));
                }
                if !is_old && held.readiness != readiness {
                    held.readiness = readiness;
                    news.push((held.by.clone(), Happening::Readiness));
                }
                held.version = held.version.max(version);
                // What was told once is told again only when it changes once more.
                if !is_old {
                    held.fingerprint = Some(now);
                }
                held.uid = metadata.uid.clone().unwrap_or_default();
            } else {
                let sight = Sight {
                    uid: metadata.uid.clone().unwrap_or_default(),
                    version,
                    readiness,
                };
                state.strangers.insert(id.clone(), sight);
            }
        }
        for (holder, happening) in news {
            (self.tell)(&holder, &id, happening);
        }
        id
    }

    /// Tells of objects that should be there and are not in the list.
    fn list_ended(&self, listed: &HashSet<ObjectId>) {
        let Some(state) = self.state.upgrade() else {
            return;
        };
        let missing: Vec<(ObjectId, String)> = {
            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state
                .objects
                .iter()
                .filter(|(id, held)| {
                    (&id.api_version, &id.kind) == (&self.kind.0, &self.kind.1)
                        && (self.namespace.is_empty() || self.namespace == id.namespace)
                        && !listed.contains(*id)
                        // One that was never seen may be on its way.
                        && !held.uid.is_empty()
                })
                .map(|(id, held)| (id.clone(), held.uid.clone()))
                .collect()
        };
        for (id, uid) in missing {
            self.gone(&id, &uid);
        }
    }

    fn gone(&self, id: &ObjectId, uid: &str) {
        let Some(state) = self.state.upgrade() else {
            return;
        };
        let holder = {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.strangers.get(id).is_some_and(|sight| sight.uid == uid) {
                state.strangers.remove(id);
            }
            state
                .objects
                .get_mut(id)
                // A new object of the same name may have been made meanwhile.
                .filter(|held| held.uid.is_empty() || held.uid == uid)
                .map(|held| {
                    if readiness::matters(id) {
                        held.readiness = Readiness::Waiting("it was deleted".to_owned());
                    }
                    held.by.clone()
                })
        };
        if let Some(holder) = holder {
            (self.tell)(&holder, id, Happening::Drifted);
        }
    }
}
