//! What a cluster needs before the controllers can work: definitions, policies and roles, and a namespace.

use std::time::Duration;

use api::definitions::Definition;
use api::{admission, definitions};
use futures_util::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::wait::{await_condition, conditions::is_crd_established};
use serde_json::{Value, json};

use crate::cluster::{make_namespace, refused};
use crate::failure::Failure;
use crate::guarded_metrics::PATH;

/// Who writes definitions and policies, as managed fields name it.
const FIELD_MANAGER: &str = "baton";

/// How long a definition may take until the API server serves it.
const ESTABLISHED_WITHIN: Duration = Duration::from_mins(1);

/// The roles of those who read metrics. Upstream has one for each of its programs; here one program tells of both.
const METRICS_READERS: [&str; 2] = ["catalogd-metrics-reader", "operator-controller-metrics-reader"];

/// Writes what is missing or old. Where `with_definitions` is false, somebody else has written the definitions.
pub(crate) async fn lay(client: &Client, namespace: &str, with_definitions: bool) -> Result<(), Failure> {
    make_namespace(client, namespace).await?;
    if !with_definitions {
        return Ok(());
    }
    // All at once: each waits for the disk, and one write to it serves them all.
    let policies = admission::OLM_V1.iter().map(|policy| async {
        let object = policy.object();
        let kind = object["kind"].as_str().unwrap_or_default();
        apply(client, kind, policy.name, &object).await
    });
    let readers = METRICS_READERS.iter().map(|name| async {
        let object = metrics_reader(name);
        apply(client, "ClusterRole", name, &object).await
    });
    tokio::try_join!(
        define(client, &definitions::OLM_V1),
        try_join_all(policies),
        try_join_all(readers)
    )?;
    Ok(())
}

/// Writes definitions, and waits until the API server serves them.
pub(super) async fn define(client: &Client, definitions: &[Definition]) -> Result<(), Failure> {
    let established = definitions.iter().map(|definition| async {
        let object = definition.object();
        apply(client, "CustomResourceDefinition", definition.name, &object).await?;
        wait_established(client, definition.name).await
    });
    try_join_all(established).await.map(drop)
}

/// The role that lets somebody read metrics.
fn metrics_reader(name: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [{"nonResourceURLs": [PATH], "verbs": ["get"]}],
    })
}

/// Waits until the API server serves a definition.
async fn wait_established(client: &Client, name: &str) -> Result<(), Failure> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let established = await_condition(definitions, name, is_crd_established());
    let waited = tokio::time::timeout(ESTABLISHED_WITHIN, established).await;
    waited
        .map_err(|_| {
            Failure::new(format!(
                "CustomResourceDefinition {name:?} isn't established after {} s; see its conditions with: kubectl get crd \
                 {name} -o yaml",
                ESTABLISHED_WITHIN.as_secs()
            ))
        })?
        .map(drop)
        .map_err(|error| Failure::new(format!("cannot watch CustomResourceDefinition {name:?}: {error}")))
}

/// Writes an object; what it says is so from now on.
pub(super) async fn apply(client: &Client, kind: &str, name: &str, object: &Value) -> Result<(), Failure> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    // English plurals end in -ies, and the only kind here that does is guessed right.
    let objects: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    objects
        .patch(
            name,
            &PatchParams::apply(FIELD_MANAGER).force(),
            &Patch::Apply(object),
        )
        .await
        .map(drop)
        .map_err(|error| refused(&format!("write {kind} {name:?}"), error))
}
