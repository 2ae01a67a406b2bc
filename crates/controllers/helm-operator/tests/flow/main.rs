//! What an operator does for its resources, and what it does when things go wrong: on a cluster in this process.

mod chart;
mod cosmetic;
mod explaining;
mod failing;
mod killing;
mod leaving;
mod line;
mod looking_after;
mod retrying;
mod selecting;
mod world;
