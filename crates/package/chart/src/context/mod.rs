//! What templates see as `.`: `.Chart`, `.Values`, `.Files`, `.Capabilities`, `.Release`, as Go values.

mod capabilities;
mod files;
mod glob;
mod metadata;
mod values;

pub(crate) use capabilities::capabilities_value;
pub(crate) use files::files_value;
pub(crate) use metadata::chart_value;
pub(crate) use values::{VALUES, find_table};
