//! What a bundle needs of another operator: the properties that ask for one, and upstream's words for them.

use std::fmt;

use goyaml::typed::{Decoding, GoType, decode, decode_with};
use serde_json::Value;
use thiserror::Error;
use version::Range;

use super::entry::Entry;
use super::property::{CONSTRAINT, KIND_REQUIRED, LABEL_REQUIRED, PACKAGE_REQUIRED, Property};
use crate::dependencies::{Constraint, Expression, GroupVersionKind, MAX_DEPTH, Requirement};

/// How long the text of an `olm.constraint` may be; upstream's limit.
pub const MAX_CONSTRAINT_BYTES: usize = 131_072;

/// A property that can't be read as what a bundle needs. The words are upstream's where upstream has some.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NeedError {
    /// An `olm.constraint` isn't one.
    #[error("parse olm.constraint: {0}")]
    Parse(String),
    /// An `olm.constraint` asks for something that can't be asked for.
    #[error("convert olm.constraint to resolver predicate: {0}")]
    Convert(String),
    /// Another property has a value of the wrong form.
    #[error("{0}")]
    Legacy(String),
}

/// What a bundle needs of an operator: one that is installed, or is installed with it.
#[derive(Debug, Clone)]
pub struct Need {
    /// The property that says so.
    pub property: Property,
    /// What is asked for.
    pub wanted: Wanted,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// An operator that carries this label.
    Label(String),
    /// An operator for which a constraint holds.
    Constraint(Constraint),
}

#[derive(Debug, Default)]
struct PackageNeed {
    name: String,
    range: String,
}
goyaml::go_struct!(PackageNeed, "constraints.PackageConstraint", { "packageName" => name, "versionRange" => range });

#[derive(Debug, Default)]
struct KindNeed {
    group: String,
    kind: String,
    version: String,
}
goyaml::go_struct!(KindNeed, "constraints.GVKConstraint", { "group" => group, "kind" => kind, "version" => version });

#[derive(Debug, Default)]
struct LabelNeed {
    label: String,
}
goyaml::go_struct!(LabelNeed, "struct { Label string }", { "label" => label });

#[derive(Debug, Default)]
struct ExpressionNeed {
    rule: String,
}
goyaml::go_struct!(ExpressionNeed, "constraints.Cel", { "rule" => rule });

#[derive(Debug, Default)]
struct CompoundNeed {
    constraints: Vec<ConstraintNeed>,
}
goyaml::go_struct!(CompoundNeed, "constraints.CompoundConstraint", { "constraints" => constraints });

#[derive(Debug, Default)]
struct ConstraintNeed {
    message: String,
    cel: Option<Box<ExpressionNeed>>,
    package: Option<Box<PackageNeed>>,
    kind: Option<Box<KindNeed>>,
    all: Option<Box<CompoundNeed>>,
    any: Option<Box<CompoundNeed>>,
    not: Option<Box<CompoundNeed>>,
}
goyaml::go_struct!(ConstraintNeed, "constraints.Constraint", {
    "failureMessage" => message, "cel" => cel, "package" => package, "gvk" => kind,
    "all" => all, "any" => any, "not" => not,
});

impl Need {
    /// Reads a property, if it is one that asks for something.
    pub(super) fn read(property: &Property) -> Option<Result<Self, NeedError>> {
        let wanted = Wanted::read(property)?;
        Some(wanted.map(|wanted| Self {
            property: property.clone(),
            wanted,
        }))
    }

    /// Returns whether an operator is what is needed.
    pub fn is_met_by(&self, entry: &Entry) -> bool {
        match &self.wanted {
            Wanted::Label(label) => entry.carries_label(label),
            Wanted::Constraint(constraint) => meets(entry, &constraint.requirement),
        }
    }
}

impl Wanted {
    fn read(property: &Property) -> Option<Result<Self, NeedError>> {
        let text = property.value.as_str();
        Some(match property.kind.as_str() {
            KIND_REQUIRED => legacy(text).map(|need: KindNeed| Requirement::Kind(need.into()).into()),
            PACKAGE_REQUIRED => legacy(text).and_then(|need: PackageNeed| {
                let requirement = need.requirement().map_err(NeedError::Legacy)?;
                Ok(requirement.into())
            }),
            LABEL_REQUIRED => legacy(text).map(|need: LabelNeed| Self::Label(need.label)),
            CONSTRAINT => parse(text).and_then(|need| {
                let constraint = need.constraint(0).map_err(NeedError::Convert)?;
                Ok(Self::Constraint(constraint))
            }),
            _ => return None,
        })
    }
}

