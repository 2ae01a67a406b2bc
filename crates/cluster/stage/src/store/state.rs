//! What readers see: the stocks, and up to which revision they are true.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::disk_health::DiskHealth;
use super::key::{Key, ResourceKey};
use super::owners::Owners;
use super::stock::Stock;
use super::stored::Stored;

/// The revision of an empty store, which is etcd's: 0 has a meaning of its own in the API.
pub(super) const FIRST_REVISION: u64 = 1;

/// Everything that is in memory for readers.
#[derive(Debug)]
pub(super) struct State {
    stocks: RwLock<HashMap<ResourceKey, Arc<Stock>>>,
    pub(super) owners: RwLock<Owners>,
    /// What is above is not there yet for readers.
    pub(super) published: AtomicU64,
    /// What is below is not known any more.
    pub(super) compacted: AtomicU64,
    pub(super) closed: AtomicBool,
    pub(super) disk: Mutex<DiskHealth>,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            stocks: RwLock::default(),
            owners: RwLock::default(),
            published: AtomicU64::new(FIRST_REVISION),
            compacted: AtomicU64::new(FIRST_REVISION),
            closed: AtomicBool::new(false),
            disk: Mutex::default(),
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.published.load(Ordering::Acquire)
    }

    pub(super) fn stock(&self, resource: &ResourceKey) -> Option<Arc<Stock>> {
        self.stocks
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(resource)
            .cloned()
    }

    pub(super) fn stock_or_new(&self, resource: &ResourceKey) -> Arc<Stock> {
        if let Some(stock) = self.stock(resource) {
            return stock;
        }
        let mut stocks = self.stocks.write().unwrap_or_else(PoisonError::into_inner);
        stocks
            .entry(resource.clone())
            .or_insert_with(|| Arc::new(Stock::new(resource.clone())))
            .clone()
    }

    /// Returns all stocks, sorted by resource.
    pub(super) fn all(&self) -> Vec<Arc<Stock>> {
        let stocks = self.stocks.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = stocks.values().cloned().collect();
        all.sort_by(|left, right| left.resource.cmp(&right.resource));
        all
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<Stored>> {
        let stock = self.stock(&key.resource)?;
        stock.get(&key.position(), self.revision())
    }

    pub(super) fn owned_by(&self, uid: &str) -> Vec<Arc<Stored>> {
        let keys = self.owners.read().unwrap_or_else(PoisonError::into_inner).of(uid);
        keys.iter().filter_map(|key| self.get(key)).collect()
    }

    /// Ends all watches, and refuses writes from here on.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        for stock in self.all() {
            stock.bell.send_replace(());
        }
    }
}
