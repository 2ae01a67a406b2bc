//! What opm was recorded to answer.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub(crate) fn catalog_corpus() -> Option<PathBuf> {
    Some(corpus::open("catalog")?.join("catalog-corpus"))
}

pub(crate) fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}
