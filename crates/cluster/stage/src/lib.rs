//! stage

pub mod store;
