//! The API itself: what every request and every controller goes through, without the wire.
//!
//! One path for every kind: a write is decoded, defaulted, given its owners, admitted, prepared, validated and stored;
//! what differs from kind to kind is in the tables of [`kinds`] and in the schemas of custom resources.
//!
//! - [`mod@create`], [`modify`], [`patch`], [`delete`]: the writes
//! - [`read`]: one object, and lists of them on one snapshot
//! - [`restore`]: an object as another server had it
//! - [`versions`]: an object in the version that was asked for, and in the one that is stored
//! - [`warnings`]: what clients are told beside the answer

pub mod binding;
pub mod create;
pub mod delete;
mod eviction;
pub mod fields;
pub mod modify;
pub mod patch;
mod patched;
pub mod read;
pub mod restore;
pub mod scale;
pub mod subresources;
pub mod versions;
pub mod warnings;

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::access::Access;
use crate::admission::Admission;
use crate::caller::Caller;
use crate::resource::{Resource, Resources};
use crate::status::Status;
use crate::store::{Key, Store, Stored, WriteError};
use warnings::Warnings;

/// How often a write that names no version is tried again when others write the same object.
const MOST_ATTEMPTS: usize = 10;

/// The API of one cluster.
#[derive(Debug)]
pub struct Api {
    /// Where objects are kept.
    pub store: Store,
    /// What is served.
    pub resources: Resources,
    /// Who may do what, and who is who.
    pub access: Access,
    /// Where requests wait for their turn.
    pub door: crate::door::Door,
    /// What decides about writes beyond the rules of a kind.
    pub admission: Admission,
    /// The other servers that serve a part of the API.
    pub aggregation: crate::aggregation::Aggregation,
    /// The connections to servers that objects name.
    pub callbacks: crate::callback::Callbacks,
    /// What is found without reading everything.
    pub indices: crate::indices::Indices,
    /// Who holds what the cluster has only once.
    pub allocations: crate::allocation::Allocations,
    /// What is told about objects.
    pub events: crate::events::Events,
    /// What runs pods and has their logs.
    pub node: crate::node::Handle,
    /// The documents that describe what is served.
    pub documents: crate::wire::documents::Documents,
    /// What the server was told.
    pub options: crate::Options,
}

/// Who calls, and what they are told beside the answer.
#[derive(Debug)]
pub struct Call {
    /// Who calls.
    pub caller: Arc<Caller>,
    /// The program that calls, which names the manager of fields where the request doesn't.
    pub user_agent: String,
    /// Whether the call takes turns with others.
    takes_turns: bool,
    warnings: Mutex<Warnings>,
    /// What validating webhooks have allowed, so that a write that is tried again doesn't ask the same again.
    allowed: Mutex<Vec<(String, Value)>>,
}

impl Call {
    /// Returns a call of someone.
    pub fn new(caller: Arc<Caller>, user_agent: impl Into<String>) -> Self {
        Self {
            caller,
            user_agent: user_agent.into(),
            takes_turns: false,
            warnings: Mutex::default(),
            allowed: Mutex::default(),
        }
    }

    /// Has the call take turns with others: its work pauses between its steps.
    pub fn taking_turns(mut self) -> Self {
        self.takes_turns = true;
        self
    }

    /// Lets others have their turn between two steps of long work, and ends here when nobody waits for the answer any more.
    pub async fn pause(&self) {
        if self.takes_turns {
            tokio::task::yield_now().await;
        }
    }

    /// Returns whether a validating webhook has allowed this already.
    pub(crate) fn has_allowed(&self, webhook: &str, question: &Value) -> bool {
        let allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        allowed
            .iter()
            .any(|(by, known)| by == webhook && known == question)
    }

    /// Notes that a validating webhook allows this.
    pub(crate) fn note_allowed(&self, webhook: &str, question: Value) {
        let mut allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        allowed.push((webhook.to_owned(), question));
    }

