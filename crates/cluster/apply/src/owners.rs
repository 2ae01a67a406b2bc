//! Owner references: who owns an object, and who controls it.

use api::ClusterObjectSet;
use serde_json::{Value, json};

use crate::object::{at, group_and_version, text};

/// The kind of revisions in owner references.
pub(crate) const REVISION_KIND: &str = "ClusterObjectSet";

/// One revision, as far as ownership goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owner {
    /// Its name.
    pub name: String,
    /// What tells it from another one of the same name.
    pub uid: String,
}

impl Owner {
    /// Returns the owner that a revision is.
    pub fn of(set: &ClusterObjectSet) -> Self {
        Self {
            name: set.name().to_owned(),
            uid: set.metadata.uid.clone().unwrap_or_default(),
        }
    }

    /// Returns whether an owner reference means this revision.
    pub fn is(&self, reference: &Value) -> bool {
        text(reference, "/kind") == REVISION_KIND
            && group_and_version(text(reference, "/apiVersion")).0 == api::keys::GROUP
            && text(reference, "/name") == self.name
            && text(reference, "/uid") == self.uid
    }

    /// Returns the reference by which this revision controls an object.
    pub fn controller_reference(&self) -> Value {
        json!({
            "apiVersion": <ClusterObjectSet as k8s_openapi::Resource>::API_VERSION,
            "kind": REVISION_KIND,
            "name": self.name,
            "uid": self.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }
}

/// Returns the owner references of an object.
pub fn references(object: &Value) -> &[Value] {
    at(object, "/metadata/ownerReferences")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns whether an object has a reference to an owner, by its identity.
pub fn is_owned_by(object: &Value, owner: &Value) -> bool {
    let uid = text(owner, "/metadata/uid");
    references(object)
        .iter()
        .any(|reference| text(reference, "/uid") == uid)
}

/// Returns the names of the owners of a kind that an object has references to.
pub fn names<'a>(object: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a str> {
    references(object)
        .iter()
        .filter(move |reference| text(reference, "/kind") == kind)
        .map(|reference| text(reference, "/name"))
}

/// Returns the owner reference of what controls an object.
pub fn controller(object: &Value) -> Option<&Value> {
    references(object)
        .iter()
        .find(|reference| is_controller(reference))
}

pub(crate) fn is_controller(reference: &Value) -> bool {
    reference.get("controller") == Some(&Value::Bool(true))
}

/// Prints an owner reference as upstream does.
pub(crate) fn printed(reference: Option<&Value>) -> String {
    let Some(reference) = reference else {
        return "nil".to_owned();
    };
    let flag = |name: &str| match reference.get(name).and_then(Value::as_bool) {
        Some(value) => format!("*{value}"),
        None => "nil".to_owned(),
    };
    format!(
        "&OwnerReference{{Kind:{},Name:{},UID:{},APIVersion:{},Controller:{},BlockOwnerDeletion:{},}}",
        text(reference, "/kind"),
        text(reference, "/name"),
        text(reference, "/uid"),
        text(reference, "/apiVersion"),
        flag("controller"),
        flag("blockOwnerDeletion")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_known_by_name_and_identity() {
        let owner = Owner {
            name: "a-1".into(),
            uid: "1".into(),
        };
        let reference = owner.controller_reference();
        assert!(owner.is(&reference) && is_controller(&reference));
        let namesake = Owner {
            uid: "2".into(),
            ..owner.clone()
        };
        assert!(!namesake.is(&reference));
        assert_eq!(
            printed(Some(&reference)),
            "&OwnerReference{Kind:ClusterObjectSet,Name:a-1,UID:1,APIVersion:olm.operatorframework.io/v1,Controller:*true,BlockOwnerDeletion:*true,}"
        );
        assert_eq!(printed(None), "nil");
    }
}
