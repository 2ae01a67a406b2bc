//! How much changes: whether one operator is installed, or dozens of them.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many changes within [`SPAN`] are much: one operator that is installed makes some eighty.
const MUCH: f64 = 150.0;

/// The time over which changes are counted.
const SPAN: Duration = Duration::from_secs(3);

/// Counts changes as they are heard.
#[derive(Debug, Default)]
pub(crate) struct Bustle {
    counted: Mutex<Option<Counted>>,
}

/// The changes of the span that began last, and of the one before it.
#[derive(Debug, Clone, Copy)]
struct Counted {
    since: Instant,
    changes: u32,
    before: u32,
}

impl Counted {
    fn at(counted: Option<Self>, now: Instant) -> Self {
        let fresh = Self {
            since: now,
            changes: 0,
            before: 0,
        };
        let Some(counted) = counted else { return fresh };
        let elapsed = now.saturating_duration_since(counted.since);
        if elapsed < SPAN {
            counted
        } else if elapsed < 2 * SPAN {
            Self {
                since: counted.since + SPAN,
                changes: 0,
                before: counted.changes,
            }
        } else {
            fresh
        }
    }
}

impl Bustle {
    /// Notes a change.
    pub(crate) fn note(&self, now: Instant) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut current = Counted::at(*counted, now);
        current.changes = current.changes.saturating_add(1);
        *counted = Some(current);
    }

    /// Returns whether much changed lately.
    pub(crate) fn is_high(&self, now: Instant) -> bool {
        let counted = *self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let current = Counted::at(counted, now);
        let passed = now.saturating_duration_since(current.since).as_secs_f64() / SPAN.as_secs_f64();
        // As much of the span before as lies within the last span, if its changes came evenly.
        f64::from(current.changes) + f64::from(current.before) * (1.0 - passed).max(0.0) > MUCH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn much_is_more_than_one_operator_makes_and_is_soon_over() {
        let begin = Instant::now();
        let bustle = Bustle::default();
        assert!(!bustle.is_high(begin));
        for number in 0..80 {
            bustle.note(begin + Duration::from_millis(3 * number));
        }
        assert!(
            !bustle.is_high(begin + Duration::from_millis(300)),
            "one operator"
        );
        for number in 0..80 {
            bustle.note(begin + Duration::from_millis(300 + 3 * number));
        }
        assert!(bustle.is_high(begin + Duration::from_millis(600)), "two at once");
        assert!(
            bustle.is_high(begin + Duration::from_millis(3_100)),
            "they just were"
        );
        assert!(!bustle.is_high(begin + Duration::from_millis(4_500)));
        assert!(!bustle.is_high(begin + Duration::from_secs(9)));
    }

    #[test]
    fn what_comes_evenly_is_counted_across_spans() {
        let begin = Instant::now();
        let bustle = Bustle::default();
        for number in 0..1_000 {
            let now = begin + Duration::from_millis(5 * number);
            bustle.note(now);
            assert_eq!(bustle.is_high(now), number >= 150, "{number}");
        }
    }
}