    /// Adds a warning, once; an empty one is none.
    pub fn warn(&self, text: impl Into<String>) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.add(text.into());
    }

    /// Returns the warnings and forgets them.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner)).into_texts()
    }
}

/// What a request is about: an object, all objects of a namespace, or something below an object.
#[derive(Debug, Clone)]
pub struct Place {
    /// The resource.
    pub resource: Arc<Resource>,
    /// The namespace; empty for the whole cluster.
    pub namespace: String,
    /// The object's name; empty for all of them.
    pub name: String,
    /// What hangs below the object; empty for the object itself.
    pub subresource: String,
}

impl Place {
    /// Returns where the object is stored.
    pub fn key(&self) -> Key {
        Key::new(&self.resource.storage, &self.namespace, &self.name)
    }

    /// Returns the failure that there is no such object.
    pub fn not_found(&self) -> Status {
        Status::not_found(self.resource.group_resource(), &self.name)
    }

    /// Returns the name of the subresource, if one is meant.
    pub fn below(&self) -> Option<&str> {
        (!self.subresource.is_empty()).then_some(self.subresource.as_str())
    }
}

/// What a request is answered with.
#[derive(Debug, Clone)]
pub enum Answered {
    /// A stored object, in the version it is stored in.
    Stored(Arc<Stored>),
    /// Anything else.
    Value(Value),
}

impl Answered {
    /// Returns the answer as a value.
    pub fn into_value(self) -> Value {
        match self {
            Self::Stored(stored) => stored.value(),
            Self::Value(value) => value,
        }
    }
}

/// Whether a write made a new object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// There is a new object.
    Created,
    /// The object was there.
    Done,
    /// The deletion has begun and goes on.
    Accepted,
}

/// The answer to a write.
#[derive(Debug, Clone)]
pub struct Written {
    /// What happened.
    pub outcome: Outcome,
    /// What the client sees.
    pub answer: Answered,
}

/// The most bytes that the real server sends to etcd at once.
const LARGEST_MESSAGE: usize = 2 << 20;

impl Api {
    /// Returns the failure for a write that the store refused.
    pub(crate) fn write_failure(place: &Place, error: WriteError) -> Status {
        let resource = place.resource.group_resource();
        match error {
            WriteError::AlreadyExists { .. } => Status::already_exists(resource, &place.name),
            WriteError::NotFound { .. } => place.not_found(),
            WriteError::Conflict { .. } => Status::modified(resource, &place.name),
            // What etcd says, or the connection to it.
            WriteError::TooLarge { bytes, .. } => {
                let words = if bytes > LARGEST_MESSAGE {
                    format!(
                        "rpc error: code = ResourceExhausted desc = trying to send message larger than max ({bytes} vs. \
                         {LARGEST_MESSAGE})"
                    )
                } else {
                    "etcdserver: request is too large".to_owned()
                };
                Status::refusal(http::StatusCode::INTERNAL_SERVER_ERROR, "", words)
            }
            WriteError::DiskFull { .. } => Status::disk_full(format!(
                "cannot store {resource} \"{}\": no space left on the device; free some space and try again",
                place.name
            )),
            other => Status::internal(other),
        }
    }
}

impl Api {
    /// Returns the API of a cluster that is kept in a store.
    pub fn new(store: Store, options: crate::Options) -> Result<Arc<Self>, crate::StageError> {
        Ok(Arc::new(Self {
            allocations: crate::allocation::Allocations::of(&store),
            access: Access::new(&options, &store)?,
            indices: crate::indices::Indices::of(&store),
            store,
            door: crate::door::Door::default(),
            resources: Resources::default(),
            admission: Admission::default(),
            aggregation: crate::aggregation::Aggregation::default(),
            callbacks: crate::callback::Callbacks::default(),
            events: crate::events::Events::default(),
            node: crate::node::Handle::new(&options.node),
            documents: crate::wire::documents::Documents::default(),
            options,
        }))
    }
}
