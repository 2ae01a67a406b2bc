//! What was there before: lists whose items must differ may be long, so that each item is looked up and not compared with
//! all that stand before it.

use std::collections::HashSet;
use std::hash::Hash;

/// What was seen so far.
pub(super) struct Seen<T>(HashSet<T>);

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self(HashSet::new())
    }
}

impl<T: Eq + Hash> Seen<T> {
    /// Returns whether this was seen.
    pub(super) fn contains(&self, one: &T) -> bool {
        self.0.contains(one)
    }

    /// Notes that this was seen.
    pub(super) fn push(&mut self, one: T) {
        self.0.insert(one);
    }
}

impl<T: Eq + Hash> FromIterator<T> for Seen<T> {
    fn from_iter<All: IntoIterator<Item = T>>(all: All) -> Self {
        Self(all.into_iter().collect())
    }
}
