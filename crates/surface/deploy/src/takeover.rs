//! Taking over from upstream's installations: what becomes of each of its objects, as a plan that people read first.
//!
//! Catalogs, extensions, Subscriptions and everything that was installed stay as they are. Only the programs change, and
//! what would be in the way of ours: two programs that look after the same objects undo each other's work.

use apply::object::{ObjectId, label, text};
use serde::Serialize;
use serde_json::Value;

use crate::component::{Component, MANAGED_BY};
use crate::installation::called;
use crate::part::Part;
use crate::settings::Settings;

/// What becomes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Its pods are ended, and it is deleted before ours takes its name.
    StopAndDelete,
    /// It is deleted before ours is there.
    Delete,
    /// It is ours from now on.
    Adopt,
    /// Its holder is waited for.
    AwaitRelease,
    /// It stays as it is.
    Keep,
}

/// A step of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// The group and version of the object.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for objects of the cluster.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Why.
    pub because: String,
}

/// An object that upstream's installation may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The group and version.
    pub api_version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The namespace; empty for objects of the cluster.
    pub namespace: String,
    /// The name; empty for all of them.
    pub name: &'static str,
    /// The labels that they have; empty for any.
    pub labels: &'static str,
}

const APPS: &str = "apps/v1";
const RBAC: &str = "rbac.authorization.k8s.io/v1";
const LEASES: &str = "coordination.k8s.io/v1";

/// Upstream's webhook, which nobody answers when its program is gone.
const WEBHOOK: &str = "catalogd-mutating-webhook-configuration";

/// Upstream's binding to all rights.
const ADMIN_BINDING: &str = "operator-controller-cluster-admin-rolebinding";

/// Upstream's binding of OLM v0 to all rights.
const CLASSIC_ADMIN_BINDING: &str = "olm-operator-binding-olm";

/// The operator that serves packages in upstream's OLM v0.
const PACKAGE_SERVER: &str = "packageserver";

/// The label of pods that upstream runs to serve a catalog.
const CATALOG_POD: &str = "olm.catalogSource";

/// The Deployments of upstream's OLM v0.
const CLASSIC_DEPLOYMENTS: [&str; 2] = ["olm-operator", "catalog-operator"];

/// Everything that has to be looked at before a plan can be made.
pub fn places(settings: &Settings) -> Vec<Place> {
    let place = |api_version, kind, namespace: &str, name, labels| Place {
        api_version,
        kind,
        namespace: namespace.to_owned(),
        name,
        labels,
    };
    let own = settings.namespace.as_str();
    let mut places = vec![
        place(
            "admissionregistration.k8s.io/v1",
            "MutatingWebhookConfiguration",
            "",
            WEBHOOK,
            "",
        ),
        place(RBAC, "ClusterRoleBinding", "", ADMIN_BINDING, ""),
    ];
    for component in [Component::Catalogs, Component::Extensions] {
        places.push(place(APPS, "Deployment", own, component.deployment(), ""));
        places.push(place(LEASES, "Lease", own, component.lease(), ""));
    }
    for kind in ["ClusterCatalog", "ClusterExtension"] {
        places.push(place("olm.operatorframework.io/v1", kind, "", "", ""));
    }
    if settings.has(Part::Classic) {
        let classic = settings.classic_namespace.as_str();
        for name in CLASSIC_DEPLOYMENTS {
            places.push(place(APPS, "Deployment", classic, name, ""));
        }
        places.push(place(RBAC, "ClusterRoleBinding", "", CLASSIC_ADMIN_BINDING, ""));
        let alpha = "operators.coreos.com/v1alpha1";
        places.push(place(alpha, "ClusterServiceVersion", classic, PACKAGE_SERVER, ""));
        places.push(place(alpha, "CatalogSource", "", "", ""));
        places.push(place(alpha, "Subscription", "", "", ""));
        places.push(place("v1", "Pod", "", "", CATALOG_POD));
    }
    for definition in crate::installation::definitions(settings) {
        places.push(place(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "",
            definition.name,
            "",
        ));
    }
    places
}

/// Makes the plan from what was found at the [`places`]. Empty where there is nothing of upstream's.
pub fn plan(settings: &Settings, found: &[Value]) -> Vec<Step> {
    let is_ours = |object: &Value| label(object, MANAGED_BY.0) == Some(MANAGED_BY.1);
    let is_upstreams = found
        .iter()
        .any(|object| object["kind"] == "Deployment" && !is_ours(object));
    if !is_upstreams {
        return Vec::new();
    }
    let mut steps: Vec<Step> = found
        .iter()
        .filter(|object| !is_ours(object))
        .filter_map(|object| decided(settings, object))
        .collect();
    steps.sort_by(|left, right| {
        let order = |step: &Step| {
            (
                step.action,
                rank(&step.kind),
                step.namespace.clone(),
                step.name.clone(),
            )
        };
        order(left).cmp(&order(right))
    });
    steps
}

/// Definitions before what they define: what people look for first.
fn rank(kind: &str) -> u8 {
    match kind {
        "Deployment" => 0,
        "CustomResourceDefinition" => 1,
        _ => 2,
    }
}

