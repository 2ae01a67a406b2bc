//! Schemas of custom resources: read, check, validate, prune, default.
//!
//! - [`demands`]: what a schema demands of a value beyond its type and its fields
//! - [`pattern`]: regular expressions as Go has them

pub mod demands;
pub mod pattern;

pub use demands::{Demands, Rule};
