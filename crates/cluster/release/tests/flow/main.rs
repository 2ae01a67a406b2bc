//! Releases on a cluster in this process.

mod corpus_records;
mod failing;
mod installing;
mod killing;
mod lookups;
mod oversized;
mod repairing;
mod upgrading;
#[expect(dead_code, reason = "the suite has a Helm that its stage is served to")]
mod world;
