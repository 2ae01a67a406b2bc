//! The difference between two schemas, told as Go's comparison library tells it.
//!
//! ```text
//! two values ─ comparison ─► a tree of what is equal ─ report ─► texts within texts ─ text ─► lines with - and +
//!                 └─ edit_script: which elements of lists belong together
//!                                                        └─ sequences: long texts and lists of bytes
//! ```
//!
//! Upstream's messages for changes that no check knows are taken from these lines, so they must come out the same.
//! The library wants nobody to rely on its output and varies spaces from run to run; here it is always one of its ways.

mod comparison;
mod edit_script;
mod report;
mod sequences;
mod text;

use super::kind::{Kind, SCHEMA};
use super::typed::Typed;

/// Returns the lines that tell the difference of two schemas; empty where there is none.
pub(crate) fn difference(old: &Typed, new: &Typed) -> String {
    static SCHEMA_KIND: Kind = Kind::Structure(&SCHEMA);
    let node = comparison::compare(&SCHEMA_KIND, old, new);
    if node.different == 0 {
        return String::new();
    }
    report::tell_pointed(&node).into_lines()
}
