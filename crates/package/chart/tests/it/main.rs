//! Everything that holds for charts, without a cluster.

mod chart_files;
mod dependency_trees;
mod engine;
mod linting;
mod loading;
mod probes;
mod release_records;
mod schema_dialect_helm4;
mod schemas;
mod set_expressions;
