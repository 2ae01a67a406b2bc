//! The engine on a stage in this process.

mod drifting;
mod faults;
mod parting;
mod removing;
mod rolling_out;
mod world;
