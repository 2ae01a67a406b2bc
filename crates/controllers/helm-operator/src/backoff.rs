//! Back-off: when a resource that can't be made true is tried again.
//!
//! ```text
//! a try fails ─► BackOff::failed ─► attempt and wait, into the status ─► Turn::Wait, whatever happens meanwhile
//!                                    asked otherwise, somebody else's change, the time is up ─► Turn::Try
//! ```
//!
//! Each try writes records and objects, and each of these writes comes back as an event: without a back-off of its own a
//! resource that fails would be tried as fast as the server answers.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::blueprint::Blueprint;
use crate::resource::{CustomResource, Wishes};
use crate::status::Retry;

/// How long the second try waits; each further one waits twice as long. An upgrade that fails makes two revisions and a
/// dozen writes, and what it waits for seldom comes within a second by itself.
pub const FIRST_WAIT: Duration = Duration::from_secs(1);

/// How long a try waits at most: what was put right elsewhere – a quota, a webhook, a right – is seen while whoever did it
/// still looks, and a thousand resources that fail make four tries a second.
pub const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// How often somebody else's change may bring a try forward. Whoever fights the operator over an object changes it after
/// each try, and must not be what makes it try without end.
pub const HURRIED_EVERY: Duration = LONGEST_WAIT;

/// How long is waited after so many failures in a row. A resource that asks to be looked at more often than the longest
/// wait is.
pub fn wait(failures: u32, period: Option<Duration>) -> Duration {
    let doublings = failures.saturating_sub(1);
    let wait = FIRST_WAIT.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX));
    let asked = period.filter(|period| !period.is_zero());
    let longest = asked.map_or(LONGEST_WAIT, |period| period.clamp(FIRST_WAIT, LONGEST_WAIT));
    wait.min(longest)
}

/// Tries for the same that failed in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    /// Tells what was tried to make true, as [`asked`] says it.
    pub of: String,
    /// How many failed.
    pub failures: u32,
    /// When the next one is due.
    pub due: Instant,
    /// Whether somebody else changed what the resource depends on since.
    pub is_nudged: bool,
    /// When such a change brought a try forward.
    pub hurried: Option<Instant>,
}

/// Whether it is time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It is; the count of failures goes on.
    Try,
    /// Something else is asked for: the count begins anew.
    Anew,
    /// Somebody else changed something that may help: the count begins anew, but not soon again.
    Hurried,
    /// Not for so long.
    Wait(Duration),
}

/// Decides whether it is time.
pub fn decide(failing: Option<&Failing>, of: &str, now: Instant) -> Turn {
    let Some(failing) = failing else {
        return Turn::Try;
    };
    if failing.of != of {
        return Turn::Anew;
    }
    let rest = failing.due.saturating_duration_since(now);
    if rest.is_zero() {
        return Turn::Try;
    }
    let was_hurried = failing
        .hurried
        .is_some_and(|hurried| now.saturating_duration_since(hurried) < HURRIED_EVERY);
    if failing.is_nudged && !was_hurried {
        Turn::Hurried
    } else {
        Turn::Wait(rest)
    }
}

