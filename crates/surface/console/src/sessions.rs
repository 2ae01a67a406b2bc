//! Who was let in: sessions, each known by a number that only its browser has.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Digest, SHA256, digest};
use jiff::Timestamp;
use tokio::sync::watch;

use crate::token::secret;

/// How many sessions there may be: a person has a few browsers on a few machines.
const MOST_SESSIONS: usize = 64;

/// How long a session lasts that nobody uses: a working day.
const LONGEST_UNUSED: Duration = Duration::from_hours(12);

/// How long a session lasts, whoever uses it: a page that follows the cluster in a forgotten tab would use it for ever.
const LONGEST: Duration = Duration::from_hours(7 * 24);

/// How many numbers of one request are looked at; a browser sends one.
const MOST_NUMBERS: usize = 8;

/// How many browsers stay let in, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// How many there may be. The next one takes the place of one that was never used, or else of the one that wasn't used for
    /// the longest time.
    pub most: usize,
    /// How long one lasts that isn't used.
    pub unused: Duration,
    /// How long one lasts in any case.
    pub longest: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            most: MOST_SESSIONS,
            unused: LONGEST_UNUSED,
            longest: LONGEST,
        }
    }
}

/// The sessions of a console; those of an earlier start, or of another console, are none of them.
pub(crate) struct Sessions {
    limits: SessionLimits,
    all: Mutex<Vec<Session>>,
}

/// One browser that was let in.
struct Session {
    /// Of its number; the number itself is nowhere but in the browser.
    digest: Digest,
    form_key: Arc<str>,
    begun: Timestamp,
    used: Option<Timestamp>,
    /// Dropped with the session, which is how its streams learn of the end.
    alive: watch::Sender<()>,
}

/// Whoever sent a request of a session.
#[derive(Clone)]
pub(crate) struct Visitor {
    digest: Digest,
    form_key: Arc<str>,
    alive: watch::Receiver<()>,
}

impl Sessions {
    pub(crate) fn new(limits: SessionLimits) -> Self {
        Self {
            limits,
            all: Mutex::default(),
        }
    }

    /// Begins a session; returns its number.
    pub(crate) fn begin(&self, now: Timestamp) -> Result<String, getrandom::Error> {
        let (number, form_key) = (secret()?, secret()?);
        let mut all = self.current(now);
        while all.len() >= self.limits.most.max(1) {
            // Whoever begins many, and uses none, pushes out no others.
            let least = all
                .iter()
                .enumerate()
                .min_by_key(|(_, session)| (session.used.is_some(), session.last_seen()));
            let Some((place, _)) = least else { break };
            all.remove(place);
        }
        all.push(Session {
            digest: digest_of(&number),
            form_key: form_key.into(),
            begun: now,
            used: None,
            alive: watch::Sender::default(),
        });
        Ok(number)
    }

    /// Finds the session of one of these numbers, and notes that it was used.
    pub(crate) fn visitor<'a>(
        &self,
        numbers: impl Iterator<Item = &'a str>,
        now: Timestamp,
    ) -> Option<Visitor> {
        let digests: Vec<Digest> = numbers.take(MOST_NUMBERS).map(digest_of).collect();
        let mut all = self.current(now);
        let found = all
            .iter_mut()
            .find(|session| digests.iter().any(|digest| session.is(digest)))?;
        found.used = Some(now);
        Some(Visitor {
            digest: found.digest,
            form_key: Arc::clone(&found.form_key),
            alive: found.alive.subscribe(),
        })
    }

    /// Ends the session of a visitor.
    pub(crate) fn end(&self, visitor: &Visitor) {
        self.lock().retain(|session| !session.is(&visitor.digest));
    }

    /// The sessions without those that are over.
    fn current(&self, now: Timestamp) -> MutexGuard<'_, Vec<Session>> {
        let mut all = self.lock();
        all.retain(|session| !session.is_over(self.limits, now));
        all
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Session>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn last_seen(&self) -> Timestamp {
        self.used.unwrap_or(self.begun)
    }

    fn is(&self, digest: &Digest) -> bool {
        verify_slices_are_equal(self.digest.as_ref(), digest.as_ref()).is_ok()
    }

    fn is_over(&self, limits: SessionLimits, now: Timestamp) -> bool {
        // A clock that was set back by so much tells nothing, and the visitor shows the token again.
        let since = |time: Timestamp| now.duration_since(time).unsigned_abs();
        since(self.last_seen()) >= limits.unused || since(self.begun) >= limits.longest
    }
}

