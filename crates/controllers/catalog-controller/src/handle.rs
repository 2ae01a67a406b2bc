//! Catalogs for those in the same process, without a request.

use std::sync::Arc;

use catalog::store::Store;
use tokio::sync::watch;

use crate::contents::{Contents, Served};
use crate::metrics::Metrics;

/// What is served at the moment. Copies share it.
#[derive(Debug, Clone)]
pub struct Handle {
    contents: Arc<Contents>,
    metrics: Arc<Metrics>,
}

impl Handle {
    pub(crate) fn new(contents: Arc<Contents>, metrics: Arc<Metrics>) -> Self {
        Self { contents, metrics }
    }

    /// Serves contents that no controller looks after.
    pub fn of(contents: Arc<Contents>) -> Self {
        Self::new(contents, Arc::default())
    }

    /// The image that a catalog is served from, by digest, and its content.
    pub fn store(&self, name: &str) -> Option<(String, Arc<Store>)> {
        let served = self.contents.get(name)?;
        Some((served.reference().to_owned(), Arc::clone(served.store())))
    }

    /// Waits until a catalog is served from an image that is given by digest.
    ///
    /// Whoever reads in a status what is served may be faster than the replica that it runs in.
    pub async fn wait_for(&self, name: &str, reference: &str) -> Arc<Store> {
        let mut changes = self.contents.changes();
        loop {
            if let Some((_, store)) = self.store(name).filter(|(served, _)| served == reference) {
                return store;
            }
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// A counter that moves whenever something else is served.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.contents.changes()
    }

    /// What was counted since the process began.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn served(&self, name: &str) -> Option<Arc<Served>> {
        self.contents.get(name)
    }

    pub(crate) fn contents(&self) -> &Arc<Contents> {
        &self.contents
    }

    pub(crate) fn shared_metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.metrics)
    }
}
