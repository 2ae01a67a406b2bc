//! What all workers of an operator share: what was seen of the cluster, and what was done last.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apply::object::ObjectId;
use chart::capabilities::Capabilities;
use duty::events::Announcer;
use duty::queue::Queue;
use kube::Client;
use kube::api::ApiResource;
use release::cluster::{Cluster, ServerError};
use release::failure::Cause;
use release::history::Revision;
use release::identity::ReleaseId;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::awaited::Awaited;
use crate::backoff::BackOff;
use crate::blueprint::Blueprint;
use crate::dependents::{Dependents, Happening};
pub use crate::discovery::capabilities_of;
use crate::metrics::Metrics;
use crate::resource::{CustomResource, ResourceName, Wishes};
use crate::roster::Roster;

/// How long the status waits for more news of workloads: several become ready at about the same time.
const READINESS_PAUSE: Duration = Duration::from_secs(1);

/// Which resource of which watch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The number of the watch.
    pub watch: usize,
    /// The resource.
    pub resource: ResourceName,
}

/// How a resource was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The resource itself; one of the same name that was made anew is another.
    pub uid: String,
    /// The generation that the release is made from.
    pub generation: i64,
    /// What annotations asked for.
    pub wishes: Wishes,
    /// The revision that was last.
    pub revision: i64,
    /// The state of its record.
    pub record: String,
    /// Whether the chart looks at the cluster, so that it must be rendered again from time to time.
    pub looks_at_cluster: bool,
    /// When it was last rendered and compared.
    pub compared: Instant,
}

/// What the workers share.
pub struct World {
    /// The way to the cluster.
    pub cluster: Cluster,
    /// The watches with their charts.
    pub blueprints: Vec<Arc<Blueprint>>,
    /// The operators that run.
    pub roster: Roster,
    /// The namespaces that are looked after; all if it is empty.
    pub namespaces: Vec<String>,
    /// How often resources are looked at although nothing changed, where neither they nor the watch says it.
    pub reconcile_period: Duration,
    /// Whether events leave out the values that the operator sets.
    pub suppress_override_values: bool,
    /// How many revisions are kept.
    pub history_limit: usize,
    /// What is to be looked at, for each watch.
    pub queues: Vec<Arc<Queue<ResourceName>>>,
    /// The resources that can't be made true.
    pub back_off: Arc<BackOff<Key>>,
    /// What they wait for.
    pub awaited: Awaited<Key>,
    /// What resources made.
    pub dependents: Dependents<Key>,
    /// Tells what happened.
    pub announcer: Announcer,
    /// What is counted.
    pub metrics: Metrics,
    state: Arc<State>,
    capabilities: tokio::sync::Mutex<Option<Arc<Capabilities>>>,
}

#[derive(Default)]
struct State {
    resources: Mutex<HashMap<Key, Arc<CustomResource>>>,
    /// What is being worked on, and how whoever does it learns that something else is wanted by now.
    at_work: Mutex<HashMap<Key, AtWork>>,
    /// Why the last try to make a resource true failed.
    failures: Mutex<HashMap<Key, Cause>>,
    /// Since when there is something to say of who looks after a resource, unless it passes.
    passing: Mutex<HashMap<Key, (Passing, Instant)>>,
    revisions: Mutex<HashMap<ReleaseId, Vec<Revision>>>,
    settled: Mutex<HashMap<Key, Settled>>,
    drifted: Mutex<HashMap<Key, BTreeSet<ObjectId>>>,
}

/// Something about who looks after a resource that mostly passes, as while operators start or are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passing {
    /// Nobody does.
    Alone,
    /// A newer operator does, though this one picks it too.
    Outranked,
}

/// A look that is under way.
struct AtWork {
    /// What it works for.
    resource: Arc<CustomResource>,
    unwanted: watch::Sender<bool>,
}

/// Ends the note that a look is under way.
pub struct Working<'a> {
    world: &'a World,
    key: &'a Key,
    unwanted: watch::Receiver<bool>,
}

