//! Who of several controllers works, and on what next.
//!
//! [`leader`] holds a Lease, so that of several replicas one works; [`queue`] gives things to workers, each thing once and
//! to one worker at a time; [`metrics`] counts how it goes. None knows what is worked on.

pub mod leader;
pub mod metrics;
pub mod queue;
