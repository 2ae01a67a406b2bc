//! Operators that OLM v0 installed: what becomes of each object if an extension of the same package takes over.
//!
//! A plan, and nothing is done: the objects that the bundle would install are compared with those that are there, and the
//! Subscription and the ClusterServiceVersion, which would look after them too, are to go first, without what they own.
//! Which rights the operator has before and after is part of the plan, and so is who calls its webhooks.

pub mod rights;
mod watched_namespaces;
pub mod webhooks;

use std::collections::{BTreeMap, BTreeSet};

use apply::object::{ObjectId, text};
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use self::rights::{Becomes, Right};
use self::webhooks::Webhook;

pub use watched_namespaces::WatchedNamespaces;

/// An operator that OLM v0 looks after.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassicInstallation {
    /// The Subscription.
    pub subscription: Value,
    /// The ClusterServiceVersion that it installed.
    pub cluster_service_version: Value,
    /// What is there of the objects that the bundle holds, and of those that belong to the ClusterServiceVersion.
    pub objects: Vec<Value>,
    /// Bindings of its service accounts that others made, and the roles of others that any of the bindings name.
    pub rights_of_others: Vec<Value>,
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
    /// Nothing says what it watches.
    #[error(
        "namespace {0:?} has no OperatorGroup, which says what the operator watches; make the one that it was installed with again"
    )]
    NoGroup(String),
    /// It isn't clear what it watches.
    #[error(
        "namespace {namespace:?} has several OperatorGroups ({groups}), so it isn't clear what the operator watches; delete all but one"
    )]
    SeveralGroups {
        /// The namespace.
        namespace: String,
        /// Their names.
        groups: String,
    },
    /// The group was changed a moment ago.
    #[error(
        "OperatorGroup {group} selects {selected}, and ClusterServiceVersion {version:?} still watches {watched}; wait until OLM v0 has followed the group"
    )]
    NotFollowed {
        /// The group.
        group: String,
        /// The ClusterServiceVersion.
        version: String,
        /// What the group selects.
        selected: String,
        /// What the operator watches.
        watched: String,
    },
    /// The group selects nothing.
    #[error(
        "OperatorGroup {0} selects no namespace, so there is nothing that a ClusterExtension could watch; name a namespace in its spec.targetNamespaces"
    )]
    NoNamespace(String),
    /// The operator watches what no extension can watch.
    #[error(
        "OperatorGroup {group} selects namespaces {namespaces} (MultiNamespace), and a ClusterExtension watches one namespace or all of them; leave the operator with OLM v0, or let the group select one namespace in spec.targetNamespaces and install the operator once for each"
    )]
    SeveralNamespaces {
        /// The group.
        group: String,
        /// What it selects.
        namespaces: String,
    },
}

/// What becomes of an operator that an extension takes over.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Takeover {
    /// The namespace that the operator goes on watching; none for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch_namespace: Option<String>,
    /// What becomes of each object.
    pub steps: Vec<Step>,
    /// Who calls its webhooks, before and after.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub webhooks: Vec<Webhook>,
    /// What its service accounts may do, before and after.
    pub rights: Vec<Right>,
}

