//! Private keys and certificates as Go's crypto packages write them.

pub(crate) mod der;
pub(crate) mod generate;
