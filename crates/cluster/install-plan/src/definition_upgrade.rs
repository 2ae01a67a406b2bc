//! Whether a new definition of custom resources (CRD) fits the resources that exist.
//!
//! For every version that both definitions serve, each stored resource is validated against the new schema; and a version
//! in which resources are stored must not go. The words are upstream's.

use std::collections::{BTreeMap, BTreeSet};

use apply::object::{at, text};
use schema::structural::definition::is_condition_true;
use schema::structural::{self, ReadError};
use schema::{FieldPath, Schema};
use serde_json::Value;
use thiserror::Error;

/// Why a new definition can't take the place of the one in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DefinitionError {
    /// A version in which resources are stored is gone.
    #[error("new CRD removes version {0} that is listed as a stored version on the existing CRD")]
    RemovesStoredVersion(String),
    /// The schema of a version isn't one.
    #[error("error creating validator for schema version {version}: {source}")]
    Schema {
        /// The version.
        version: String,
        /// What is wrong with it.
        source: ReadError,
    },
}

/// A resource that the new schema refuses.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("error validating {kind} {name:?}: updated validation is too restrictive: {errors}")]
pub struct TooRestrictive {
    /// The group, version and kind, as Go writes them.
    pub kind: String,
    /// The namespace and name.
    pub name: String,
    /// What is wrong with the resource.
    pub errors: String,
}

/// What came of checking the stored resources of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// They fit, or there are none.
    Fits,
    /// One doesn't. A definition with a conversion webhook may be right all the same.
    TooRestrictive(String),
    /// They couldn't be read.
    Unreadable(String),
    /// The server doesn't serve this version of them yet, though there may be some.
    Unserved(String),
}

impl Verdict {
    /// Returns what it means that a server knows no path for the resources of a version, given the definition as it is at that
    /// moment. One that isn't there or was never established has no resources for sure; any other is served in a moment, and
    /// until then nobody knows what is stored.
    pub fn of_unknown_path(version: &str, definition: Option<&Value>) -> Self {
        match definition {
            Some(definition) if is_condition_true(definition, "Established") => {
                Self::Unserved(version.to_owned())
            }
            _ => Self::Fits,
        }
    }
}

impl From<Result<(), TooRestrictive>> for Verdict {
    fn from(result: Result<(), TooRestrictive>) -> Self {
        match result {
            Ok(()) => Self::Fits,
            Err(error) => Self::TooRestrictive(error.to_string()),
        }
    }
}

/// A change of a definition, ready to judge resources.
#[derive(Debug, Clone)]
pub struct DefinitionUpgrade {
    /// The name of the definition.
    pub name: String,
    /// The group of its resources.
    pub group: String,
    /// The plural name of its resources, as in paths.
    pub plural: String,
    schemas: BTreeMap<String, Schema>,
}

impl PartialEq for DefinitionUpgrade {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.group, &self.plural) == (&other.name, &other.group, &other.plural)
            && self.versions().eq(other.versions())
    }
}

impl DefinitionUpgrade {
    /// Compares a new definition with the one in the cluster. Both may be of `v1` or `v1beta1`.
    pub fn new(old: &Value, new: &Value) -> Result<Self, DefinitionError> {
        let served = served_versions(old);
        let mut schemas = BTreeMap::new();
        let whole = at(new, "/spec/validation/openAPIV3Schema");
        let versions = list(new, "/spec/versions");
        let single = text(new, "/spec/version");
        let candidates: Vec<(&str, Option<&Value>)> = if versions.is_empty() && !single.is_empty() {
            vec![(single, whole)]
        } else {
            let still_served = versions.iter().filter(|version| is_served(version));
            let candidates = still_served.map(|version| {
                let own = at(version, "/schema/openAPIV3Schema");
                (text(version, "/name"), whole.or(own))
            });
            candidates.collect()
        };
        for (version, document) in candidates {
            if !served.contains(version) {
                continue;
            }
            let schema = structural::read(document.unwrap_or(&Value::Null)).map_err(|source| {
                DefinitionError::Schema {
                    version: version.to_owned(),
                    source,
                }
            })?;
            schemas.insert(version.to_owned(), schema);
            if whole.is_some() {
                // One schema for all versions: any of them shows every resource.
                break;
            }
        }
        Ok(Self {
            name: text(new, "/metadata/name").to_owned(),
            group: text(new, "/spec/group").to_owned(),
            plural: text(new, "/spec/names/plural").to_owned(),
            schemas,
        })
    }

    /// Returns the versions in which the resources are to be listed.
    pub fn versions(&self) -> impl Iterator<Item = &str> {
        self.schemas.keys().map(String::as_str)
    }

    /// Judges one resource as it is in a version.
    pub fn check(&self, version: &str, resource: &Value) -> Result<(), TooRestrictive> {
        let Some(schema) = self.schemas.get(version) else {
            return Ok(());
        };
        // Upstream starts the path with a field without a name, which Go writes as an index of nothing.
        let errors = structural::validate_at(&FieldPath::new("[]"), schema, resource, None);
        let mut texts: Vec<String> = errors.told().iter().map(ToString::to_string).collect();
        if errors.left_out() > 0 {
            texts.push(format!("{} more problems", errors.left_out()));
        }
        let errors = match texts.as_slice() {
            [] => return Ok(()),
            [only] => only.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let name = text(resource, "/metadata/name");
        let namespace = text(resource, "/metadata/namespace");
        Err(TooRestrictive {
            kind: format!(
                "{}, Kind={}",
                text(resource, "/apiVersion"),
                text(resource, "/kind")
            ),
            name: if namespace.is_empty() {
                name.to_owned()
            } else {
                format!("{namespace}/{name}")
            },
            errors,
        })
    }
}

/// Returns whether the new definition has every version in which resources are stored.
pub fn check_stored_versions(old: &Value, new: &Value) -> Result<(), DefinitionError> {
    let mut kept: BTreeSet<&str> = list(new, "/spec/versions")
        .iter()
        .map(|version| text(version, "/name"))
        .collect();
    kept.insert(text(new, "/spec/version"));
    let mut stored = list(old, "/status/storedVersions")
        .iter()
        .filter_map(Value::as_str);
    match stored.find(|version| !kept.contains(version)) {
        Some(version) => Err(DefinitionError::RemovesStoredVersion(version.to_owned())),
        None => Ok(()),
    }
}

/// Returns whether a definition converts its resources by calling a webhook.
pub fn converts_by_webhook(definition: &Value) -> bool {
    text(definition, "/spec/conversion/strategy") == "Webhook"
}

fn served_versions(definition: &Value) -> BTreeSet<&str> {
    let versions = list(definition, "/spec/versions");
    if versions.is_empty() {
        return [text(definition, "/spec/version")]
            .into_iter()
            .filter(|version| !version.is_empty())
            .collect();
    }
    let served = versions.iter().filter(|version| is_served(version));
    served.map(|version| text(version, "/name")).collect()
}

fn is_served(version: &Value) -> bool {
    version.get("served") == Some(&Value::Bool(true))
}

fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
