//! What a queue remembers of its work, for those who watch it.

use std::time::Duration;

/// The bounds of the durations that are told apart, in nanoseconds, and as client-go writes them, whose dashboards ask for
/// them by these texts: each ten times the one before, some a rounding error less.
pub(crate) const BOUNDS: [(u64, &str); 12] = [
    (10, "1e-08"),
    (100, "1e-07"),
    (1_000, "1e-06"),
    (10_000, "9.999999999999999e-06"),
    (100_000, "9.999999999999999e-05"),
    (1_000_000, "0.001"),
    (10_000_000, "0.01"),
    (100_000_000, "0.1"),
    (1_000_000_000, "1"),
    (10_000_000_000, "10"),
    (100_000_000_000, "100"),
    (1_000_000_000_000, "1000"),
];

/// How long something took each time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Durations {
    /// How many took no longer than each of the bounds, and how many longer than all of them; not cumulated.
    pub(crate) counts: [u64; BOUNDS.len() + 1],
    pub(crate) sum: Duration,
}

impl Durations {
    /// Takes one down.
    pub(super) fn add(&mut self, took: Duration) {
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|(bound, _)| *bound < nanoseconds);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum += took;
    }

    /// Returns how many there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// What went through a queue so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// How often something was made ready for a worker.
    pub additions: u64,
    /// How often something was to be tried again after a failure.
    pub retries: u64,
    /// How long things waited for a worker.
    pub waits: Durations,
    /// How long workers took.
    pub works: Durations,
}

/// How a queue stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// How many things wait for a worker.
    pub depth: usize,
    /// What went through it so far.
    pub record: Record,
    /// How long workers have been busy with what they have now, together.
    pub unfinished: Duration,
    /// How long the slowest of them has been.
    pub longest: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_within_the_least_bound_that_it_does_not_exceed() {
        let mut durations = Durations::default();
        for took in [
            Duration::ZERO,
            Duration::from_secs(10),
            Duration::from_secs(11),
            Duration::from_secs(2000),
        ] {
            durations.add(took);
        }
        assert_eq!(durations.counts, [1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1]);
        assert_eq!((durations.count(), durations.sum), (4, Duration::from_secs(2021)));
    }
}
