//! How much work there is and how it goes, with upstream's names.

use duty::metrics::{LoopMetrics, loops_text, queues_text};
use duty::queue::Reading;

/// Counts what both control loops do.
#[derive(Debug, Default)]
pub struct Metrics {
    /// The loop of extensions.
    pub extensions: LoopMetrics,
    /// The loop of revisions.
    pub object_sets: LoopMetrics,
}

/// The loops, by the names that upstream's dashboards know.
const EXTENSIONS: &str = "controller-operator-cluster-extension-controller";
const OBJECT_SETS: &str = "controller-operator-clusterobjectset-controller";

impl Metrics {
    /// Writes everything in the text format of Prometheus; both loops have one queue.
    pub fn text(&self, queue: Reading) -> String {
        let loops = [(EXTENSIONS, &self.extensions), (OBJECT_SETS, &self.object_sets)];
        loops_text(&loops) + &queues_text(&[("extension-controller", queue)])
    }
}
