//! How much work there is and how it goes, with upstream's names.

use std::sync::atomic::{AtomicUsize, Ordering};

use duty::metrics::{LoopMetrics, loops_text, queues_text};

/// Counts what both control loops do.
#[derive(Debug, Default)]
pub struct Metrics {
    /// The loop of extensions.
    pub extensions: LoopMetrics,
    /// The loop of revisions.
    pub object_sets: LoopMetrics,
    depth: AtomicUsize,
}

/// The loops, by the names that upstream's dashboards know.
const EXTENSIONS: &str = "controller-operator-cluster-extension-controller";
const OBJECT_SETS: &str = "controller-operator-clusterobjectset-controller";

impl Metrics {
    /// Says how much waits for a worker.
    pub fn set_depth(&self, depth: usize) {
        self.depth.store(depth, Ordering::Relaxed);
    }

    /// Writes everything in the text format of Prometheus.
    pub fn text(&self) -> String {
        let loops = [(EXTENSIONS, &self.extensions), (OBJECT_SETS, &self.object_sets)];
        loops_text(&loops) + &queues_text(&[("extension-controller", self.depth.load(Ordering::Relaxed))])
    }
}
