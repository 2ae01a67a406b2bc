//! A catalog's rules, with upstream's tree of errors.
//!
//! Upstream first builds a model and stops at the first thing that has no place in it; only then it looks at
//! everything in the model and tells all that is wrong. Where it walks a map in no order, the order here is that of
//! the names.

mod chain;
mod facts;
mod model;
mod package_name;
mod rules;
mod suggestions;
mod tree;

use std::path::Path;

use thiserror::Error;

pub(crate) use chain::head;
use facts::Facts;
use model::Model;
pub use suggestions::suggestions;
pub use tree::Problem;

use crate::objects::Catalog;
use crate::reading::{self, MetaRef, ReadError, Source};

/// Why a catalog is not valid.
#[derive(Debug, Error)]
pub enum ValidationError {
    /// The catalog cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Something has no place in the catalog, such as a bundle of an unknown package. What else may be wrong was not
    /// looked at.
    #[error("{0}")]
    Misplaced(String),
    /// Rules are broken; this is everything that is wrong.
    #[error("{0}")]
    Rules(Problem),
}

/// Validates a catalog in memory.
pub fn validate(catalog: &Catalog) -> Result<(), ValidationError> {
    check(&Facts::of(catalog))
}

/// Validates the catalog in a directory without holding it in memory.
pub fn validate_directory(path: &Path) -> Result<(), ValidationError> {
    validate_source(Source::Directory(path))
}

/// Validates a catalog without holding it in memory.
///
/// Of each object only what the rules need is kept, and only what is unusual is brought into its canonical form.
pub fn validate_source(source: Source<'_>) -> Result<(), ValidationError> {
    let mut facts = Facts::default();
    let mut blob = Vec::new();
    reading::for_each_found(source, |path, found| {
        facts.add(&found, &mut blob).map_err(|message| ReadError::Object {
            path: path.to_owned(),
            message,
        })
    })?;
    check(&facts)
}

/// Validates objects in their canonical form, such as those of one package, as if they were a whole catalog.
pub fn validate_metas<'a>(metas: impl IntoIterator<Item = MetaRef<'a>>) -> Result<(), ValidationError> {
    let mut facts = Facts::default();
    for meta in metas {
        facts.add_canonical(meta).map_err(|message| ReadError::Object {
            path: String::new(),
            message,
        })?;
    }
    check(&facts)
}

fn check(facts: &Facts) -> Result<(), ValidationError> {
    let model = Model::build(facts).map_err(ValidationError::Misplaced)?;
    rules::check(&model).map_or(Ok(()), |problem| Err(ValidationError::Rules(problem)))
}
