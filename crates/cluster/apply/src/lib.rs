//! A set of objects made true in a cluster.
//!
//! ```text
//! objects ─ phases ─► phases ─ secrets ─► Secrets and references ─► a ClusterObjectSet, made by others
//! ClusterObjectSet ─ content ─► what it holds ─┐
//! what the server has ────────────────────────┴─ revision::decide ─► step ─ engine ─► server
//!                                                 (collision, fields, probes, digests, deadline, teardown)
//! ```
//!
//! Everything but [`engine`] and [`troubles`] is pure: no client, no clock. [`diff`] says what a step would change, and
//! [`definition_safety`] whether a new definition of a custom resource would break what is stored.

pub mod collision;
pub mod content;
pub mod deadline;
pub mod definition_safety;
pub mod desired;
pub mod diff;
pub mod digests;
pub mod engine;
pub mod fields;
pub mod object;
pub mod owners;
pub mod phases;
pub mod pod_trouble;
pub mod probes;
pub mod refusal;
pub mod revision;
pub mod secrets;
pub mod served;
pub mod teardown;
pub mod troubles;
pub mod unmanaged;
pub mod validation;
