//! What is worked out from objects and kept as they change.
//!
//! Nothing runs in the background: whoever asks brings it up to the store's revision first, which costs a comparison where
//! nothing was written. So what is answered holds for every write that was answered before.

use std::fmt::Debug;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use super::{EventKind, ResourceKey, Store, Stored, Watch};

/// Something that is worked out from objects, one change at a time.
pub trait Derived: Debug {
    /// Forgets everything, because all objects are about to be told again.
    fn clear(&mut self);

    /// Takes in a change: an object as it was, which is missing for a new one, and as it is, which is missing for one that
    /// is gone.
    fn apply(&mut self, before: Option<&Stored>, after: Option<&Stored>);
}

/// What is derived from the objects of some resources, and how far it has followed the store.
#[derive(Debug)]
pub struct Followed<D> {
    store: Store,
    resources: Vec<ResourceKey>,
    state: RwLock<State<D>>,
}

#[derive(Debug)]
struct State<D> {
    derived: D,
    revision: u64,
    /// The watch of each resource; empty before the first look.
    watches: Vec<Watch>,
}

impl<D: Derived> Followed<D> {
    /// Has something follow the objects of some resources; they are read when it is asked first.
    pub fn new(store: &Store, resources: Vec<ResourceKey>, derived: D) -> Self {
        Self {
            store: store.clone(),
            resources,
            state: RwLock::new(State {
                derived,
                revision: 0,
                watches: Vec::new(),
            }),
        }
    }

    /// Asks as the store is now.
    pub fn ask<T>(&self, question: impl FnOnce(&D) -> T) -> T {
        question(&self.now().derived)
    }

    fn now(&self) -> RwLockReadGuard<'_, State<D>> {
        // What is published by now is in the rings, which are read after this.
        let revision = self.store.revision();
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        if state.revision >= revision && !state.watches.is_empty() {
            return state;
        }
        drop(state);
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.revision < revision || state.watches.is_empty() {
            self.follow(&mut state);
            state.revision = revision;
        }
        drop(state);
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn follow(&self, state: &mut State<D>) {
        if state.watches.is_empty() || !drain(state) {
            // The first look, or so much was written that the place in a ring is lost.
            while !self.read_all(state) {}
        }
    }

    /// Reads all objects; whether this was quick enough to go on from there.
    fn read_all(&self, state: &mut State<D>) -> bool {
        state.derived.clear();
        state.watches.clear();
        let mut watches = Vec::with_capacity(self.resources.len());
        for resource in &self.resources {
            let Ok(listing) = self.store.list(resource, None, None, None, None) else {
                return false;
            };
            for stored in &listing.items {
                state.derived.apply(None, Some(stored));
            }
            let Ok(watch) = self.store.watch(resource, None, listing.revision) else {
                return false;
            };
            watches.push(watch);
        }
        state.watches = watches;
        drain(state)
    }
}

/// Takes in what has happened; `false` where a place in a ring was lost.
fn drain<D: Derived>(state: &mut State<D>) -> bool {
    let State { derived, watches, .. } = state;
    for watch in watches {
        loop {
            match watch.try_next() {
                Ok(Some(event)) => {
                    let object = &*event.object;
                    let previous = event.previous.as_deref();
                    if event.kind == EventKind::Deleted {
                        derived.apply(previous.or(Some(object)), None);
                    } else {
                        derived.apply(previous, Some(object));
                    }
                }
                Ok(None) => break,
                Err(_) => return false,
            }
        }
    }
    true
}
