//! A constraint, read.

use std::fmt;

use gotemplate::format::quoted;
use serde::Deserialize;
use version::Range;

use super::expression::Expression;

/// How deep constraints may be nested; authors write two levels, and every level costs stack.
pub const MAX_DEPTH: usize = 32;

/// A kind of the API.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct GroupVersionKind {
    /// The group; empty for the core's.
    #[serde(default)]
    pub group: String,
    /// The version.
    #[serde(default)]
    pub version: String,
    /// The kind.
    #[serde(default)]
    pub kind: String,
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            write!(formatter, "{}/{}", self.version, self.kind)
        } else {
            write!(formatter, "{}/{}/{}", self.group, self.version, self.kind)
        }
    }
}

/// What is needed, and what to say where it is missing.
#[derive(Debug, Clone)]
pub struct Constraint {
    /// The author's words for whoever hasn't got it.
    pub message: Option<String>,
    /// What is needed.
    pub requirement: Requirement,
}

/// What is needed.
#[derive(Debug, Clone)]
pub enum Requirement {
    /// A package in one of these versions.
    Package {
        /// The package.
        name: String,
        /// The versions as written.
        text: String,
        /// The versions.
        range: Range,
    },
    /// A kind that the cluster serves.
    Kind(GroupVersionKind),
    /// A bundle whose properties are such.
    Expression(Expression),
    /// Everything of this.
    All(Vec<Constraint>),
    /// One of these.
    Any(Vec<Constraint>),
    /// Nothing of this.
    Not(Vec<Constraint>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadPackage {
    #[serde(default)]
    package_name: String,
    #[serde(default)]
    version_range: String,
}

#[derive(Deserialize)]
struct ReadExpression {
    #[serde(default)]
    rule: String,
}

#[derive(Deserialize)]
struct ReadCompound {
    #[serde(default)]
    constraints: Vec<ReadConstraint>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReadConstraint {
    #[serde(default)]
    failure_message: Option<String>,
    cel: Option<ReadExpression>,
    package: Option<ReadPackage>,
    gvk: Option<GroupVersionKind>,
    all: Option<ReadCompound>,
    any: Option<ReadCompound>,
    not: Option<ReadCompound>,
}

impl Constraint {
    /// Reads the value of a property of this type.
    pub(super) fn read(kind: &str, value: &str) -> Result<Constraint, String> {
        let fault = |fault: serde_json::Error| fault.to_string();
        let requirement = match kind {
            "olm.package.required" => package(serde_json::from_str(value).map_err(fault)?)?,
            "olm.gvk.required" => Requirement::Kind(serde_json::from_str(value).map_err(fault)?),
            _ => return Constraint::new(serde_json::from_str(value).map_err(fault)?, 0),
        };
        Ok(Constraint {
            message: None,
            requirement,
        })
    }

    fn new(read: ReadConstraint, depth: usize) -> Result<Constraint, String> {
        if depth >= MAX_DEPTH {
            return Err(format!("constraints are nested deeper than {MAX_DEPTH} levels"));
        }
        let several = |compound: ReadCompound| -> Result<Vec<Constraint>, String> {
            let parts = compound.constraints.into_iter();
            parts.map(|part| Constraint::new(part, depth + 1)).collect()
        };
        // Of several, the first in this order counts, as in OLM.
        let requirement = if let Some(kind) = read.gvk {
            Requirement::Kind(kind)
        } else if let Some(named) = read.package {
            package(named)?
        } else if let Some(parts) = read.all {
            Requirement::All(several(parts)?)
        } else if let Some(parts) = read.any {
            Requirement::Any(several(parts)?)
        } else if let Some(parts) = read.not {
            Requirement::Not(several(parts)?)
        } else if let Some(expression) = read.cel {
            Requirement::Expression(Expression::compile(&expression.rule)?)
        } else {
            return Err("constraint is empty".into());
        };
        Ok(Constraint {
            message: read.failure_message.filter(|message| !message.is_empty()),
            requirement,
        })
    }
}

fn package(read: ReadPackage) -> Result<Requirement, String> {
    let range = Range::parse(&read.version_range)
        .map_err(|fault| format!("version range {}: {fault}", quoted(&read.version_range)))?;
    Ok(Requirement::Package {
        name: read.package_name,
        text: read.version_range,
        range,
    })
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = |formatter: &mut fmt::Formatter<'_>, word: &str, parts: &[Constraint]| {
            formatter.write_str(word)?;
            for (index, part) in parts.iter().enumerate() {
                let separator = if index == 0 { "" } else { ", " };
                write!(formatter, "{separator}{}", part.requirement)?;
            }
            formatter.write_str(")")
        };
        match self {
            Requirement::Package { name, text, .. } => {
                write!(formatter, "package {} in versions {}", quoted(name), quoted(text))
            }
            Requirement::Kind(kind) => write!(formatter, "kind {kind}"),
            Requirement::Expression(expression) => {
                write!(formatter, "a bundle with properties for which {expression}")
            }
            Requirement::All(all) => parts(formatter, "all of (", all),
            Requirement::Any(any) => parts(formatter, "one of (", any),
            Requirement::Not(not) => parts(formatter, "none of (", not),
        }
    }
}
