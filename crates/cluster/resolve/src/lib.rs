//! What to install next, and why.
//!
//! ```text
//! Request (package, range, channels, installed) ─┐
//! Offer (a catalog's Package, its priority) … ───┼─ resolution ─► a bundle of a catalog, or upstream's reason
//!                                                └─ explanation ─► what became of each version, and by which rule
//! ```
//!
//! Nothing here has a client or a clock: the same question always has the same answer, for the controller, for
//! `baton plan` and for `baton explain`.

pub mod edges;
pub mod explanation;
pub mod package;
pub mod request;
pub mod resolution;
