//! The checks by name, and which of them are wanted.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The annotation of an extension that names checks to leave out, separated by commas.
pub const SKIP_ANNOTATION: &str = "baton-olm.dev/crd-safety-skip";

/// Something that may break the resources of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// A field is gone.
    ExistingFieldRemoval,
    /// The resources are no longer in namespaces, or are now.
    Scope,
    /// A version is gone in which resources are stored.
    StoredVersionRemoval,
    /// A default was added, removed or changed.
    Default,
    /// Values of an enumeration are gone, or there was none before.
    Enum,
    /// Fewer elements are allowed.
    MaxItems,
    /// Texts must be shorter.
    MaxLength,
    /// Fewer properties are allowed.
    MaxProperties,
    /// Numbers must be smaller.
    Maximum,
    /// More elements are needed.
    MinItems,
    /// Texts must be longer.
    MinLength,
    /// More properties are needed.
    MinProperties,
    /// Numbers must be greater.
    Minimum,
    /// Null is allowed now, or no longer.
    Nullable,
    /// Alternatives were added or removed.
    OneOf,
    /// A pattern was added, removed or changed.
    Pattern,
    /// Fields must be given that needn't before.
    Required,
    /// The type has changed.
    Type,
    /// Anything else has changed.
    Unhandled,
}

impl Check {
    /// Every check, in the order in which findings are told.
    pub const ALL: [Check; 19] = [
        Check::ExistingFieldRemoval,
        Check::Scope,
        Check::StoredVersionRemoval,
        Check::Default,
        Check::Enum,
        Check::MaxItems,
        Check::MaxLength,
        Check::MaxProperties,
        Check::Maximum,
        Check::MinItems,
        Check::MinLength,
        Check::MinProperties,
        Check::Minimum,
        Check::Nullable,
        Check::OneOf,
        Check::Pattern,
        Check::Required,
        Check::Type,
        Check::Unhandled,
    ];

    /// Returns the name that messages and the annotation have.
    pub fn name(self) -> &'static str {
        match self {
            Check::ExistingFieldRemoval => "existingFieldRemoval",
            Check::Scope => "scope",
            Check::StoredVersionRemoval => "storedVersionRemoval",
            Check::Default => "default",
            Check::Enum => "enum",
            Check::MaxItems => "maxItems",
            Check::MaxLength => "maxLength",
            Check::MaxProperties => "maxProperties",
            Check::Maximum => "maximum",
            Check::MinItems => "minItems",
            Check::MinLength => "minLength",
            Check::MinProperties => "minProperties",
            Check::Minimum => "minimum",
            Check::Nullable => "nullable",
            Check::OneOf => "oneOf",
            Check::Pattern => "pattern",
            Check::Required => "required",
            Check::Type => "type",
            Check::Unhandled => "unhandled",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that no check has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "unknown check {name:?} in annotation {SKIP_ANNOTATION:?}; name one or more of {}, separated by commas",
    known()
)]
pub struct UnknownCheck {
    /// The name.
    pub name: String,
}

fn known() -> String {
    Check::ALL.map(Check::name).join(", ")
}

impl FromStr for Check {
    type Err = UnknownCheck;

    fn from_str(name: &str) -> Result<Check, UnknownCheck> {
        let found = Check::ALL.into_iter().find(|check| check.name() == name);
        found.ok_or_else(|| UnknownCheck {
            name: name.to_owned(),
        })
    }
}

/// Which checks are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checks {
    skipped: Vec<Check>,
}

impl Checks {
    /// Returns every check: what upstream has.
    pub fn all() -> Checks {
        Checks::default()
    }

    /// Reads which checks are left out, as the annotation [`SKIP_ANNOTATION`] says it: `pattern,default`.
    pub fn without(names: &str) -> Result<Checks, UnknownCheck> {
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        let mut skipped = names.map(Check::from_str).collect::<Result<Vec<_>, _>>()?;
        skipped.sort();
        skipped.dedup();
        Ok(Checks { skipped })
    }

    /// Returns whether a check is wanted.
    pub fn has(&self, check: Check) -> bool {
        !self.skipped.contains(&check)
    }
}
