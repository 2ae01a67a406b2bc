//! The Kubernetes types of OLM and baton, and their definitions.
//!
//! A type holds what the field holds and nothing of how it is reconciled. Strings that have a grammar of their own, such as
//! ranges of versions, are read by the crates that know the grammar.

pub mod admission;
pub mod cluster_catalog;
pub mod cluster_extension;
pub mod cluster_object_set;
pub mod condition;
pub mod definitions;
pub mod keys;
mod kind;

pub use cluster_catalog::ClusterCatalog;
pub use cluster_extension::ClusterExtension;
pub use cluster_object_set::ClusterObjectSet;
pub use condition::{Condition, ConditionStatus};
