//! The terms on which a Lease is held: its name, how long it lasts, and what is done to keep it.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;

/// How a Lease is held.
#[derive(Debug, Clone)]
pub struct Tenure {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub lease: String,
    /// Who claims it; no other process may have the same.
    pub identity: String,
    /// How long a claim lasts that is not renewed.
    pub lasts: Duration,
    /// How long the holder tries to renew before it gives up.
    pub renews_within: Duration,
    /// How often it is tried.
    pub every: Duration,
    /// Whether the namespace is made again when it is gone. Who lives in it is gone as well, and who may not make it needn't try.
    pub makes_namespace: bool,
    /// What the Lease says of who holds it, in its labels. They are written with each claim, and go when it is given back.
    pub labels: BTreeMap<String, String>,
    /// The same, in its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Who was last seen to hold the Lease; none where nobody did. It is told here for who wants to know what is waited for.
    pub holder: watch::Sender<Option<String>>,
}

impl Tenure {
    /// Holds a Lease as upstream does.
    pub fn new(namespace: &str, lease: &str, identity: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            lease: lease.to_owned(),
            identity: identity.to_owned(),
            lasts: Duration::from_secs(137),
            renews_within: Duration::from_secs(107),
            every: Duration::from_secs(26),
            makes_namespace: false,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            holder: watch::Sender::new(None),
        }
    }

    /// How long what was begun while the Lease was held has to come to an end before others may hold it.
    pub fn settles_within(&self) -> Duration {
        self.lasts.saturating_sub(self.renews_within)
    }
}
