//! The vocabulary of OLM v0: its kinds, names and hashes, and the picture of a cluster that its rules look at.
//!
//! ```text
//! watches ─► World ─┬─ install-plan: subscriptions, plans ──────┐
//!                   └─ service-version: groups, phases, copies ─┴─► Decision (writes, events, when to look again)
//! ```
//!
//! Whoever decides looks at a [`World`] and returns a [`Decision`]; neither has a client, a clock or randomness.

pub mod components;
pub mod copied;
pub mod decision;
pub mod definitions;
pub mod hashes;
pub mod keys;
pub mod kind;
pub mod names;
pub mod world;

pub use decision::{Attempt, Decision, Notice, ServiceAccount, Write};
pub use kind::Kind;
pub use world::{Key, World};
