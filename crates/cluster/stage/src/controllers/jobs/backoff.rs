//! How long a Job waits before it tries again.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::controllers::pods;
use crate::object::Object;

/// How long a Job waits after the first failure; each further failure doubles it.
const FIRST: Duration = Duration::from_secs(10);

/// The longest that a Job waits.
const LONGEST: Duration = Duration::from_mins(10);

/// The failures of a Job since its last success.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Record {
    failures: u32,
    last: Option<Timestamp>,
}

impl Record {
    /// Returns the record after Pods have ended.
    pub(super) fn after(self, succeeded: &[&Value], failed: &[&Value]) -> Self {
        let mut failures: Vec<Timestamp> = failed.iter().filter_map(|pod| ended_at(pod)).collect();
        failures.sort();
        let success = succeeded.iter().filter_map(|pod| ended_at(pod)).max();
        let mut next = match success {
            Some(success) => {
                failures.retain(|&at| at > success);
                Self::default()
            }
            None => self,
        };
        next.failures = next
            .failures
            .saturating_add(u32::try_from(failures.len()).unwrap_or(u32::MAX));
        next.last = failures.last().copied().or(next.last);
        next
    }

    /// Returns how long it is until the Job may try again.
    pub(super) fn left(self, now: Timestamp) -> Duration {
        self.last
            .map_or(Duration::ZERO, |last| left(self.failures, last, now))
    }
}

fn left(failures: u32, last: Timestamp, now: Timestamp) -> Duration {
    let Some(doublings) = failures.checked_sub(1) else {
        return Duration::ZERO;
    };
    let wait = FIRST.saturating_mul(1 << doublings.min(16)).min(LONGEST);
    let wait = SignedDuration::try_from(wait).unwrap_or_default();
    Duration::try_from(wait - now.duration_since(last)).unwrap_or_default()
}

/// Returns how long it is until an index whose Pod failed may be tried again.
pub(super) fn left_for_index(pod: &Value, earlier_failures: u32, now: Timestamp) -> Duration {
    ended_at(pod).map_or(Duration::ZERO, |at| {
        left(earlier_failures.saturating_add(1), at, now)
    })
}

/// Returns when a Pod ended.
fn ended_at(pod: &Value) -> Option<Timestamp> {
    let statuses = pod["status"]["containerStatuses"].as_array();
    let containers = statuses
        .into_iter()
        .flatten()
        .filter_map(|status| status["state"]["terminated"]["finishedAt"].as_str()?.parse().ok())
        .max();
    let unready = || {
        pods::condition(pod, "Ready")
            .filter(|one| one["status"] == "False")
            .and_then(|one| one["lastTransitionTime"].as_str()?.parse().ok())
    };
    let deleted = || {
        let at: Timestamp = pod.metadata_text("deletionTimestamp").parse().ok()?;
        let grace = pod["metadata"]["deletionGracePeriodSeconds"]
            .as_i64()
            .unwrap_or(0);
        at.checked_sub(SignedDuration::from_secs(grace)).ok()
    };
    containers
        .or_else(unready)
        .or_else(deleted)
        .or_else(|| pods::created(pod))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
    }

    fn pod(seconds: i64) -> Value {
        let finished = at(seconds).to_string();
        json!({"status": {"containerStatuses": [{"state": {"terminated": {"finishedAt": finished}}}]}})
    }

    #[test]
    fn each_failure_doubles_the_wait_until_a_success() {
        let record = Record::default().after(&[], &[&pod(0)]);
        assert_eq!(record.left(at(4)), Duration::from_secs(6));
        let record = record.after(&[], &[&pod(20), &pod(30)]);
        assert_eq!(record.left(at(30)), Duration::from_secs(40));
        assert_eq!(record.left(at(100)), Duration::ZERO);
        let record = record.after(&[&pod(40)], &[&pod(35), &pod(50)]);
        assert_eq!(record.left(at(50)), Duration::from_secs(10));
        assert_eq!(record.after(&[&pod(60)], &[]).left(at(60)), Duration::ZERO);
    }
}