/// Returns what tells what a resource asks of a chart from what it, or another chart, asked before.
pub fn asked(resource: &CustomResource, wishes: &Wishes, blueprint: &Blueprint) -> String {
    let mut hasher = DefaultHasher::new();
    (&resource.uid, resource.generation, resource.is_deleted).hash(&mut hasher);
    (resource.has_finalizer(), wishes, blueprint.content).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The resources that can't be made true. `K` is which resource.
#[derive(Debug)]
pub struct BackOff<K> {
    /// None for those that are known not to fail; what isn't here may fail since before this process began.
    resources: Mutex<HashMap<K, Option<Failing>>>,
}

impl<K> Default for BackOff<K> {
    fn default() -> Self {
        Self {
            resources: Mutex::default(),
        }
    }
}

impl<K: Clone + Eq + Hash> BackOff<K> {
    fn resources(&self) -> MutexGuard<'_, HashMap<K, Option<Failing>>> {
        self.resources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns for how long a resource must still wait, if it must. The first time in a process its status is asked, so
    /// that an operator that ends again and again doesn't begin to count again and again; `left` is what it says, and how
    /// long that is ahead.
    pub fn rest(
        &self,
        key: &K,
        of: &str,
        now: Instant,
        left: impl FnOnce() -> Option<(Retry, Duration)>,
    ) -> Option<Duration> {
        let mut resources = self.resources();
        let known = resources.entry(key.clone()).or_insert_with(|| {
            let (retry, ahead) = left()?;
            let failures = retry.attempt.saturating_sub(1);
            Some(Failing {
                of: retry.of,
                failures,
                // Whoever wrote it may have had another clock.
                due: now + ahead.min(wait(failures, None)),
                is_nudged: false,
                hurried: None,
            })
        });
        match decide(known.as_ref(), of, now) {
            Turn::Wait(rest) => return Some(rest),
            Turn::Try => {}
            Turn::Anew => *known = None,
            Turn::Hurried => {
                if let Some(failing) = known {
                    (failing.failures, failing.due) = (0, now);
                    failing.hurried = Some(now);
                }
            }
        }
        None
    }

    /// Notes that a try failed, whose own writes are no news any more; returns how many did in a row, and how long the
    /// next one waits.
    pub fn failed(&self, key: &K, of: &str, now: Instant, period: Option<Duration>) -> (u32, Duration) {
        let mut resources = self.resources();
        let known = resources.entry(key.clone()).or_default();
        let before = known.take().filter(|failing| failing.of == of);
        let failures = before
            .as_ref()
            .map_or(0, |failing| failing.failures)
            .saturating_add(1);
        let wait = wait(failures, period);
        *known = Some(Failing {
            of: of.to_owned(),
            failures,
            due: now + wait,
            is_nudged: false,
            hurried: before.and_then(|failing| failing.hurried),
        });
        (failures, wait)
    }

    /// Notes that a resource is as it should be.
    pub fn succeeded(&self, key: &K) {
        self.resources().insert(key.clone(), None);
    }

    /// Forgets a resource that is gone, or somebody else's by now.
    pub fn forget(&self, key: &K) {
        self.resources().remove(key);
    }

    /// Notes that somebody else changed what a resource depends on.
    pub fn nudge(&self, key: &K) {
        if let Some(Some(failing)) = self.resources().get_mut(key) {
            failing.is_nudged = true;
        }
    }

    /// Notes that anything may have changed, as after the server was away.
    pub fn nudge_all(&self) {
        for failing in self.resources().values_mut().flatten() {
            failing.is_nudged = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_wait_up_to_an_end() {
        let seconds = |failures, period| wait(failures, period).as_secs();
        let waits: Vec<u64> = (1..=11).map(|failures| seconds(failures, None)).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(seconds(u32::MAX, None), 300);
        for (period, longest) in [(0, 300), (1, 1), (60, 60), (3600, 300)] {
            let period = Some(Duration::from_secs(period));
            assert_eq!(seconds(40, period), longest, "{period:?}");
        }
        assert_eq!(wait(40, Some(Duration::from_millis(1))), FIRST_WAIT);
    }

    #[test]
    fn what_failed_waits_unless_something_changed() {
        let now = Instant::now();
        let ago = |seconds| now.checked_sub(Duration::from_secs(seconds));
        let failing = |rest: u64, is_nudged: bool, hurried: Option<Instant>| Failing {
            of: "this".to_owned(),
            failures: 7,
            due: now + Duration::from_secs(rest),
            is_nudged,
            hurried,
        };
        let waits = Turn::Wait(Duration::from_mins(1));
        #[rustfmt::skip]
        let rows = [
            // failing, asked for, turn
            (None, "this", Turn::Try),
            (Some(failing(60, false, None)), "this", waits),
            (Some(failing(60, false, None)), "that", Turn::Anew),
            (Some(failing(0, false, None)), "this", Turn::Try),
            (Some(failing(0, true, None)), "this", Turn::Try),
            (Some(failing(60, true, None)), "this", Turn::Hurried),
            (Some(failing(60, true, ago(299))), "this", waits),
            (Some(failing(60, true, ago(300))), "this", Turn::Hurried),
            (Some(failing(60, true, ago(1))), "that", Turn::Anew),
        ];
        for (failing, of, expected) in rows {
            assert_eq!(decide(failing.as_ref(), of, now), expected, "{failing:?} {of}");
        }
    }

    /// Has a resource looked at all the time for a while, and returns after how many seconds it was tried.
    fn tries(seconds: u64, mut before_each_look: impl FnMut(&BackOff<&str>, u64)) -> Vec<u64> {
        let back_off = BackOff::default();
        let begin = Instant::now();
        let mut tries = Vec::new();
        for second in 0..seconds {
            let now = begin + Duration::from_secs(second);
            before_each_look(&back_off, second);
            if back_off.rest(&"a", "this", now, || None).is_none() {
                tries.push(second);
                back_off.failed(&"a", "this", now, None);
            }
        }
        tries
    }

    #[test]
    fn events_make_no_storm() {
        assert_eq!(tries(16, |_, _| {}), [0, 1, 3, 7, 15]);
        assert_eq!(tries(3600, |_, _| {}).len(), 9 + 11, "then every five minutes");
    }

    #[test]
    fn one_who_fights_over_an_object_makes_no_storm() {
        let tried = tries(3600, |back_off, _| back_off.nudge(&"a"));
        assert!(tried.len() <= 12 * 10, "{tried:?}");
        // What helps once helps at once.
        let tried = tries(120, |back_off, second| {
            if second == 100 {
                back_off.nudge(&"a");
            }
        });
        assert_eq!(tried, [0, 1, 3, 7, 15, 31, 63, 100, 101, 103, 107, 115]);
        let tried = tries(120, |back_off, second| {
            if second == 100 {
                back_off.nudge_all();
            }
        });
        assert_eq!(tried[7], 100);
    }

    #[test]
    fn a_new_process_goes_on_where_the_last_one_was() {
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        let left = |of: &str, ahead| {
            let retry = Retry {
                attempt: 6,
                at: jiff::Timestamp::UNIX_EPOCH,
                of: of.to_owned(),
            };
            Some((retry, Duration::from_secs(ahead)))
        };
        let back_off = BackOff::default();
        let rest = back_off.rest(&"a", "this", begin, || left("this", 10));
        assert_eq!(rest, Some(Duration::from_secs(10)));
        assert_eq!(back_off.rest(&"a", "this", after(10), || None), None);
        let failed = back_off.failed(&"a", "this", after(10), None);
        assert_eq!(failed, (6, Duration::from_secs(32)));
        // Another clock can't make it wait for ever, another chart doesn't wait at all, and what goes well begins anew.
        let rest = back_off.rest(&"b", "this", begin, || left("this", 1_000_000));
        assert_eq!(rest, Some(Duration::from_secs(16)));
        assert_eq!(back_off.rest(&"c", "this", begin, || left("that", 10)), None);
        assert_eq!(back_off.failed(&"c", "this", begin, None).0, 1);
        back_off.succeeded(&"a");
        assert_eq!(back_off.rest(&"a", "this", after(11), || left("this", 10)), None);
        assert_eq!(back_off.failed(&"a", "this", after(11), None).0, 1);
        back_off.forget(&"a");
        let rest = back_off.rest(&"a", "this", after(11), || left("this", 10));
        assert_eq!(rest, Some(Duration::from_secs(10)));
    }
}
