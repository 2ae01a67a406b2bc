//! Keeps the policy as the store has it.
//!
//! Nothing runs in the background: whoever asks brings the policy up to the store's revision first, which costs a
//! comparison where nothing was written. So a binding holds as soon as its write is answered.

use std::sync::PoisonError;
use std::sync::{RwLock, RwLockReadGuard};

use super::policy::Policy;
use crate::store::{EventKind, ResourceKey, Store, Stored, Watch};

/// The API group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";

/// What the policy is made of, and whether it is roles or bindings.
const RESOURCES: [(&str, bool); 4] = [
    ("clusterroles", true),
    ("roles", true),
    ("clusterrolebindings", false),
    ("rolebindings", false),
];

/// The policy, and how far it has followed the store.
#[derive(Debug)]
pub struct Followed {
    store: Store,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    policy: Policy,
    revision: u64,
    /// The watch of each resource; empty before the first look.
    watches: Vec<(bool, Watch)>,
}

impl Followed {
    /// Returns the policy of a store.
    pub fn new(store: Store) -> Self {
        Self {
            store,
            state: RwLock::default(),
        }
    }

    /// Asks the policy as the store has it now.
    pub fn ask<T>(&self, question: impl FnOnce(&Policy) -> T) -> T {
        question(&self.now().policy)
    }

    fn now(&self) -> RwLockReadGuard<'_, State> {
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

    fn follow(&self, state: &mut State) {
        if state.watches.is_empty() || !drain(state) {
            // The first look, or so much was written that the place in a ring is lost.
            while !self.read_all(state) {}
        }
    }

    /// Reads all roles and bindings; whether this was quick enough to go on from there.
    fn read_all(&self, state: &mut State) -> bool {
        state.policy = Policy::default();
        state.watches.clear();
        let mut watches = Vec::with_capacity(RESOURCES.len());
        for (plural, is_role) in RESOURCES {
            let resource = ResourceKey::new(GROUP, plural);
            let Ok(listing) = self.store.list(&resource, None, None, None, None) else {
                return false;
            };
            for stored in &listing.items {
                put(&mut state.policy, is_role, stored);
            }
            let Ok(watch) = self.store.watch(&resource, None, listing.revision) else {
                return false;
            };
            watches.push((is_role, watch));
        }
        state.watches = watches;
        drain(state)
    }
}

/// Takes in what has happened; `false` where a place in a ring was lost.
fn drain(state: &mut State) -> bool {
    let State { policy, watches, .. } = state;
    for (is_role, watch) in watches {
        loop {
            match watch.try_next() {
                Ok(Some(event)) if event.kind == EventKind::Deleted => {
                    let key = &event.object.key;
                    if *is_role {
                        policy.remove_role(&key.namespace, &key.name);
                    } else {
                        policy.remove_binding(&key.namespace, &key.name);
                    }
                }
                Ok(Some(event)) => put(policy, *is_role, &event.object),
                Ok(None) => break,
                Err(_) => return false,
            }
        }
    }
    true
}

fn put(policy: &mut Policy, is_role: bool, stored: &Stored) {
    let (key, value) = (&stored.key, stored.value());
    if is_role {
        policy.put_role(&key.namespace, &key.name, &value);
    } else {
        policy.put_binding(&key.namespace, &key.name, &value);
    }
}
