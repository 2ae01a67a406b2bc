//! Operators that OLM v0 installed: what becomes of each object if an extension of the same package takes over.
//!
//! A plan, and nothing is done: the objects that the bundle would install are compared with those that are there, and the
//! Subscription and the ClusterServiceVersion, which would look after them too, are to go first, without what they own.

use std::collections::{BTreeMap, BTreeSet};

use apply::object::ObjectId;
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

/// An operator that OLM v0 looks after.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassicInstallation {
    /// The Subscription.
    pub subscription: Value,
    /// The ClusterServiceVersion that it installed.
    pub cluster_service_version: Value,
    /// What is there of the objects that the bundle holds, and of those that belong to the ClusterServiceVersion.
    pub objects: Vec<Value>,
}

/// Why an installation can't be taken over.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AdoptionError {
    /// They are about different packages.
    #[error(
        "Subscription {subscription:?} installs package {installed:?}, and the extension asks for {wanted:?}; only the same package can be taken over"
    )]
    OtherPackage {
        /// The Subscription.
        subscription: String,
        /// Its package.
        installed: String,
        /// The extension's package.
        wanted: String,
    },
    /// The Subscription has installed something else than what was given.
    #[error(
        "Subscription {subscription:?} has installed {installed:?}, and ClusterServiceVersion {found:?} was given; wait until it is done, or name the right one"
    )]
    OtherVersion {
        /// The Subscription.
        subscription: String,
        /// What it installed.
        installed: String,
        /// What was given.
        found: String,
    },
    /// The operator isn't running as it should.
    #[error(
        "ClusterServiceVersion {name:?} is in phase {phase:?}; only what is in phase \"Succeeded\" can be taken over"
    )]
    NotSucceeded {
        /// The ClusterServiceVersion.
        name: String,
        /// Its phase.
        phase: String,
    },
    /// They are in different namespaces.
    #[error(
        "the operator runs in namespace {installed:?}, and spec.namespace of the extension is {wanted:?}; an extension can't move what runs"
    )]
    OtherNamespace {
        /// Where it runs.
        installed: String,
        /// Where the extension would have it.
        wanted: String,
    },
}

/// What becomes of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// What it is.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for an object of the cluster.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What becomes of it.
    pub action: Action,
    /// Why.
    pub because: String,
}

/// What becomes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// It is deleted, and what it owns stays.
    DeleteAlone,
    /// The extension looks after it from then on.
    TakeOver,
    /// It is made.
    Create,
    /// It is deleted: the extension does it otherwise.
    Delete,
}

