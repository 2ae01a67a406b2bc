//! What strict decoding finds, and where the decoder is.

use std::collections::HashSet;
use std::fmt::Write as _;

use gotemplate::format::quoted;

use crate::field_error::shorten;
use crate::field_errors::{MOST_PROBLEMS, MOST_TEXT};

/// The problems found so far, each told once.
#[derive(Default)]
pub(super) struct Problems {
    /// The place of the value that is read, such as `spec.containers[0]`.
    place: String,
    told: Vec<String>,
    seen: HashSet<String>,
    /// How long all that is told is together.
    bytes: usize,
    /// Inside values that read themselves, nobody looks for problems.
    unseen: usize,
    /// What is said about the first number that no float holds.
    overflow: Option<String>,
}

impl Problems {
    pub(super) fn unknown(&mut self, field: &str) {
        self.tell("unknown", field);
    }

    pub(super) fn duplicate(&mut self, field: &str) {
        self.tell("duplicate", field);
    }

    /// Notes a number that no float holds.
    pub(super) fn overflows(&mut self, number: &str) {
        if self.unseen == 0 && self.overflow.is_none() {
            let message = format!("json: cannot unmarshal number {number} into Go value of type float64");
            self.overflow = Some(message);
        }
    }

    pub(super) fn overflow(&self) -> Option<&str> {
        self.overflow.as_deref()
    }

    fn tell(&mut self, what: &str, field: &str) {
        if self.unseen > 0 || self.told.len() >= MOST_PROBLEMS || self.bytes >= MOST_TEXT {
            return;
        }
        let path = if self.place.is_empty() {
            field.to_owned()
        } else {
            format!("{}.{field}", self.place)
        };
        let mut problem = format!("{what} field {}", quoted(path));
        shorten(&mut problem, MOST_TEXT - self.bytes);
        if self.seen.insert(problem.clone()) {
            self.bytes += problem.len();
            self.told.push(problem);
        }
    }

    /// Steps into a field; the result leads back.
    pub(super) fn enter_field(&mut self, field: &str) -> usize {
        let back = self.place.len();
        if back > 0 {
            self.place.push('.');
        }
        self.place.push_str(field);
        back
    }

    /// Steps into an item; the result leads back.
    pub(super) fn enter_item(&mut self, index: usize) -> usize {
        let back = self.place.len();
        let _ = write!(self.place, "[{index}]");
        back
    }

    pub(super) fn leave(&mut self, back: usize) {
        self.place.truncate(back);
    }

    pub(super) fn look_away(&mut self) {
        self.unseen += 1;
    }

    pub(super) fn look_again(&mut self) {
        self.unseen -= 1;
    }

    pub(super) fn into_told(self) -> Vec<String> {
        self.told
    }
}
