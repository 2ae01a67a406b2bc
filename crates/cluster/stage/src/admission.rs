//! What decides about writes beyond the rules of a kind: built-in plugins, policies and webhooks.

use serde_json::Value;

use crate::api::{Api, Call, Place};
use crate::status::Status;

/// What is done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
    /// Something below it is connected to, such as a proxy.
    Connect,
}

impl Operation {
    /// Returns the name that webhooks and policies use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// A write that waits for its admission. Objects are in the version they are stored in.
#[derive(Debug)]
pub struct Review<'a> {
    /// The API, for looking things up.
    pub api: &'a Api,
    /// Who writes.
    pub call: &'a Call,
    /// What is written.
    pub place: &'a Place,
    /// What is done.
    pub operation: Operation,
    /// The new object; `None` for deletions.
    pub object: Option<Value>,
    /// The object so far; `None` for new ones.
    pub old: Option<&'a Value>,
    /// Whether the write is only tried.
    pub dry_run: bool,
}

impl<'a> Review<'a> {
    /// Returns the review of a write.
    pub fn new(
        api: &'a Api,
        call: &'a Call,
        place: &'a Place,
        operation: Operation,
        object: Option<Value>,
        old: Option<&'a Value>,
        dry_run: bool,
    ) -> Self {
        Self {
            api,
            call,
            place,
            operation,
            object,
            old,
            dry_run,
        }
    }

    /// Takes the new object out.
    pub fn take_object(&mut self) -> Value {
        self.object.take().unwrap_or_default()
    }

    /// Returns the new object.
    pub fn into_object(self) -> Value {
        self.object.unwrap_or_default()
    }
}

/// What decides about writes.
#[derive(Debug, Default)]
pub struct Admission {}

impl Admission {
    /// Lets everything that may change the object do so, and refuses what mustn't be.
    pub async fn mutate(&self, _review: &mut Review<'_>) -> Result<(), Status> {
        Ok(())
    }

    /// Refuses what mustn't be; nothing changes any more.
    pub async fn validate(&self, _review: &Review<'_>) -> Result<(), Status> {
        Ok(())
    }
}
