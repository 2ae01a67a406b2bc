//! How much work there is, how it goes, and what there is of each kind, with upstream's names.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use apply::object::text;
use classic::{Kind, World};
use duty::metrics::{LoopMetrics, head, loops_text, queues_text};
use duty::queue::Reading;
use serde_json::Value;
use service_version::Concern;

use crate::concerns::Thing;

/// Counts what the loops do.
#[derive(Debug, Default)]
pub struct Metrics {
    versions: LoopMetrics,
    groups: LoopMetrics,
    conditions: LoopMetrics,
    operators: LoopMetrics,
    namespaces: LoopMetrics,
    subscriptions: LoopMetrics,
    plans: LoopMetrics,
    sources: LoopMetrics,
    upgrades: AtomicU64,
    warnings: AtomicU64,
    snapshots: AtomicU64,
    resolutions: Mutex<BTreeMap<&'static str, Durations>>,
}

/// How many resolutions are remembered for the quantiles.
const REMEMBERED: usize = 512;

#[derive(Debug, Default)]
struct Durations {
    count: u64,
    sum: Duration,
    last: Vec<Duration>,
}

impl Metrics {
    /// Returns the counters of the loop that looks at a thing.
    pub fn of(&self, thing: &Thing) -> &LoopMetrics {
        match thing {
            Thing::Operators(concern) => match concern {
                Concern::ServiceVersion(_) | Concern::Retry(_) | Concern::Copies(_) => &self.versions,
                Concern::OperatorGroup(_) | Concern::Namespace(_) | Concern::OlmConfig => &self.groups,
                Concern::OperatorCondition(_) => &self.conditions,
                Concern::Operator(_)
                | Concern::Subscription(_)
                | Concern::InstallPlan(_)
                | Concern::Components(_) => &self.operators,
            },
            Thing::Namespace(_) | Thing::Discovery => &self.namespaces,
            Thing::Subscription(_) => &self.subscriptions,
            Thing::Plan(_) | Thing::Permissions(_) | Thing::Definition(_) => &self.plans,
            Thing::Source(_) => &self.sources,
        }
    }

