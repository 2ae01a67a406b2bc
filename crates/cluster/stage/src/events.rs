//! Events: what controllers, the scheduler and the node tell about objects, for `kubectl describe` and `kubectl events`.
//!
//! Recording never waits and never fails: a task writes, and what comes faster than it can be written is dropped, as
//! upstream does. The same thing told again raises the count of the event that is there.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::api::Api;
use crate::caller::Caller;
use crate::client::{Client, Named};
use crate::object::{Object, micro_timestamp, timestamp};

const EVENTS: Named<'static> = ("", "events");

/// How many events wait to be written before new ones are dropped.
const LONGEST_BACKLOG: usize = 4096;

/// How many events are remembered, so that their counts can be raised.
const MOST_REMEMBERED: usize = 4096;

/// How long an event is remembered: as long as upstream does.
const REMEMBERED_FOR: Duration = Duration::from_mins(10);

/// The longest message of an event, as the API allows it.
const LONGEST_MESSAGE: usize = 1024;

/// How many events are written at once, so that they share a commit.
const LARGEST_BATCH: usize = 64;

/// Whether an event is good news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventType {
    /// Something happened as it should.
    Normal,
    /// Something needs attention.
    Warning,
}

impl EventType {
    const fn name(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Who tells of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reporter {
    /// The component, such as `kubelet`.
    pub component: &'static str,
    /// The host it runs on; empty where that says nothing.
    pub host: &'static str,
}

#[derive(Debug)]
struct Told {
    reporter: Reporter,
    regarding: Value,
    event_type: EventType,
    reason: String,
    message: String,
    action: &'static str,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Sameness {
    reporter: Reporter,
    uid: String,
    field: String,
    event_type: EventType,
    reason: String,
    message: String,
}

impl Sameness {
    fn of(told: &Told) -> Self {
        let text = |field: &str| {
            told.regarding
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            reporter: told.reporter,
            uid: text("uid"),
            field: text("fieldPath"),
            event_type: told.event_type,
            reason: told.reason.clone(),
            message: told.message.clone(),
        }
    }
}

#[derive(Debug, Clone)]
struct Remembered {
    name: String,
    count: i64,
    last: Instant,
}

/// Tells of events; cheap to clone.
#[derive(Debug, Clone)]
pub struct Recorder {
    reporter: Reporter,
    sender: mpsc::Sender<Told>,
}

/// Starts the task that writes events, and returns where to tell them. It ends with the last recorder.
pub fn start(api: &Arc<Api>, reporter: Reporter) -> (Recorder, JoinHandle<()>) {
    let (sender, receiver) = mpsc::channel(LONGEST_BACKLOG);
    let task = tokio::spawn(write_all(Arc::downgrade(api), receiver));
    (Recorder { reporter, sender }, task)
}

impl Recorder {
    /// Returns a recorder of another reporter that shares the task.
    pub fn of(&self, reporter: Reporter) -> Self {
        Self {
            reporter,
            sender: self.sender.clone(),
        }
    }

    /// Tells something about an object.
    pub fn tell(
        &self,
        object: &Value,
        event_type: EventType,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) {
        self.tell_of(reference(object), event_type, reason, message, "");
    }

    /// Tells something about what a reference names; `action` is what the reporter did, for reporters that say so.
    pub fn tell_of(
        &self,
        regarding: Value,
        event_type: EventType,
        reason: impl Into<String>,
        message: impl Into<String>,
        action: &'static str,
    ) {
        let mut message = message.into();
        if message.len() > LONGEST_MESSAGE {
            let mut cut = LONGEST_MESSAGE;
            while !message.is_char_boundary(cut) {
                cut -= 1;
            }
            message.truncate(cut);
        }
        let told = Told {
            reporter: self.reporter,
            regarding,
            event_type,
            reason: reason.into(),
            message,
            action,
        };
        // A full backlog drops the event: nothing may wait for events.
        let _ = self.sender.try_send(told);
    }
}

/// Returns the reference by which events name an object.
pub fn reference(object: &Value) -> Value {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let mut reference = json!({
        "apiVersion": text("apiVersion"), "kind": text("kind"), "name": object.name(), "uid": object.uid(),
        "resourceVersion": object.metadata_text("resourceVersion"),
    });
    if !object.namespace().is_empty() {
        reference["namespace"] = object.namespace().into();
    }
    reference
}

/// Returns the reference of one container of a pod.
pub fn container_reference(pod: &Value, list: &str, container: &str) -> Value {
    let mut reference = reference(pod);
    reference["fieldPath"] = format!("spec.{list}{{{container}}}").into();
    reference
}

async fn write_all(api: Weak<Api>, mut receiver: mpsc::Receiver<Told>) {
    let mut remembered: HashMap<Sameness, Remembered> = HashMap::new();
    let mut batch = Vec::new();
    while receiver.recv_many(&mut batch, LARGEST_BATCH).await > 0 {
        let Some(api) = api.upgrade() else { return };
        // What is told several times within a batch is written once.
        let mut counted: HashMap<Sameness, (Told, i64)> = HashMap::new();
        for told in batch.drain(..) {
            counted.entry(Sameness::of(&told)).or_insert((told, 0)).1 += 1;
        }
        let writes = counted.into_iter().map(|(sameness, (told, count))| {
            let before = remembered
                .get(&sameness)
                .filter(|before| before.last.elapsed() < REMEMBERED_FOR)
                .cloned();
            let api = api.clone();
            async move {
                let name = write(api, &told, count, before.as_ref()).await?;
                let count = before
                    .filter(|before| before.name == name)
                    .map_or(0, |before| before.count)
                    + count;
                Some((
                    sameness,
                    Remembered {
                        name,
                        count,
                        last: Instant::now(),
                    },
                ))
            }
        });
        let written = futures_util::future::join_all(writes).await;
        if remembered.len() + written.len() > MOST_REMEMBERED {
            remembered.retain(|_, before| before.last.elapsed() < REMEMBERED_FOR);
            if remembered.len() + written.len() > MOST_REMEMBERED {
                remembered.clear();
            }
        }
        remembered.extend(written.into_iter().flatten());
    }
}

/// Writes an event, or raises the count of the one that is there, and returns its name.
async fn write(api: Arc<Api>, told: &Told, count: i64, before: Option<&Remembered>) -> Option<String> {
    let client = Client::new(api, Caller::administrator(), told.reporter.component);
    let namespace = match told.regarding.get("namespace").and_then(Value::as_str) {
        None | Some("") => "default",
        Some(namespace) => namespace,
    };
    let now = Timestamp::now();
    if let Some(before) = before {
        let count = before.count + count;
        let patch = if told.action.is_empty() {
            json!({"count": count, "lastTimestamp": timestamp(now)})
        } else {
            json!({"series": {"count": count, "lastObservedTime": micro_timestamp(now)}})
        };
        if client
            .merge(EVENTS, namespace, &before.name, "", &patch)
            .await
            .is_ok()
        {
            return Some(before.name.clone());
        }
    }
    let event = event(told, namespace, count, now);
    let name = event.name().to_owned();
    match client.create(EVENTS, event).await {
        Ok(_) => Some(name),
        Err(status) => {
            // The namespace may be going, and the event with it.
            tracing::debug!(reason = told.reason, %status, "an event was not written");
            None
        }
    }
}

fn event(told: &Told, namespace: &str, count: i64, now: Timestamp) -> Value {
    // Upstream takes the time alone; two events of one moment would then be one.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = i128::from(NUMBER.fetch_add(1, Ordering::Relaxed) % 1000);
    let name = format!(
        "{}.{:016x}",
        told.regarding
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default(),
        now.as_nanosecond() / 1000 * 1000 + number
    );
    let mut event = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": told.regarding,
        "type": told.event_type.name(),
        "reason": told.reason,
        "message": told.message,
        "reportingComponent": told.reporter.component,
        "reportingInstance": told.reporter.host,
    });
    if told.action.is_empty() {
        event["source"] = json!({"component": told.reporter.component});
        if !told.reporter.host.is_empty() {
            event["source"]["host"] = told.reporter.host.into();
        }
        event["count"] = count.into();
        event["firstTimestamp"] = timestamp(now).into();
        event["lastTimestamp"] = timestamp(now).into();
        event["eventTime"] = Value::Null;
    } else {
        // Reporters that say what they did use the newer form: a time with microseconds, and no source.
        event["action"] = told.action.into();
        event["eventTime"] = micro_timestamp(now).into();
        event["reportingInstance"] = format!("{}-{}", told.reporter.component, told.reporter.host).into();
        event["source"] = json!({});
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_same_thing_told_again_raises_the_count() {
        let stage = crate::Stage::in_memory(crate::Options {
            without_controllers: true,
            ..crate::Options::default()
        })
        .await
        .expect("a stage in memory starts");
        let (recorder, _task) = start(
            stage.api(),
            Reporter {
                component: "test",
                host: "",
            },
        );
        let about = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "default", "uid": "1"}});
        for _ in 0..3 {
            recorder.tell(&about, EventType::Normal, "Told", "once more");
        }
        recorder.tell(&about, EventType::Warning, "Told", "something else");
        let client = stage.client();
        let events = loop {
            let events = client.list(EVENTS, "default").expect("events");
            if events.len() == 2 {
                break events;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        let counts: Vec<_> = events
            .iter()
            .map(|event| (event["message"].clone(), event["count"].clone()))
            .collect();
        assert!(counts.contains(&(json!("once more"), json!(3))), "{counts:?}");
        assert!(
            counts.contains(&(json!("something else"), json!(1))),
            "{counts:?}"
        );
    }
}
