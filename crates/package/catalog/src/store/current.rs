//! The store that is served at the moment.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use super::Store;

/// The store that is served at the moment; another one can take its place while thousands read.
///
/// Readers take a reference to the store as it is at that instant and keep it for the whole of one answer, so an
/// answer never mixes two catalogs. Neither side has a lock: with a read-write lock a reader that arrives while the
/// store is replaced would wait for its turn, here it gets the old or the new one at once. The file of a replaced
/// store stays mapped until its last reader is done.
#[derive(Debug, Default)]
pub struct CurrentStore {
    store: ArcSwapOption<Store>,
}

impl CurrentStore {
    /// Begins with a store.
    pub fn new(store: Store) -> Self {
        Self {
            store: ArcSwapOption::from_pointee(store),
        }
    }

    /// The store of this instant; `None` before the first.
    pub fn get(&self) -> Option<Store> {
        self.store.load().as_deref().cloned()
    }

    /// Puts `store` in the place of the one before, which is returned.
    pub fn replace(&self, store: Store) -> Option<Store> {
        self.store.swap(Some(Arc::new(store))).as_deref().cloned()
    }

    /// Takes the store away, and returns it.
    pub fn clear(&self) -> Option<Store> {
        self.store.swap(None).as_deref().cloned()
    }
}
