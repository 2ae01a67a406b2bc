//! All objects of one resource, each with its versions since the last compaction.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::watch;

use super::key::{Key, Position, ResourceKey};
use super::listing::Listing;
use super::ring::{Event, EventKind, Ring};
use super::stored::Stored;

/// The objects, the recent events and the watchers of one resource.
#[derive(Debug)]
pub(super) struct Stock {
    pub(super) resource: ResourceKey,
    objects: RwLock<Objects>,
    ring: RwLock<Ring>,
    /// Tells watchers that there is something new; what it is they find in the ring.
    pub(super) bell: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Objects {
    chains: BTreeMap<Position, Chain>,
    /// How many of the chains end in an object, as opposed to a deletion.
    live: usize,
    /// The namespaces in use and by how many chains, so that objects share the name of their namespace.
    namespaces: HashMap<Arc<str>, usize>,
}

/// The versions of one object, of which there is usually one.
#[derive(Debug)]
struct Chain {
    newest: Version,
    older: Vec<Version>,
}

#[derive(Debug)]
enum Version {
    Present(Arc<Stored>),
    Deleted(u64),
}

impl Version {
    fn revision(&self) -> u64 {
        match self {
            Self::Present(object) => object.revision,
            Self::Deleted(revision) => *revision,
        }
    }

    fn object(&self) -> Option<&Arc<Stored>> {
        match self {
            Self::Present(object) => Some(object),
            Self::Deleted(_) => None,
        }
    }
}

impl Chain {
    fn at(&self, revision: u64) -> Option<&Arc<Stored>> {
        if self.newest.revision() <= revision {
            return self.newest.object();
        }
        self.older
            .iter()
            .rev()
            .find(|version| version.revision() <= revision)?
            .object()
    }

    fn push(&mut self, version: Version) {
        self.older.push(std::mem::replace(&mut self.newest, version));
    }

    /// Drops what nobody can ask for once `revision` is the oldest that is served.
    fn forget_before(&mut self, revision: u64) {
        if self.newest.revision() <= revision {
            self.older = Vec::new();
            return;
        }
        let newer = self
            .older
            .partition_point(|version| version.revision() <= revision);
        let base_is_deleted = newer
            .checked_sub(1)
            .and_then(|base| self.older.get(base))
            .is_some_and(|base| base.object().is_none());
        self.older.drain(
            ..if base_is_deleted {
                newer
            } else {
                newer.saturating_sub(1)
            },
        );
    }
}

impl Stock {
    pub(super) fn new(resource: ResourceKey) -> Self {
        Self {
            resource,
            objects: RwLock::default(),
            ring: RwLock::default(),
            bell: watch::Sender::new(()),
        }
    }

    fn objects(&self) -> RwLockReadGuard<'_, Objects> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn objects_mut(&self) -> RwLockWriteGuard<'_, Objects> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn ring(&self) -> RwLockReadGuard<'_, Ring> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn ring_mut(&self) -> RwLockWriteGuard<'_, Ring> {
        self.ring.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an object as of a revision.
    pub(super) fn get(&self, position: &Position, revision: u64) -> Option<Arc<Stored>> {
        self.objects().chains.get(position)?.at(revision).cloned()
    }

    /// Returns how many objects there are.
    pub(super) fn count(&self) -> usize {
        self.objects().live
    }

    /// Returns the key with the names that the stock already holds, so that each is in memory once.
    pub(super) fn intern(&self, key: &Key) -> Key {
        let objects = self.objects();
        let namespace = objects
            .namespaces
            .get_key_value(&key.namespace)
            .map(|(namespace, _)| namespace);
        Key {
            resource: self.resource.clone(),
            namespace: namespace.unwrap_or(&key.namespace).clone(),
            name: key.name.clone(),
        }
    }

    /// Puts an object in that was stored before; there is no event for it.
    pub(super) fn restore(&self, object: Arc<Stored>) {
        self.objects_mut()
            .push(object.key.position(), Version::Present(object));
    }

    /// Makes an event true; returns its sequence number in the ring.
    pub(super) fn apply(&self, event: &Arc<Event>, ring_limit: usize) -> u64 {
        let version = match event.kind {
            EventKind::Added | EventKind::Modified => Version::Present(event.object.clone()),
            EventKind::Deleted => Version::Deleted(event.revision),
        };
        self.objects_mut().push(event.object.key.position(), version);
        self.ring_mut().push(event.clone(), ring_limit)
    }

    /// Drops the versions of one object that are older than its version at a revision.
    pub(super) fn forget_before(&self, position: &Position, revision: u64) {
        let mut objects = self.objects_mut();
        let Some(chain) = objects.chains.get_mut(position) else {
            return;
        };
        chain.forget_before(revision);
        if chain.older.is_empty() && chain.newest.object().is_none() && chain.newest.revision() <= revision {
            objects.remove(position);
        }
    }

    /// Lists objects at a revision that `revision` chooses once nothing can be forgotten any more.
    pub(super) fn list<E>(
        &self,
        namespace: Option<&str>,
        after: Option<&Position>,
        limit: Option<usize>,
        revision: impl FnOnce() -> Result<u64, E>,
    ) -> Result<Listing, E> {
        let objects = self.objects();
        let revision = revision()?;
        let start = match (namespace, after) {
            (_, Some(after)) => Bound::Excluded(after.clone()),
            (Some(namespace), None) => Bound::Included(Position::new(namespace, "")),
            (None, None) => Bound::Unbounded,
        };
        let start = match (namespace, start) {
            // A page that goes on from another namespace still begins in this one.
            (Some(namespace), Bound::Excluded(after)) if after < Position::new(namespace, "") => {
                Bound::Included(Position::new(namespace, ""))
            }
            (_, start) => start,
        };
        let mut found = objects
            .chains
            .range((start, Bound::Unbounded))
            .take_while(|(position, _)| namespace.is_none_or(|namespace| *position.namespace == *namespace))
            .filter_map(|(_, chain)| chain.at(revision));
        let mut items = Vec::with_capacity(limit.unwrap_or(objects.live).min(objects.live));
        items.extend(found.by_ref().take(limit.unwrap_or(usize::MAX)).cloned());
        let remaining = found.count();
        let next = items
            .last()
            .filter(|_| remaining > 0)
            .map(|last| last.key.position());
        Ok(Listing {
            revision,
            items,
            remaining,
            next,
        })
    }
}

impl Objects {
    fn push(&mut self, position: Position, version: Version) {
        let is_present = version.object().is_some();
        let was_present = if let Some(chain) = self.chains.get_mut(&position) {
            let was_present = chain.newest.object().is_some();
            chain.push(version);
            was_present
        } else {
            *self.namespaces.entry(position.namespace.clone()).or_default() += 1;
            self.chains.insert(
                position,
                Chain {
                    newest: version,
                    older: Vec::new(),
                },
            );
            false
        };
        self.live = self.live + usize::from(is_present) - usize::from(was_present);
    }

    fn remove(&mut self, position: &Position) {
        if self.chains.remove(position).is_none() {
            return;
        }
        if let Some(users) = self.namespaces.get_mut(&position.namespace) {
            *users -= 1;
            if *users == 0 {
                self.namespaces.remove(&position.namespace);
            }
        }
    }
}