impl Working<'_> {
    /// Becomes true when the resource is to go, so that what is done for it is no longer wanted.
    pub fn unwanted(&self) -> watch::Receiver<bool> {
        self.unwanted.clone()
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        lock(&self.world.state.at_work).remove(self.key);
    }
}

/// What a world is made of.
pub struct Making {
    /// The way to the cluster.
    pub client: Client,
    /// Who owns the fields of objects.
    pub manager: String,
    /// The watches with their charts.
    pub blueprints: Vec<Arc<Blueprint>>,
    /// The operators that run.
    pub roster: Roster,
    /// The namespaces that are looked after; all if it is empty.
    pub namespaces: Vec<String>,
    /// How often resources are looked at although nothing changed.
    pub reconcile_period: Duration,
    /// Whether events leave out the values that the operator sets.
    pub suppress_override_values: bool,
    /// How many revisions are kept.
    pub history_limit: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// Makes a world in which nothing was seen yet.
    pub fn new(making: Making) -> Self {
        let Making {
            client,
            manager,
            blueprints,
            roster,
            namespaces,
            reconcile_period,
            suppress_override_values,
            history_limit,
        } = making;
        let queues: Vec<Arc<Queue<ResourceName>>> = blueprints.iter().map(|_| Arc::default()).collect();
        let state = Arc::new(State::default());
        let back_off: Arc<BackOff<Key>> = Arc::default();
        let tell = {
            let (queues, state, blueprints) = (queues.clone(), Arc::clone(&state), blueprints.clone());
            let back_off = Arc::clone(&back_off);
            Arc::new(move |key: &Key, id: &ObjectId, happening: Happening| {
                let (Some(queue), Some(blueprint)) = (queues.get(key.watch), blueprints.get(key.watch))
                else {
                    return;
                };
                match happening {
                    Happening::Drifted if blueprint.watch.watch_dependent_resources => {
                        lock(&state.drifted)
                            .entry(key.clone())
                            .or_default()
                            .insert(id.clone());
                        back_off.nudge(key);
                        queue.add(key.resource.clone());
                    }
                    Happening::Drifted => {}
                    Happening::Readiness => queue.add_after(key.resource.clone(), READINESS_PAUSE),
                }
            })
        };
        let nudge = {
            let (queues, back_off) = (queues.clone(), Arc::clone(&back_off));
            Arc::new(move |key: &Key| {
                back_off.nudge(key);
                if let Some(queue) = queues.get(key.watch) {
                    queue.add(key.resource.clone());
                }
            })
        };
        let cluster = Cluster::new(client.clone(), &manager);
        Self {
            awaited: Awaited::new(cluster.clone(), nudge),
            cluster,
            dependents: Dependents::new(client.clone(), &manager, &namespaces, tell),
            announcer: Announcer::new(client),
            metrics: Metrics::new(&blueprints),
            blueprints,
            roster,
            namespaces,
            reconcile_period,
            suppress_override_values,
            history_limit,
            queues,
            back_off,
            state,
            capabilities: tokio::sync::Mutex::new(None),
        }
    }

    /// Has a resource looked at.
    pub fn look_at(&self, key: &Key) {
        if let Some(queue) = self.queues.get(key.watch) {
            queue.add(key.resource.clone());
        }
    }

    /// Has every resource looked at, because the operators that run have changed.
    pub fn look_at_all(&self) {
        let keys: Vec<Key> = lock(&self.state.resources).keys().cloned().collect();
        for key in keys {
            self.look_at(&key);
        }
    }

    /// Returns a resource as it was last seen.
    pub fn resource(&self, key: &Key) -> Option<Arc<CustomResource>> {
        lock(&self.state.resources).get(key).cloned()
    }

    /// Returns a resource as it was last seen; as it was given if it is another one by now.
    pub(crate) fn newest(&self, key: &Key, resource: &CustomResource) -> Arc<CustomResource> {
        self.resource(key)
            .filter(|newest| newest.uid == resource.uid)
            .unwrap_or_else(|| Arc::new(resource.clone()))
    }

