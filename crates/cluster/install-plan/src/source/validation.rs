//! Whether a CatalogSource says where its content is.

use apply::object::text;
use serde_json::Value;
use thiserror::Error;

/// What is wrong with the spec of a CatalogSource. The words are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpecProblem {
    /// A catalog in a ConfigMap names none.
    #[error("configmap name unset: must be set for sourcetype: {0}")]
    NoConfigMap(String),
    /// A catalog of a server names neither an image nor an address.
    #[error("image and address unset: at least one must be set for sourcetype: grpc")]
    NoImage,
    /// No such kind of catalog exists.
    #[error("unknown sourcetype: {0}")]
    UnknownType(String),
}

/// Checks the spec of a CatalogSource.
pub fn validate(source: &Value) -> Result<(), SpecProblem> {
    let is_empty = |pointer| text(source, pointer).is_empty();
    match text(source, "/spec/sourceType") {
        kind @ ("internal" | "configmap") if is_empty("/spec/configMap") => {
            Err(SpecProblem::NoConfigMap(kind.to_owned()))
        }
        "grpc" if is_empty("/spec/image") && is_empty("/spec/address") => Err(SpecProblem::NoImage),
        "internal" | "configmap" | "grpc" => Ok(()),
        other => Err(SpecProblem::UnknownType(other.to_owned())),
    }
}
