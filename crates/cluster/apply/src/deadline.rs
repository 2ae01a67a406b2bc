//! The progress deadline: how long a revision may take before it is said to be stuck.

use std::collections::BTreeSet;
use std::time::Duration;

use api::cluster_object_set::LifecycleState;
use api::{ClusterObjectSet, condition};
use jiff::{SignedDuration, Timestamp};

/// Returns how much time a revision still has; negative once it is over, none if there is no deadline.
///
/// It counts from the revision's creation, and no longer once the revision has succeeded, is archived or deleted.
pub fn remaining(set: &ClusterObjectSet, now: Timestamp) -> Option<SignedDuration> {
    let minutes = i64::from(set.spec.progress_deadline_minutes.unwrap_or_default());
    let counts = minutes > 0
        && set.spec.lifecycle_state == LifecycleState::Active
        && set.metadata.deletion_timestamp.is_none()
        && !condition::is_true(&set.status.conditions, "Succeeded");
    if !counts {
        return None;
    }
    let created = set
        .metadata
        .creation_timestamp
        .as_ref()
        .map_or(now, |time| time.0);
    Some(SignedDuration::from_mins(minutes).saturating_sub(now.duration_since(created)))
}

/// Shortens waits so that a missed deadline is seen when it is missed.
#[derive(Debug, Default)]
pub struct Limiter {
    /// The revisions that were looked at once after their deadline.
    missed: BTreeSet<String>,
}

impl Limiter {
    /// Returns how long to wait before a revision is tried again, given how long one would wait otherwise.
    pub fn wait(&mut self, name: &str, otherwise: Duration, remaining: Option<SignedDuration>) -> Duration {
        let Some(remaining) = remaining else {
            return otherwise;
        };
        if remaining.is_positive() {
            return otherwise.min(remaining.unsigned_abs());
        }
        if self.missed.insert(name.to_owned()) {
            Duration::ZERO
        } else {
            otherwise
        }
    }

    /// Forgets a revision that was reconciled without a failure.
    pub fn forget(&mut self, name: &str) {
        self.missed.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use api::ClusterObjectSet;
    use api::cluster_object_set::{ClusterObjectSetSpec, CollisionProtection, LifecycleState};
    use jiff::{SignedDuration, Timestamp};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::{Limiter, remaining};

    #[test]
    fn a_revision_is_looked_at_as_its_deadline_ends_and_not_before() {
        let created: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let spec = ClusterObjectSetSpec {
            lifecycle_state: LifecycleState::Active,
            revision: 1,
            collision_protection: CollisionProtection::Prevent,
            phases: Vec::new(),
            progress_deadline_minutes: Some(1),
            progression_probes: Vec::new(),
        };
        let mut set = ClusterObjectSet::new("x-1", spec);
        set.metadata.creation_timestamp = Some(Time(created));
        let otherwise = Duration::from_secs(1000);
        // Seconds since the creation, whether the deadline is over, and how long one waits for the next look.
        for (age, is_over, wait) in [
            (0, false, 60),
            (1, false, 59),
            (59, false, 1),
            (60, true, 0),
            (61, true, 0),
        ] {
            let left =
                remaining(&set, created + SignedDuration::from_secs(age)).expect("there is a deadline");
            assert_eq!(!left.is_positive(), is_over, "after {age} s");
            let next = Limiter::default().wait("x-1", otherwise, Some(left));
            assert_eq!(next.as_secs(), wait, "after {age} s");
        }
    }
}
