//! What is there: installed bundles, and the kinds that the cluster serves.

use std::collections::BTreeSet;

use catalog::objects::Property;
use gotemplate::format::quoted;
use serde_json::{Value, json};
use version::Version;

use super::constraint::{Constraint, GroupVersionKind, Requirement};
use super::{DEPENDENCY_PROPERTIES, Unmet};

/// A bundle that is installed, or shall be.
#[derive(Debug, Clone)]
pub struct Present {
    /// Its package.
    pub package: String,
    /// Its name.
    pub bundle: String,
    /// Its version.
    pub version: Version,
    /// What it needs itself; what can't be read was let in before and is let be.
    pub needs: Vec<Constraint>,
    kinds: BTreeSet<GroupVersionKind>,
    /// As expressions see them.
    properties: Value,
}

impl Present {
    /// Returns a bundle with what its properties say.
    pub fn new(package: &str, bundle: &str, version: Version, properties: &[Property]) -> Present {
        let parsed =
            |property: &Property| serde_json::from_str::<Value>(property.value.get()).unwrap_or_default();
        let kinds = properties.iter().filter(|property| property.kind == "olm.gvk");
        Present {
            package: package.to_owned(),
            bundle: bundle.to_owned(),
            version,
            needs: properties
                .iter()
                .filter(|property| DEPENDENCY_PROPERTIES.contains(&property.kind.as_str()))
                .filter_map(|property| Constraint::read(&property.kind, property.value.get()).ok())
                .collect(),
            kinds: kinds
                .filter_map(|property| serde_json::from_str(property.value.get()).ok())
                .collect(),
            properties: properties
                .iter()
                .map(|property| json!({"type": property.kind, "value": parsed(property)}))
                .collect(),
        }
    }

    /// Returns whether this bundle alone is what a constraint asks for.
    pub fn satisfies(&self, constraint: &Constraint) -> bool {
        match &constraint.requirement {
            Requirement::Package { name, range, .. } => self.package == *name && range.matches(&self.version),
            Requirement::Kind(kind) => self.kinds.contains(kind),
            Requirement::Expression(expression) => expression.holds(&self.properties),
            Requirement::All(all) => all.iter().all(|part| self.satisfies(part)),
            Requirement::Any(any) => any.iter().any(|part| self.satisfies(part)),
            Requirement::Not(not) => !not.iter().any(|part| self.satisfies(part)),
        }
    }
}

/// What is there.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    /// Installed bundles.
    pub bundles: Vec<Present>,
    /// Kinds that the cluster serves, whoever brought them.
    pub kinds: BTreeSet<GroupVersionKind>,
}

impl Inventory {
    /// Returns whether what is there is what a constraint asks for.
    pub fn satisfies(&self, constraint: &Constraint) -> bool {
        match &constraint.requirement {
            Requirement::Kind(kind) if self.kinds.contains(kind) => true,
            Requirement::Package { .. } | Requirement::Kind(_) | Requirement::Expression(_) => {
                self.bundles.iter().any(|bundle| bundle.satisfies(constraint))
            }
            Requirement::All(all) => {
                all.iter().all(|part| self.satisfies(part))
                    || (has_positive(all) && self.bundles.iter().any(|bundle| bundle.satisfies(constraint)))
            }
            Requirement::Any(any) => any.iter().any(|part| self.satisfies(part)),
            Requirement::Not(not) => !not.iter().any(|part| self.satisfies(part)),
        }
    }

    /// Returns the installed bundle of a package.
    pub fn package(&self, name: &str) -> Option<&Present> {
        self.bundles.iter().find(|bundle| bundle.package == name)
    }

    /// Says what is missing for a constraint that isn't satisfied, and what would satisfy it.
    pub fn explain(&self, constraint: &Constraint) -> Unmet {
        Unmet {
            needed: constraint.requirement.to_string(),
            message: constraint.message.clone(),
            remedy: self.remedy(constraint),
        }
    }

    fn remedy(&self, constraint: &Constraint) -> String {
        let join = |parts: Vec<String>, word: &str| parts.join(word);
        match &constraint.requirement {
            Requirement::Package { name, text, .. } => match self.package(name) {
                Some(installed) => format!(
                    "change package {} from the installed version {} to one in {}",
                    quoted(name),
                    installed.version,
                    quoted(text)
                ),
                None => format!(
                    "install package {} in a version in {}",
                    quoted(name),
                    quoted(text)
                ),
            },
            Requirement::Kind(kind) => format!("install a package that provides kind {kind}"),
            Requirement::Expression(expression) => {
                format!("install a package with properties for which {expression}")
            }
            Requirement::All(all) => {
                let missing = all.iter().filter(|part| !self.satisfies(part));
                join(missing.map(|part| self.remedy(part)).collect(), " and ")
            }
            Requirement::Any(any) if any.is_empty() => "nothing can satisfy it".into(),
            Requirement::Any(any) => join(any.iter().map(|part| self.remedy(part)).collect(), " or "),
            Requirement::Not(not) => {
                let present = not.iter().filter(|part| self.satisfies(part));
                join(present.map(|part| self.removal(part)).collect(), " and ")
            }
        }
    }

    fn removal(&self, constraint: &Constraint) -> String {
        let present = self.bundles.iter().filter(|bundle| bundle.satisfies(constraint));
        let present: Vec<String> = present
            .map(|bundle| format!("{} {}", bundle.package, bundle.version))
            .collect();
        match present.as_slice() {
            [] => format!("remove {}", constraint.requirement),
            present => format!("uninstall {}", present.join(" and ")),
        }
    }
}

/// Returns whether something is asked for, and not only excluded: of every bundle it can be said what it isn't.
fn has_positive(all: &[Constraint]) -> bool {
    all.iter().any(|part| match &part.requirement {
        Requirement::Not(_) => false,
        Requirement::All(parts) | Requirement::Any(parts) => has_positive(parts),
        _ => true,
    })
}
