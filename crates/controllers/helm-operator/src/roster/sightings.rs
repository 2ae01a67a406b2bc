//! What was last seen of the Leases of other operators, and which of these run at a moment.
//!
//! A Lease counts from when a change of it was seen here: the clocks of two machines needn't agree. Only of one that is seen
//! for the first time its own time is asked, because it may have been left behind long ago.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use crate::routing::Operator;

/// How far the clocks of two machines may be apart.
const CLOCKS_DIFFER: Duration = Duration::from_mins(1);

/// A Lease, as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Sign {
    /// Which: its namespace and name.
    pub(crate) id: String,
    /// What its holder looks after, once for each kind.
    pub(crate) operators: Vec<Operator>,
    /// Whether somebody holds it.
    pub(crate) is_held: bool,
    /// How long its holder runs after this sign; none for as long as the Lease is there.
    pub(crate) lasts: Option<Duration>,
    /// When its holder says that it gave the sign.
    pub(crate) renewed: Option<Timestamp>,
}

/// Now, by the clock that never goes back and by the one that others have as well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) instant: Instant,
    pub(crate) time: Timestamp,
}

impl Now {
    pub(crate) fn read() -> Self {
        Self {
            instant: Instant::now(),
            time: Timestamp::now(),
        }
    }
}

/// What was last seen of an operator that runs.
#[derive(Debug)]
struct Sighting {
    operators: Vec<Operator>,
    renewed: Option<Timestamp>,
    /// Until when it counts as running; none while its Lease is there.
    until: Option<Instant>,
}

/// The other operators. What changes something says whether others run than before.
#[derive(Debug, Default)]
pub(crate) struct Sightings(HashMap<String, Sighting>);

impl Sightings {
    /// Notes a Lease.
    pub(crate) fn saw(&mut self, sign: Sign, now: Now) -> bool {
        let before = self.0.remove(&sign.id);
        let until = match (&before, sign.lasts) {
            (_, None) => None,
            (Some(known), Some(_)) if known.renewed == sign.renewed => known.until,
            (Some(_), Some(lasts)) => Some(now.instant + lasts),
            (None, Some(lasts)) => {
                let age = sign.renewed.map(|renewed| now.time.duration_since(renewed));
                let age = age.map_or(Duration::ZERO, |age| Duration::try_from(age).unwrap_or_default());
                Some(now.instant + lasts.saturating_sub(age.saturating_sub(CLOCKS_DIFFER)))
            }
        };
        let runs = sign.is_held && until.is_none_or(|until| until > now.instant);
        if !runs {
            return before.is_some();
        }
        let is_news = before.is_none_or(|before| before.operators != sign.operators);
        let sighting = Sighting {
            operators: sign.operators,
            renewed: sign.renewed,
            until,
        };
        self.0.insert(sign.id, sighting);
        is_news
    }

    /// Notes that a Lease is gone.
    pub(crate) fn gone(&mut self, id: &str) -> bool {
        self.0.remove(id).is_some()
    }

    /// Notes that there are no other Leases than these.
    pub(crate) fn are_all(&mut self, listed: &HashSet<String>) -> bool {
        let before = self.0.len();
        self.0.retain(|id, _| listed.contains(id));
        self.0.len() < before
    }

