//! What a bundle needs of others: `olm.package.required`, `olm.gvk.required` and `olm.constraint`.
//!
//! Upstream refuses every bundle that needs anything ([`refuse`]). Here it is held against what is there
//! ([`unmet`]), and [`crate::plan`] says what else to install.
//!
//! A constraint that combines others can be read in two ways: OLM's documentation means that every part holds, by
//! whatever is installed; OLM's resolver looks for one bundle for which every part holds. Either suffices.

mod constraint;
mod expression;
mod inventory;

use catalog::objects::Property;
use gotemplate::format::quoted;
use thiserror::Error;

pub use constraint::{Constraint, GroupVersionKind, MAX_DEPTH, Requirement};
pub use expression::{Expression, MAX_STEPS};
pub use inventory::{Inventory, Present};

use crate::package::Bundle;

/// The properties that say what a bundle needs.
pub const DEPENDENCY_PROPERTIES: [&str; 3] = ["olm.package.required", "olm.gvk.required", "olm.constraint"];

/// A bundle that needs something, where that isn't supported. The words are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "bundle {} has a dependency declared via property {} which is currently not supported",
    quoted(.bundle), quoted(.property)
)]
pub struct Unsupported {
    /// The bundle.
    pub bundle: String,
    /// The type of the property.
    pub property: String,
}

impl Unsupported {
    /// Returns the text that resolution fails with.
    pub fn of_resolution(&self) -> String {
        format!("validating bundle {}: {self}", quoted(&self.bundle))
    }
}

/// Refuses a bundle that needs anything, as upstream does.
///
/// # Errors
///
/// With the first property that says so.
pub fn refuse(bundle: &Bundle) -> Result<(), Unsupported> {
    let kinds = bundle.properties.iter().map(|property| property.kind.as_str());
    match kinds
        .into_iter()
        .find(|kind| DEPENDENCY_PROPERTIES.contains(kind))
    {
        None => Ok(()),
        Some(property) => Err(Unsupported {
            bundle: bundle.name.clone(),
            property: property.to_owned(),
        }),
    }
}

/// A property that can't be read as what a bundle needs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("bundle {}: property {} can't be read: {cause}; ask the package's author to correct it", quoted(.bundle), quoted(.property))]
pub struct DependencyError {
    /// The bundle.
    pub bundle: String,
    /// The type of the property.
    pub property: String,
    /// What is wrong with it.
    pub cause: String,
}

/// Something that a bundle needs and that isn't there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// What is needed.
    pub needed: String,
    /// What the author says to whoever hasn't got it.
    pub message: Option<String>,
    /// What would satisfy it.
    pub remedy: String,
}

impl std::fmt::Display for Unmet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "needs {}", self.needed)?;
        if let Some(message) = &self.message {
            write!(formatter, " ({message})")?;
        }
        write!(formatter, ": {}", self.remedy)
    }
}

/// Returns what a bundle needs, in the order of its properties.
///
/// # Errors
///
/// If a property can't be read.
pub fn dependencies(bundle: &Bundle) -> Result<Vec<Constraint>, DependencyError> {
    let relevant = |property: &&Property| DEPENDENCY_PROPERTIES.contains(&property.kind.as_str());
    let read = |property: &Property| {
        Constraint::read(&property.kind, property.value.get()).map_err(|cause| DependencyError {
            bundle: bundle.name.clone(),
            property: property.kind.clone(),
            cause,
        })
    };
    bundle.properties.iter().filter(relevant).map(read).collect()
}

/// Returns what a bundle needs and the inventory hasn't got.
///
/// # Errors
///
/// If a property can't be read.
pub fn unmet(bundle: &Bundle, inventory: &Inventory) -> Result<Vec<Unmet>, DependencyError> {
    let needed = dependencies(bundle)?.into_iter();
    let missing = needed.filter(|constraint| !inventory.satisfies(constraint));
    Ok(missing.map(|constraint| inventory.explain(&constraint)).collect())
}
