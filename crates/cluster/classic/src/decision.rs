//! What a decision asks for: a status, writes, events, and when to look again.

use std::time::Duration;

use apply::object::ObjectId;
use serde_json::Value;

/// A change of one object.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Makes an object; one that exists already is an error unless `or_update`.
    Create {
        /// The object.
        object: Value,
        /// What becomes of one that exists: it is replaced by this one where this is true.
        or_update: bool,
    },
    /// Replaces an object. With a `resourceVersion` in it, only if nobody changed it since.
    Update(Value),
    /// Replaces the status of an object.
    UpdateStatus(Value),
    /// Merges a JSON merge patch into an object.
    Merge {
        /// The object.
        id: ObjectId,
        /// What is merged.
        patch: Value,
    },
    /// Applies the fields of an object on the server.
    Apply {
        /// The fields.
        object: Value,
        /// Who owns them.
        field_manager: &'static str,
    },
    /// Deletes an object; one that is gone is no error.
    Delete {
        /// The object.
        id: ObjectId,
        /// Deletes only the object with this identity.
        uid: Option<String>,
    },
}

/// An event that is told about an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Notice {
    /// The object that it is about.
    pub about: ObjectId,
    /// Whether it is a warning.
    pub is_warning: bool,
    /// A word for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

/// A service account that writes are made as.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceAccount {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Writes that may well fail, since they are made with the permissions of someone else.
///
/// They are made before all others. Where one fails, none of the others is made, and whoever decided is asked again,
/// with the failure: see `service_version::installation_failed`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attempt {
    /// As whom they are made; as ourselves if nobody.
    pub account: Option<ServiceAccount>,
    /// What is written, in order.
    pub writes: Vec<Write>,
}

/// What shall be done after looking at one object. Writes are made in order; the first that fails ends it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decision {
    /// What is tried first; the rest is done only where it succeeds.
    pub attempt: Option<Attempt>,
    /// What is written.
    pub writes: Vec<Write>,
    /// What is told.
    pub notices: Vec<Notice>,
    /// When to look again, where no change would say so.
    pub look_again_after: Option<Duration>,
    /// What keeps it from going on, for the log; a change elsewhere is what helps, not trying again.
    pub trouble: Option<String>,
}
