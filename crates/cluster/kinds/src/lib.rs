//! The built-in kinds of Kubernetes as data and pure functions: no server, no clock, no randomness.
//!
//! - [`table`]: a row for each kind: its names, its scope, its verbs
//! - [`defaults`]: what fields are when nobody wrote them
//! - [`strategy`]: what a create or an update may not bring, and what it keeps of the old object
//! - [`validation`]: what an object may not be, in the words of the API server
//! - [`conversion`]: one version of a kind as another
//! - [`columns`]: the columns of `kubectl get`
//! - [`label_selector`]: which labels an object must have

pub mod columns;
pub mod conversion;
pub mod defaults;
pub mod label_selector;
pub mod quantity;
pub mod strategy;
pub mod table;
mod tree;
pub mod validation;

pub use table::{Kind, Scope, Subresource};