    /// Returns how the resources of a watch are addressed; the server is asked once.
    pub(crate) async fn address(&self, blueprint: &Blueprint) -> Result<ApiResource, ServerError> {
        let kind = &blueprint.watch.kind;
        let id = ObjectId {
            api_version: kind.api_version(),
            kind: kind.kind.clone(),
            ..ObjectId::default()
        };
        Ok(self.cluster.served(&id).await?.resource)
    }

    /// Notes that a look at a resource is under way.
    pub fn begin<'a>(&'a self, key: &'a Key, resource: &Arc<CustomResource>) -> Working<'a> {
        let (sender, unwanted) = watch::channel(false);
        let at_work = AtWork {
            resource: Arc::clone(resource),
            unwanted: sender,
        };
        lock(&self.state.at_work).insert(key.clone(), at_work);
        Working {
            world: self,
            key,
            unwanted,
        }
    }

    /// Tells the look that is under way when the resource is to go: nobody wants to wait for hooks then. A change of
    /// the spec tells nothing: a hook that is at work, such as a migration, is better left alone.
    fn tell_worker(&self, key: &Key, now: Option<&CustomResource>) {
        if let Some(at_work) = lock(&self.state.at_work).get(key)
            && now.is_none_or(|now| !at_work.resource.is_deleted && now.is_deleted)
        {
            at_work.unwanted.send_replace(true);
        }
    }

    /// Notes what there is to say of who looks after a resource, if anything; returns for how long that has been so.
    pub fn has_been(&self, key: &Key, passing: Option<Passing>) -> Duration {
        let mut known = lock(&self.state.passing);
        let Some(passing) = passing else {
            known.remove(key);
            return Duration::ZERO;
        };
        let now = Instant::now();
        let (what, since) = known.entry(key.clone()).or_insert((passing, now));
        if *what != passing {
            (*what, *since) = (passing, now);
        }
        since.elapsed()
    }

    /// Notes why the last try to make a resource true failed; nothing if it didn't.
    pub fn note_failure(&self, key: &Key, cause: Option<Cause>) {
        let mut failures = lock(&self.state.failures);
        match cause {
            Some(cause) => failures.insert(key.clone(), cause),
            None => failures.remove(key),
        };
    }

    /// Returns why the last try to make a resource true failed, if it did.
    pub fn last_failure(&self, key: &Key) -> Option<Cause> {
        lock(&self.state.failures).get(key).copied()
    }

    /// Returns whether some resource has this identity.
    pub fn has_resource(&self, uid: &str) -> bool {
        lock(&self.state.resources)
            .values()
            .any(|resource| resource.uid == uid)
    }

    /// Notes a resource; returns whether anything but its version changed.
    pub fn saw(&self, watch: usize, resource: CustomResource) -> (Key, bool) {
        let key = Key {
            watch,
            resource: resource.id.clone(),
        };
        let version =
            |resource: &CustomResource| resource.resource_version.parse::<u64>().unwrap_or_default();
        let mut resources = lock(&self.state.resources);
        let is_news = match resources.get(&key) {
            // What was written here comes back as an event, perhaps after a newer write.
            Some(before) if before.uid == resource.uid && version(&resource) < version(before) => {
                return (key, false);
            }
            Some(before) => {
                let mut same = (**before).clone();
                same.resource_version.clone_from(&resource.resource_version);
                same != resource
            }
            None => true,
        };
        self.metrics.resource_seen(watch, &resource);
        self.tell_worker(&key, Some(&resource));
        resources.insert(key.clone(), Arc::new(resource));
        (key, is_news)
    }

    /// Forgets a resource that is gone.
    pub fn gone(&self, key: &Key) {
        lock(&self.state.resources).remove(key);
        self.note_failure(key, None);
        self.forget_tries(key);
        self.has_been(key, None);
        self.tell_worker(key, None);
        self.metrics.resource_gone(key);
    }

    /// Returns the keys of a watch's resources in some namespace, or everywhere.
    pub fn keys(&self, watch: usize, namespace: &str) -> Vec<Key> {
        lock(&self.state.resources)
            .keys()
            .filter(|key| key.watch == watch && (namespace.is_empty() || key.resource.namespace == namespace))
            .cloned()
            .collect()
    }

