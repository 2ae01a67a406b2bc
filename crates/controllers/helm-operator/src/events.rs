//! Events: what happened to a resource, for whoever runs `kubectl describe`.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::resource::CustomResource;
use crate::watches::Kind;

/// How many events are remembered, so that one that happens again is counted and not written anew.
const REMEMBERED: usize = 4_096;

/// The longest message of an event that Kubernetes takes.
const LONGEST_MESSAGE: usize = 1_024;

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Announcement {
    /// Whether something is wrong.
    pub is_warning: bool,
    /// What happened, in one word.
    pub reason: &'static str,
    /// What happened, for a person.
    pub message: String,
}

impl Announcement {
    /// Tells that something is wrong.
    pub fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            is_warning: true,
            reason,
            message: message.into(),
        }
    }

    /// Tells what was done.
    pub fn normal(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            is_warning: false,
            reason,
            message: message.into(),
        }
    }
}

/// Writes events.
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

    /// Returns whether something was told of a resource before.
    pub fn has_told(&self, resource: &CustomResource, announcement: &Announcement) -> bool {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.contains_key(&(resource.uid.clone(), announcement.clone()))
    }

    /// Tells something; what was told before is counted.
    pub async fn tell(&self, resource: &CustomResource, kind: &Kind, announcement: &Announcement) {
        // Events of objects without a namespace are kept in the default one.
        let namespace = match resource.id.namespace.as_str() {
            "" => "default",
            namespace => namespace,
        };
        let events: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        let key = (resource.uid.clone(), announcement.clone());
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
            let event = event(resource, kind, namespace, announcement, now);
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
                // The server forgets events after a while.
                told.remove(&key);
                tracing::debug!(resource = %resource.id, %fault, "an event could not be written");
            }
        }
    }
}

fn event(
    resource: &CustomResource,
    kind: &Kind,
    namespace: &str,
    announcement: &Announcement,
    now: Timestamp,
) -> Event {
    let component = format!("{}-controller", kind.kind.to_lowercase());
    let message: String = announcement.message.chars().take(LONGEST_MESSAGE).collect();
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{:x}", resource.id.name, now.as_nanosecond())),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some(kind.api_version()),
            kind: Some(kind.kind.clone()),
            name: Some(resource.id.name.clone()),
            namespace: Some(resource.id.namespace.clone()).filter(|namespace| !namespace.is_empty()),
            resource_version: Some(resource.resource_version.clone()),
            uid: Some(resource.uid.clone()),
            field_path: None,
        },
        type_: Some(
            if announcement.is_warning {
                "Warning"
            } else {
                "Normal"
            }
            .to_owned(),
        ),
        reason: Some(announcement.reason.to_owned()),
        message: Some(message),
        count: Some(1),
        first_timestamp: Some(Time(now)),
        last_timestamp: Some(Time(now)),
        reporting_component: Some(component.clone()),
        source: Some(EventSource {
            component: Some(component),
            host: None,
        }),
        ..Event::default()
    }
}
