//! Everything that is decided about the next version.

mod classic_corpus;
mod classic_namespace;
mod classic_solver;
mod corpus;
mod dependencies;
