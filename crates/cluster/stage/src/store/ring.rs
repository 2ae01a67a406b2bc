//! The recent events of one resource, which all its watchers share.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::stored::Stored;

/// How many ways of writing an event for the wire are kept with it.
///
/// Three event types, whole in protobuf and as metadata only in both formats, are nine; most events ever have one.
pub const ENCODINGS: usize = 9;

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// It wasn't there before.
    Added,
    /// It was there before.
    Modified,
    /// It is gone.
    Deleted,
}

/// One change, as watchers see it.
#[derive(Debug)]
pub struct Event {
    /// The revision of the change.
    pub revision: u64,
    /// What happened.
    pub kind: EventKind,
    /// The object after the change; for a deletion, its last state with the revision of the deletion.
    pub object: Arc<Stored>,
    /// The object before the change.
    pub previous: Option<Arc<Stored>>,
    /// The first way that somebody wanted, because mostly there is no other.
    encoded: OnceLock<(usize, Bytes)>,
    encodings: OnceLock<Box<[OnceLock<Bytes>; ENCODINGS]>>,
}

impl Event {
    pub(super) fn new(kind: EventKind, object: Arc<Stored>, previous: Option<Arc<Stored>>) -> Self {
        Self {
            revision: object.revision,
            kind,
            object,
            previous,
            encoded: OnceLock::new(),
            encodings: OnceLock::new(),
        }
    }

    /// Returns the event that tells of an object that is there.
    pub fn present(object: Arc<Stored>) -> Self {
        Self::new(EventKind::Added, object, None)
    }

    /// Returns the event as it goes over the wire in one representation, which `encode` writes at first use.
    ///
    /// The caller says what each number below [`ENCODINGS`] stands for; others are encoded anew each time.
    pub fn encoded(&self, representation: usize, encode: impl FnOnce() -> Bytes) -> Bytes {
        let mut encode = Some(encode);
        let mut write = || encode.take().map(|encode| encode()).unwrap_or_default();
        let (first, bytes) = self.encoded.get_or_init(|| (representation, write()));
        if *first == representation {
            return bytes.clone();
        }
        match self.encodings.get_or_init(Box::default).get(representation) {
            Some(slot) => slot.get_or_init(write).clone(),
            None => write(),
        }
    }

    /// Returns about how much memory the event holds: its object as stored, and as encoded for watchers.
    pub(super) fn weight(&self) -> usize {
        const OVERHEAD: usize = 256;
        self.object.bytes.len() * 2 + OVERHEAD
    }
}

/// A row of events by sequence number, the oldest of which fall out.
#[derive(Debug, Default)]
pub(super) struct Ring {
    events: VecDeque<Arc<Event>>,
    first: u64,
    /// The revision of the newest event that fell out: whoever knows less has missed something.
    floor: u64,
}

impl Ring {
    /// Adds an event; returns its sequence number.
    pub(super) fn push(&mut self, event: Arc<Event>, limit: usize) -> u64 {
        while self.events.len() >= limit.max(1) {
            self.drop_oldest();
        }
        self.events.push_back(event);
        self.end() - 1
    }

    /// Drops the event with this sequence number if it is the oldest; otherwise it fell out before.
    pub(super) fn drop_if_oldest(&mut self, sequence: u64) {
        if sequence == self.first {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.floor = event.revision;
            self.first += 1;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn first(&self) -> u64 {
        self.first
    }

    pub(super) fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    /// Returns the sequence number of the first event after a revision.
    pub(super) fn after(&self, revision: u64) -> u64 {
        self.first + self.events.partition_point(|event| event.revision <= revision) as u64
    }

    /// Walks over the events from a sequence number on.
    pub(super) fn from(&self, sequence: u64) -> impl Iterator<Item = &Arc<Event>> {
        let skipped = usize::try_from(sequence.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.events.range(skipped.min(self.events.len())..)
    }
}