fn decided(settings: &Settings, object: &Value) -> Option<Step> {
    let id = ObjectId::of(object);
    let (action, because) = match id.kind.as_str() {
        "Deployment" => (
            Action::StopAndDelete,
            "upstream's program; fields of it would stay if ours were written over it".to_owned(),
        ),
        "MutatingWebhookConfiguration" => (
            Action::Delete,
            "nobody answers it any more, and it refuses every catalog then; a policy takes its place".to_owned(),
        ),
        "ClusterRoleBinding" if settings.has(Part::ClusterAdmin) => {
            (Action::Adopt, "the part cluster-admin is wanted".to_owned())
        }
        "ClusterRoleBinding" => (
            Action::Delete,
            "baton works with fewer rights; keep it with --with cluster-admin".to_owned(),
        ),
        "Lease" => {
            let holder = text(object, "/spec/holderIdentity");
            if holder.is_empty() {
                return None;
            }
            (
                Action::AwaitRelease,
                format!("{holder} holds it until it ends, or until the Lease runs out"),
            )
        }
        "CustomResourceDefinition" => (
            Action::Adopt,
            "ours has every field and rule that upstream's has".to_owned(),
        ),
        "Pod" => (
            Action::Delete,
            "it serves a catalog that baton fetches by itself".to_owned(),
        ),
        "ClusterServiceVersion" => (
            Action::Keep,
            "it goes on serving packages, looked after like any other operator; delete it and restart olm-operator to let \
             baton serve them"
                .to_owned(),
        ),
        "ClusterExtension" => (
            Action::Adopt,
            "looked after as it is; a release of the Helm applier becomes a ClusterObjectSet".to_owned(),
        ),
        _ => (Action::Adopt, "looked after as it is".to_owned()),
    };
    Some(Step {
        action,
        api_version: id.api_version,
        kind: id.kind,
        namespace: id.namespace,
        name: id.name,
        because,
    })
}

/// Says that something of upstream's runs, where nobody asked to take it over.
pub fn refusal(settings: &Settings, found: &[Value]) -> Option<String> {
    let steps = plan(settings, found);
    let programs: Vec<String> = found
        .iter()
        .filter(|object| {
            let id = ObjectId::of(object);
            let is_stopped = |step: &Step| {
                step.action == Action::StopAndDelete && step.name == id.name && step.namespace == id.namespace
            };
            id.kind == "Deployment" && steps.iter().any(is_stopped)
        })
        .map(called)
        .collect();
    (!programs.is_empty()).then(|| {
        format!(
            "upstream's OLM is in this cluster ({}), and two of them undo each other's work; see what would become of it with: \
             baton deploy --take-over",
            programs.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(api_version: &str, kind: &str, namespace: &str, name: &str) -> Value {
        let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
        if !namespace.is_empty() {
            object["metadata"]["namespace"] = namespace.into();
        }
        object
    }

    fn upstream() -> Vec<Value> {
        let mut lease = object(LEASES, "Lease", "olmv1-system", "catalogd-operator-lock");
        lease["spec"] = json!({"holderIdentity": "catalogd-controller-manager-7d_1"});
        vec![
            object(APPS, "Deployment", "olmv1-system", "catalogd-controller-manager"),
            object(APPS, "Deployment", "olm", "catalog-operator"),
            lease,
            object(LEASES, "Lease", "olmv1-system", "9c4404e7.operatorframework.io"),
            object(
                "admissionregistration.k8s.io/v1",
                "MutatingWebhookConfiguration",
                "",
                WEBHOOK,
            ),
            object(RBAC, "ClusterRoleBinding", "", ADMIN_BINDING),
            object(
                "olm.operatorframework.io/v1",
                "ClusterCatalog",
                "",
                "operatorhubio",
            ),
            object("v1", "Pod", "olm", "operatorhubio-catalog-x"),
            object(
                "operators.coreos.com/v1alpha1",
                "ClusterServiceVersion",
                "olm",
                PACKAGE_SERVER,
            ),
        ]
    }

    fn told(steps: &[Step]) -> Vec<(Action, &str)> {
        steps
            .iter()
            .map(|step| (step.action, step.name.as_str()))
            .collect()
    }

    #[test]
    fn programs_go_first_and_what_users_made_stays() {
        let settings = Settings::default();
        assert_eq!(
            told(&plan(&settings, &upstream())),
            [
                (Action::StopAndDelete, "catalog-operator"),
                (Action::StopAndDelete, "catalogd-controller-manager"),
                (Action::Delete, WEBHOOK),
                (Action::Delete, ADMIN_BINDING),
                (Action::Delete, "operatorhubio-catalog-x"),
                (Action::Adopt, "operatorhubio"),
                // A Lease that nobody holds needs nothing.
                (Action::AwaitRelease, "catalogd-operator-lock"),
                (Action::Keep, PACKAGE_SERVER),
            ]
        );
    }

    #[test]
    fn all_rights_are_kept_where_they_are_wanted() {
        let mut settings = Settings::default();
        settings.parts.insert(Part::ClusterAdmin);
        let steps = plan(&settings, &upstream());
        assert!(told(&steps).contains(&(Action::Adopt, ADMIN_BINDING)));
    }

    #[test]
    fn an_installation_of_our_own_is_not_taken_over() {
        let settings = Settings::default();
        let mut own = crate::workloads::deployment(&settings, Component::Catalogs);
        assert_eq!(plan(&settings, &[own.clone()]), []);
        assert_eq!(refusal(&settings, &[own.clone()]), None);
        own["metadata"]["labels"] = json!({});
        let said = refusal(&settings, &[own]).expect("a refusal");
        assert!(
            said.contains("Deployment olmv1-system/catalogd-controller-manager"),
            "{said}"
        );
    }
}
