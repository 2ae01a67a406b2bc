//! Events: what controllers, the scheduler and the node tell about objects, for `kubectl describe` and `kubectl events`.
//!
//! Recording never waits and never fails: a task writes, and what comes faster than it can be written is dropped, as
//! upstream does. The same thing told again raises the count of the event that is there; [`correlation`] says what is the
//! same.

pub mod correlation;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::api::Api;
use crate::caller::Caller;
use crate::client::{Client, Named};
use crate::object::{Object, micro_timestamp, timestamp};
use correlation::{Memory, Telling, Told};

const EVENTS: Named<'static> = ("", "events");

/// How many events wait to be written before new ones are dropped.
const LONGEST_BACKLOG: usize = 4096;

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

/// An event that a decision brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Whether it is good news.
    pub event_type: EventType,
    /// The reason, one word.
    pub reason: &'static str,
    /// What happened.
    pub message: String,
}

impl Note {
    /// Returns a note that all is as it should be.
    pub fn normal(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            event_type: EventType::Normal,
            reason,
            message: message.into(),
        }
    }

    /// Returns a note that someone may want to do something about.
    pub fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            event_type: EventType::Warning,
            reason,
            message: message.into(),
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
    /// The program that the component is a part of, which the fields of the events belong to.
    pub program: &'static str,
}

impl Reporter {
    /// Returns a controller as the one who tells, such as `deployment-controller`.
    pub const fn controller(component: &'static str) -> Self {
        Self {
            component,
            host: "",
            program: "kube-controller-manager",
        }
    }

    /// Tells the events of a decision about an object.
    pub fn tell(self, client: &Client, about: &Value, notes: &[Note]) {
        let recorder = client.api().events.recorder(self);
        for note in notes {
            recorder.tell(about, note.event_type, note.reason, note.message.as_str());
        }
    }

    /// Tells one event about an object.
    pub fn note(self, client: &Client, about: &Value, event_type: EventType, reason: &str, message: &str) {
        let recorder = client.api().events.recorder(self);
        recorder.tell(about, event_type, reason, message);
    }
}

#[derive(Debug)]
struct News {
    reporter: Reporter,
    regarding: Value,
    event_type: EventType,
    reason: String,
    message: String,
    action: &'static str,
}

/// The events of a cluster on their way to the store.
#[derive(Debug)]
pub struct Events {
    sender: mpsc::Sender<News>,
    /// What the writing task takes when it starts.
    receiver: Mutex<Option<mpsc::Receiver<News>>>,
}

impl Default for Events {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(LONGEST_BACKLOG);
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
        }
    }
}

impl Events {
    /// Returns where a reporter tells events.
    pub fn recorder(&self, reporter: Reporter) -> Recorder {
        Recorder {
            reporter,
            sender: self.sender.clone(),
        }
    }
}

/// Tells of events; cheap to clone.
#[derive(Debug, Clone)]
pub struct Recorder {
    reporter: Reporter,
    sender: mpsc::Sender<News>,
}

