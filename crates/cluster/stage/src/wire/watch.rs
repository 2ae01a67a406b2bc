//! Changes as they happen, one JSON object after the other.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use http_body::Frame;
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep};

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

/// How many events are taken at a time at most.
const BATCH: usize = 256;

/// How many bytes go into one write, as far as they are from several events: enough to be quick, little enough that
/// thousands of watchers who don't read stay small.
const WRITE: usize = 32 * 1024;

/// How large an object is that goes alone: all watchers share its bytes then, instead of copying them.
const ALONE: usize = 16 * 1024;

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a wish or a fact of its own, not a state"
)]
struct Watching {
    api: Arc<Api>,
    resource: Arc<Resource>,
    filter: Filter,
    accepted: Accepted,
    watch: Watch,
    /// Tells when other kinds are served: the watch of a kind ends with its definition.
    served: tokio::sync::watch::Receiver<u64>,
    /// What is sent before events are: the present state.
    present: Present,
    /// Events that were taken and don't fit into the last write.
    taken: VecDeque<Arc<Event>>,
    /// What is written and not sent.
    written: Written,
    /// Sent after the present state, where the client asked for it.
    end_of_initial_events: bool,
    /// Whether the watcher wants to be told how far it is.
    bookmarks: bool,
    ends: Instant,
    /// Rings at the next bookmark or at the end: one that stays, because setting one up for each event is dear.
    alarm: Pin<Box<Sleep>>,
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
    let mut present = Present::default();
    let mut columns_sent = false;
    let since = if shows_state {
        let page = api.list(place, &filter, &ListOptions::default())?;
        let as_stored = page
            .items
            .iter()
            .all(|item| api.is_served_as_stored(&place.resource, item));
        if as_stored || place.resource.custom().is_none() {
            present.objects = page.items.into_iter();
        } else {
            // A conversion may fail, and then so does the request.
            for item in &page.items {
                let frame = frame(api, &place.resource, &accepted, "ADDED", item, !columns_sent).await?;
                columns_sent = true;
                present.frames.push_back(frame);
            }
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
    let ends = now + life;
    let first_bookmark = options
        .allow_bookmarks
        .then(|| now + BOOKMARK_PERIOD.min(life.saturating_sub(LAST_BOOKMARK).max(Duration::from_millis(1))));
    let watching = Watching {
        api: api.clone(),
        resource: place.resource.clone(),
        filter,
        accepted,
        watch,
        served,
        present,
        taken: VecDeque::new(),
        written: Written::default(),
        end_of_initial_events: initial == Some(true),
        bookmarks: options.allow_bookmarks,
        ends,
        alarm: Box::pin(tokio::time::sleep_until(first_bookmark.unwrap_or(ends))),
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
            if let Some(bytes) = self.written.take() {
                return Some(bytes);
            }
            if self.over {
                return None;
            }
            if self.write_present().await || self.write_taken().await {
                continue;
            }
            if self.end_of_initial_events {
                self.end_of_initial_events = false;
                if self.bookmarks {
                    return Some(self.bookmark(true));
                }
            }
            tokio::select! {
                biased;
                events = self.watch.next_batch(BATCH) => match events {
                    Ok(events) => self.taken = events.into(),
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
                _ = self.served.changed(), if self.resource.custom().is_some() => {
                    if !self.api.resources.still_serves(&self.resource) {
                        return None;
                    }
                }
                () = self.alarm.as_mut() => {
                    let now = Instant::now();
                    if now >= self.ends {
                        return None;
                    }
                    let last = self.ends.checked_sub(LAST_BOOKMARK).unwrap_or(now);
                    let next = if now < last { (now + BOOKMARK_PERIOD).min(last) } else { self.ends };
                    self.alarm.as_mut().reset(next);
                    return Some(self.bookmark(false));
                }
            }
        }
    }

    /// Writes the next part of the present state; returns whether there was something left of it.
    async fn write_present(&mut self) -> bool {
        let mut some = false;
        while self.written.length < WRITE && !self.over {
            if let Some(frame) = self.present.frames.pop_front() {
                self.written.put(&frame);
            } else if let Some(object) = self.present.objects.next() {
                self.write_object(&object).await;
            } else {
                return some;
            }
            some = true;
        }
        some
    }

    async fn write_object(&mut self, object: &Arc<Stored>) {
        if is_plain(&self.accepted) && self.api.is_served_as_stored(&self.resource, object) {
            self.written.put_plain("ADDED", &object.bytes);
            return;
        }
        let first = !std::mem::replace(&mut self.columns_sent, true);
        let frame = frame(&self.api, &self.resource, &self.accepted, "ADDED", object, first).await;
        match frame {
            Ok(frame) => self.written.put(&frame),
            Err(_) => self.over = true,
        }
    }

    /// Writes the next of the taken events; returns whether there was one.
    async fn write_taken(&mut self) -> bool {
        let some = !self.taken.is_empty();
        while self.written.length < WRITE
            && let Some(event) = self.taken.pop_front()
        {
            if let Some(kind) = self.shown_as(&event) {
                self.written.expect(self.taken.len());
                self.write_event(&event, kind).await;
            }
        }
        some
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

    async fn write_event(&mut self, event: &Event, kind: EventKind) {
        let name = match kind {
            EventKind::Added => "ADDED",
            EventKind::Modified => "MODIFIED",
            EventKind::Deleted => "DELETED",
        };
        // What leaves a selection is shown as it was when it was in it, at the revision of the change.
        let left = kind == EventKind::Deleted && event.kind != EventKind::Deleted;
        if !left && self.api.is_served_as_stored(&self.resource, &event.object) {
            if is_plain(&self.accepted) {
                self.written.put_plain(name, &event.object.bytes);
                return;
            }
            if let Some(form) = shared_form(&self.accepted) {
                let slot = form * EVENT_KINDS + kind as usize;
                // What is served as it is stored is the same for all who see it in one form.
                let frame = event.encoded(slot, || {
                    let shown =
                        representation::watched(&self.resource, &self.accepted, event.object.value(), false);
                    value_frame(&self.accepted, name, &shown)
                });
                self.written.put(&frame);
                return;
            }
        }
        let object = match (&event.previous, left) {
            (Some(previous), true) => Arc::new(previous.at_revision(event.revision)),
            _ => event.object.clone(),
        };
        let first = !std::mem::replace(&mut self.columns_sent, true);
        let frame = frame(&self.api, &self.resource, &self.accepted, name, &object, first);
        if let Ok(frame) = frame.await {
            self.written.put(&frame);
        } else {
            self.over = true;
            self.taken.clear();
        }
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

/// What is there when a watch begins, as far as it wasn't sent.
#[derive(Default)]
struct Present {
    /// Objects, which are written when their turn comes.
    objects: std::vec::IntoIter<Arc<Stored>>,
    /// What is written already.
    frames: VecDeque<Bytes>,
}

/// What was written and not sent yet: small pieces become one, large ones stay as they are.
#[derive(Default)]
struct Written {
    full: VecDeque<Bytes>,
    filling: BytesMut,
    /// How much it is in all.
    length: usize,
    /// How many more events are likely to follow.
    following: usize,
}

impl Written {
    fn expect(&mut self, following: usize) {
        self.following = following;
    }

    fn put(&mut self, bytes: &Bytes) {
        self.length += bytes.len();
        if bytes.len() >= ALONE {
            self.fill_up();
            self.full.push_back(bytes.clone());
            return;
        }
        if self.filling.capacity() == 0 {
            let likely = bytes.len().saturating_mul(self.following + 1);
            self.filling.reserve(likely.min(WRITE + ALONE));
        }
        self.filling.put_slice(bytes);
    }

    fn put_text(&mut self, text: &'static str) {
        self.length += text.len();
        self.filling.put_slice(text.as_bytes());
    }

    /// Writes an event whose object is there as JSON.
    fn put_plain(&mut self, name: &'static str, object: &Bytes) {
        if self.filling.capacity() == 0 && object.len() < ALONE {
            let likely = (object.len() + 40).saturating_mul(self.following + 1);
            self.filling.reserve(likely.min(WRITE + ALONE));
        }
        self.put_text("{\"type\":\"");
        self.put_text(name);
        self.put_text("\",\"object\":");
        self.put(object);
        self.put_text("}\n");
    }

    fn fill_up(&mut self) {
        if !self.filling.is_empty() {
            self.full.push_back(std::mem::take(&mut self.filling).freeze());
        }
    }

    /// Takes the next piece to send.
    fn take(&mut self) -> Option<Bytes> {
        if self.full.is_empty() {
            self.fill_up();
        }
        let bytes = self.full.pop_front()?;
        self.length -= bytes.len();
        Some(bytes)
    }
}

/// Returns whether objects are sent as they are stored.
fn is_plain(accepted: &Accepted) -> bool {
    accepted.format == Format::Json && accepted.shape == Shape::Whole
}

/// How many kinds of events there are.
const EVENT_KINDS: usize = 3;

/// Returns the number of a form in which many watchers see the same bytes; `None` for one that depends on the watcher:
/// tables tell ages.
fn shared_form(accepted: &Accepted) -> Option<usize> {
    match (accepted.format, &accepted.shape) {
        (Format::Protobuf, Shape::Whole) => Some(0),
        (Format::Json, Shape::Metadata) => Some(1),
        (Format::Protobuf, Shape::Metadata) => Some(2),
        _ => None,
    }
}

async fn frame(
    api: &Api,
    resource: &Resource,
    accepted: &Accepted,
    name: &str,
    stored: &Arc<Stored>,
    first: bool,
) -> Result<Bytes, Status> {
    if is_plain(accepted) && api.is_served_as_stored(resource, stored) {
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
