//! Which events are told one by one, which are counted, combined or held back: as upstream's recorders do, so that a
//! flood about one object doesn't drown the others.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

/// How many kinds of events are remembered, so that memory is bounded; all are forgotten when there are more.
const MOST_REMEMBERED: usize = 4096;

/// How many events that differ in their text alone are told one by one; then they are combined into one.
const MOST_SIMILAR: usize = 10;

/// How long events count as similar.
const SIMILAR_FOR: SignedDuration = SignedDuration::from_mins(10);

/// How many events about one object are told at once.
const BURST: f64 = 25.0;

/// How many seconds it takes until one more event about an object is told after a burst.
const SECONDS_PER_EVENT: f64 = 300.0;

/// What is remembered of events that were told.
#[derive(Debug, Default)]
pub struct Memory {
    told: HashMap<String, Told>,
    similar: HashMap<String, Similar>,
    allowances: HashMap<String, Allowance>,
}

/// An event that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Its name.
    pub name: String,
    /// How often it was told.
    pub count: i64,
}

#[derive(Debug)]
struct Similar {
    texts: Vec<String>,
    last: Timestamp,
}

#[derive(Debug)]
struct Allowance {
    left: f64,
    at: Timestamp,
}

/// An event that is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telling {
    /// What events have in common that count as one.
    pub key: String,
    /// What it says.
    pub message: String,
}

impl Memory {
    /// Decides about an event of a kind about an object; `None` where it is held back.
    pub fn consider(&mut self, object: &str, kind: &str, message: &str, now: Timestamp) -> Option<Telling> {
        if self.told.len() + self.similar.len() + self.allowances.len() > MOST_REMEMBERED {
            *self = Self::default();
        }
        let group = format!("{object} {kind}");
        let similar = self.similar.entry(group.clone()).or_insert_with(|| Similar {
            texts: Vec::new(),
            last: now,
        });
        if now.duration_since(similar.last) > SIMILAR_FOR {
            similar.texts.clear();
        }
        similar.last = now;
        if !similar.texts.iter().any(|text| text == message) && similar.texts.len() < MOST_SIMILAR {
            similar.texts.push(message.to_owned());
        }
        let combined = similar.texts.len() >= MOST_SIMILAR;
        let telling = if combined {
            Telling {
                key: group,
                message: format!("(combined from similar events): {message}"),
            }
        } else {
            Telling {
                key: format!("{group} {message}"),
                message: message.to_owned(),
            }
        };
        let allowance = self
            .allowances
            .entry(object.to_owned())
            .or_insert(Allowance { left: BURST, at: now });
        let earned = now.duration_since(allowance.at).as_secs_f64() / SECONDS_PER_EVENT;
        allowance.left = (allowance.left + earned.max(0.0)).min(BURST);
        allowance.at = now;
        if allowance.left < 1.0 {
            return None;
        }
        allowance.left -= 1.0;
        Some(telling)
    }

    /// Returns the event that was told of the same.
    pub fn told(&self, key: &str) -> Option<&Told> {
        self.told.get(key)
    }

    /// Notes that an event was written.
    pub fn remember(&mut self, key: String, told: Told) {
        self.told.insert(key, told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
    }

    #[test]
    fn what_differs_in_the_text_alone_is_combined_after_a_while() {
        let mut memory = Memory::default();
        let texts: Vec<String> = (0..11)
            .filter_map(|number| memory.consider("o", "Normal A", &format!("pod {number}"), at(0)))
            .map(|telling| telling.message)
            .collect();
        assert_eq!(texts[8], "pod 8");
        assert_eq!(texts[9], "(combined from similar events): pod 9");
        assert_eq!(texts[10], "(combined from similar events): pod 10");
    }

    #[test]
    fn a_flood_about_one_object_is_held_back() {
        let mut memory = Memory::default();
        let told = (0..40)
            .filter(|number| {
                memory
                    .consider("o", &format!("Normal {number}"), "t", at(0))
                    .is_some()
            })
            .count();
        assert_eq!(told, 25);
        assert_eq!(memory.consider("o", "Normal x", "t", at(299)), None);
        assert!(memory.consider("o", "Normal x", "t", at(301)).is_some());
        assert!(memory.consider("other", "Normal x", "t", at(0)).is_some());
    }
}
