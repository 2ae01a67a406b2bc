//! What was made of stored objects, kept until they change.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use serde_json::Value;

use crate::store::{ResourceKey, Store};

/// What was made of each object of a resource. A look costs one comparison per object.
pub struct Kept<T> {
    resource: ResourceKey,
    made: ArcSwap<Vec<Made<T>>>,
}

struct Made<T> {
    uid: Arc<str>,
    revision: u64,
    value: Arc<T>,
}

impl<T> Clone for Made<T> {
    fn clone(&self) -> Self {
        Self {
            uid: self.uid.clone(),
            revision: self.revision,
            value: self.value.clone(),
        }
    }
}

impl<T> fmt::Debug for Kept<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Kept")
            .field("resource", &self.resource)
            .finish_non_exhaustive()
    }
}

impl<T> Kept<T> {
    /// Returns an empty shelf for a resource.
    pub fn new(group: &str, plural: &str) -> Self {
        Self {
            resource: ResourceKey::new(group, plural),
            made: ArcSwap::default(),
        }
    }

    /// Returns what `make` makes of each object, in the order of their names.
    pub fn all(&self, store: &Store, make: impl Fn(&Value) -> T) -> Vec<Arc<T>> {
        if store.count(&self.resource) == 0 {
            return Vec::new();
        }
        let Ok(listing) = store.list(&self.resource, None, None, None, None) else {
            return Vec::new();
        };
        let known = self.made.load();
        let same = known.len() == listing.items.len()
            && known
                .iter()
                .zip(&listing.items)
                .all(|(made, stored)| made.revision == stored.revision && made.uid == stored.uid);
        if same {
            return known.iter().map(|made| made.value.clone()).collect();
        }
        let made: Vec<Made<T>> = listing
            .items
            .iter()
            .map(|stored| {
                let unchanged = known
                    .iter()
                    .find(|made| made.revision == stored.revision && made.uid == stored.uid);
                unchanged.cloned().unwrap_or_else(|| Made {
                    uid: stored.uid.clone(),
                    revision: stored.revision,
                    value: Arc::new(make(&stored.value())),
                })
            })
            .collect();
        let values = made.iter().map(|made| made.value.clone()).collect();
        self.made.store(Arc::new(made));
        values
    }
}
