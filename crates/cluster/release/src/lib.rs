//! Helm's releases in a cluster: their records, and what is done to them, as Helm does it.
//!
//! ```text
//! Secrets ─ records ─► Standing (history, last, base) ─┐
//! rendered chart ─ prepared ─► record, documents ──────┴─ actions ─► objects (writing), hooks, records
//!                                     install │ upgrade │ rollback │ uninstall │ resume │ repair
//! ```
//!
//! Decisions are pure and apart from what is done: [`recovery`] says what an unfinished action asks for, [`changes`]
//! which objects an upgrade touches, [`history`] which records go, [`drift`] which fields differ, [`readiness`] what an
//! object still waits for. Everything may be killed between any two writes: the record says how far it came, and
//! [`actions::Releases::resume`] goes on from there.
//!
//! Nothing here knows of custom resources or of operators; whoever calls renders the chart and says who owns the
//! records.

pub mod actions;
pub mod changes;
pub mod cluster;
pub mod definitions;
pub mod documents;
pub mod drift;
pub mod failure;
pub mod history;
pub mod hooks;
pub mod identity;
pub mod lookup;
pub mod moment;
pub mod prepared;
pub mod readiness;
pub mod records;
pub mod recovery;
pub mod scaling;
mod waiting;
pub mod writing;

pub use actions::{Options, Outcome, Releases};
pub use cluster::Cluster;
pub use failure::{Cause, Failure};
pub use identity::ReleaseId;
pub use prepared::Prepared;
pub use records::{Record, Records, Standing};
