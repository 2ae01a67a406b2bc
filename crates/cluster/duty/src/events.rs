//! Events: what happened to an object, for whoever runs `kubectl describe`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

/// How many events are remembered, so that one that happens again is counted and not written anew.
const REMEMBERED: usize = 4_096;

/// The longest message of an event that Kubernetes takes, in bytes.
const LONGEST_MESSAGE: usize = 1_024;

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Announcement {
    /// Whether something is wrong.
    pub is_warning: bool,
    /// What happened, in one word.
    pub reason: Cow<'static, str>,
    /// What happened, for a person.
    pub message: String,
}

impl Announcement {
    /// Tells that something is wrong.
    pub fn warning(reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            is_warning: true,
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// Tells what was done.
    pub fn normal(reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            is_warning: false,
            reason: reason.into(),
            message: message.into(),
        }
    }
}

/// Who tells something, of which object, and of which moment.
#[derive(Debug, Clone)]
pub struct Telling {
    /// The controller, as `kubectl describe` names it.
    pub reporter: String,
    /// The object; its `uid` keeps it apart from one that had its name before.
    pub about: ObjectReference,
    /// When it happened, which may be a while before it is told.
    pub happened: Timestamp,
}

impl Telling {
    /// The namespace that keeps the event. Kubernetes takes those of objects without one, namespaces among them, in the
    /// default one alone.
    fn namespace(&self) -> &str {
        let named = self.about.namespace.as_deref();
        named.filter(|name| !name.is_empty()).unwrap_or("default")
    }

    fn event(&self, announcement: &Announcement) -> Event {
        let name = self.about.name.as_deref().unwrap_or_default();
        let kind = if announcement.is_warning {
            "Warning"
        } else {
            "Normal"
        };
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}", self.happened.as_nanosecond())),
                namespace: Some(self.namespace().to_owned()),
                ..ObjectMeta::default()
            },
            involved_object: self.about.clone(),
            type_: Some(kind.to_owned()),
            reason: Some(announcement.reason.clone().into_owned()),
            message: Some(shortened(&announcement.message)),
            count: Some(1),
            first_timestamp: Some(Time(self.happened)),
            last_timestamp: Some(Time(self.happened)),
            reporting_component: Some(self.reporter.clone()),
            source: Some(EventSource {
                component: Some(self.reporter.clone()),
                host: None,
            }),
            ..Event::default()
        }
    }
}

fn shortened(message: &str) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST_MESSAGE - '…'.len_utf8());
    format!("{}…", &message[..end])
}

/// Writes events, and counts those that happen again.
pub struct Announcer {
    client: Client,
    told: Mutex<HashMap<(String, Announcement), Told>>,
}

#[derive(Clone)]
struct Told {
    name: String,
    count: i32,
}

impl Announcer {
    /// Writes through a client.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            told: Mutex::default(),
        }
    }

    /// Returns whether something was told of the object with an identity before.
    pub fn has_told(&self, uid: &str, announcement: &Announcement) -> bool {
        self.told().contains_key(&(uid.to_owned(), announcement.clone()))
    }

    /// Tells something; what was told before is counted.
    pub async fn tell(&self, telling: &Telling, announcement: &Announcement) {
        let events: Api<Event> = Api::namespaced(self.client.clone(), telling.namespace());
        let uid = telling.about.uid.clone().unwrap_or_default();
        let key = (uid, announcement.clone());
        let before = {
            let mut told = self.told();
            if told.len() >= REMEMBERED {
                told.clear();
            }
            told.get(&key).cloned()
        };
        let written = if let Some(Told { name, count }) = before {
            let count = count.saturating_add(1);
            let change = json!({"count": count, "lastTimestamp": Time(telling.happened)});
            let patched = events
                .patch(&name, &PatchParams::default(), &Patch::Merge(&change))
                .await;
            patched.map(|_| Told { name, count })
        } else {
            let event = telling.event(announcement);
            let created = events.create(&PostParams::default(), &event).await;
            let name = event.metadata.name.unwrap_or_default();
            created.map(|_| Told { name, count: 1 })
        };
        match written {
            Ok(written) => {
                self.told().insert(key, written);
            }
            Err(fault) => {
                // The server forgets events after a while, and a namespace that goes takes none.
                self.told().remove(&key);
                let about = telling.about.name.as_deref().unwrap_or_default();
                tracing::debug!(about, %fault, "an event could not be written");
            }
        }
    }

    fn told(&self) -> MutexGuard<'_, HashMap<(String, Announcement), Told>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(kind: &str, namespace: Option<&str>) -> Telling {
        Telling {
            reporter: "tester".to_owned(),
            about: ObjectReference {
                kind: Some(kind.to_owned()),
                name: Some("one".to_owned()),
                namespace: namespace.map(str::to_owned),
                ..ObjectReference::default()
            },
            happened: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn an_event_is_kept_where_its_object_is_looked_for() {
        for (kind, namespace, kept) in [
            ("Pod", Some("shop"), "shop"),
            ("ClusterRole", None, "default"),
            ("ClusterRole", Some(""), "default"),
            ("Namespace", None, "default"),
        ] {
            assert_eq!(
                about(kind, namespace).namespace(),
                kept,
                "{kind} in {namespace:?}"
            );
        }
    }

    #[test]
    fn a_message_that_is_too_long_ends_in_an_ellipsis_at_a_character() {
        let event = |message: String| {
            let told = about("Pod", None).event(&Announcement::warning("Late", message));
            told.message.unwrap_or_default()
        };
        assert_eq!(event("ä".repeat(512)), "ä".repeat(512));
        let cut = event("ä".repeat(513));
        assert!(cut.len() <= LONGEST_MESSAGE, "{}", cut.len());
        assert!(cut.ends_with("ä…"), "{cut}");
    }
}
