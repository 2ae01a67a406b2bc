//! From a checked expression to its value.
//!
//! - [`plan`]: the steps of an evaluation: what is constant is computed once, names become places
//! - [`machine`]: runs the steps and counts what they cost
//! - [`attribute`]: variables and the fields and items that are selected from them

pub(crate) mod attribute;
pub(crate) mod dispatch;
pub(crate) mod machine;
pub(crate) mod plan;

pub(crate) use machine::run;
pub(crate) use plan::Program;