    /// Forgets that a resource was tried in vain: it is gone, or somebody else's by now.
    pub fn forget_tries(&self, key: &Key) {
        self.back_off.forget(key);
        self.awaited.forget(key);
    }

    /// Forgets how a resource was left, and what it made.
    pub fn let_go(&self, key: &Key) {
        lock(&self.state.settled).remove(key);
        lock(&self.state.drifted).remove(key);
        self.dependents.release(key);
    }

    /// Returns how a resource was left.
    pub fn settled(&self, key: &Key) -> Option<Settled> {
        lock(&self.state.settled).get(key).cloned()
    }

    /// Notes how a resource was left.
    pub fn settle(&self, key: &Key, settled: Settled) {
        lock(&self.state.settled).insert(key.clone(), settled);
    }

    /// Forgets how a resource was left, so that the next look compares everything.
    pub fn unsettle(&self, key: &Key) {
        lock(&self.state.settled).remove(key);
    }

    /// Takes the objects of a resource that somebody changed.
    pub fn take_drifted(&self, key: &Key) -> BTreeSet<ObjectId> {
        lock(&self.state.drifted).remove(key).unwrap_or_default()
    }

    /// Puts back objects that could not be looked at.
    pub fn put_back_drifted(&self, key: &Key, objects: BTreeSet<ObjectId>) {
        lock(&self.state.drifted)
            .entry(key.clone())
            .or_default()
            .extend(objects);
    }

    /// Returns the last revision of a release, as far as records were seen.
    pub fn last_revision(&self, id: &ReleaseId) -> Option<Revision> {
        let revisions = lock(&self.state.revisions);
        revisions
            .get(id)
            .into_iter()
            .flatten()
            .max_by_key(|revision| revision.version)
            .cloned()
    }

    /// Notes a record; returns the resources whose release it may be.
    pub fn revision_seen(&self, id: &ReleaseId, revision: Revision) -> Vec<Key> {
        {
            let mut revisions = lock(&self.state.revisions);
            let known = revisions.entry(id.clone()).or_default();
            let version = |revision: &Revision| revision.resource_version.parse::<u64>().unwrap_or_default();
            match known.iter_mut().find(|other| other.secret == revision.secret) {
                // What was written here comes back as an event, perhaps after a newer write.
                Some(before) if version(before) > version(&revision) => {}
                Some(before) => *before = revision,
                None => known.push(revision),
            }
        }
        self.resources_named(id)
    }

    /// Forgets a record.
    pub fn revision_gone(&self, id: &ReleaseId, secret: &str) -> Vec<Key> {
        {
            let mut revisions = lock(&self.state.revisions);
            if let Some(known) = revisions.get_mut(id) {
                known.retain(|other| other.secret != secret);
                if known.is_empty() {
                    revisions.remove(id);
                }
            }
        }
        self.resources_named(id)
    }

    /// Forgets all records of a namespace, or all; a new list follows.
    pub fn forget_revisions(&self, namespace: &str) {
        lock(&self.state.revisions).retain(|id, _| !namespace.is_empty() && id.namespace != namespace);
    }

    fn resources_named(&self, id: &ReleaseId) -> Vec<Key> {
        let resources = lock(&self.state.resources);
        (0..self.blueprints.len())
            .map(|watch| Key {
                watch,
                resource: ResourceName {
                    namespace: id.namespace.clone(),
                    name: id.name.clone(),
                },
            })
            .filter(|key| resources.contains_key(key))
            .collect()
    }

    /// Returns what charts may ask about the cluster; asked once.
    pub async fn capabilities(&self) -> Result<Arc<Capabilities>, kube::Error> {
        let mut known = self.capabilities.lock().await;
        if let Some(known) = &*known {
            return Ok(Arc::clone(known));
        }
        let asked = Arc::new(capabilities_of(self.cluster.client()).await?);
        *known = Some(Arc::clone(&asked));
        Ok(asked)
    }

    /// Forgets what the cluster can do, because definitions were added.
    pub async fn forget_capabilities(&self) {
        *self.capabilities.lock().await = None;
    }
}
