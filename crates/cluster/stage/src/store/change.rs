//! What a writer asks for, and what it is told when it can't be done.

use std::io;
use std::sync::Arc;

use serde_json::Value;

use super::encoding::{Draft, EncodeError};
use super::key::Key;
use super::stored::Stored;

/// The most bytes that an object may have: as many as etcd takes. What is rehearsed here must work in a real cluster.
pub const LARGEST_OBJECT: usize = 1536 * 1024;

/// What must be true of an object for a write to take place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// It isn't there.
    Absent,
    /// It is there and was last written at this revision.
    Revision(u64),
    /// It is there, in whatever version.
    Present,
}

/// One change of one object, and the condition for it.
#[derive(Debug, Clone)]
pub struct Write {
    /// The object.
    pub key: Key,
    /// The condition.
    pub expect: Expect,
    /// What becomes of the object.
    pub change: Change,
}

/// What becomes of an object.
#[derive(Debug, Clone)]
pub enum Change {
    /// It becomes this; `metadata.resourceVersion` is set to the revision of the write.
    Put(Value),
    /// It goes.
    Delete,
}

/// Why a write didn't take place.
///
/// After [`DiskFull`](Self::DiskFull) and [`Io`](Self::Io) nothing was changed for any reader. Should the process
/// end before the next write, the change may still be found when the store is opened again: it was never
/// acknowledged and never denied for good.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// The object was changed since the revision that the writer knew; normal under concurrency: read and retry.
    #[error("{} was changed: it is at revision {}", current.key, current.revision)]
    Conflict {
        /// The object as it is.
        current: Arc<Stored>,
    },
    /// The object was to be created and is there already.
    #[error("{} already exists", current.key)]
    AlreadyExists {
        /// The object as it is.
        current: Arc<Stored>,
    },
    /// The object was to be changed or deleted and isn't there.
    #[error("{key} not found")]
    NotFound {
        /// The object that isn't there.
        key: Key,
    },
    /// The value is no object that can be stored; a defect of the caller.
    #[error("cannot store {key}: {source}")]
    Invalid {
        /// The object that was to be written.
        key: Key,
        /// What is wrong with the value.
        source: Arc<EncodeError>,
    },
    /// The object is larger than [`LARGEST_OBJECT`].
    #[error("cannot store {key}: it has {bytes} bytes, and {LARGEST_OBJECT} are the most")]
    TooLarge {
        /// The object that was to be written.
        key: Key,
        /// How large it is, in the form that the real server keeps.
        bytes: usize,
    },
    /// There is no space left; writes succeed again as soon as there is.
    #[error("no space left on the device of {place}: free some space and retry")]
    DiskFull {
        /// The directory of the store.
        place: Arc<str>,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The journal could not be written.
    #[error("cannot write the journal in {place}: {source}")]
    Io {
        /// The directory of the store.
        place: Arc<str>,
        /// What the operating system or the journal said.
        source: Arc<io::Error>,
    },
}

/// A write whose value is encoded already.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) key: Key,
    pub(super) expect: Expect,
    pub(super) action: Action,
}

#[derive(Debug)]
pub(super) enum Action {
    Put(Draft),
    Delete,
}

impl Order {
    pub(super) fn prepare(write: Write) -> Result<Self, WriteError> {
        let Write { key, expect, change } = write;
        let encode = |value: &Value| {
            Draft::encode(value).map_err(|error| WriteError::Invalid {
                key: key.clone(),
                source: Arc::new(error),
            })
        };
        let action = match change {
            Change::Put(value) => {
                let draft = encode(&value)?;
                if let Some(bytes) = excess(&value, draft.len()) {
                    return Err(WriteError::TooLarge { key, bytes });
                }
                Action::Put(draft)
            }
            Change::Delete => Action::Delete,
        };
        Ok(Self { key, expect, action })
    }

    /// Returns how many bytes of JSON the write brings.
    pub(super) fn weight(&self) -> usize {
        match &self.action {
            Action::Put(draft) => draft.len(),
            Action::Delete => 0,
        }
    }
}

/// Returns how large an object is, if that is too much. The real server keeps built-in kinds as protobuf, which is
/// shorter than JSON; the way there is long, and only taken for what is large.
fn excess(value: &Value, json_bytes: usize) -> Option<usize> {
    if json_bytes <= LARGEST_OBJECT {
        return None;
    }
    let bytes = schema::protobuf::encode(value).map_or(json_bytes, |encoded| encoded.len());
    (bytes > LARGEST_OBJECT).then_some(bytes)
}

impl Expect {
    /// Holds the condition against what is there.
    pub(super) fn check(self, key: &Key, current: Option<&Arc<Stored>>) -> Result<(), WriteError> {
        match (self, current) {
            (Self::Absent, None) | (Self::Present, Some(_)) => Ok(()),
            (Self::Absent, Some(current)) => Err(WriteError::AlreadyExists {
                current: current.clone(),
            }),
            (Self::Revision(_) | Self::Present, None) => Err(WriteError::NotFound { key: key.clone() }),
            (Self::Revision(revision), Some(current)) if current.revision == revision => Ok(()),
            (Self::Revision(_), Some(current)) => Err(WriteError::Conflict {
                current: current.clone(),
            }),
        }
    }
}