impl Visitor {
    /// What forms carry to show that they are the console's own, and this visitor's.
    pub(crate) fn form_key(&self) -> &str {
        &self.form_key
    }

    /// Waits until the session is no more.
    pub(crate) async fn ended(&self) {
        let mut alive = self.alive.clone();
        while alive.changed().await.is_ok() {}
    }
}

impl fmt::Debug for Visitor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Visitor(***)")
    }
}

fn digest_of(number: &str) -> Digest {
    digest(&SHA256, number.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SessionLimits = SessionLimits {
        most: 3,
        unused: Duration::from_secs(10),
        longest: Duration::from_secs(25),
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    fn begin(sessions: &Sessions, second: i64) -> String {
        sessions.begin(at(second)).expect("randomness")
    }

    fn is_known(sessions: &Sessions, number: &str, second: i64) -> bool {
        sessions.visitor([number].into_iter(), at(second)).is_some()
    }

    #[test]
    fn a_session_is_known_by_its_own_number_only() {
        let sessions = Sessions::new(LIMITS);
        let (one, other) = (begin(&sessions, 0), begin(&sessions, 0));
        assert_ne!(one, other);
        assert!(is_known(&sessions, &one, 1) && is_known(&sessions, &other, 1));
        for stranger in ["", "a", &one[1..], &begin(&Sessions::new(LIMITS), 0)] {
            assert!(!is_known(&sessions, stranger, 1), "{stranger:?}");
        }
        let with_others = ["", "x", one.as_str()];
        assert!(sessions.visitor(with_others.into_iter(), at(1)).is_some());
        let flood = std::iter::repeat_n("x", MOST_NUMBERS).chain([one.as_str()]);
        assert!(sessions.visitor(flood, at(1)).is_none());
    }

    #[test]
    fn a_session_ends_when_nobody_uses_it_and_some_day_in_any_case() {
        let sessions = Sessions::new(LIMITS);
        let used = begin(&sessions, 0);
        let unused = begin(&sessions, 0);
        assert!(is_known(&sessions, &used, 9));
        assert!(!is_known(&sessions, &unused, 10));
        assert!(is_known(&sessions, &used, 18));
        assert!(is_known(&sessions, &used, 24));
        assert!(!is_known(&sessions, &used, 25));
        assert!(sessions.lock().is_empty(), "nothing is kept of what is over");
        let late = begin(&sessions, 100);
        assert!(
            is_known(&sessions, &late, 95),
            "clocks are put right now and then"
        );
        assert!(!is_known(&sessions, &late, 80));
    }

    #[test]
    fn a_flood_of_sessions_pushes_out_its_own_and_not_those_in_use() {
        let sessions = Sessions::new(LIMITS);
        let mine = begin(&sessions, 0);
        assert!(is_known(&sessions, &mine, 0));
        let flood: Vec<String> = (0..1_000).map(|_| begin(&sessions, 1)).collect();
        assert_eq!(sessions.lock().len(), LIMITS.most);
        assert!(is_known(&sessions, &mine, 2));
        let known = |number: &&String| is_known(&sessions, number, 2);
        assert_eq!(flood.iter().filter(known).count(), LIMITS.most - 1);
        // Where all are in use, the one that was used least lately goes.
        assert!(is_known(&sessions, &mine, 3));
        begin(&sessions, 4);
        assert!(is_known(&sessions, &mine, 5));
        assert_eq!(flood.iter().filter(known).count(), LIMITS.most - 2);
    }

    #[tokio::test]
    async fn whoever_leaves_is_out_and_streams_learn_of_it() {
        let sessions = Sessions::new(LIMITS);
        let (one, other) = (begin(&sessions, 0), begin(&sessions, 0));
        let visitor = sessions
            .visitor([one.as_str()].into_iter(), at(0))
            .expect("a visitor");
        sessions.end(&visitor);
        visitor.ended().await;
        assert!(!is_known(&sessions, &one, 0) && is_known(&sessions, &other, 0));
        assert_eq!(format!("{visitor:?}"), "Visitor(***)");
    }
}
