//! Objects that get into each other's way: twice in one release, or the same in every release.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Finding, Severity};
use crate::document;
use crate::installation::Installation;
use crate::manifest::Head;

/// Kinds whose names are not the chart's to choose.
const NAMED_BY_OTHERS: &[&str] = &["CustomResourceDefinition", "Namespace", "APIService"];

/// What tells an object from all others in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    /// The API's group; versions of an API show the same objects.
    group: String,
    pub(super) kind: String,
    namespace: String,
    pub(super) name: String,
}

impl Identity {
    /// Reads it out of a document; nothing where the object has no name of its own.
    pub(super) fn of(head: &Head, document: &Value) -> Option<Self> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let group = head.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        (!head.name.is_empty()).then(|| Self {
            group: group.to_owned(),
            kind: head.kind.clone(),
            namespace: text(
                document
                    .get("metadata")
                    .and_then(|metadata| metadata.get("namespace")),
            ),
            name: head.name.clone(),
        })
    }
}

/// The objects of a render with the templates that made them, in order.
fn objects(installation: &Installation) -> Vec<(Identity, &str)> {
    installation
        .manifests
        .iter()
        .filter_map(|manifest| {
            let document = document::read(&manifest.content).ok()?;
            Some((Identity::of(&manifest.head, &document)?, manifest.name.as_str()))
        })
        .collect()
}

/// Tells which objects are made twice.
pub(super) fn duplicates(installation: &Installation) -> Vec<Finding> {
    let mut places: BTreeMap<Identity, Vec<&str>> = BTreeMap::new();
    for (identity, file) in objects(installation) {
        places.entry(identity).or_default().push(file);
    }
    places
        .into_iter()
        .filter(|(_, files)| files.len() > 1)
        .map(|(identity, mut files)| {
            files.dedup();
            let files: Vec<&str> = files.into_iter().map(in_chart).collect();
            Finding {
                severity: Severity::Warning,
                message: format!(
                    "{}: {} {:?} is made more than once; the last one wins",
                    files.join(", "),
                    identity.kind,
                    identity.name
                ),
            }
        })
        .collect()
}

/// Tells which objects are called the same in two releases.
pub(super) fn fixed_names(one: &Installation, other: &Installation) -> Vec<Finding> {
    let others: BTreeMap<Identity, &str> = objects(other).into_iter().collect();
    let mut findings: Vec<Finding> = Vec::new();
    for (identity, file) in objects(one) {
        if others.contains_key(&identity) && !NAMED_BY_OTHERS.contains(&identity.kind.as_str()) {
            let finding = Finding {
                severity: Severity::Warning,
                message: format!(
                    "{}: {} {:?} has the same name in every release, so two releases cannot live side by side; put \
                     .Release.Name into the name",
                    in_chart(file),
                    identity.kind,
                    identity.name
                ),
            };
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    findings
}

/// The path of a template without the name of the chart, as Helm's linter writes it.
pub(super) fn in_chart(file: &str) -> &str {
    file.split_once('/').map_or(file, |(_, path)| path)
}