impl From<Requirement> for Wanted {
    fn from(requirement: Requirement) -> Self {
        Self::Constraint(Constraint {
            message: None,
            requirement,
        })
    }
}

fn meets(entry: &Entry, requirement: &Requirement) -> bool {
    match requirement {
        Requirement::Package { name, range, .. } => entry.is_of_package(name) && entry.has_version_in(range),
        Requirement::Kind(kind) => entry.provides(kind),
        Requirement::Expression(expression) => expression.holds(entry.properties_as_json()),
        Requirement::All(all) => all.iter().all(|part| meets(entry, &part.requirement)),
        Requirement::Any(any) => any.iter().any(|part| meets(entry, &part.requirement)),
        Requirement::Not(not) => !not.iter().any(|part| meets(entry, &part.requirement)),
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn legacy<T: GoType>(text: &str) -> Result<T, NeedError> {
    let value = json(text).map_err(NeedError::Legacy)?;
    decode(&value).map_err(|error| NeedError::Legacy(error.to_string()))
}

fn parse(text: &str) -> Result<ConstraintNeed, NeedError> {
    if text.len() > MAX_CONSTRAINT_BYTES {
        let fault = format!("olm.constraint value exceeds {MAX_CONSTRAINT_BYTES} bytes");
        return Err(NeedError::Parse(fault));
    }
    let strict = Decoding {
        known_fields_only: true,
        ..Decoding::default()
    };
    let value = json(text).map_err(NeedError::Parse)?;
    decode_with(&value, strict).map_err(|error| NeedError::Parse(error.to_string()))
}

impl From<KindNeed> for GroupVersionKind {
    fn from(need: KindNeed) -> Self {
        Self {
            group: need.group,
            version: need.version,
            kind: need.kind,
        }
    }
}

impl PackageNeed {
    fn requirement(self) -> Result<Requirement, String> {
        let range = Range::parse(&self.range).map_err(|error| error.to_string())?;
        Ok(Requirement::Package {
            name: self.name,
            text: self.range,
            range,
        })
    }
}

impl ConstraintNeed {
    /// Of several, the first in this order counts.
    fn constraint(self, depth: usize) -> Result<Constraint, String> {
        if depth >= MAX_DEPTH {
            return Err(format!("constraints are nested deeper than {MAX_DEPTH} levels"));
        }
        let several = |compound: Box<CompoundNeed>| -> Result<Vec<Constraint>, String> {
            let parts = compound.constraints.into_iter();
            parts.map(|part| part.constraint(depth + 1)).collect()
        };
        let requirement = if let Some(kind) = self.kind {
            Requirement::Kind((*kind).into())
        } else if let Some(package) = self.package {
            package.requirement()?
        } else if let Some(parts) = self.all {
            Requirement::All(several(parts)?)
        } else if let Some(parts) = self.any {
            Requirement::Any(several(parts)?)
        } else if let Some(parts) = self.not {
            Requirement::Not(several(parts)?)
        } else if let Some(expression) = self.cel {
            Requirement::Expression(Expression::compile(&expression.rule)?)
        } else {
            return Err("constraint is empty".into());
        };
        Ok(Constraint {
            message: Some(self.message).filter(|message| !message.is_empty()),
            requirement,
        })
    }
}

/// Upstream's words, as they follow "requires an operator".
impl fmt::Display for Need {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.wanted {
            Wanted::Label(label) => write!(formatter, "with label: {label}"),
            Wanted::Constraint(constraint) => describe(formatter, constraint),
        }
    }
}

fn describe(formatter: &mut fmt::Formatter<'_>, constraint: &Constraint) -> fmt::Result {
    let (parts, word) = match &constraint.requirement {
        Requirement::Package { name, text, .. } => {
            return write!(
                formatter,
                "with package: {name} and with version in range: {text}"
            );
        }
        Requirement::Kind(kind) => {
            let GroupVersionKind { group, version, kind } = kind;
            return write!(
                formatter,
                "providing an API with group: {group}, version: {version}, kind: {kind}"
            );
        }
        Requirement::Expression(expression) => {
            let message = constraint.message.as_deref().unwrap_or_default();
            return write!(
                formatter,
                "with constraint: {} and message: {}",
                gotemplate::format::quoted(expression.to_string()),
                gotemplate::format::quoted(message)
            );
        }
        Requirement::All(parts) => (parts, " and "),
        Requirement::Any(parts) => (parts, " or "),
        Requirement::Not(parts) => (parts, " and not "),
    };
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            formatter.write_str(word)?;
        }
        describe(formatter, part)?;
    }
    Ok(())
}
