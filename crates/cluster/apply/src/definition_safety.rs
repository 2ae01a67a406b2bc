//! Whether a new definition (CRD) keeps the resources of the one in the cluster valid and readable.
//!
//! ```text
//! old, new ─ definition ─► every schema by its path ─ properties ─► issues of the same version
//!                                                   └─ served ────► issues between served versions, less those that were there
//!          ─ whole ──────► scope, stored versions, removed fields
//! ```
//!
//! The rules and the words are those of crdify as operator-controller uses it: a change is refused unless it is known
//! to be safe. [`Checks`] leaves single checks out. Where upstream's order is that of a hash map, findings come in the
//! order of versions, paths and checks.

mod checks;
mod definition;
mod difference;
mod go_text;
mod kind;
mod preflight;
mod properties;
mod served;
mod summary;
mod typed;
mod whole;

use std::fmt;

use gotemplate::format::quoted;
use serde_json::Value;
use thiserror::Error;

pub use checks::{Check, Checks, SKIP_ANNOTATION, UnknownCheck};
pub use preflight::{PreflightError, definitions, preflight};
pub use typed::{MAX_DEPTH, ShapeError};

use definition::Definition;
use properties::Issue;

/// What makes a new definition unsafe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The version, or the two versions, and the property; nothing if it is about the whole definition.
    pub place: Option<Place>,
    /// The check that found it.
    pub check: Check,
    /// What was found.
    pub message: String,
}

/// Where in a definition something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// `v1`, or `v1 -> v2` if the second version refuses what the first takes.
    pub version: String,
    /// The path of the property: `^.spec.replicas`.
    pub property: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { version, property }) = &self.place {
            write!(formatter, "{version}: {property}: ")?;
        }
        write!(formatter, "{}: {}", self.check, self.message)
    }
}

/// A definition that can't be compared.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("converting unstructured to CRD object: CRD {name:?}: {source}")]
pub struct UnreadableDefinition {
    /// The name of the definition.
    pub name: String,
    /// What is wrong with it.
    pub source: ShapeError,
}

/// A new definition that is unsafe, with every reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsafeDefinition {
    /// The name of the definition.
    pub name: String,
    /// The reasons, at least one.
    pub findings: Vec<Finding>,
}

impl fmt::Display for UnsafeDefinition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "validating upgrade for CRD {}: ", quoted(&self.name))?;
        for (index, finding) in self.findings.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(formatter, "{separator}{finding}")?;
        }
        Ok(())
    }
}

/// Returns why `new` can't safely take the place of `old`, the definition in the cluster; nothing if it can.
///
/// # Errors
///
/// If a schema isn't one.
pub fn examine(
    old: &Value,
    new: &Value,
    checks: &Checks,
) -> Result<Option<UnsafeDefinition>, UnreadableDefinition> {
    let read = |value: &Value| {
        Definition::read(value).map_err(|source| UnreadableDefinition {
            name: value["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            source,
        })
    };
    let (old, new) = (read(old)?, read(new)?);
    let mut findings = whole::compare(&old, &new);
    for old_version in &old.versions {
        let Some(new_version) = new.version(&old_version.name) else {
            continue;
        };
        let issues = properties::compare(&old_version.properties(), &new_version.properties());
        findings.extend(issues.into_iter().map(|issue| placed(issue, &old_version.name)));
    }
    let between = served::compare(&old, &new);
    findings.extend(
        between
            .into_iter()
            .map(|(versions, issue)| placed(issue, &versions)),
    );
    findings.retain(|finding| checks.has(finding.check));
    Ok((!findings.is_empty()).then_some(UnsafeDefinition {
        name: new.name,
        findings,
    }))
}

fn placed(issue: Issue, version: &str) -> Finding {
    let message = match issue.check {
        Check::Unhandled => summary::summary(&issue.message),
        _ => issue.message,
    };
    Finding {
        place: Some(Place {
            version: version.to_owned(),
            property: issue.path,
        }),
        check: issue.check,
        message,
    }
}

/// How long a text about unsafe definitions may be for a condition: Kubernetes takes 32768 bytes, and the condition
/// says more than this.
pub const MAX_TEXT_BYTES: usize = 24 * 1024;

/// Tells several definitions' reasons, one after the other; what is beyond `limit` bytes is counted, not told.
pub fn text(unsafe_definitions: &[UnsafeDefinition], limit: usize) -> String {
    let all: Vec<String> = unsafe_definitions.iter().map(ToString::to_string).collect();
    let all = all.join("\n");
    if all.len() <= limit {
        return all;
    }
    let mut out = String::new();
    let mut lines = all.split('\n');
    let mut left_out = 0;
    for line in lines.by_ref() {
        if out.len() + line.len() < limit {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        left_out = 1;
        // Something of the first reason is always told, even if it is longer than all may be.
        if out.is_empty() {
            out.push_str(&line[..line.floor_char_boundary(limit)]);
            out.push_str("…\n");
            left_out = 0;
        }
        break;
    }
    left_out += lines.count();
    if left_out == 0 {
        out.pop();
    } else {
        out.push_str("… and ");
        out.push_str(&left_out.to_string());
        out.push_str(" more");
    }
    out
}
