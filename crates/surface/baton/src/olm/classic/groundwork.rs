//! What a cluster needs before OLM v0 can work, and what upstream's installation makes beyond that.

use api::definitions;
use apply::refusal::is_already_there;
use classic::Kind;
use classic_controller::watching::resource;
use futures_util::future::try_join_all;
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::cluster::{FIELD_MANAGER, make_namespace, refused};
use crate::failure::Failure;
use crate::olm::groundwork::{apply, define};

/// The namespace that upstream's installation makes for operators of all namespaces.
pub(crate) const OPERATORS_NAMESPACE: &str = "operators";

/// How much is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The namespace of global catalogs alone: somebody else has written the rest.
    Namespace,
    /// What OLM v0 needs.
    Needed,
    /// That, and the namespace for operators of all namespaces with the groups that upstream's installation makes.
    AsUpstream,
}

/// Writes what is missing or old. What people may have changed is left as it is.
pub(crate) async fn lay(client: &Client, namespace: &str, extent: Extent) -> Result<(), Failure> {
    make_namespace(client, namespace).await?;
    if extent == Extent::Namespace {
        return Ok(());
    }
    let roles = roles();
    let roles = roles
        .iter()
        .map(|(name, role)| apply(client, "ClusterRole", name, role));
    tokio::try_join!(define(client, &definitions::OLM_V0), try_join_all(roles))?;
    make(
        client,
        Kind::OlmConfig,
        json!({"metadata": {"name": "cluster"}, "spec": {}}),
    )
    .await?;
    if extent == Extent::AsUpstream {
        make_namespace(client, OPERATORS_NAMESPACE).await?;
        for group in groups(namespace) {
            make(client, Kind::OperatorGroup, group).await?;
        }
    }
    Ok(())
}

/// The groups that upstream's installation makes: one for all namespaces, and one for OLM's own.
fn groups(namespace: &str) -> [Value; 2] {
    [
        json!({"metadata": {"name": "global-operators", "namespace": OPERATORS_NAMESPACE}, "spec": {}}),
        json!({
            "metadata": {"name": "olm-operators", "namespace": namespace},
            "spec": {"targetNamespaces": [namespace]},
        }),
    ]
}

/// The roles that let those who may view and edit a namespace do so with OLM's objects.
fn roles() -> [(&'static str, Value); 2] {
    let role = |name: &str, to: &[&str], rules: Value| {
        let labels = to.iter().map(|role| {
            let key = format!("{}{role}", classic::keys::AGGREGATE_TO_PREFIX);
            (key, Value::from("true"))
        });
        let labels: serde_json::Map<String, Value> = labels.collect();
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": name, "labels": labels}, "rules": rules,
        })
    };
    let (edit, view) = ("aggregate-olm-edit", "aggregate-olm-view");
    let written = json!([
        {"apiGroups": ["operators.coreos.com"], "resources": ["subscriptions"],
         "verbs": ["create", "update", "patch", "delete"]},
        {"apiGroups": ["operators.coreos.com"],
         "resources": ["clusterserviceversions", "catalogsources", "installplans", "subscriptions"],
         "verbs": ["delete"]},
    ]);
    let read = json!([
        {"apiGroups": ["operators.coreos.com"],
         "resources": ["clusterserviceversions", "catalogsources", "installplans", "subscriptions", "operatorgroups"],
         "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["packages.operators.coreos.com"],
         "resources": ["packagemanifests", "packagemanifests/icon"], "verbs": ["get", "list", "watch"]},
    ]);
    [
        (edit, role(edit, &["admin", "edit"], written)),
        (view, role(view, &["admin", "edit", "view"], read)),
    ]
}

/// Makes an object that isn't there.
async fn make(client: &Client, kind: Kind, mut object: Value) -> Result<(), Failure> {
    let naming = kind.naming();
    object["apiVersion"] = naming.api_version.into();
    object["kind"] = naming.kind.into();
    let object: DynamicObject = serde_json::from_value(object)?;
    let objects: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource(kind)),
        None => Api::all_with(client.clone(), &resource(kind)),
    };
    let parameters = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    match objects.create(&parameters, &object).await {
        Err(error) if !is_already_there(&error) => {
            let name = object.metadata.name.unwrap_or_default();
            Err(refused(&format!("make {} {name:?}", naming.kind), error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roles_are_parts_of_those_that_every_cluster_has() {
        for (name, role) in roles() {
            assert_eq!(role["metadata"]["name"], name);
            let labels = &role["metadata"]["labels"];
            assert_eq!(labels["rbac.authorization.k8s.io/aggregate-to-admin"], "true");
            let is_for_viewers = labels
                .get("rbac.authorization.k8s.io/aggregate-to-view")
                .is_some();
            assert_eq!(is_for_viewers, name == "aggregate-olm-view");
        }
    }

    #[test]
    fn one_group_is_for_all_namespaces_and_one_for_olms_own() {
        let [global, own] = groups("olm");
        assert_eq!(global["spec"], json!({}));
        assert_eq!(own["spec"], json!({"targetNamespaces": ["olm"]}));
    }
}
