//! Which release it is, and the marks by which its objects are known.

use std::fmt;

use apply::object::{self, ObjectId};
use gotemplate::format::quoted;
use serde_json::Value;
use thiserror::Error;

/// The label that says who manages an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// What [`MANAGED_BY`] says of the objects of a release.
pub const HELM: &str = "Helm";

/// The annotation that names the release of an object.
pub const RELEASE_NAME: &str = "meta.helm.sh/release-name";

/// The annotation that names the namespace of an object's release.
pub const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// The annotation that may keep an object when its release lets it go.
pub const RESOURCE_POLICY: &str = "helm.sh/resource-policy";

/// A release, by its name and the namespace that its records are in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReleaseId {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ReleaseId {
    /// Names a release.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for ReleaseId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// An object that belongs to another release, or to none; prints as Helm says it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{} exists and cannot be imported into the current release: {reason}", in_words(.id))]
pub struct NotOwned {
    /// The object.
    pub id: ObjectId,
    /// Which marks are missing or differ.
    pub reason: String,
}

/// Names an object as Helm does.
pub fn in_words(id: &ObjectId) -> String {
    format!(
        "{} {} in namespace {}",
        id.kind,
        quoted(&id.name),
        quoted(&id.namespace)
    )
}

/// Puts the marks of a release on an object.
pub fn mark(object: &mut Value, release: &ReleaseId) {
    object::set_metadata_entry(object, "labels", MANAGED_BY, HELM);
    object::set_metadata_entry(object, "annotations", RELEASE_NAME, &release.name);
    object::set_metadata_entry(object, "annotations", RELEASE_NAMESPACE, &release.namespace);
}

/// Checks that an object carries the marks of a release.
pub fn check(live: &Value, id: &ObjectId, release: &ReleaseId) -> Result<(), NotOwned> {
    let label = |key| object::label(live, key);
    let annotation = |key| object::annotation(live, key);
    let faults = [
        ("label", fault(label(MANAGED_BY), MANAGED_BY, HELM)),
        (
            "annotation",
            fault(annotation(RELEASE_NAME), RELEASE_NAME, &release.name),
        ),
        (
            "annotation",
            fault(
                annotation(RELEASE_NAMESPACE),
                RELEASE_NAMESPACE,
                &release.namespace,
            ),
        ),
    ];
    let mut reason = String::new();
    for (place, fault) in faults {
        if let Some(fault) = fault {
            reason = format!("{reason}; {place} validation error: {fault}");
        }
    }
    if reason.is_empty() {
        return Ok(());
    }
    Err(NotOwned {
        id: id.clone(),
        reason: format!("invalid ownership metadata{reason}"),
    })
}

fn fault(found: Option<&str>, key: &str, wanted: &str) -> Option<String> {
    match found {
        None => Some(format!(
            "missing key {}: must be set to {}",
            quoted(key),
            quoted(wanted)
        )),
        Some(found) if found != wanted => Some(format!(
            "key {} must equal {}: current value is {}",
            quoted(key),
            quoted(wanted),
            quoted(found)
        )),
        Some(_) => None,
    }
}

/// Returns whether an object stays when its release lets it go.
pub fn is_kept(object: &Value) -> bool {
    object::annotation(object, RESOURCE_POLICY)
        .is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_of_another_release_is_refused_in_helms_words() {
        let release = ReleaseId::new("release-name-collision", "taken");
        let mut object = json!({"kind": "ConfigMap", "metadata": {"name": "taken-plain", "namespace": "release-name-collision"}});
        let id = ObjectId::of(&object);
        let refused = check(&object, &id, &release).expect_err("not owned").to_string();
        assert_eq!(
            refused,
            r#"ConfigMap "taken-plain" in namespace "release-name-collision" exists and cannot be imported into the current release: invalid ownership metadata; label validation error: missing key "app.kubernetes.io/managed-by": must be set to "Helm"; annotation validation error: missing key "meta.helm.sh/release-name": must be set to "taken"; annotation validation error: missing key "meta.helm.sh/release-namespace": must be set to "release-name-collision""#
        );
        mark(&mut object, &ReleaseId::new("release-name-collision", "other"));
        let refused = check(&object, &id, &release).expect_err("not owned").to_string();
        assert!(
            refused.ends_with(r#"invalid ownership metadata; annotation validation error: key "meta.helm.sh/release-name" must equal "taken": current value is "other""#),
            "{refused}"
        );
        mark(&mut object, &release);
        assert_eq!(check(&object, &id, &release), Ok(()));
    }

    #[test]
    fn only_keep_keeps() {
        let object = |policy: &str| json!({"metadata": {"annotations": {RESOURCE_POLICY: policy}}});
        assert!(is_kept(&object("keep")) && is_kept(&object(" Keep ")));
        assert!(!is_kept(&object("delete")) && !is_kept(&json!({})));
    }
}
