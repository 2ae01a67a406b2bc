//! An upgrade tried on a copy: what matters of a live cluster is brought to a throw-away stage, the upgrade is played there,
//! and it is told what it would change, break and restart. The live cluster is only read.
//!
//! ```text
//! live cluster ─ reading ─► next (the bundle), gathering, records ─ copying (copies) ─► setting (the stage)
//! new bundle ─ operators ─► charts                                                          │
//!        definitions (validity), plan, playing, releases ◄──────────────────────────────────┘
//!                └─► report
//! ```
//!
//! Nothing is decided here: OLM's controller plans and installs on the stage, the Helm operator renders, and releases are
//! upgraded as they would be. [`copies`], [`validity`], [`operators::candidates`] and [`report`] are pure.

pub mod copies;
mod copying;
mod definitions;
mod former;
mod gathering;
mod impersonating;
mod impossible;
mod next;
pub mod operators;
mod playing;
pub mod reading;
mod records;
mod rehearsal;
mod releases;
pub mod report;
mod setting;
pub mod validity;

pub use impossible::Impossible;
pub use rehearsal::{DEFAULT_SAMPLE, Rehearsal};
