//! Releases on a cluster in this process.

mod corpus_records;
mod failing;
mod helm_programs;
mod installing;
mod killing;
mod lookups;
mod oversized;
mod repairing;
mod upgrading;
mod world;
