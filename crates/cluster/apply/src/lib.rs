//! A set of objects made true in a cluster.

pub mod definition_safety;
