//! What an installation decides for itself: its namespaces and its patience.

use std::time::Duration;

/// The settings of the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The namespace of OLM itself; pull secrets of plans are copied from it.
    pub namespace: String,
    /// The namespace whose catalogs every namespace sees.
    pub global_namespace: String,
    /// How long a plan is retried before it counts as failed.
    pub plan_patience: Duration,
    /// How long pulling a bundle image may take, unless the OperatorGroup says otherwise.
    pub unpack_timeout: Duration,
    /// Whether a Subscription or a catalog that can't be resolved leaves the others of its namespace alone. Upstream's
    /// behaviour is false: one that fails stops all.
    pub failures_stay_apart: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            namespace: "olm".to_owned(),
            global_namespace: "olm".to_owned(),
            plan_patience: Duration::from_mins(1),
            unpack_timeout: Duration::from_mins(10),
            failures_stay_apart: true,
        }
    }
}
