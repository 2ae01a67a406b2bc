//! Schemas of custom resources: read, check, validate, prune, default.
//!
//! - [`demands`]: what a schema demands of a value beyond its type and its fields
//! - [`pattern`]: regular expressions as Go has them
//! - [`formats`]: the formats that a schema may ask of text
//! - [`read()`]: an `openAPIV3Schema` made into a [`Schema`](crate::Schema)
//! - [`prune()`]: fields that a schema doesn't have
//! - [`default()`]: defaults of a schema

pub mod default;
pub mod demands;
pub mod formats;
pub mod pattern;
pub mod prune;
pub mod read;

pub use default::{default, prune_nulls};
pub use demands::{Demands, Rule};
pub use pattern::Pattern;
pub use prune::prune;
pub use read::{ReadError, read};
