//! Who of several controllers works, and on what next.
//!
//! [`leader`] holds a Lease, so that of several replicas one works, and [`fence`] keeps the others from writing; [`queue`]
//! gives things to workers, each thing once and to one worker at a time; [`metrics`] counts how it goes, and [`events`] tells
//! it where people look. None knows what is worked on.

pub mod events;
pub mod fence;
pub mod leader;
pub mod metrics;
pub mod queue;
