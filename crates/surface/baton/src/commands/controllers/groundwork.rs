//! What a cluster needs before the controllers can work: the definitions and policies of OLM v1, and a namespace.

use std::time::Duration;

use api::{admission, definitions};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::wait::{await_condition, conditions::is_crd_established};
use serde_json::Value;

use crate::cluster::{make_namespace, refused};
use crate::failure::Failure;

/// Who writes definitions and policies, as managed fields name it.
const FIELD_MANAGER: &str = "baton";

/// How long a definition may take until the API server serves it.
const ESTABLISHED_WITHIN: Duration = Duration::from_mins(1);

/// Writes what is missing or old. Where `with_definitions` is false, somebody else has written the definitions.
pub(super) async fn lay(client: &Client, namespace: &str, with_definitions: bool) -> Result<(), Failure> {
    make_namespace(client, namespace).await?;
    if !with_definitions {
        return Ok(());
    }
    for definition in definitions::OLM_V1 {
        apply(
            client,
            "CustomResourceDefinition",
            definition.name,
            &definition.object(),
        )
        .await?;
    }
    for policy in admission::OLM_V1 {
        let object = policy.object();
        let kind = object["kind"].as_str().unwrap_or_default();
        apply(client, kind, policy.name, &object).await?;
    }
    let served: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in definitions::OLM_V1 {
        let name = definition.name;
        let established = await_condition(served.clone(), name, is_crd_established());
        let waited = tokio::time::timeout(ESTABLISHED_WITHIN, established).await;
        waited
            .map_err(|_| {
                Failure::new(format!(
                    "CustomResourceDefinition {name:?} isn't established after {} s; see its conditions with: kubectl get crd \
                     {name} -o yaml",
                    ESTABLISHED_WITHIN.as_secs()
                ))
            })?
            .map_err(|error| Failure::new(format!("cannot watch CustomResourceDefinition {name:?}: {error}")))?;
    }
    Ok(())
}

async fn apply(client: &Client, kind: &str, name: &str, object: &Value) -> Result<(), Failure> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    // English plurals end in -ies, and the only kind here that does is guessed right.
    let objects: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
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
