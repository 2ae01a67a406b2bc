//! How much work there is and how it goes, in the text format of Prometheus and with upstream's names.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::queue::{BOUNDS, Durations, Reading};

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
const BOUNDS_OF_LOOPS: [u64; 12] = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 60_000];

/// Counts what one of the control loops does.
#[derive(Debug, Default)]
pub struct LoopMetrics {
    outcomes: [AtomicU64; 5],
    /// How many took no longer than each of the bounds; not cumulated.
    durations: [AtomicU64; BOUNDS_OF_LOOPS.len() + 1],
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
        let bucket = BOUNDS_OF_LOOPS.iter().position(|bound| milliseconds <= *bound);
        if let Some(counter) = self.durations.get(bucket.unwrap_or(BOUNDS_OF_LOOPS.len())) {
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
        let durations: Vec<u64> = counted
            .durations
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .collect();
        histogram(
            &mut out,
            "controller_runtime_reconcile_time_seconds",
            &format!("controller=\"{name}\""),
            BOUNDS_OF_LOOPS
                .iter()
                .map(|bound| (*bound as f64 / 1000.0).to_string()),
            &durations,
            Duration::from_micros(counted.microseconds.load(Ordering::Relaxed)),
        );
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

/// Reads one number of a queue.
type Number = fn(&Reading) -> f64;

/// Reads how long something took in a queue.
type Times = fn(&Reading) -> &Durations;

/// Writes how several queues stand, each with its name, in the text format of Prometheus.
pub fn queues_text(queues: &[(&str, Reading)]) -> String {
    let mut out = String::new();
    let single: [(&str, &str, &str, Number); 5] = [
        (
            "workqueue_depth",
            "gauge",
            "Current depth of workqueue by workqueue and priority",
            |reading| reading.depth as f64,
        ),
        (
            "workqueue_adds_total",
            "counter",
            "Total number of adds handled by workqueue",
            |reading| reading.record.additions as f64,
        ),
        (
            "workqueue_retries_total",
            "counter",
            "Total number of retries handled by workqueue",
            |reading| reading.record.retries as f64,
        ),
        (
            "workqueue_unfinished_work_seconds",
            "gauge",
            "How many seconds of work has been done that is in progress and hasn't been observed by work_duration",
            |reading| reading.unfinished.as_secs_f64(),
        ),
        (
            "workqueue_longest_running_processor_seconds",
            "gauge",
            "How many seconds the longest running processor for workqueue has been running",
            |reading| reading.longest.as_secs_f64(),
        ),
    ];
    for (metric, kind, help, told) in single {
        head(&mut out, metric, kind, help);
        for (name, reading) in queues {
            let value = told(reading);
            writeln!(out, "{metric}{{controller=\"{name}\",name=\"{name}\"}} {value}").ok();
        }
    }
    let timed: [(&str, &str, Times); 2] = [
        (
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            |reading| &reading.record.waits,
        ),
        (
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes",
            |reading| &reading.record.works,
        ),
    ];
    for (metric, help, durations) in timed {
        head(&mut out, metric, "histogram", help);
        for (name, reading) in queues {
            let durations = durations(reading);
            let labels = format!("controller=\"{name}\",name=\"{name}\"");
            let bounds = BOUNDS.iter().map(|(_, text)| (*text).to_owned());
            histogram(
                &mut out,
                metric,
                &labels,
                bounds,
                &durations.counts,
                durations.sum,
            );
        }
    }
    out
}

/// Writes what stands above a metric.
pub fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}").ok();
}

/// Writes a histogram: how many were within each of the bounds, not cumulated, and the sum of all.
fn histogram(
    out: &mut String,
    metric: &str,
    labels: &str,
    bounds: impl Iterator<Item = String>,
    counts: &[u64],
    sum: Duration,
) {
    let mut total = 0;
    for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(counts) {
        total += count;
        writeln!(out, "{metric}_bucket{{{labels},le=\"{bound}\"}} {total}").ok();
    }
    writeln!(out, "{metric}_sum{{{labels}}} {}", sum.as_secs_f64()).ok();
    writeln!(out, "{metric}_count{{{labels}}} {total}").ok();
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
        let queue = Reading {
            depth: 3,
            ..Reading::default()
        };
        let text = loops_text(&[("stacks", &counted)]) + &queues_text(&[("stacks", queue)]);
        for line in [
            "controller_runtime_reconcile_total{controller=\"stacks\",result=\"success\"} 1",
            "controller_runtime_reconcile_panics_total{controller=\"stacks\"} 1",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"stacks\",le=\"0.01\"} 1",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"stacks\",le=\"+Inf\"} 2",
            "controller_runtime_active_workers{controller=\"stacks\"} 0",
            "workqueue_depth{controller=\"stacks\",name=\"stacks\"} 3",
            "workqueue_work_duration_seconds_bucket{controller=\"stacks\",name=\"stacks\",le=\"1e-08\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
