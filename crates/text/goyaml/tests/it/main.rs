//! Everything that holds for reading and writing YAML and JSON.

mod documents;
mod json;
mod limits;
mod properties;
mod reading;
mod typed;
mod writing;
