//! What became of an action that did not work.

use std::fmt::Write as _;

use apply::object::ObjectId;
use thiserror::Error;

use crate::cluster::{Permission, ServerError};
use crate::documents::DocumentError;
use crate::records::{Record, RecordError};
use crate::writing::Written;

/// An action that did not work; prints as Helm says it.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct Failure {
    /// What went wrong, in Helm's words.
    pub message: String,
    /// What kind of failure it is.
    pub cause: Cause,
    /// The record of the revision that failed; none if nothing was left behind.
    pub record: Option<Box<Record>>,
    /// What the server would have to allow.
    pub missing: Vec<Permission>,
    /// The objects that were written all the same, so that whoever watches them knows these changes for our own.
    pub written: Vec<Written>,
    /// The objects that the server, or their owner, didn't let be written.
    pub refused: Vec<ObjectId>,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The server was away, or somebody else wrote the record: nothing is decided, and the action can be resumed.
    Interrupted,
    /// The name is taken by another release.
    InUse,
    /// Another action is under way.
    Pending,
    /// An object exists that belongs to somebody else.
    Collision,
    /// The manifest can't be made into objects: it is no YAML, or the server lacks a kind.
    Build,
    /// The server refused objects.
    Rejected,
    /// A hook failed.
    Hook,
    /// There is no such revision.
    NoRevision,
    /// The record can't be read or written.
    Record,
}

impl Failure {
    /// Makes a failure that left nothing behind.
    pub fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            cause,
            record: None,
            missing: Vec::new(),
            written: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Makes a failure of what the server said.
    pub(crate) fn of_server(cause: Cause, error: &ServerError) -> Self {
        let mut failure = Self::new(cause, error.to_string());
        failure.note(error);
        failure
    }

    /// Makes a failure of several things the server said, printed as Go's clients do.
    pub(crate) fn of_servers(cause: Cause, errors: &[ServerError]) -> Self {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let message = match texts.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let mut failure = Self::new(cause, message);
        for error in errors {
            failure.note(error);
        }
        failure
    }

    /// Takes down what an error says besides its words.
    pub(crate) fn note(&mut self, error: &ServerError) {
        if error.is_passing() {
            self.cause = Cause::Interrupted;
        }
        if let Some(missing) = error.missing_permission()
            && !self.missing.contains(missing)
        {
            self.missing.push(missing.clone());
        }
    }

    /// Says before the message what was tried.
    pub(crate) fn while_doing(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// Adds the objects that were written before it failed.
    pub(crate) fn having_written(mut self, written: Vec<Written>) -> Self {
        self.written = written;
        self
    }

    /// Adds the record of the revision that failed.
    pub(crate) fn with(mut self, record: Record) -> Self {
        self.record = Some(Box::new(record));
        self
    }
}

impl From<DocumentError> for Failure {
    fn from(error: DocumentError) -> Self {
        Self::new(Cause::Build, error.to_string())
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        let cause = match &error {
            RecordError::Exists => Cause::InUse,
            RecordError::Changed(_) => Cause::Interrupted,
            RecordError::Server { source, .. } if crate::cluster::is_passing(source) => Cause::Interrupted,
            _ => Cause::Record,
        };
        let missing = error.missing_permission();
        Self {
            missing: missing.into_iter().collect(),
            ..Self::new(cause, error.to_string())
        }
    }
}

/// Prints several errors as Helm's library does.
pub(crate) fn several<'a>(errors: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = errors.len();
    let mut text = format!(
        "{count} {} occurred:",
        if count == 1 { "error" } else { "errors" }
    );
    for error in errors {
        // Writing to memory cannot fail.
        let _ = write!(text, "\n\t* {error}");
    }
    text.push_str("\n\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_errors_are_printed_as_helm_prints_them() {
        assert_eq!(several(["a"].into_iter()), "1 error occurred:\n\t* a\n\n");
        assert_eq!(
            several(["a", "b"].into_iter()),
            "2 errors occurred:\n\t* a\n\t* b\n\n"
        );
    }
}
