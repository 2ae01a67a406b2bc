//! How much work there is and how it goes, in the text format of Prometheus and with upstream's names.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What became of looking at a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Success,
    /// It is looked at again at once.
    Requeue,
    /// It is looked at again after a time.
    RequeueAfter,
    /// It did not work, and is tried again.
    Error,
    /// The controller itself failed.
    Panic,
}

const OUTCOMES: [(Outcome, &str); 5] = [
    (Outcome::Success, "success"),
    (Outcome::Requeue, "requeue"),
    (Outcome::RequeueAfter, "requeue_after"),
    (Outcome::Error, "error"),
    (Outcome::Panic, "panic"),
];

/// The bounds of the durations that are told apart, in milliseconds.
const BOUNDS: [u64; 12] = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 60_000];

/// Counts what one of the control loops does.
#[derive(Debug, Default)]
pub struct LoopMetrics {
    outcomes: [AtomicU64; 5],
    /// How many took no longer than each of the bounds; not cumulated.
    durations: [AtomicU64; BOUNDS.len() + 1],
    microseconds: AtomicU64,
    active: AtomicU64,
}

impl LoopMetrics {
    /// Says that a worker begins.
    pub fn begin(&self) {
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    /// Says that a worker is done, and how it went.
    pub fn end(&self, outcome: Outcome, took: Duration) {
        self.active.fetch_sub(1, Ordering::Relaxed);
        let position = OUTCOMES.iter().position(|(known, _)| *known == outcome);
        if let Some(counter) = position.and_then(|position| self.outcomes.get(position)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().position(|bound| milliseconds <= *bound);
        if let Some(counter) = self.durations.get(bucket.unwrap_or(BOUNDS.len())) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
    }

    /// Returns how often something ended like this.
    pub fn count(&self, outcome: Outcome) -> u64 {
        let position = OUTCOMES.iter().position(|(known, _)| *known == outcome);
        let counter = position.and_then(|position| self.outcomes.get(position));
        counter.map_or(0, |counter| counter.load(Ordering::Relaxed))
    }
}

/// Writes what several loops, each with its name, counted, in the text format of Prometheus.
pub fn loops_text(loops: &[(&str, &LoopMetrics)]) -> String {
    let mut out = String::new();
    head(
        &mut out,
        "controller_runtime_reconcile_total",
        "counter",
        "Total number of reconciliations per controller",
    );
    for &(name, counted) in loops {
        for ((_, result), counter) in OUTCOMES.iter().zip(&counted.outcomes) {
            let count = counter.load(Ordering::Relaxed);
            writeln!(
                out,
                "controller_runtime_reconcile_total{{controller=\"{name}\",result=\"{result}\"}} {count}"
            )
            .ok();
        }
    }
    head(
        &mut out,
        "controller_runtime_reconcile_errors_total",
        "counter",
        "Total number of reconciliation errors per controller",
    );
    for &(name, counted) in loops {
        let count = counted.count(Outcome::Error) + counted.count(Outcome::Panic);
        writeln!(
            out,
            "controller_runtime_reconcile_errors_total{{controller=\"{name}\"}} {count}"
        )
        .ok();
    }
    head(
        &mut out,
        "controller_runtime_reconcile_panics_total",
        "counter",
        "Total number of reconciliation panics per controller",
    );
    for &(name, counted) in loops {
        let count = counted.count(Outcome::Panic);
        writeln!(
            out,
            "controller_runtime_reconcile_panics_total{{controller=\"{name}\"}} {count}"
        )
        .ok();
    }
    head(
        &mut out,
        "controller_runtime_reconcile_time_seconds",
        "histogram",
        "Length of time per reconciliation per controller",
    );
    for &(name, counted) in loops {
        histogram(&mut out, name, counted);
    }
    head(
        &mut out,
        "controller_runtime_active_workers",
        "gauge",
        "Number of currently used workers per controller",
    );
    for &(name, counted) in loops {
        let active = counted.active.load(Ordering::Relaxed);
        writeln!(
            out,
            "controller_runtime_active_workers{{controller=\"{name}\"}} {active}"
        )
        .ok();
    }
    out
}

/// Writes how much waits in several queues, each with its name, in the text format of Prometheus.
pub fn queues_text(depths: &[(&str, usize)]) -> String {
    let mut out = String::new();
    head(&mut out, "workqueue_depth", "gauge", "Current depth of workqueue");
    for (name, depth) in depths {
        writeln!(out, "workqueue_depth{{name=\"{name}\"}} {depth}").ok();
    }
    out
}

/// Writes what stands above a metric.
pub fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}").ok();
}

fn histogram(out: &mut String, name: &str, counted: &LoopMetrics) {
    const METRIC: &str = "controller_runtime_reconcile_time_seconds";
    let mut total = 0;
    let bounds = BOUNDS.iter().map(|bound| (*bound as f64 / 1000.0).to_string());
    let bounds = bounds.chain(["+Inf".to_owned()]);
    for (bound, counter) in bounds.zip(&counted.durations) {
        total += counter.load(Ordering::Relaxed);
        writeln!(
            out,
            "{METRIC}_bucket{{controller=\"{name}\",le=\"{bound}\"}} {total}"
        )
        .ok();
    }
    let seconds = Duration::from_micros(counted.microseconds.load(Ordering::Relaxed)).as_secs_f64();
    writeln!(out, "{METRIC}_sum{{controller=\"{name}\"}} {seconds}").ok();
    writeln!(out, "{METRIC}_count{{controller=\"{name}\"}} {total}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_written() {
        let counted = LoopMetrics::default();
        counted.begin();
        counted.end(Outcome::Success, Duration::from_millis(7));
        counted.begin();
        counted.end(Outcome::Panic, Duration::from_secs(90));
        let text = loops_text(&[("stacks", &counted)]) + &queues_text(&[("stacks", 3)]);
        for line in [
            "controller_runtime_reconcile_total{controller=\"stacks\",result=\"success\"} 1",
            "controller_runtime_reconcile_panics_total{controller=\"stacks\"} 1",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"stacks\",le=\"0.01\"} 1",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"stacks\",le=\"+Inf\"} 2",
            "controller_runtime_active_workers{controller=\"stacks\"} 0",
            "workqueue_depth{name=\"stacks\"} 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
