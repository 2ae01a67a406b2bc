//! Objects of one resource at one revision.

use std::sync::Arc;

use super::key::Position;
use super::stored::Stored;

/// A page of a resource's objects, all as of the same revision.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The revision: a watch from here on continues the list without a gap.
    pub revision: u64,
    /// The objects in the order of their positions.
    pub items: Vec<Arc<Stored>>,
    /// How many objects follow this page.
    pub remaining: usize,
    /// Where the next page begins (after this position); `None` when nothing follows.
    pub next: Option<Position>,
}

/// A revision was asked for that is no longer known; normal for whoever was away for long: list again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("revision {requested} is too old: the oldest that is known is {oldest}")]
pub struct Expired {
    /// The revision that was asked for.
    pub requested: u64,
    /// The oldest that could have been asked for.
    pub oldest: u64,
}
