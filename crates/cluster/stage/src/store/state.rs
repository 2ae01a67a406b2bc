//! What readers see: the shelves, and up to which revision they are true.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::key::{Key, ResourceKey};
use super::owners::Owners;
use super::shelf::Shelf;
use super::stored::Stored;

/// The revision of an empty store, which is etcd's: 0 has a meaning of its own in the API.
pub(super) const FIRST_REVISION: u64 = 1;

/// Everything that is in memory for readers.
#[derive(Debug)]
pub(super) struct State {
    shelves: RwLock<HashMap<ResourceKey, Arc<Shelf>>>,
    pub(super) owners: RwLock<Owners>,
    /// What is above is not there yet for readers.
    pub(super) published: AtomicU64,
    /// What is below is not known any more.
    pub(super) compacted: AtomicU64,
    pub(super) closed: AtomicBool,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            shelves: RwLock::default(),
            owners: RwLock::default(),
            published: AtomicU64::new(FIRST_REVISION),
            compacted: AtomicU64::new(FIRST_REVISION),
            closed: AtomicBool::new(false),
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.published.load(Ordering::Acquire)
    }

    pub(super) fn shelf(&self, resource: &ResourceKey) -> Option<Arc<Shelf>> {
        self.shelves
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(resource)
            .cloned()
    }

    pub(super) fn shelf_or_new(&self, resource: &ResourceKey) -> Arc<Shelf> {
        if let Some(shelf) = self.shelf(resource) {
            return shelf;
        }
        let mut shelves = self.shelves.write().unwrap_or_else(PoisonError::into_inner);
        shelves
            .entry(resource.clone())
            .or_insert_with(|| Arc::new(Shelf::new(resource.clone())))
            .clone()
    }

    /// Returns all shelves, sorted by resource.
    pub(super) fn all(&self) -> Vec<Arc<Shelf>> {
        let shelves = self.shelves.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = shelves.values().cloned().collect();
        all.sort_by(|left, right| left.resource.cmp(&right.resource));
        all
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<Stored>> {
        let shelf = self.shelf(&key.resource)?;
        shelf.get(&key.position(), self.revision())
    }

    pub(super) fn owned_by(&self, uid: &str) -> Vec<Arc<Stored>> {
        let keys = self.owners.read().unwrap_or_else(PoisonError::into_inner).of(uid);
        keys.iter().filter_map(|key| self.get(key)).collect()
    }

    /// Ends all watches, and refuses writes from here on.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        for shelf in self.all() {
            shelf.bell.send_replace(());
        }
    }
}
