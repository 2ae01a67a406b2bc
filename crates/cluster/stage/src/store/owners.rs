//! Which objects name which owner.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::key::Key;
use super::ring::{Event, EventKind};

/// The keys of the objects that have an owner, by the owner's uid.
#[derive(Debug, Default)]
pub(super) struct Owners {
    dependents: HashMap<Arc<str>, BTreeSet<Key>>,
}

impl Owners {
    pub(super) fn of(&self, uid: &str) -> Vec<Key> {
        self.dependents
            .get(uid)
            .map(|keys| keys.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// Returns whether a change says anything new about owners; most don't.
    pub(super) fn concern(event: &Event) -> bool {
        let before = event
            .previous
            .as_ref()
            .map(|previous| &*previous.owners)
            .unwrap_or_default();
        before != Self::after(event)
    }

    fn after(event: &Event) -> &[Arc<str>] {
        if event.kind == EventKind::Deleted {
            &[]
        } else {
            &event.object.owners
        }
    }

    pub(super) fn apply(&mut self, event: &Event) {
        let key = &event.object.key;
        for uid in event.previous.iter().flat_map(|previous| &previous.owners) {
            if let Some(keys) = self.dependents.get_mut(uid) {
                keys.remove(key);
                if keys.is_empty() {
                    self.dependents.remove(uid);
                }
            }
        }
        for uid in Self::after(event) {
            self.insert(uid, key);
        }
    }

    pub(super) fn insert(&mut self, uid: &Arc<str>, key: &Key) {
        self.dependents
            .entry(uid.clone())
            .or_default()
            .insert(key.clone());
    }
}
