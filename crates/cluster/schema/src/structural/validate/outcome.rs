//! What checking a value found: failures, and how many checks held.

use std::cell::Cell;
use std::fmt::{self, Write};

use gotemplate::format::quoted;
use serde_json::Value;

use crate::field_error::shown;
use crate::field_errors::{MOST_PROBLEMS, MOST_TEXT};
use crate::{FieldError, FieldErrorKind, FieldPath};

/// Where a value stands, as seen from the value that is validated. It becomes text only in errors.
#[derive(Clone, Copy)]
pub(super) enum Path<'a> {
    /// The value itself.
    Root,
    /// A field that the schema names.
    Field(&'a Path<'a>, &'a str),
    /// A field that the schema doesn't name.
    Key(&'a Path<'a>, &'a str),
    /// An item of a list.
    Index(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => formatter.write_str(name),
            Self::Field(parent, name) | Self::Key(parent, name) => write!(formatter, "{parent}.{name}"),
            Self::Index(parent, index) => write!(formatter, "{parent}[{index}]"),
        }
    }
}

/// How much more can be told of a value. All parts of the value share it, so that no more words are found than are told.
#[derive(Default)]
pub(super) struct Room {
    failures: Cell<usize>,
    bytes: Cell<usize>,
}

impl Room {
    fn is_used_up(&self) -> bool {
        self.failures.get() >= MOST_PROBLEMS || self.bytes.get() >= MOST_TEXT
    }

    fn take(&self, failure: &Failure) {
        self.failures.set(self.failures.get() + 1);
        self.bytes.set(self.bytes.get() + failure.size());
    }

    fn give_back(&self, failure: &Failure) {
        self.failures.set(self.failures.get().saturating_sub(1));
        self.bytes.set(self.bytes.get().saturating_sub(failure.size()));
    }
}

/// One failure.
#[derive(Clone)]
pub(super) struct Failure {
    kind: FieldErrorKind,
    /// The path that is blamed; `None` blames the value that is validated, whatever failed inside it.
    path: Option<String>,
    /// The value as the error shows it.
    value: Option<String>,
    /// What the error says instead of its message.
    detail: Option<String>,
    /// The validator's own words, by which the same failure is known again.
    pub(super) message: String,
}

impl Failure {
    fn size(&self) -> usize {
        let parts = [&self.path, &self.value, &self.detail].into_iter().flatten();
        parts.map(String::len).sum::<usize>() + self.message.len()
    }

    pub(super) fn into_error(self, base: &FieldPath) -> FieldError {
        let field = match self.path.as_deref() {
            None | Some("" | ".") => base.clone(),
            Some(path) => base.child(path.strip_prefix('.').unwrap_or(path)),
        };
        FieldError {
            kind: self.kind,
            field,
            value: self.value,
            detail: self.detail.unwrap_or(self.message),
        }
    }
}

/// What checking a value found.
#[derive(Clone)]
pub(super) struct Outcome<'r> {
    /// Empty unless messages are wanted.
    pub(super) failures: Vec<Failure>,
    /// How many failures there are beside those, for which there was no room.
    pub(super) left_out: usize,
    pub(super) failed: bool,
    pub(super) matches: usize,
    /// What can be told; `None` where no messages are wanted.
    room: Option<&'r Room>,
}

impl<'r> Outcome<'r> {
    pub(super) fn new(room: Option<&'r Room>) -> Self {
        Self {
            failures: Vec::new(),
            left_out: 0,
            failed: false,
            matches: 0,
            room,
        }
    }

    pub(super) fn count(&mut self) {
        self.matches += 1;
    }

    pub(super) fn merge(&mut self, other: Outcome<'_>) {
        self.failed |= other.failed;
        self.left_out += other.left_out;
        self.matches += other.matches;
        if self.failures.is_empty() {
            self.failures = other.failures;
        } else {
            self.failures.extend(other.failures);
        }
    }

    pub(super) fn forgive(&mut self) {
        self.failed = false;
        self.left_out = 0;
        for failure in self.failures.drain(..) {
            if let Some(room) = self.room {
                room.give_back(&failure);
            }
        }
    }

    fn add(&mut self, failure: impl FnOnce() -> Failure) {
        self.failed = true;
        let Some(room) = self.room else { return };
        if room.is_used_up() {
            self.left_out += 1;
            return;
        }
        let failure = failure();
        room.take(&failure);
        self.failures.push(failure);
    }

