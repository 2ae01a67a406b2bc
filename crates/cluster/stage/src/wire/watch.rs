//! Changes as they happen, one JSON object after the other.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use http_body::Frame;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::negotiation::{Accepted, Format, Shape};
use super::{Body, representation, stream_body};
use crate::api::{Api, Place};
use crate::filter::Filter;
use crate::options::ListOptions;
use crate::resource::Resource;
use crate::status::Status;
use crate::store::{Event, EventKind, Stored, Watch, WatchEnd};

/// How long a watch lasts that names no time, as on the real server: half an hour at least, up to twice as long, so
/// that clients don't all come back at once.
const LEAST_LIFE: Duration = Duration::from_mins(30);

/// How often a watcher is told how far it is.
const BOOKMARK_PERIOD: Duration = Duration::from_mins(1);

/// How long before its end a watcher is told how far it is, so that it can go on from there.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// How many events go into one write at most.
const BATCH: usize = 256;

struct Watching {
    api: Arc<Api>,
    resource: Arc<Resource>,
    filter: Filter,
    accepted: Accepted,
    watch: Watch,
    /// Tells when other kinds are served: the watch of a kind ends with its definition.
    served: tokio::sync::watch::Receiver<u64>,
    /// What is sent before events are: the present state.
    waiting: VecDeque<Bytes>,
    /// Sent after the present state, where the client asked for it.
    end_of_initial_events: bool,
    /// When the watcher is told next how far it is; `None` where it doesn't want to know.
    next_bookmark: Option<Instant>,
    ends: Instant,
    over: bool,
    /// A table has its columns only in the first row of a watch.
    columns_sent: bool,
}

/// Answers a watch.
pub async fn answer(
    api: &Arc<Api>,
    place: &Place,
    filter: Filter,
    options: &ListOptions,
    accepted: Accepted,
) -> Result<Body, Status> {
    let initial = options.send_initial_events;
    let from_now = options.resource_version.is_empty() || options.resource_version == "0";
    let named = if from_now {
        None
    } else {
        Some(
            crate::api::read::read_version(&options.resource_version)
                .map_err(|why| Status::refusal(http::StatusCode::INTERNAL_SERVER_ERROR, "", why))?,
        )
    };
    let shows_state = initial.unwrap_or(from_now);
    if initial == Some(true)
        && let Some(named) = named
    {
        api.refuse_future(named)?;
    }
    let namespace = (!place.namespace.is_empty()).then_some(place.namespace.as_str());
    let mut waiting = VecDeque::new();
    let mut columns_sent = false;
    let since = if shows_state {
        let page = api.list(place, &filter, &ListOptions::default())?;
        for item in &page.items {
            let frame = frame(api, &place.resource, &accepted, "ADDED", item, !columns_sent).await?;
            columns_sent = true;
            waiting.push_back(frame);
        }
        page.revision
    } else {
        named.unwrap_or_else(|| api.store.revision())
    };
    let watch = match api.store.watch(&place.resource.storage, namespace, since) {
        Ok(watch) => watch,
        Err(expired) => {
            let status = Status::expired(format!(
                "too old resource version: {} ({})",
                expired.requested, expired.oldest
            ));
            return Ok(stream_body(stream::iter([Ok(Frame::data(error_frame(
                &accepted, &status,
            )))])));
        }
    };
    let life = match options.timeout_seconds {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds),
        _ => LEAST_LIFE + LEAST_LIFE.mul_f64(f64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 256.0),
    };
    let mut served = api.resources.changes();
    if !api.resources.still_serves(&place.resource) {
        served.mark_changed();
    }
    let now = Instant::now();
    let watching = Watching {
        api: api.clone(),
        resource: place.resource.clone(),
        filter,
        accepted,
        watch,
        served,
        waiting,
        end_of_initial_events: initial == Some(true),
        next_bookmark: options.allow_bookmarks.then(|| {
            now + BOOKMARK_PERIOD.min(life.saturating_sub(LAST_BOOKMARK).max(Duration::from_millis(1)))
        }),
        ends: now + life,
        over: false,
        columns_sent,
    };
    let frames = stream::unfold(watching, |mut watching| async move {
        let bytes = watching.next().await?;
        Some((Ok(Frame::data(bytes)), watching))
    });
    Ok(stream_body(frames))
}

