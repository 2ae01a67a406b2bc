//! How far a run through a plan came: what the server said to each write.

use std::collections::{BTreeMap, BTreeSet};

use apply::object::ObjectId;

use crate::definition_upgrade::Verdict;

/// Why the server didn't do what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The account may not do that. It is tried for ever, since somebody may permit it any time.
    Forbidden,
    /// The path doesn't exist.
    NotFound,
    /// Anything else.
    Other,
}

/// What the server said when it didn't do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub kind: RefusalKind,
    /// Whether the object existed, and it was its update that was refused.
    pub is_of_update: bool,
    /// The server's words.
    pub message: String,
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The object was made.
    Created,
    /// The object was there, and was changed.
    Updated,
    /// The object was there, and was to be left alone.
    Exists,
    /// It wasn't done.
    Refused(Refusal),
}

/// What has been done in a run through a plan. Each run starts with an empty one.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub(super) outcomes: BTreeMap<usize, Outcome>,
    pub(super) warnings: BTreeMap<usize, Vec<String>>,
    pub(super) looked: BTreeSet<ObjectId>,
    pub(super) verdicts: BTreeMap<String, Verdict>,
    pub(super) failure: Option<String>,
}

impl Progress {
    /// Notes what became of the write of a step, with the warnings that came with it.
    pub fn record(&mut self, step: usize, outcome: Outcome, warnings: Vec<String>) {
        self.outcomes.insert(step, outcome);
        if !warnings.is_empty() {
            self.warnings.entry(step).or_default().extend(warnings);
        }
    }

    /// Notes that an object was asked for; what was found is in the World, or it doesn't exist.
    pub fn looked(&mut self, id: ObjectId) {
        self.looked.insert(id);
    }

    /// Notes whether the stored resources of a definition fit its new version.
    pub fn checked(&mut self, definition: &str, verdict: Verdict) {
        self.verdicts.insert(definition.to_owned(), verdict);
    }

    /// Notes that something that was asked for can't be had, such as a bundle.
    pub fn fail(&mut self, message: String) {
        self.failure.get_or_insert(message);
    }
}
