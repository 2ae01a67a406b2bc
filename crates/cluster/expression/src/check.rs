//! Which expressions have a meaning, and what type they have.
//!
//! - [`types`]: types, and how messages show them
//! - [`unify`]: when one type may stand for another
//! - [`functions`]: what can be called
//! - [`declared`]: what a schema exposes
//! - [`checker`]: the check itself
//! - [`literals`]: checks of what is written out: durations, patterns, formats

pub(crate) mod checker;
pub(crate) mod declared;
pub(crate) mod functions;
pub(crate) mod literals;
pub(crate) mod types;
mod unify;

pub(crate) use checker::{Checked, Scope, check};
pub(crate) use declared::{Declared, DeclaredKind};
pub(crate) use types::Type;
