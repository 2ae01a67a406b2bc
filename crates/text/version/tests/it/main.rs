//! Everything that holds for versions, ranges and constraints.

mod properties;
mod recorded;
mod tables;
