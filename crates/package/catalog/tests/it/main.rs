//! Everything that holds for catalogs: their files, their store, their answers.

mod bundles;
mod file_based;
mod grpc;
mod properties;
mod small_catalogs;
mod store;
mod templates;
mod written;
