//! Expressions of admission policies and match conditions.
//!
//! A [`Compiler`] knows the variables: `object`, `oldObject`, `request`, `namespaceObject`, maybe `params` and `authorizer`,
//! and the `variables` that a policy defines itself. An [`Evaluation`] binds them for one request and has a budget that all
//! of its expressions share.

mod compiler;
mod evaluation;
mod request;

pub use compiler::{Compiler, Expression, Fault, Returns};
pub use evaluation::{Evaluation, Input, OutOfBudget, Output};

/// The largest cost of all match conditions of one object.
pub const MATCH_CONDITIONS_BUDGET: i64 = 2_500_000;