    /// Forgets those whose Lease has run out.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        let before = self.0.len();
        self.0
            .retain(|_, sighting| sighting.until.is_none_or(|until| until > now));
        self.0.len() < before
    }

    /// Returns when the next Lease runs out, if nothing is heard of its holder until then.
    pub(crate) fn next_end(&self) -> Option<Instant> {
        self.0.values().filter_map(|sighting| sighting.until).min()
    }

    /// Returns those that run.
    pub(crate) fn running(&self, now: Instant) -> Vec<Operator> {
        let run = self
            .0
            .values()
            .filter(|sighting| sighting.until.is_none_or(|until| until > now));
        run.flat_map(|sighting| sighting.operators.iter().cloned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

    use super::*;

    const LASTS: u64 = 11;

    fn operator(version: &str) -> Operator {
        Operator {
            id: "a/one".to_owned(),
            group: "example.com".to_owned(),
            kind: "Stack".to_owned(),
            selector: LabelSelector::default(),
            chart: "stack".to_owned(),
            version: version.to_owned(),
            namespaces: Vec::new(),
        }
    }

    /// A clock that only the test moves, and one elsewhere that is ahead of it.
    struct Clock {
        begin: Now,
        ahead: i64,
    }

    impl Clock {
        fn at(&self, second: u64) -> Now {
            let seconds = Duration::from_secs(second);
            Now {
                instant: self.begin.instant + seconds,
                time: self.begin.time + seconds,
            }
        }

        /// A sign that was given at a second by the clock of whoever gave it.
        fn sign(&self, second: i64, version: &str) -> Sign {
            let renewed = Timestamp::from_second(self.begin.time.as_second() + second + self.ahead);
            Sign {
                id: "a/one".to_owned(),
                operators: vec![operator(version)],
                is_held: true,
                lasts: Some(Duration::from_secs(LASTS)),
                renewed: renewed.ok(),
            }
        }
    }

    fn clocks() -> [Clock; 3] {
        [0, 45, -45].map(|ahead| Clock {
            begin: Now {
                instant: Instant::now(),
                time: Timestamp::UNIX_EPOCH,
            },
            ahead,
        })
    }

    #[test]
    fn a_lease_counts_from_when_its_change_was_seen() {
        for clock in clocks() {
            let mut seen = Sightings::default();
            let ahead = clock.ahead;
            assert!(seen.saw(clock.sign(0, "1"), clock.at(0)), "{ahead}");
            // The same again, as when the list begins anew, is no sign of life.
            assert!(!seen.saw(clock.sign(0, "1"), clock.at(5)), "{ahead}");
            assert_eq!(seen.next_end(), Some(clock.at(11).instant), "{ahead}");
            assert!(!seen.saw(clock.sign(3, "1"), clock.at(6)), "{ahead}");
            assert_eq!(seen.next_end(), Some(clock.at(17).instant), "{ahead}");
            assert!(!seen.expire(clock.at(16).instant), "{ahead}");
            assert_eq!(seen.running(clock.at(16).instant).len(), 1, "{ahead}");
            assert_eq!(seen.running(clock.at(17).instant).len(), 0, "{ahead}");
            assert!(seen.expire(clock.at(17).instant), "{ahead}");
            assert_eq!(seen.next_end(), None, "{ahead}");
        }
    }

    #[test]
    fn one_that_was_left_behind_long_ago_does_not_run() {
        let [clock, ..] = clocks();
        for (given, runs_out) in [(-30, Some(11)), (-65, Some(6)), (-71, None), (-3600, None)] {
            let mut seen = Sightings::default();
            assert_eq!(
                seen.saw(clock.sign(given, "1"), clock.at(0)),
                runs_out.is_some(),
                "{given}"
            );
            let end = runs_out.map(|second| clock.at(second).instant);
            assert_eq!(seen.next_end(), end, "{given}");
        }
    }

    #[test]
    fn one_that_is_given_back_or_gone_is_off_at_once() {
        let [clock, ..] = clocks();
        let mut seen = Sightings::default();
        let given_back = || Sign {
            is_held: false,
            ..clock.sign(1, "1")
        };
        assert!(!seen.saw(given_back(), clock.at(0)), "it never ran");
        assert!(seen.saw(clock.sign(2, "1"), clock.at(1)));
        assert!(seen.saw(given_back(), clock.at(2)));
        assert_eq!(seen.running(clock.at(2).instant), []);
        assert!(seen.saw(clock.sign(3, "1"), clock.at(3)));
        assert!(seen.gone("a/one"));
        assert!(!seen.gone("a/one"));
        assert!(seen.saw(clock.sign(4, "1"), clock.at(4)));
        assert!(seen.are_all(&HashSet::new()));
        assert!(!seen.are_all(&HashSet::new()));
    }

    #[test]
    fn only_other_operators_are_news() {
        let [clock, ..] = clocks();
        let mut seen = Sightings::default();
        assert!(seen.saw(clock.sign(0, "1"), clock.at(0)));
        assert!(!seen.saw(clock.sign(3, "1"), clock.at(3)));
        assert!(
            seen.saw(clock.sign(4, "2"), clock.at(4)),
            "another version took the Lease"
        );
        assert_eq!(seen.running(clock.at(4).instant), [operator("2")]);
        // A Lease without a time belongs to a pod, and goes with it.
        let of_pod = Sign {
            lasts: None,
            ..clock.sign(5, "2")
        };
        assert!(!seen.saw(of_pod, clock.at(5)));
        assert!(!seen.expire(clock.at(1_000_000).instant));
        assert_eq!(seen.running(clock.at(1_000_000).instant).len(), 1);
    }
}
