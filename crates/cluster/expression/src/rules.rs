//! The `x-kubernetes-validations` of a custom resource's schema.
//!
//! - [`Compiled`]: all rules of a schema, ready to run over values
//! - [`Checks`]: what is wrong with the rules of a definition that is written
//!
//! A rule runs with `self`, the value at its place, and on updates with `oldSelf`, the value that was there: of an object's
//! field, of a map's entry, or of the item with the same keys in a list of `x-kubernetes-list-type: map`.

mod checks;
mod compile;
mod correlate;
mod run;
mod tree;

use schema::FieldErrors;

pub use checks::{Checks, check};
pub use tree::Compiled;

/// What rules found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// What is wrong with the value.
    pub errors: FieldErrors,
    /// What is wrong with parts of the value that the update doesn't change: they are let through.
    pub warnings: Vec<String>,
}
