//! What a cluster needs before the controllers can work: definitions, policies and roles, and a namespace.

use std::time::Duration;

use api::definitions::Definition;
use api::{admission, definitions};
use deploy::component::Component;
use deploy::roles::metrics_reader;
use futures_util::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::wait::{await_condition, conditions::is_crd_established};
use serde_json::Value;

use crate::cluster::{make_namespace, refused};
use crate::failure::Failure;
use crate::olm::stored_versions;

/// The release of baton that wrote a definition.
const RELEASE: &str = "baton.dev/release";

/// Who writes definitions and policies, as managed fields name it.
pub(super) const FIELD_MANAGER: &str = "baton";

/// How long a definition may take until the API server serves it.
const ESTABLISHED_WITHIN: Duration = Duration::from_mins(1);

/// Those whose metrics have a role for who reads them, as upstream has it; one program may tell of both.
const WITH_METRICS_READERS: [Component; 2] = [Component::Catalogs, Component::Extensions];

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
    let readers = WITH_METRICS_READERS.into_iter().map(|component| async move {
        let object = metrics_reader(component);
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        apply(client, "ClusterRole", name, &object).await
    });
    tokio::try_join!(
        define(client, &definitions::OLM_V1),
        try_join_all(policies),
        try_join_all(readers)
    )?;
    Ok(())
}

/// Writes definitions, and waits until the API server serves them. Those of a newer baton are left as they are: in a cluster
/// that is being brought to another version, old replicas start beside new ones.
pub(super) async fn define(client: &Client, definitions: &[Definition]) -> Result<(), Failure> {
    let own = env!("CARGO_PKG_VERSION");
    let established = definitions.iter().map(|definition| async {
        if let Some(other) = newer_release(client, definition.name, own).await? {
            tracing::info!(
                definition = definition.name,
                "it is left as it is: baton {other} wrote it, and this is baton {own}"
            );
        } else {
            let mut object = definition.object();
            object["metadata"]["annotations"][RELEASE] = own.into();
            apply(client, "CustomResourceDefinition", definition.name, &object).await?;
        }
        wait_established(client, definition.name).await
    });
    try_join_all(established).await.map(drop)
}

/// Returns the release of baton that wrote a definition, if it is newer than another one.
async fn newer_release(client: &Client, name: &str, own: &str) -> Result<Option<String>, Failure> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let found = definitions.get_metadata_opt(name).await;
    let found = found.map_err(|error| refused(&format!("read CustomResourceDefinition {name:?}"), error))?;
    let annotations = found
        .and_then(|found| found.metadata.annotations)
        .unwrap_or_default();
    let release = annotations.get(RELEASE).filter(|release| is_newer(release, own));
    Ok(release.cloned())
}

/// Returns whether a release comes after another one. What is no release comes after none.
fn is_newer(release: &str, own: &str) -> bool {
    let parsed = |text: &str| text.parse::<version::Version>().ok();
    match (parsed(release), parsed(own)) {
        (Some(release), Some(own)) => release > own,
        _ => false,
    }
}

/// Waits until the API server serves a definition, and brings objects that it stored in another version to the present one.
pub(crate) async fn wait_established(client: &Client, name: &str) -> Result<(), Failure> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let established = await_condition(definitions, name, is_crd_established());
    let waited = tokio::time::timeout(ESTABLISHED_WITHIN, established).await;
    let definition = waited
        .map_err(|_| {
            Failure::new(format!(
                "CustomResourceDefinition {name:?} isn't established after {} s; see its conditions with: kubectl get crd \
                 {name} -o yaml",
                ESTABLISHED_WITHIN.as_secs()
            ))
        })?
        .map_err(|error| Failure::new(format!("cannot watch CustomResourceDefinition {name:?}: {error}")))?;
    match definition {
        Some(definition) if stored_versions::is_mixed(&definition) => {
            stored_versions::migrate(client, name).await
        }
        _ => Ok(()),
    }
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

#[cfg(test)]
mod tests;
