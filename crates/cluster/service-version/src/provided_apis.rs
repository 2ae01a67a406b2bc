//! The APIs that operators provide, and whether the groups they are in get into each other's way.

use std::collections::BTreeSet;

use apply::object::{annotation, at, text};
use bundle::cluster_service_version::GroupVersionKind;
use classic::{keys, names};
use serde_json::Value;

/// A set of APIs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Apis(pub BTreeSet<GroupVersionKind>);

impl Apis {
    /// Reads `Kind.version.group,…`; what is no API is left out.
    pub fn read(text: &str) -> Self {
        let text = text.replace(' ', "");
        Self(text.split(',').filter_map(names::read_api).collect())
    }

    /// Returns the text that [`read`](Self::read) reads, sorted.
    pub fn written(&self) -> String {
        let mut all: Vec<String> = self.0.iter().map(names::api).collect();
        all.sort();
        all.join(",")
    }

    /// Returns the APIs of both.
    pub fn union(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).cloned().collect())
    }

    /// Returns the APIs that are not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).cloned().collect())
    }

    /// Returns whether one of the APIs is in both.
    pub fn meets(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// Returns whether the other has all of these.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

/// Namespaces; one empty name alone means all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Namespaces(pub BTreeSet<String>);

impl Namespaces {
    /// Reads names that are joined by commas.
    pub fn read(text: &str) -> Self {
        Self(text.split(',').map(str::to_owned).collect())
    }

    /// Returns whether all namespaces are meant.
    pub fn is_all(&self) -> bool {
        self.0.len() == 1 && self.0.contains("")
    }

    /// Returns whether a namespace is one of them.
    pub fn contains(&self, namespace: &str) -> bool {
        self.is_all() || self.0.contains(namespace)
    }

    /// Returns whether a namespace is in both.
    pub fn meets(&self, other: &Self) -> bool {
        if self.is_all() {
            return !other.0.is_empty();
        }
        if other.is_all() {
            return !self.0.is_empty();
        }
        !self.0.is_disjoint(&other.0)
    }
}

/// What other groups see of an OperatorGroup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surface {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What it looks after, and its own namespace unless that is everything.
    pub targets: Namespaces,
    /// What its annotation says that it provides.
    pub provided: Apis,
}

impl Surface {
    /// Reads an OperatorGroup.
    pub fn of(group: &Value) -> Self {
        let mut targets: BTreeSet<String> = status_namespaces(group)
            .unwrap_or_default()
            .iter()
            .map(|name| (*name).to_owned())
            .collect();
        let first = status_namespaces(group).and_then(|names| names.first().copied());
        let namespace = text(group, "/metadata/namespace").to_owned();
        if first.is_some_and(|first| !first.is_empty()) {
            targets.insert(namespace.clone());
        }
        Self {
            namespace,
            name: text(group, "/metadata/name").to_owned(),
            targets: Namespaces(targets),
            provided: Apis::read(annotation(group, keys::PROVIDED_APIS).unwrap_or_default()),
        }
    }

    /// Returns those of the others that look after a namespace of this one.
    pub fn meeting<'a>(&self, others: &'a [Self]) -> Vec<&'a Self> {
        others
            .iter()
            .filter(|other| (&other.namespace, &other.name) != (&self.namespace, &self.name))
            .filter(|other| self.targets.meets(&other.targets))
            .collect()
    }
}

/// Reads the namespaces that the status of an OperatorGroup names; none where it names nothing yet.
pub fn status_namespaces(group: &Value) -> Option<Vec<&str>> {
    let listed = at(group, "/status/namespaces")?.as_array()?;
    Some(listed.iter().filter_map(Value::as_str).collect())
}

/// What becomes of the APIs that a group says it provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// They must go from the annotation: another group that looks after the same namespaces provides them, too.
    Remove,
    /// They must be added to the annotation.
    Add,
    /// They can't be added, since such a group provides them.
    Conflict,
    /// They are there already.
    Fine,
}

/// Judges what becomes of the APIs of a version in a group, given the other groups.
pub fn judge(added: &Apis, group: &Surface, others: &[Surface]) -> Verdict {
    let is_taken = group
        .meeting(others)
        .into_iter()
        .any(|other| added.meets(&other.provided));
    match (added.is_within(&group.provided), is_taken) {
        (true, true) => Verdict::Remove,
        (false, true) => Verdict::Conflict,
        (false, false) => Verdict::Add,
        (true, false) => Verdict::Fine,
    }
}
