//! CEL as Kubernetes evaluates it: the language of validation rules, admission policies and match conditions.
//!
//! - [`rules`]: the `x-kubernetes-validations` of a custom resource's schema
//! - [`policy`]: expressions of admission policies and match conditions
//!
//! Below them, from text to value: `syntax` parses, `check` types, `cost` estimates, `evaluate` runs on `value`s with the
//! functions of `library`. The parser is the `cel` crate's; types, costs and evaluation are our own, since what users see
//! of them (messages, limits) must be Kubernetes'.

#![expect(
    clippy::match_same_arms,
    clippy::single_match_else,
    clippy::format_collect,
    reason = "tables of cases read best with a line for each"
)]

mod check;
mod cost;
mod escape;
mod evaluate;
#[cfg(test)]
mod golden;
mod library;
pub mod policy;
pub mod rules;
mod syntax;
mod value;

pub use cost::{PER_CALL_LIMIT, RUNTIME_BUDGET};
pub use library::authorization::{Access, Authorizer, Decision, ResourceAccess, Subject};