impl Watching {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.over {
                return None;
            }
            if !self.waiting.is_empty() {
                let mut bytes = BytesMut::new();
                while let Some(frame) = self.waiting.pop_front() {
                    bytes.put(frame);
                    if bytes.len() >= 64 * 1024 {
                        break;
                    }
                }
                return Some(bytes.freeze());
            }
            if self.end_of_initial_events {
                self.end_of_initial_events = false;
                if self.next_bookmark.is_some() {
                    return Some(self.bookmark(true));
                }
            }
            tokio::select! {
                biased;
                events = self.watch.next_batch(BATCH) => match events {
                    Ok(events) => {
                        let bytes = self.encode(&events).await;
                        if !bytes.is_empty() {
                            return Some(bytes);
                        }
                    }
                    Err(WatchEnd::Expired(expired)) => {
                        self.over = true;
                        let status = Status::expired(format!(
                            "too old resource version: {} ({})",
                            expired.requested, expired.oldest
                        ));
                        return Some(error_frame(&self.accepted, &status));
                    }
                    Err(WatchEnd::Closed) => return None,
                },
                () = tokio::time::sleep_until(self.ends) => return None,
                _ = self.served.changed(), if self.resource.custom().is_some() => {
                    if !self.api.resources.still_serves(&self.resource) {
                        return None;
                    }
                }
                () = tokio::time::sleep_until(self.next_bookmark.unwrap_or(self.ends)), if self.next_bookmark.is_some() => {
                    let now = Instant::now();
                    let last = self.ends.checked_sub(LAST_BOOKMARK).unwrap_or(now);
                    let next = if now < last { (now + BOOKMARK_PERIOD).min(last) } else { self.ends + BOOKMARK_PERIOD };
                    self.next_bookmark = Some(next);
                    return Some(self.bookmark(false));
                }
            }
        }
    }

    async fn encode(&mut self, events: &[Arc<Event>]) -> Bytes {
        let mut single = Bytes::new();
        let mut several = BytesMut::new();
        for event in events {
            let Some(kind) = self.shown_as(event) else {
                continue;
            };
            let Some(bytes) = self.event_frame(event, kind).await else {
                self.over = true;
                break;
            };
            if single.is_empty() && several.is_empty() {
                single = bytes;
            } else {
                if several.is_empty() {
                    several.reserve(bytes.len() * events.len() + single.len());
                    several.put(std::mem::take(&mut single));
                }
                several.put(bytes);
            }
        }
        if several.is_empty() {
            single
        } else {
            several.freeze()
        }
    }

    /// Returns how the watcher sees an event: an object that comes into a selection is new, one that leaves is gone.
    fn shown_as(&self, event: &Event) -> Option<EventKind> {
        if self.filter.is_everything() {
            return Some(event.kind);
        }
        let before = event
            .previous
            .as_ref()
            .is_some_and(|previous| self.filter.passes(previous));
        let after = event.kind != EventKind::Deleted && self.filter.passes(&event.object);
        match (before, after) {
            (false, true) => Some(EventKind::Added),
            (true, true) => Some(EventKind::Modified),
            (true, false) => Some(EventKind::Deleted),
            (false, false) => None,
        }
    }

    async fn event_frame(&mut self, event: &Event, kind: EventKind) -> Option<Bytes> {
        let name = match kind {
            EventKind::Added => "ADDED",
            EventKind::Modified => "MODIFIED",
            EventKind::Deleted => "DELETED",
        };
        // What leaves a selection is shown as it was when it was in it, at the revision of the change.
        let left = kind == EventKind::Deleted && event.kind != EventKind::Deleted;
        let plain = self.accepted.format == Format::Json && self.accepted.shape == Shape::Whole;
        if plain && !left && self.api.is_served_as_stored(&self.resource, &event.object) {
            let slot = kind as usize;
            return Some(event.encoded(slot, || plain_frame(name, &event.object.bytes)));
        }
        let object = match (&event.previous, left) {
            (Some(previous), true) => Arc::new(previous.at_revision(event.revision)),
            _ => event.object.clone(),
        };
        let first = !self.columns_sent;
        self.columns_sent = true;
        frame(&self.api, &self.resource, &self.accepted, name, &object, first)
            .await
            .ok()
    }

    fn bookmark(&self, end_of_initial_events: bool) -> Bytes {
        let revision = self.watch.progress().to_string();
        let mut metadata = json!({"resourceVersion": revision});
        if end_of_initial_events {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let (api_version, kind) = match self.accepted.shape {
            Shape::Metadata => ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadata"),
            _ => (self.resource.api_version(), &*self.resource.kind),
        };
        let object = match self.accepted.shape {
            Shape::Table => representation::bookmark_table(&revision, end_of_initial_events),
            _ => json!({"apiVersion": api_version, "kind": kind, "metadata": metadata}),
        };
        value_frame(&self.accepted, "BOOKMARK", &object)
    }
}

fn plain_frame(name: &str, object: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(object.len() + 40);
    bytes.put_slice(b"{\"type\":\"");
    bytes.put_slice(name.as_bytes());
    bytes.put_slice(b"\",\"object\":");
    bytes.put_slice(object);
    bytes.put_slice(b"}\n");
    bytes.freeze()
}

async fn frame(
    api: &Api,
    resource: &Resource,
    accepted: &Accepted,
    name: &str,
    stored: &Arc<Stored>,
    first: bool,
) -> Result<Bytes, Status> {
    if accepted.format == Format::Json
        && accepted.shape == Shape::Whole
        && api.is_served_as_stored(resource, stored)
    {
        return Ok(plain_frame(name, &stored.bytes));
    }
    let object = api.served(resource, stored).await?;
    let shown = representation::watched(resource, accepted, object, first);
    Ok(value_frame(accepted, name, &shown))
}

fn error_frame(accepted: &Accepted, status: &Status) -> Bytes {
    value_frame(accepted, "ERROR", &status.to_value())
}

fn value_frame(accepted: &Accepted, name: &str, object: &Value) -> Bytes {
    if accepted.format == Format::Protobuf
        && let Ok(bytes) = schema::protobuf::encode_watch_event(name, object)
    {
        return bytes.into();
    }
    plain_frame(name, object.to_string().as_bytes())
}
