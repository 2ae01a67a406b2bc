//! Every definition among the objects of a bundle, before any of them is applied.

use gotemplate::format::quoted;
use serde_json::Value;
use thiserror::Error;

use super::{Checks, MAX_TEXT_BYTES, UnreadableDefinition, UnsafeDefinition, examine, text};

/// Why objects aren't applied. The texts are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PreflightError {
    /// A definition can't be compared.
    #[error(transparent)]
    Unreadable(#[from] UnreadableDefinition),
    /// The cluster doesn't say which definition it has.
    #[error("getting existing resource for CRD {}: {cause}", quoted(.name))]
    Existing {
        /// The name of the definition.
        name: String,
        /// What the cluster says instead.
        cause: String,
    },
    /// Definitions would break their resources.
    #[error("{}", text(.0, MAX_TEXT_BYTES))]
    Unsafe(Vec<UnsafeDefinition>),
}

/// Returns the names of the definitions among objects: what [`preflight`] asks the cluster for.
pub fn definitions(objects: &[Value]) -> impl Iterator<Item = &str> {
    objects.iter().filter(|object| is_definition(object)).map(name)
}

/// Checks every definition among objects against the one in the cluster, which `existing` returns by its name.
///
/// # Errors
///
/// If one is unsafe, or can't be compared.
pub fn preflight(
    objects: &[Value],
    mut existing: impl FnMut(&str) -> Result<Option<Value>, String>,
    checks: &Checks,
) -> Result<(), PreflightError> {
    let mut found = Vec::new();
    for new in objects.iter().filter(|object| is_definition(object)) {
        let name = name(new);
        let old = existing(name).map_err(|cause| PreflightError::Existing {
            name: name.to_owned(),
            cause,
        })?;
        // What isn't there yet has no resources that could break.
        if let Some(old) = old {
            found.extend(examine(&old, new, checks)?);
        }
    }
    if found.is_empty() {
        Ok(())
    } else {
        Err(PreflightError::Unsafe(found))
    }
}

fn is_definition(object: &Value) -> bool {
    object["kind"] == "CustomResourceDefinition" && object["apiVersion"] == "apiextensions.k8s.io/v1"
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}
