//! Trying again: a bounded number of times, ever more slowly, and never in step with others.

use std::time::Duration;

/// How often and how patiently something that failed by chance is tried again.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// How many tries there are altogether.
    pub attempts: u32,
    /// The wait before the second try; it doubles each time.
    pub first_delay: Duration,
    /// The longest wait.
    pub longest_delay: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 5,
            first_delay: Duration::from_millis(250),
            longest_delay: Duration::from_secs(8),
        }
    }
}

impl Retry {
    pub(super) fn start(&self) -> Attempts {
        Attempts {
            retry: *self,
            failed: 0,
        }
    }
}

/// The tries that were made so far.
pub(super) struct Attempts {
    retry: Retry,
    failed: u32,
}

impl Attempts {
    /// Waits and returns true, or returns false when there was the last try already.
    pub(super) async fn again(&mut self) -> bool {
        self.failed = self.failed.saturating_add(1);
        if self.failed >= self.retry.attempts {
            return false;
        }
        tokio::time::sleep(self.delay()).await;
        true
    }

    /// Begins counting anew, because there was progress.
    pub(super) fn progressed(&mut self) {
        self.failed = 0;
    }

    /// Between half of the wait and all of it, so that clients that failed together don't return together.
    fn delay(&self) -> Duration {
        let doublings = self.failed.saturating_sub(1).min(16);
        let full = self
            .retry
            .first_delay
            .saturating_mul(1 << doublings)
            .min(self.retry.longest_delay);
        let random = getrandom::u32().unwrap_or(u32::MAX);
        full / 2 + (full / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit_and_are_spread() {
        let retry = Retry {
            attempts: 10,
            first_delay: Duration::from_millis(100),
            longest_delay: Duration::from_millis(300),
        };
        for (failed, shortest, longest) in [(1, 50, 100), (2, 100, 200), (3, 150, 300), (40, 150, 300)] {
            let delay = Attempts { retry, failed }.delay();
            assert!(delay >= Duration::from_millis(shortest) && delay <= Duration::from_millis(longest));
        }
    }

    #[tokio::test]
    async fn the_number_of_tries_is_bounded() {
        let retry = Retry {
            attempts: 3,
            first_delay: Duration::ZERO,
            longest_delay: Duration::ZERO,
        };
        let mut attempts = retry.start();
        assert!(attempts.again().await);
        assert!(attempts.again().await);
        assert!(!attempts.again().await);
    }
}