/// Plans to take over an installation, given the objects that the extension's first revision would hold.
///
/// # Errors
///
/// If the two are not about the same operator.
pub fn plan(
    package: &str,
    namespace: &str,
    installation: &ClassicInstallation,
    wanted: &[Value],
) -> Result<Vec<Step>, AdoptionError> {
    let subscription = &installation.subscription;
    let service_version = &installation.cluster_service_version;
    let text = |object: &Value, pointer: &str| {
        let found = object.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    let name = text(subscription, "/metadata/name");
    let installed_package = text(subscription, "/spec/name");
    if installed_package != package {
        return Err(AdoptionError::OtherPackage {
            subscription: name,
            installed: installed_package,
            wanted: package.to_owned(),
        });
    }
    let installed = text(subscription, "/status/installedCSV");
    let found = text(service_version, "/metadata/name");
    if installed != found {
        return Err(AdoptionError::OtherVersion {
            subscription: name,
            installed,
            found,
        });
    }
    let phase = text(service_version, "/status/phase");
    if phase != "Succeeded" {
        return Err(AdoptionError::NotSucceeded { name: found, phase });
    }
    let runs_in = text(service_version, "/metadata/namespace");
    if runs_in != namespace {
        return Err(AdoptionError::OtherNamespace {
            installed: runs_in,
            wanted: namespace.to_owned(),
        });
    }

    let mut steps = vec![
        step(
            subscription,
            Action::DeleteAlone,
            "it would install other versions beside the extension",
        ),
        step(
            service_version,
            Action::DeleteAlone,
            "it would undo what the extension changes; what it owns stays",
        ),
    ];
    let there: BTreeMap<String, &Value> = installation
        .objects
        .iter()
        .map(|object| (place(object), object))
        .collect();
    let mut wanted_places = BTreeSet::new();
    for object in wanted {
        let action = if there.contains_key(&place(object)) {
            (Action::TakeOver, "the bundle holds it under the same name")
        } else {
            (Action::Create, "the bundle holds it, and it isn't there")
        };
        wanted_places.insert(place(object));
        steps.push(step(object, action.0, action.1));
    }
    for (place, object) in &there {
        if !wanted_places.contains(place) {
            let because =
                "OLM v0 made it for itself; the extension has it under another name or doesn't need it";
            steps.push(step(object, Action::Delete, because));
        }
    }
    Ok(steps)
}

/// Tells objects apart whatever version of their API they are written in.
fn place(object: &Value) -> String {
    let id = ObjectId::of(object);
    format!("{}/{}/{}/{}", id.group(), id.kind, id.namespace, id.name)
}

fn step(object: &Value, action: Action, because: &str) -> Step {
    let id = ObjectId::of(object);
    Step {
        api_version: id.api_version.clone(),
        kind: id.kind.clone(),
        namespace: id.namespace.clone(),
        name: id.name.clone(),
        action,
        because: because.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn installation() -> ClassicInstallation {
        ClassicInstallation {
            subscription: json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
                "metadata": {"name": "stack", "namespace": "operators"},
                "spec": {"name": "stack"}, "status": {"installedCSV": "stack.v1.0.0"},
            }),
            cluster_service_version: json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
                "metadata": {"name": "stack.v1.0.0", "namespace": "operators"},
                "status": {"phase": "Succeeded"},
            }),
            objects: vec![
                json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "stack", "namespace": "operators"}}),
                json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "stack.v1.0.0-abc"}}),
            ],
        }
    }

    fn wanted() -> Vec<Value> {
        vec![
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "stack", "namespace": "operators"}}),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "stack", "namespace": "operators"}}),
        ]
    }

    #[test]
    fn every_object_is_listed_with_what_becomes_of_it() {
        let steps = plan("stack", "operators", &installation(), &wanted()).expect("a plan");
        let told: Vec<(&str, &str, Action)> = steps
            .iter()
            .map(|step| (step.kind.as_str(), step.name.as_str(), step.action))
            .collect();
        assert_eq!(
            told,
            [
                ("Subscription", "stack", Action::DeleteAlone),
                ("ClusterServiceVersion", "stack.v1.0.0", Action::DeleteAlone),
                ("Deployment", "stack", Action::TakeOver),
                ("ServiceAccount", "stack", Action::Create),
                ("ClusterRole", "stack.v1.0.0-abc", Action::Delete),
            ]
        );
    }

    #[test]
    fn what_is_not_the_same_operator_is_refused() {
        let refused = |change: fn(&mut ClassicInstallation), package: &str, namespace: &str| {
            let mut installation = installation();
            change(&mut installation);
            plan(package, namespace, &installation, &wanted())
                .expect_err("it is refused")
                .to_string()
        };
        assert!(refused(|_| {}, "other", "operators").contains("installs package \"stack\""));
        assert!(refused(|_| {}, "stack", "elsewhere").contains("runs in namespace \"operators\""));
        let failing: fn(&mut ClassicInstallation) =
            |installation| installation.cluster_service_version["status"]["phase"] = json!("Failed");
        assert!(refused(failing, "stack", "operators").contains("phase \"Failed\""));
        let other: fn(&mut ClassicInstallation) =
            |installation| installation.subscription["status"]["installedCSV"] = json!("stack.v2.0.0");
        assert!(refused(other, "stack", "operators").contains("has installed \"stack.v2.0.0\""));
    }
}
