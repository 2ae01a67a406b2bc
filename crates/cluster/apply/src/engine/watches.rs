//! Watches: who must be looked at when an object changes.
//!
//! Each kind that a revision holds is watched once, for the metadata of objects that carry an extension's name, as long
//! as some revision holds objects of it. What a revision has just seen or written itself is no news to it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use api::keys;
use futures_util::{Stream, StreamExt as _, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::object::ObjectId;
use crate::owners::REVISION_KIND;

/// The kind of an object: its API version and its name.
type Kind = (String, String);

#[derive(Default)]
struct Index {
    /// The objects that revisions hold.
    objects: HashMap<ObjectId, Held>,
    /// The objects of each revision.
    of_revision: HashMap<String, HashSet<ObjectId>>,
    /// The watches that run, by kind.
    running: HashMap<Kind, Watch>,
    /// Those who listen; one that was dropped is forgotten when there is something to tell.
    listeners: Vec<Weak<Listener>>,
}

#[derive(Default)]
struct Held {
    by: BTreeSet<String>,
    /// The newest state that a revision has seen; 0 for none.
    seen: u64,
    /// The state that was heard of last.
    heard: u64,
    /// The revision, by its identity, that found the object as it wants it in the state that was seen.
    settled: Option<String>,
}

struct Watch {
    task: AbortHandle,
    /// Whether everything that happens is heard of.
    is_whole: bool,
}

/// Names that wait to be taken; each is there once, however often its objects change.
#[derive(Default)]
struct Listener {
    waiting: Mutex<BTreeSet<String>>,
    more: Notify,
}

#[derive(Clone, Default)]
pub(crate) struct Watches(Arc<Mutex<Index>>);

/// Watches that end as if nobody knew of them here.
pub(crate) struct Bystander(Weak<Mutex<Index>>);

impl Bystander {
    /// Tells of an object to those who hold it, though it hasn't changed.
    pub(crate) fn tell_holders(&self, id: &ObjectId) {
        if let Some(watches) = self.0.upgrade().map(Watches) {
            let mut index = watches.index();
            let holders = index.objects.get(id).map(|held| held.by.clone());
            index.tell(holders.unwrap_or_default());
        }
    }
}

impl Watches {
    /// Returns a way to tell of objects that keeps nothing alive.
    pub(crate) fn downgrade(&self) -> Bystander {
        Bystander(Arc::downgrade(&self.0))
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a revision holds an object, named as the server names it.
    pub(crate) fn hold(&self, revision: &str, id: &ObjectId) {
        let mut index = self.index();
        let held = index.objects.entry(id.clone()).or_default();
        held.by.insert(revision.to_owned());
        let objects = index.of_revision.entry(revision.to_owned()).or_default();
        objects.insert(id.clone());
    }

    /// Forgets a revision, and ends the watches that nobody needs any more. Returns the objects that no revision holds now.
    pub(crate) fn release(&self, revision: &str) -> Vec<ObjectId> {
        let mut index = self.index();
        let mut left: Vec<ObjectId> = index
            .of_revision
            .remove(revision)
            .unwrap_or_default()
            .into_iter()
            .collect();
        left.retain(|id| index.let_go(revision, id));
        let Index { objects, running, .. } = &mut *index;
        let needed: HashSet<(&str, &str)> = objects
            .keys()
            .map(|id| (id.api_version.as_str(), id.kind.as_str()))
            .collect();
        running.retain(|(api_version, kind), watch| {
            let stays = needed.contains(&(api_version.as_str(), kind.as_str()));
            if !stays {
                watch.task.abort();
            }
            stays
        });
        left
    }

    /// Notes which state of an object a revision has seen.
    pub(crate) fn saw(&self, id: &ObjectId, resource_version: &str) {
        let mut index = self.index();
        if let (Some(held), Ok(version)) = (index.objects.get_mut(id), resource_version.parse())
            && version > held.seen
        {
            held.seen = version;
            held.settled = None;
        }
    }

    /// Notes that a revision, known by its identity, found an object as it wants it.
    pub(crate) fn settle(&self, id: &ObjectId, resource_version: &str, revision: &str) {
        let mut index = self.index();
        if let (Some(held), Ok(version)) = (index.objects.get_mut(id), resource_version.parse::<u64>())
            && version == held.seen
            && version >= held.heard
        {
            held.settled = Some(revision.to_owned());
        }
    }

    /// Returns whether nothing was heard of an object since a revision found it as it wants it.
    pub(crate) fn is_settled(&self, id: &ObjectId, revision: &str) -> bool {
        let index = self.index();
        let watch = index.running.get(&(id.api_version.clone(), id.kind.clone()));
        let held = index.objects.get(id);
        watch.is_some_and(|watch| watch.is_whole)
            && held.is_some_and(|held| held.settled.as_deref() == Some(revision))
    }

    /// Watches a kind, unless it is watched already.
    pub(crate) fn watch(&self, client: &Client, resource: &ApiResource) {
        let kind = (resource.api_version.clone(), resource.kind.clone());
        let mut index = self.index();
        if index.running.contains_key(&kind) {
            return;
        }
        let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client.clone(), resource);
        let config = watcher::Config::default().labels(keys::OWNER_NAME);
        // A watch must not keep alive what ends it.
        let index_of_all = Arc::downgrade(&self.0);
        let events = watcher(api, config).default_backoff();
        let watched = kind.clone();
        let task = tokio::spawn(async move {
            let mut events = std::pin::pin!(events);
            let mut listed: HashSet<ObjectId> = HashSet::new();
            while let Some(event) = events.next().await {
                let Some(watches) = index_of_all.upgrade().map(Self) else {
                    break;
                };
                match event {
                    Ok(Event::Init) => {
                        listed.clear();
                        watches.is_whole(&watched, false);
                    }
                    Ok(Event::InitApply(object)) => {
                        listed.insert(watches.changed(&watched, &object.metadata));
                    }
                    Ok(Event::InitDone) => {
                        watches.missing(&watched, &std::mem::take(&mut listed));
                        watches.is_whole(&watched, true);
                    }
                    Ok(Event::Apply(object)) => {
                        watches.changed(&watched, &object.metadata);
                        watches.is_whole(&watched, true);
                    }
                    Ok(Event::Delete(object)) => {
                        watches.gone(&watched, &object.metadata);
                        watches.is_whole(&watched, true);
                    }
                    Err(error) => {
                        watches.is_whole(&watched, false);
                        tracing::debug!(api_version = watched.0, kind = watched.1, %error, "a watch begins anew");
                    }
                }
            }
        });
        let watch = Watch {
            task: task.abort_handle(),
            is_whole: false,
        };
        index.running.insert(kind, watch);
    }

    fn is_whole(&self, kind: &Kind, is_whole: bool) {
        if let Some(watch) = self.index().running.get_mut(kind) {
            watch.is_whole = is_whole;
        }
    }

    /// Tells of an object that is there; those that have seen it so are not told.
    fn changed(&self, kind: &Kind, metadata: &ObjectMeta) -> ObjectId {
        let id = id_of(kind, metadata);
        let version = version_of(metadata);
        let mut index = self.index();
        let holders = match index.objects.get_mut(&id) {
            // What one of several revisions has seen, the others may not have.
            Some(held) if held.by.len() == 1 && version.is_some_and(|version| version <= held.seen) => {
                return id;
            }
            Some(held) => {
                held.heard = version.unwrap_or(u64::MAX);
                held.settled = None;
                held.by.clone()
            }
            None => BTreeSet::new(),
        };
        index.tell(holders.into_iter().chain(owners_of(metadata)));
        id
    }

    fn gone(&self, kind: &Kind, metadata: &ObjectMeta) {
        let id = id_of(kind, metadata);
        let mut index = self.index();
        let holders = match index.objects.get_mut(&id) {
            Some(held) => {
                held.seen = 0;
                held.heard = version_of(metadata).unwrap_or(u64::MAX);
                held.settled = None;
                held.by.clone()
            }
            None => BTreeSet::new(),
        };
        index.tell(holders.into_iter().chain(owners_of(metadata)));
    }

    /// Tells of objects that were seen and are not among those that the server has listed.
    fn missing(&self, kind: &Kind, listed: &HashSet<ObjectId>) {
        let mut index = self.index();
        let mut names: BTreeSet<String> = BTreeSet::new();
        for (id, held) in &mut index.objects {
            if held.seen > 0 && id.api_version == kind.0 && id.kind == kind.1 && !listed.contains(id) {
                held.heard = u64::MAX;
                held.settled = None;
                names.extend(held.by.iter().cloned());
            }
        }
        index.tell(names);
    }

    /// Returns the names of revisions one of whose objects changed, each as often as something changed since it was taken.
    pub(crate) fn drift(&self) -> impl Stream<Item = String> + Send + use<> {
        let listener = Arc::new(Listener::default());
        self.index().listeners.push(Arc::downgrade(&listener));
        stream::unfold(listener, |listener| async move {
            loop {
                let more = listener.more.notified();
                if let Some(name) = listener.take() {
                    drop(more);
                    return Some((name, listener));
                }
                more.await;
            }
        })
    }

    /// Returns how many kinds are watched.
    pub(crate) fn count(&self) -> usize {
        self.index().running.len()
    }
}

impl Index {
    /// Notes that a revision doesn't hold an object any more; returns whether none does.
    fn let_go(&mut self, revision: &str, id: &ObjectId) -> bool {
        let Some(held) = self.objects.get_mut(id) else {
            return false;
        };
        held.by.remove(revision);
        let is_free = held.by.is_empty();
        if is_free {
            self.objects.remove(id);
        }
        is_free
    }

    fn tell(&mut self, revisions: impl IntoIterator<Item = String>) {
        let revisions: BTreeSet<String> = revisions.into_iter().collect();
        if revisions.is_empty() {
            return;
        }
        self.listeners.retain(|listener| {
            let Some(listener) = listener.upgrade() else {
                return false;
            };
            let mut waiting = listener.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.extend(revisions.iter().cloned());
            drop(waiting);
            listener.more.notify_one();
            true
        });
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        for watch in self.running.values() {
            watch.task.abort();
        }
    }
}

impl Listener {
    fn take(&self) -> Option<String> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.pop_first()
    }
}

fn id_of(kind: &Kind, metadata: &ObjectMeta) -> ObjectId {
    ObjectId {
        api_version: kind.0.clone(),
        kind: kind.1.clone(),
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
    }
}

fn version_of(metadata: &ObjectMeta) -> Option<u64> {
    metadata.resource_version.as_deref()?.parse().ok()
}

fn owners_of(metadata: &ObjectMeta) -> impl Iterator<Item = String> + '_ {
    metadata
        .owner_references
        .iter()
        .flatten()
        .filter(|reference| reference.kind == REVISION_KIND && reference.api_version.starts_with(keys::GROUP))
        .map(|reference| reference.name.clone())
}
