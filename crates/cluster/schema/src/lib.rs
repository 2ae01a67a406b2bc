//! Kubernetes' types as data: what a value at each place of an object may be, and how two of them merge.
//!
//! The same [`Schema`] describes a built-in kind (from the definitions that Kubernetes publishes) and a custom one (from
//! its CustomResourceDefinition), so that validation, server-side apply, strategic merge and strict decoding are written
//! once for both.
//!
//! - [`node`]: one node of a type, and how it is reached
//! - [`field_error`], [`field_errors`]: what is wrong with a field, in the words of the API server; all of an object
//! - [`builtin`]: the definitions of the built-in kinds
//! - [`strict`]: fields that a type doesn't have, and fields that are written twice
//! - [`openapi`]: the documents that `/openapi/v3` serves
//! - [`protobuf`]: the binary form in which Go clients send built-in kinds
//! - [`structural`]: schemas of custom resources: read, check, validate, prune, default

pub mod builtin;
pub mod field_error;
pub mod field_errors;
pub mod node;
pub mod openapi;
pub mod protobuf;
pub mod strict;
pub mod structural;

pub use field_error::{FieldError, FieldErrorKind, FieldPath};
pub use field_errors::{FieldErrors, UnknownFields};
pub use node::{ListType, MapType, Reference, Schema, Type};
