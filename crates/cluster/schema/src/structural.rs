//! Schemas of custom resources: read, check, validate, prune, default.
//!
//! - [`demands`]: what a schema demands of a value beyond its type and its fields
//! - [`pattern`]: regular expressions as Go has them
//! - [`formats`]: the formats that a schema may ask of text
//! - [`read()`]: an `openAPIV3Schema` made into a [`Schema`](crate::Schema)
//! - [`prune()`]: fields that a schema doesn't have
//! - [`default()`]: defaults of a schema
//! - [`validate()`]: whether a value is what its schema demands
//! - [`lists`]: lists whose items must differ
//! - [`metadata`], [`embedded`], [`name_rules`]: metadata, of resources and of resources inside resources
//! - [`resource`]: a custom resource as a whole
//! - [`definition`]: CustomResourceDefinitions: defaults and checks
//! - [`names`]: which names of a definition are accepted

pub mod default;
pub mod definition;
pub mod demands;
mod document;
pub mod embedded;
pub mod formats;
pub mod lists;
pub mod metadata;
pub mod name_rules;
pub mod names;
pub mod pattern;
pub mod prune;
pub mod read;
pub mod resource;
pub mod validate;

pub use default::{default, prune_nulls};
pub use demands::{Demands, Rule};
pub use pattern::Pattern;
pub use prune::prune;
pub use read::{ReadError, read};
pub use resource::{CoerceError, coerce, unchecked_rules, validate_resource, validate_status};
pub use validate::{validate, validate_at};