    /// Counts a version that is being replaced.
    pub fn upgrade_begun(&self) {
        self.upgrades.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts what the API server warned of while a plan was carried out.
    pub fn warned(&self, count: usize) {
        self.warnings
            .fetch_add(u64::try_from(count).unwrap_or(0), Ordering::Relaxed);
    }

    /// Counts a catalog that was read.
    pub fn catalog_read(&self) {
        self.snapshots.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a resolution.
    pub fn resolved(&self, is_good: bool, took: Duration) {
        let outcome = if is_good { "succeeded" } else { "failed" };
        let mut resolutions = self.resolutions.lock().unwrap_or_else(PoisonError::into_inner);
        let durations = resolutions.entry(outcome).or_default();
        durations.count += 1;
        durations.sum += took;
        if durations.last.len() >= REMEMBERED {
            durations.last.remove(0);
        }
        durations.last.push(took);
    }

    /// Writes everything in the text format of Prometheus.
    pub fn text(&self, world: &World, queue: Reading, ready: &[(String, String, bool)]) -> String {
        let loops = [
            ("clusterserviceversions", &self.versions),
            ("operatorgroups", &self.groups),
            ("operatorcondition", &self.conditions),
            ("operator", &self.operators),
            ("resolve", &self.namespaces),
            ("subscriptions", &self.subscriptions),
            ("installplans", &self.plans),
            ("catalogsources", &self.sources),
        ];
        let mut out = loops_text(&loops) + &queues_text(&[("classic-controller", queue)]);
        counts(&mut out, world);
        versions(&mut out, world);
        subscriptions(&mut out, world);
        head(
            &mut out,
            "catalogsource_ready",
            "gauge",
            "State of a CatalogSource. 1 indicates that the CatalogSource is in a READY state.",
        );
        for (namespace, name, is_ready) in ready {
            let value = u8::from(*is_ready);
            writeln!(
                out,
                "catalogsource_ready{{namespace=\"{namespace}\",name=\"{name}\"}} {value}"
            )
            .ok();
        }
        for (name, help, counter) in [
            (
                "csv_upgrade_count",
                "Monotonic count of CSV upgrades",
                &self.upgrades,
            ),
            (
                "installplan_warnings_total",
                "Monotonic count of resources that generated warnings when applied",
                &self.warnings,
            ),
            (
                "catalog_source_snapshots_total",
                "Monotonic count of catalogs that were read",
                &self.snapshots,
            ),
        ] {
            head(&mut out, name, "counter", help);
            writeln!(out, "{name} {}", counter.load(Ordering::Relaxed)).ok();
        }
        self.resolution_text(&mut out);
        out
    }

    fn resolution_text(&self, out: &mut String) {
        const NAME: &str = "olm_resolution_duration_seconds";
        head(
            out,
            NAME,
            "summary",
            "The duration of a dependency resolution attempt",
        );
        let resolutions = self.resolutions.lock().unwrap_or_else(PoisonError::into_inner);
        for (outcome, durations) in resolutions.iter() {
            let mut sorted = durations.last.clone();
            sorted.sort_unstable();
            for (quantile, percent) in [("0.9", 90), ("0.95", 95), ("0.99", 99)] {
                let position = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
                let seconds = sorted.get(position).map_or(0.0, Duration::as_secs_f64);
                writeln!(
                    out,
                    "{NAME}{{outcome=\"{outcome}\",quantile=\"{quantile}\"}} {seconds}"
                )
                .ok();
            }
            writeln!(
                out,
                "{NAME}_sum{{outcome=\"{outcome}\"}} {}",
                durations.sum.as_secs_f64()
            )
            .ok();
            writeln!(out, "{NAME}_count{{outcome=\"{outcome}\"}} {}", durations.count).ok();
        }
    }
}

/// The label value as Prometheus takes it.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

fn counts(out: &mut String, world: &World) {
    for (name, help, count) in [
        (
            "csv_count",
            "Number of CSVs successfully registered",
            world.originals().count(),
        ),
        (
            "install_plan_count",
            "Number of install plans",
            world.all(Kind::InstallPlan).count(),
        ),
        (
            "subscription_count",
            "Number of subscriptions",
            world.all(Kind::Subscription).count(),
        ),
        (
            "catalog_source_count",
            "Number of catalog sources",
            world.all(Kind::CatalogSource).count(),
        ),
    ] {
        head(out, name, "gauge", help);
        writeln!(out, "{name} {count}").ok();
    }
}

fn versions(out: &mut String, world: &World) {
    let of = |object: &Value| {
        format!(
            "namespace=\"{}\",name=\"{}\",version=\"{}\"",
            escaped(text(object, "/metadata/namespace")),
            escaped(text(object, "/metadata/name")),
            escaped(text(object, "/spec/version"))
        )
    };
    head(out, "csv_succeeded", "gauge", "Successful CSV install");
    for object in world.originals() {
        let value = u8::from(text(object, "/status/phase") == "Succeeded");
        writeln!(out, "csv_succeeded{{{}}} {value}", of(object)).ok();
    }
    head(out, "csv_abnormal", "gauge", "CSV is not installed");
    for object in world
        .originals()
        .filter(|object| text(object, "/status/phase") != "Succeeded")
    {
        writeln!(
            out,
            "csv_abnormal{{{},phase=\"{}\",reason=\"{}\"}} 1",
            of(object),
            escaped(text(object, "/status/phase")),
            escaped(text(object, "/status/reason"))
        )
        .ok();
    }
}

fn subscriptions(out: &mut String, world: &World) {
    head(
        out,
        "subscription_sync_total",
        "counter",
        "Monotonic count of subscription syncs",
    );
    for object in world.all(Kind::Subscription) {
        let approval = match text(object, "/spec/installPlanApproval") {
            "" => "Automatic",
            approval => approval,
        };
        writeln!(
            out,
            "subscription_sync_total{{name=\"{}\",installed=\"{}\",channel=\"{}\",package=\"{}\",approval=\"{}\"}} 1",
            escaped(text(object, "/metadata/name")),
            escaped(text(object, "/status/installedCSV")),
            escaped(text(object, "/spec/channel")),
            escaped(text(object, "/spec/name")),
            escaped(approval)
        )
        .ok();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_names_are_those_that_dashboards_know() {
        let mut world = World::default();
        world.put(json!({
            "kind": "ClusterServiceVersion", "metadata": {"name": "a", "namespace": "n"},
            "spec": {"version": "1.0.0"}, "status": {"phase": "Pending", "reason": "RequirementsNotMet"},
        }));
        let metrics = Metrics::default();
        metrics.resolved(true, Duration::from_millis(250));
        metrics.upgrade_begun();
        let text = metrics.text(
            &world,
            Reading::default(),
            &[("n".to_owned(), "c".to_owned(), true)],
        );
        for line in [
            "csv_count 1",
            "csv_succeeded{namespace=\"n\",name=\"a\",version=\"1.0.0\"} 0",
            "csv_abnormal{namespace=\"n\",name=\"a\",version=\"1.0.0\",phase=\"Pending\",reason=\"RequirementsNotMet\"} 1",
            "catalogsource_ready{namespace=\"n\",name=\"c\"} 1",
            "csv_upgrade_count 1",
            "olm_resolution_duration_seconds{outcome=\"succeeded\",quantile=\"0.99\"} 0.25",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