/// Starts the task that writes events; there is one for each cluster. It ends with the cluster.
pub fn start(api: &Arc<Api>) -> JoinHandle<()> {
    let receiver = api
        .events
        .receiver
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let api = Arc::downgrade(api);
    tokio::spawn(async move {
        if let Some(receiver) = receiver {
            write_all(api, receiver).await;
        }
    })
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
        let news = News {
            reporter: self.reporter,
            regarding,
            event_type,
            reason: reason.into(),
            message,
            action,
        };
        // A full backlog drops the event: nothing may wait for events.
        let _ = self.sender.try_send(news);
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

/// Returns what is told of a piece of news; `None` where it is held back.
fn consider(memory: &mut Memory, news: &News, now: Timestamp) -> Option<Telling> {
    let text = |field: &str| {
        news.regarding
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let component = news.reporter.component;
    let object = format!("{component} {}", text("uid"));
    let kind = format!("{} {} {}", news.event_type.name(), news.reason, text("fieldPath"));
    if news.action.is_empty() {
        return memory.consider(&object, &kind, &news.message, now);
    }
    // Events of the newer form are neither combined nor held back, as upstream has it.
    Some(Telling {
        key: format!("{object} {kind} {} {}", news.action, news.message),
        message: news.message.clone(),
    })
}

async fn write_all(api: Weak<Api>, mut receiver: mpsc::Receiver<News>) {
    let mut memory = Memory::default();
    let mut batch = Vec::new();
    while receiver.recv_many(&mut batch, LARGEST_BATCH).await > 0 {
        let Some(api) = api.upgrade() else { return };
        let now = Timestamp::now();
        // What is told several times within a batch is written once.
        let mut counted: HashMap<String, (News, i64)> = HashMap::new();
        for mut news in batch.drain(..) {
            let Some(Telling { key, message }) = consider(&mut memory, &news, now) else {
                continue;
            };
            news.message = message;
            counted.entry(key).or_insert_with(|| (news, 0)).1 += 1;
        }
        let writes = counted.into_iter().map(|(key, (news, count))| {
            let before = memory.told(&key).cloned();
            let api = api.clone();
            async move {
                let told = write(api, &news, count, before, now).await?;
                Some((key, told))
            }
        });
        for (key, told) in futures_util::future::join_all(writes).await.into_iter().flatten() {
            memory.remember(key, told);
        }
    }
}

/// Writes an event, or raises the count of the one that is there.
async fn write(api: Arc<Api>, news: &News, count: i64, before: Option<Told>, now: Timestamp) -> Option<Told> {
    let client = Client::new(api, Caller::administrator(), news.reporter.program);
    let namespace = match news.regarding.get("namespace").and_then(Value::as_str) {
        None | Some("") => "default",
        Some(namespace) => namespace,
    };
    if let Some(Told { name, count: before }) = before {
        let count = before + count;
        let patch = if news.action.is_empty() {
            json!({"count": count, "lastTimestamp": timestamp(now), "message": news.message})
        } else {
            json!({"series": {"count": count, "lastObservedTime": micro_timestamp(now)}})
        };
        if client.merge(EVENTS, namespace, &name, "", &patch).await.is_ok() {
            return Some(Told { name, count });
        }
        // It was deleted in the meantime: it is told anew.
    }
    let event = event(news, namespace, count, now);
    let name = event.name().to_owned();
    match client.create(EVENTS, event).await {
        Ok(_) => Some(Told { name, count }),
        Err(status) => {
            // The namespace may be going, and the event with it.
            tracing::debug!(reason = news.reason, %status, "an event was not written");
            None
        }
    }
}

fn event(news: &News, namespace: &str, count: i64, now: Timestamp) -> Value {
    // Upstream takes the time alone; two events of one moment would then be one.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = i128::from(NUMBER.fetch_add(1, Ordering::Relaxed) % 1000);
    let name = format!(
        "{}.{:016x}",
        news.regarding
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default(),
        now.as_nanosecond() / 1000 * 1000 + number
    );
    let mut event = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": news.regarding,
        "type": news.event_type.name(),
        "reason": news.reason,
        "message": news.message,
        "reportingComponent": news.reporter.component,
        "reportingInstance": news.reporter.host,
    });
    if news.action.is_empty() {
        event["source"] = json!({"component": news.reporter.component});
        if !news.reporter.host.is_empty() {
            event["source"]["host"] = news.reporter.host.into();
        }
        event["count"] = count.into();
        event["firstTimestamp"] = timestamp(now).into();
        event["lastTimestamp"] = timestamp(now).into();
        event["eventTime"] = Value::Null;
    } else {
        // Reporters that say what they did use the newer form: a time with microseconds, and no source.
        event["action"] = news.action.into();
        event["eventTime"] = micro_timestamp(now).into();
        event["reportingInstance"] = format!("{}-{}", news.reporter.component, news.reporter.host).into();
        event["source"] = json!({});
    }
    event
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn the_same_thing_told_again_raises_the_count() {
        let stage = crate::Stage::in_memory(crate::Options {
            without_controllers: true,
            ..crate::Options::default()
        })
        .await
        .expect("a stage in memory starts");
        let _task = start(stage.api());
        let recorder = stage.api().events.recorder(Reporter::controller("test"));
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
