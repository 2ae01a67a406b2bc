//! Events about objects, as controllers tell them: what repeats is counted, and what repeats too often is held back.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::client::{Client, Named};
use crate::object::{Object, timestamp};

const EVENTS: Named<'static> = ("", "events");

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

/// How bad an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// All is as it should be.
    Normal,
    /// Someone may want to do something.
    Warning,
}

impl Level {
    fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// An event that a decision brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How bad it is.
    pub level: Level,
    /// The reason, one word.
    pub reason: &'static str,
    /// What happened.
    pub message: String,
}

impl Note {
    /// Returns a note that all is as it should be.
    pub fn normal(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            level: Level::Normal,
            reason,
            message: message.into(),
        }
    }

    /// Returns a note that someone may want to do something about.
    pub fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            level: Level::Warning,
            reason,
            message: message.into(),
        }
    }
}

/// Tells events in the name of a component.
#[derive(Debug)]
pub struct Recorder {
    component: &'static str,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    told: HashMap<String, Told>,
    similar: HashMap<String, Similar>,
    allowances: HashMap<String, Allowance>,
}

#[derive(Debug, Clone)]
struct Told {
    name: String,
    count: i64,
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

/// What becomes of an event.
#[derive(Debug, PartialEq, Eq)]
enum Telling {
    New {
        key: String,
        message: String,
    },
    Again {
        key: String,
        name: String,
        count: i64,
        message: String,
    },
    HeldBack,
}

impl Memory {
    fn consider(&mut self, object: &str, kind: &str, message: &str, now: Timestamp) -> Telling {
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
        let (key, message) = if combined {
            (group, format!("(combined from similar events): {message}"))
        } else {
            (format!("{group} {message}"), message.to_owned())
        };
        let allowance = self
            .allowances
            .entry(object.to_owned())
            .or_insert(Allowance { left: BURST, at: now });
        let earned = now.duration_since(allowance.at).as_secs_f64() / SECONDS_PER_EVENT;
        allowance.left = (allowance.left + earned.max(0.0)).min(BURST);
        allowance.at = now;
        if allowance.left < 1.0 {
            return Telling::HeldBack;
        }
        allowance.left -= 1.0;
        match self.told.get(&key) {
            Some(told) => Telling::Again {
                name: told.name.clone(),
                count: told.count + 1,
                key,
                message,
            },
            None => Telling::New { key, message },
        }
    }

    fn remember(&mut self, key: String, name: &str, count: i64) {
        let name = name.to_owned();
        self.told.insert(key, Told { name, count });
    }
}

impl Recorder {
    /// Returns a recorder of a component, such as `deployment-controller`.
    pub fn new(component: &'static str) -> Self {
        Self {
            component,
            memory: Mutex::default(),
        }
    }

    fn with_memory<T>(&self, work: impl FnOnce(&mut Memory) -> T) -> T {
        work(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells the events of a decision.
    pub async fn tell(&self, client: &Client, about: &Value, notes: &[Note]) {
        for note in notes {
            self.note(client, about, note.level, note.reason, &note.message)
                .await;
        }
    }

    /// Tells an event. One that can't be written is lost: it is news, not state.
    pub async fn note(&self, client: &Client, about: &Value, level: Level, reason: &str, message: &str) {
        let now = Timestamp::now();
        let kind = format!("{} {reason}", level.as_str());
        let telling = self.with_memory(|memory| memory.consider(about.uid(), &kind, message, now));
        let namespace = Some(about.namespace())
            .filter(|namespace| !namespace.is_empty())
            .unwrap_or("default");
        let (key, message) = match telling {
            Telling::HeldBack => return,
            Telling::New { key, message } => (key, message),
            Telling::Again {
                key,
                name,
                count,
                message,
            } => {
                let patch = json!({"count": count, "lastTimestamp": timestamp(now), "message": message});
                if client.merge(EVENTS, namespace, &name, "", &patch).await.is_ok() {
                    self.with_memory(|memory| memory.remember(key, &name, count));
                    return;
                }
                // It was deleted in the meantime: it is told anew.
                (key, message)
            }
        };
        let name = format!("{}.{:x}", about.name(), now.as_nanosecond());
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {
                "kind": about["kind"],
                "namespace": about.namespace(),
                "name": about.name(),
                "uid": about.uid(),
                "apiVersion": about["apiVersion"],
                "resourceVersion": about.metadata_text("resourceVersion"),
            },
            "reason": reason,
            "message": message,
            "source": {"component": self.component},
            "firstTimestamp": timestamp(now),
            "lastTimestamp": timestamp(now),
            "count": 1,
            "type": level.as_str(),
            "eventTime": null,
            "reportingComponent": self.component,
            "reportingInstance": "",
        });
        match client.create(EVENTS, event).await {
            Ok(_) => self.with_memory(|memory| memory.remember(key, &name, 1)),
            Err(status) => tracing::debug!(%status, "an event could not be written"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
    }

    #[test]
    fn what_repeats_is_counted() {
        let mut memory = Memory::default();
        let Telling::New { key, message } = memory.consider("o", "Normal A", "text", at(0)) else {
            panic!("the first time is new");
        };
        assert_eq!(message, "text");
        memory.remember(key, "o.1", 1);
        let again = memory.consider("o", "Normal A", "text", at(1));
        assert!(matches!(again, Telling::Again { count: 2, .. }), "{again:?}");
    }

    #[test]
    fn what_differs_in_the_text_alone_is_combined_after_a_while() {
        let mut memory = Memory::default();
        let texts: Vec<String> = (0..11)
            .map(
                |number| match memory.consider("o", "Normal A", &format!("pod {number}"), at(0)) {
                    Telling::New { key, message } => {
                        memory.remember(key, "o.1", 1);
                        message
                    }
                    Telling::Again { message, .. } => message,
                    Telling::HeldBack => String::new(),
                },
            )
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
                memory.consider("o", &format!("Normal {number}"), "t", at(0)) != Telling::HeldBack
            })
            .count();
        assert_eq!(told, 25);
        assert_eq!(memory.consider("o", "Normal x", "t", at(299)), Telling::HeldBack);
        assert_ne!(memory.consider("o", "Normal x", "t", at(301)), Telling::HeldBack);
        assert_ne!(
            memory.consider("other", "Normal x", "t", at(0)),
            Telling::HeldBack
        );
    }
}
