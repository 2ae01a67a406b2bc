//! Events: what happened to an object, for whoever runs `kubectl describe`.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use classic::Notice;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

/// The name under which events are told, as upstream's.
const REPORTER: &str = "operator-lifecycle-manager";

/// How many events are remembered, so that one that happens again is counted and not written anew.
const REMEMBERED: usize = 4_096;

/// The longest message of an event that Kubernetes takes.
const LONGEST_MESSAGE: usize = 1_024;

/// Writes events.
pub struct Announcer {
    client: Client,
    told: Mutex<HashMap<(String, Notice), Told>>,
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

    /// Tells something of the object with an identity; what was told before is counted.
    pub async fn tell(&self, notice: &Notice, uid: &str) {
        // Events of objects without a namespace are kept in the default one, but those of a namespace in it.
        let namespace = match (notice.about.namespace.as_str(), notice.about.kind.as_str()) {
            ("", "Namespace") => notice.about.name.as_str(),
            ("", _) => "default",
            (namespace, _) => namespace,
        };
        let events: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        let key = (uid.to_owned(), notice.clone());
        let before = {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.len() >= REMEMBERED {
                told.clear();
            }
            told.get(&key).cloned()
        };
        let now = Timestamp::now();
        let written = if let Some(before) = before {
            let count = before.count.saturating_add(1);
            let change = json!({"count": count, "lastTimestamp": Time(now)});
            let patched = events
                .patch(&before.name, &PatchParams::default(), &Patch::Merge(&change))
                .await;
            patched.map(|_| Told {
                name: before.name,
                count,
            })
        } else {
            let event = event(notice, uid, namespace, now);
            let name = event.metadata.name.clone().unwrap_or_default();
            let created = events.create(&PostParams::default(), &event).await;
            created.map(|_| Told { name, count: 1 })
        };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(written) => {
                told.insert(key, written);
            }
            Err(fault) => {
                // The server forgets events after a while, and a namespace that goes takes none.
                told.remove(&key);
                tracing::debug!(about = %notice.about, %fault, "an event could not be written");
            }
        }
    }
}

fn event(notice: &Notice, uid: &str, namespace: &str, now: Timestamp) -> Event {
    let about = &notice.about;
    let mut message = notice.message.clone();
    if message.len() > LONGEST_MESSAGE {
        message.truncate(message.floor_char_boundary(LONGEST_MESSAGE - '…'.len_utf8()));
        message.push('…');
    }
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{:x}", about.name, now.as_nanosecond())),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some(about.api_version.clone()),
            kind: Some(about.kind.clone()),
            name: Some(about.name.clone()),
            namespace: Some(about.namespace.clone()).filter(|namespace| !namespace.is_empty()),
            uid: Some(uid.to_owned()).filter(|uid| !uid.is_empty()),
            ..ObjectReference::default()
        },
        type_: Some(if notice.is_warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(notice.reason.clone()),
        message: Some(message),
        source: Some(EventSource {
            component: Some(REPORTER.to_owned()),
            host: None,
        }),
        reporting_component: Some(REPORTER.to_owned()),
        first_timestamp: Some(Time(now)),
        last_timestamp: Some(Time(now)),
        count: Some(1),
        ..Event::default()
    }
}
