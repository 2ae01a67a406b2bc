//! What an operator answers to who asks whether it is ready.

use std::sync::{Arc, PoisonError, RwLock};

use duty::leader::Tenure;
use helm_operator::replica::Replica;
use tokio::sync::watch;

/// Whether this process is ready.
#[derive(Clone)]
pub(super) struct Readiness {
    lease: String,
    holder: watch::Receiver<Option<String>>,
    leads: watch::Receiver<bool>,
    /// Of the controller of the present term.
    watches_are_read: Arc<RwLock<watch::Receiver<bool>>>,
}

impl Readiness {
    /// Begins with a controller that may never work.
    pub(super) fn new(
        tenure: &Tenure,
        leads: watch::Receiver<bool>,
        watches_are_read: watch::Receiver<bool>,
    ) -> Self {
        Self {
            lease: format!("{}/{}", tenure.namespace, tenure.lease),
            holder: tenure.holder.subscribe(),
            leads,
            watches_are_read: Arc::new(RwLock::new(watches_are_read)),
        }
    }

    /// Another controller works from now on.
    pub(super) fn follow(&self, watches_are_read: watch::Receiver<bool>) {
        *self
            .watches_are_read
            .write()
            .unwrap_or_else(PoisonError::into_inner) = watches_are_read;
    }

    /// Says why it is ready, or why not.
    pub(super) fn answer(&self) -> Result<String, String> {
        if *self.leads.borrow() {
            let watches_are_read = self.watches_are_read.read();
            let watches_are_read = *watches_are_read.unwrap_or_else(PoisonError::into_inner).borrow();
            return Replica::Leads { watches_are_read }.readiness();
        }
        let holder = self.holder.borrow();
        let waits = Replica::Waits {
            lease: &self.lease,
            holder: holder.as_deref(),
        };
        waits.readiness()
    }
}
