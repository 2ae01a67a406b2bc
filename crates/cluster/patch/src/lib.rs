//! How an object changes: the four kinds of patch that Kubernetes knows, as pure functions from an object to the next.
//!
//! ```text
//! json_patch   a list of operations (RFC 6902)            application/json-patch+json
//! merge_patch  fields that replace fields (RFC 7396)      application/merge-patch+json
//! strategic    a merge that knows the built-in types      application/strategic-merge-patch+json
//! ownership    server-side apply and managedFields        application/apply-patch+yaml
//! ```
//!
//! What a patch does to data is decided here; whether the result is a valid object is decided by who asked. Errors have
//! the texts and codes of the API server ([`PatchError`]).

mod document;
mod error;
mod go_text;
pub mod json_patch;
pub mod merge_patch;
pub mod ownership;
pub mod strategic;

pub use error::PatchError;
