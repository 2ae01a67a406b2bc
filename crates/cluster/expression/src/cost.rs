//! What expressions cost: counted while they run, and estimated before.
//!
//! A cost is a number of units of about 50 ns on a server. Rules whose worst case is too expensive are refused when they
//! are written, and what runs is stopped when it costs too much.
//!
//! - [`runtime`]: what a call costs, from its arguments
//! - [`estimate`]: the range of what an expression can cost, from the sizes that its schema allows
//! - [`calls`]: the range of what a call can cost
//! - [`range`]: arithmetic on ranges

pub(crate) mod calls;
pub(crate) mod estimate;
pub(crate) mod range;
pub(crate) mod runtime;

/// What going through a text costs, for each character.
pub(crate) const TEXT: f64 = 0.1;

/// What a regular expression costs, for each of its characters.
pub(crate) const REGULAR: f64 = 0.25;

/// What a question to the authorizer costs: two of them fit into one expression.
pub(crate) const AUTHORIZATION: u64 = 350_000;

/// What making a list and an object cost.
pub(crate) const LIST: u64 = 10;
pub(crate) const MAP: u64 = 30;
pub(crate) const OBJECT: u64 = 40;

/// The largest cost of one expression, when it runs.
pub const PER_CALL_LIMIT: u64 = 1_000_000;

/// The largest cost of all rules for one object.
pub const RUNTIME_BUDGET: i64 = 10_000_000;
