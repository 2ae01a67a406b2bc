//! When the registry is asked again.

use std::time::Duration;

use jiff::Timestamp;

/// By how much of itself an interval may grow, so that catalogs are not polled all at once.
const JITTER: f64 = 0.01;

/// How long to wait after the first failure.
const FIRST_RETRY: Duration = Duration::from_millis(500);
/// How long to wait at most: a registry that is back is noticed within this time.
const LAST_RETRY: Duration = Duration::from_mins(2);

/// When to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// At once.
    Now,
    /// After some time.
    In(Duration),
    /// Not by itself.
    Never,
}

/// The interval that a catalog names.
pub fn interval(minutes: u32) -> Duration {
    Duration::from_secs(u64::from(minutes) * 60)
}

/// When to ask next, given when the registry was last asked. `jitter` is a number from 0 to 1.
pub fn next(interval: Option<Duration>, last: Option<Timestamp>, now: Timestamp, jitter: f64) -> Next {
    let Some(interval) = interval else {
        return Next::Never;
    };
    let Some(last) = last else {
        return Next::Now;
    };
    let passed = until(last, now);
    if passed >= interval {
        return Next::Now;
    }
    let stretched = interval.mul_f64(1.0 + jitter.clamp(0.0, 1.0) * JITTER);
    Next::In(stretched.saturating_sub(passed))
}

/// How long to wait after a number of failures in a row, the last one counted.
pub fn retry_delay(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(20);
    FIRST_RETRY.saturating_mul(1 << doublings).min(LAST_RETRY)
}

/// How much time lies between two moments; none if they are the other way round.
pub fn until(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    #[test]
    fn the_next_poll_is_an_interval_after_the_last() {
        let minute = Some(interval(1));
        assert_eq!(next(None, Some(at(0)), at(500), 0.0), Next::Never);
        assert_eq!(next(minute, None, at(0), 0.0), Next::Now);
        assert_eq!(
            next(minute, Some(at(100)), at(110), 0.0),
            Next::In(Duration::from_secs(50))
        );
        assert_eq!(
            next(minute, Some(at(100)), at(110), 1.0),
            Next::In(Duration::from_millis(50_600))
        );
        assert_eq!(next(minute, Some(at(100)), at(160), 1.0), Next::Now);
        // A clock that was set back doesn't put polls off for longer than an interval.
        assert_eq!(
            next(minute, Some(at(100)), at(0), 0.0),
            Next::In(Duration::from_mins(1))
        );
    }

    #[test]
    fn retries_become_rarer_up_to_a_limit() {
        let seconds: Vec<f32> = [1, 2, 3, 9, 400]
            .map(|failures| retry_delay(failures).as_secs_f32())
            .to_vec();
        assert_eq!(seconds, [0.5, 1.0, 2.0, 120.0, 120.0]);
    }
}
