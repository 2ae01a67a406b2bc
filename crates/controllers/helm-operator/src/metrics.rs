//! What an operator counts, with the names that upstream's operators have.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use duty::metrics::{LoopMetrics, head, loops_text, queues_text};
use duty::queue::Reading;

pub use duty::metrics::Outcome;

use crate::blueprint::Blueprint;
use crate::resource::CustomResource;
use crate::watches::Kind;
use crate::world::{Key, World};

/// Counts what an operator does.
pub struct Metrics {
    /// One loop for each watch, by the name of its controller.
    loops: Vec<(String, LoopMetrics)>,
    kinds: Vec<Kind>,
    /// When resources were made, in seconds since the epoch.
    created: Mutex<HashMap<Key, i64>>,
}

impl Metrics {
    /// Counts for watches.
    pub fn new(blueprints: &[Arc<Blueprint>]) -> Self {
        Self {
            loops: blueprints
                .iter()
                .map(|blueprint| {
                    let name = format!("{}-controller", blueprint.watch.kind.kind.to_lowercase());
                    (name, LoopMetrics::default())
                })
                .collect(),
            kinds: blueprints
                .iter()
                .map(|blueprint| blueprint.watch.kind.clone())
                .collect(),
            created: Mutex::default(),
        }
    }

    /// Says that a worker of a watch begins.
    pub fn begin(&self, watch: usize) {
        if let Some((_, counted)) = self.loops.get(watch) {
            counted.begin();
        }
    }

    /// Says that a worker of a watch is done, and how it went.
    pub fn end(&self, watch: usize, outcome: Outcome, took: Duration) {
        if let Some((_, counted)) = self.loops.get(watch) {
            counted.end(outcome, took);
        }
    }

    /// Notes when a resource was made.
    pub fn resource_seen(&self, watch: usize, resource: &CustomResource) {
        let key = Key {
            watch,
            resource: resource.id.clone(),
        };
        let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        created.insert(key, resource.created);
    }

    /// Forgets a resource.
    pub fn resource_gone(&self, key: &Key) {
        let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        created.remove(key);
    }

    /// Writes everything in the text format of Prometheus.
    pub fn text(&self, world: &World) -> String {
        let mut out = String::new();
        head(
            &mut out,
            "helm_operator_build_info",
            "gauge",
            "Build information for the helm-operator binary",
        );
        let version = env!("CARGO_PKG_VERSION");
        writeln!(
            out,
            "helm_operator_build_info{{commit=\"unknown\",version=\"{version}\"}} 1"
        )
        .ok();
        head(
            &mut out,
            "resource_created_at_seconds",
            "gauge",
            "Timestamp at which a resource was created",
        );
        {
            let created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
            for (key, seconds) in created.iter() {
                let Some(Kind { group, version, kind }) = self.kinds.get(key.watch) else {
                    continue;
                };
                let (name, namespace) = (&key.resource.name, &key.resource.namespace);
                writeln!(
                    out,
                    "resource_created_at_seconds{{group=\"{group}\",kind=\"{kind}\",name=\"{name}\",namespace=\"{namespace}\",version=\"{version}\"}} {seconds}"
                )
                .ok();
            }
        }
        let loops: Vec<(&str, &LoopMetrics)> = self
            .loops
            .iter()
            .map(|(name, counted)| (name.as_str(), counted))
            .collect();
        out.push_str(&loops_text(&loops));
        let queues: Vec<(&str, Reading)> = self
            .loops
            .iter()
            .zip(&world.queues)
            .map(|((name, _), queue)| (name.as_str(), queue.reading()))
            .collect();
        out.push_str(&queues_text(&queues));
        out
    }
}