impl Takeover {
    /// Returns the rights that allow more than before.
    pub fn widening(&self) -> impl Iterator<Item = &Right> {
        self.rights
            .iter()
            .filter(|right| right.becomes == Becomes::Widens)
    }
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

/// Checks that an installation is one of the package in the namespace, and runs as it should.
///
/// # Errors
///
/// If the two are not about the same operator, or it isn't done.
pub fn check(
    package: &str,
    namespace: &str,
    installation: &ClassicInstallation,
) -> Result<(), AdoptionError> {
    let subscription = &installation.subscription;
    let service_version = &installation.cluster_service_version;
    let name = text(subscription, "/metadata/name").to_owned();
    let installed_package = text(subscription, "/spec/name");
    if installed_package != package {
        return Err(AdoptionError::OtherPackage {
            subscription: name,
            installed: installed_package.to_owned(),
            wanted: package.to_owned(),
        });
    }
    let installed = text(subscription, "/status/installedCSV");
    let found = text(service_version, "/metadata/name").to_owned();
    if installed != found {
        return Err(AdoptionError::OtherVersion {
            subscription: name,
            installed: installed.to_owned(),
            found,
        });
    }
    let phase = text(service_version, "/status/phase");
    if phase != "Succeeded" {
        return Err(AdoptionError::NotSucceeded {
            name: found,
            phase: phase.to_owned(),
        });
    }
    let runs_in = text(service_version, "/metadata/namespace");
    if runs_in != namespace {
        return Err(AdoptionError::OtherNamespace {
            installed: runs_in.to_owned(),
            wanted: namespace.to_owned(),
        });
    }
    Ok(())
}

/// Plans to take over an installation that was [checked](check), given the objects that the extension's first revision
/// would hold.
pub fn plan(installation: &ClassicInstallation, watched: &WatchedNamespaces, wanted: &[Value]) -> Takeover {
    let mut steps = vec![
        step(
            &installation.subscription,
            Action::DeleteAlone,
            "it would install other versions beside the extension",
        ),
        step(
            &installation.cluster_service_version,
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
    let replaced = |object: &Value| !wanted_places.contains(&place(object));
    for object in there.values().filter(|object| replaced(object)) {
        let because = match webhooks::successor(object, wanted) {
            Some(successor) => format!("it stays until {} is answered", webhooks::told(successor)),
            None => "OLM v0 made it for itself; the extension has it under another name or doesn't need it"
                .to_owned(),
        };
        steps.push(step(object, Action::Delete, &because));
    }

    let own = || installation.objects.iter();
    let others = || installation.rights_of_others.iter();
    let accounts = rights::accounts(own().chain(wanted));
    let before: Vec<&Value> = others().chain(own()).collect();
    // An aggregated role has its rules from the cluster, whoever makes it.
    let written =
        |object: &&Value| object.get("aggregationRule").is_none() || !there.contains_key(&place(object));
    let taken_over = own().filter(|object| !replaced(object));
    let after: Vec<&Value> = others()
        .chain(taken_over)
        .chain(wanted.iter().filter(written))
        .collect();
    Takeover {
        watch_namespace: watched.configured().map(str::to_owned),
        webhooks: webhooks::compare(
            &installation.cluster_service_version,
            &installation.objects,
            wanted,
        ),
        rights: rights::compare(&before, &after, &accounts),
        steps,
    }
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
                "spec": {"webhookdefinitions": [
                    {"type": "ValidatingAdmissionWebhook", "generateName": "check.example.com"},
                ]},
                "status": {"phase": "Succeeded"},
            }),
            objects: [
                vec![
                    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "stack", "namespace": "operators"}}),
                    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                        "metadata": {"name": "check.example.com-x7k2p",
                            "labels": {"olm.webhook-description-generate-name": "check.example.com"}}}),
                ],
                allowed("Role", "operators", "stack.v1.0.0-abc").to_vec(),
            ]
            .concat(),
            rights_of_others: Vec::new(),
        }
    }

    fn allowed(kind: &str, namespace: &str, name: &str) -> [Value; 2] {
        let mut metadata = json!({"name": name});
        if !namespace.is_empty() {
            metadata["namespace"] = namespace.into();
        }
        let rbac = "rbac.authorization.k8s.io/v1";
        [
            json!({"apiVersion": rbac, "kind": kind, "metadata": metadata,
                "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]}),
            json!({"apiVersion": rbac, "kind": format!("{kind}Binding"), "metadata": metadata,
                "roleRef": {"kind": kind, "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": "stack", "namespace": "operators"}]}),
        ]
    }

    fn wanted() -> Vec<Value> {
        vec![
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "stack", "namespace": "operators"}}),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "stack", "namespace": "operators"}}),
            json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "check.example.com"}}),
        ]
    }

    fn own() -> WatchedNamespaces {
        WatchedNamespaces::One("operators".to_owned())
    }

    #[test]
    fn every_object_is_listed_with_what_becomes_of_it() {
        let mut wanted = wanted();
        wanted.extend(allowed("Role", "operators", "stack-xyz"));
        let takeover = plan(&installation(), &own(), &wanted);
        assert_eq!(takeover.watch_namespace.as_deref(), Some("operators"));
        let told: Vec<(&str, &str, Action)> = takeover
            .steps
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
                (
                    "ValidatingWebhookConfiguration",
                    "check.example.com",
                    Action::Create
                ),
                ("Role", "stack-xyz", Action::Create),
                ("RoleBinding", "stack-xyz", Action::Create),
                (
                    "ValidatingWebhookConfiguration",
                    "check.example.com-x7k2p",
                    Action::Delete
                ),
                ("Role", "stack.v1.0.0-abc", Action::Delete),
                ("RoleBinding", "stack.v1.0.0-abc", Action::Delete),
            ]
        );
        let replaced = takeover.steps.iter().find(|step| step.name.ends_with("-x7k2p"));
        assert_eq!(
            replaced.map(|step| step.because.as_str()),
            Some("it stays until ValidatingWebhookConfiguration check.example.com is answered")
        );
        assert_eq!(takeover.webhooks.len(), 1);
    }

    #[test]
    fn rights_that_would_hold_in_the_whole_cluster_are_told() {
        let becomes = |watched: WatchedNamespaces, [role, binding]: [Value; 2]| {
            let mut wanted = wanted();
            wanted.extend([role, binding]);
            let takeover = plan(&installation(), &watched, &wanted);
            assert_eq!(
                takeover.widening().count(),
                usize::from(takeover.rights[0].becomes == Becomes::Widens)
            );
            let told = takeover.rights.iter().map(|right| {
                let (before, after) = (right.before.told(), right.after.told());
                format!("{}: {before} -> {after} {:?}", right.told(), right.becomes)
            });
            told.collect::<Vec<_>>()
        };
        assert_eq!(
            becomes(own(), allowed("Role", "operators", "stack-xyz")),
            ["get secrets: namespace operators -> namespace operators Stays"]
        );
        assert_eq!(
            becomes(WatchedNamespaces::All, allowed("ClusterRole", "", "stack-xyz")),
            ["get secrets: namespace operators -> whole cluster Widens"]
        );
        // What somebody else granted stays, and counts.
        let mut granted = installation();
        granted
            .rights_of_others
            .extend(allowed("ClusterRole", "", "by-hand"));
        let mut wanted = wanted();
        wanted.extend(allowed("ClusterRole", "", "stack-xyz"));
        assert_eq!(
            plan(&granted, &WatchedNamespaces::All, &wanted)
                .widening()
                .count(),
            0
        );
    }

    #[test]
    fn what_is_not_the_same_operator_is_refused() {
        let refused = |change: fn(&mut ClassicInstallation), package: &str, namespace: &str| {
            let mut installation = installation();
            change(&mut installation);
            check(package, namespace, &installation)
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
        assert_eq!(check("stack", "operators", &installation()), Ok(()));
    }
}
