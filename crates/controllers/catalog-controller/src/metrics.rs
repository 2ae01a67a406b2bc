//! Numbers for those who watch, under the names that upstream has for them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The histogram of requests.
const REQUESTS: &str = "catalogd_http_request_duration_seconds";
/// How often catalogs were looked after.
const RECONCILES: &str = "controller_runtime_reconcile_total";
/// The name of this controller in metrics, as upstream has it.
const CONTROLLER: &str = "catalogd-clustercatalog-controller";

/// The upper ends of the histogram's buckets in milliseconds: for an Apdex with a threshold of half a second.
const BUCKETS: [u32; 19] = [
    100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1200, 1600, 2000, 2400, 2800, 3200, 3600, 4000, 10000,
];

/// What was counted since the process began.
#[derive(Debug, Default)]
pub struct Metrics {
    requests: Mutex<BTreeMap<u16, Histogram>>,
    reconciles: Mutex<BTreeMap<&'static str, u64>>,
}

#[derive(Debug, Default, Clone)]
struct Histogram {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl Metrics {
    /// Counts a request by its status.
    pub(crate) fn request(&self, status: u16, duration: Duration) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = requests.entry(status).or_default();
        histogram.count += 1;
        histogram.sum += duration.as_secs_f64();
        for (bucket, end) in histogram.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(duration <= Duration::from_millis(u64::from(end)));
        }
    }

    /// Counts a look at a catalog by its result: `success`, `error`, `requeue_after` or `requeue`.
    pub(crate) fn reconcile(&self, result: &'static str) {
        let mut reconciles = self.reconciles.lock().unwrap_or_else(PoisonError::into_inner);
        *reconciles.entry(result).or_default() += 1;
    }

    /// All numbers in the text format of Prometheus.
    pub fn text(&self) -> String {
        let mut text = format!(
            "# HELP {REQUESTS} Histogram of request duration in seconds\n# TYPE {REQUESTS} histogram\n"
        );
        let requests = self
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for (code, histogram) in requests {
            for (count, end) in histogram.buckets.iter().zip(BUCKETS) {
                let end = f64::from(end) / 1000.0;
                let _ = writeln!(text, "{REQUESTS}_bucket{{code=\"{code}\",le=\"{end}\"}} {count}");
            }
            let Histogram { count, sum, .. } = histogram;
            let _ = writeln!(text, "{REQUESTS}_bucket{{code=\"{code}\",le=\"+Inf\"}} {count}");
            let _ = writeln!(text, "{REQUESTS}_sum{{code=\"{code}\"}} {sum}");
            let _ = writeln!(text, "{REQUESTS}_count{{code=\"{code}\"}} {count}");
        }
        let _ = write!(
            text,
            "# HELP {RECONCILES} Total number of reconciliations per controller\n# TYPE {RECONCILES} counter\n"
        );
        let reconciles = self
            .reconciles
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for result in ["error", "requeue", "requeue_after", "success"] {
            let count = reconciles.get(result).copied().unwrap_or_default();
            let _ = writeln!(
                text,
                "{RECONCILES}{{controller=\"{CONTROLLER}\",result=\"{result}\"}} {count}"
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_upstreams_names_and_buckets() {
        let metrics = Metrics::default();
        metrics.request(200, Duration::from_millis(250));
        metrics.request(200, Duration::from_secs(20));
        metrics.reconcile("success");
        let text = metrics.text();
        for line in [
            "catalogd_http_request_duration_seconds_bucket{code=\"200\",le=\"0.2\"} 0",
            "catalogd_http_request_duration_seconds_bucket{code=\"200\",le=\"0.3\"} 1",
            "catalogd_http_request_duration_seconds_bucket{code=\"200\",le=\"1\"} 1",
            "catalogd_http_request_duration_seconds_bucket{code=\"200\",le=\"10\"} 1",
            "catalogd_http_request_duration_seconds_bucket{code=\"200\",le=\"+Inf\"} 2",
            "catalogd_http_request_duration_seconds_sum{code=\"200\"} 20.25",
            "catalogd_http_request_duration_seconds_count{code=\"200\"} 2",
            "controller_runtime_reconcile_total{controller=\"catalogd-clustercatalog-controller\",result=\"success\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