    /// The value has the wrong type, or not the format.
    pub(super) fn wrong_type(&mut self, path: &Path<'_>, expected: &str, given: &str) {
        self.add(|| {
            let given = quoted(given);
            Failure {
                kind: FieldErrorKind::TypeInvalid,
                path: Some(path.to_string()),
                message: format!("{path} in body must be of type {expected}: {given}"),
                value: Some(given),
                detail: None,
            }
        });
    }

    /// A field isn't there.
    pub(super) fn missing(&mut self, path: &Path<'_>, name: &str) {
        self.add(|| {
            let path = format!("{path}.{name}");
            Failure {
                kind: FieldErrorKind::Required,
                message: format!("{path} in body is required"),
                path: Some(path),
                value: None,
                detail: Some(String::new()),
            }
        });
    }

    /// The value breaks a rule; `rule` says which, from the verb on.
    pub(super) fn invalid(
        &mut self,
        path: &Path<'_>,
        value: impl FnOnce() -> String,
        rule: impl FnOnce() -> String,
    ) {
        self.add(|| Failure {
            kind: FieldErrorKind::Invalid,
            path: Some(path.to_string()),
            value: Some(value()),
            detail: None,
            message: format!("{path} in body {}", rule()),
        });
    }

    /// The value breaks a rule, in words that don't begin with its path.
    pub(super) fn invalid_in_full(
        &mut self,
        path: &Path<'_>,
        value: impl FnOnce() -> String,
        words: impl FnOnce() -> String,
    ) {
        self.add(|| Failure {
            kind: FieldErrorKind::Invalid,
            path: Some(path.to_string()),
            value: Some(value()),
            detail: None,
            message: words(),
        });
    }

    /// The text is too long.
    pub(super) fn too_long(&mut self, path: &Path<'_>, limit: i64) {
        self.add(|| {
            let blamed = path.to_string();
            let error = FieldError::too_long(FieldPath::root(), usize::try_from(limit).unwrap_or_default());
            Failure {
                kind: error.kind,
                path: Some(blamed),
                value: error.value,
                detail: Some(error.detail),
                message: format!("{path} in body should be at most {limit} chars long"),
            }
        });
    }

    /// There are too many items or fields; `things` says which.
    pub(super) fn too_many(&mut self, path: &Path<'_>, actual: usize, limit: i64, things: &str) {
        self.add(|| {
            let error = FieldError::too_many(
                FieldPath::root(),
                actual,
                usize::try_from(limit).unwrap_or_default(),
            );
            Failure {
                kind: error.kind,
                path: Some(path.to_string()),
                value: error.value,
                detail: Some(error.detail),
                message: format!("{path} in body should have at most {limit} {things}"),
            }
        });
    }

    /// The value is none of those that are allowed.
    pub(super) fn not_supported(&mut self, path: &Path<'_>, value: &Value, allowed: &[Value]) {
        self.add(|| {
            let names: Vec<String> = allowed
                .iter()
                .map(|value| match value {
                    Value::String(text) => text.clone(),
                    other => super::scalar::json(other),
                })
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let error = FieldError::not_supported(FieldPath::root(), value, &names);
            let mut message = format!("{path} in body should be one of ");
            // Writing to a string can't fail.
            let _ = write!(message, "{names:?}");
            Failure {
                kind: error.kind,
                path: Some(path.to_string()),
                value: Some(shown(value)),
                detail: Some(error.detail),
                message,
            }
        });
    }

    /// The value isn't what a combination of schemas allows. Upstream blames the whole resource, and shows nothing.
    pub(super) fn composite(&mut self, path: &Path<'_>, words: &str) {
        self.composite_with(path, || words.to_owned());
    }

    /// As [`Self::composite`], with words that are made when they are needed.
    pub(super) fn composite_with(&mut self, path: &Path<'_>, words: impl FnOnce() -> String) {
        self.whole(|| format!("{} {}", quoted(path.to_string()), words()));
    }

    /// A failure that blames the whole resource.
    pub(super) fn whole(&mut self, message: impl FnOnce() -> String) {
        self.add(|| Failure {
            kind: FieldErrorKind::Invalid,
            path: None,
            value: Some("\"\"".to_owned()),
            detail: None,
            message: message(),
        });
    }
}
