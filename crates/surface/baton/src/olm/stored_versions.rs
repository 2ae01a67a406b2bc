//! Objects are brought to the version in which their definition stores them, so that an older version can go one day.
//!
//! A definition remembers in `status.storedVersions` in which versions objects may lie in the store. Where a newer baton
//! stores another version, each object is written again as it is, which stores it anew, and then the old versions are taken
//! out of that list. Several replicas may do so at once: who is second finds nothing left to do.

use std::time::Duration;

use apply::refusal::is_conflict;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;

use super::groundwork::FIELD_MANAGER;
use crate::cluster::refused;
use crate::failure::Failure;

/// How many objects are read at once.
const PAGE: u32 = 200;

/// How often a definition that somebody else changes meanwhile is looked at again, and after which time.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// The version that a definition stores, and whether others may lie in the store.
fn stored(definition: &CustomResourceDefinition) -> Option<(String, bool)> {
    let mut versions = definition.spec.versions.iter();
    let stored = versions.find(|version| version.storage)?.name.clone();
    let status = definition.status.as_ref()?;
    let mut remembered = status.stored_versions.iter().flatten();
    let is_mixed = remembered.any(|version| *version != stored);
    Some((stored, is_mixed))
}

/// Returns whether objects may be stored in another version than the one in which they are stored now.
pub(super) fn is_mixed(definition: &CustomResourceDefinition) -> bool {
    matches!(stored(definition), Some((_, true)))
}

/// Stores all objects of a definition in the version that it stores now, and takes the others out of its list.
pub(super) async fn migrate(client: &Client, name: &str) -> Result<(), Failure> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let reading = || format!("read CustomResourceDefinition {name:?}");
    for _ in 0..ATTEMPTS {
        let definition = definitions.get(name).await;
        let definition = definition.map_err(|error| refused(&reading(), error))?;
        let Some((version, true)) = stored(&definition) else {
            return Ok(());
        };
        tracing::info!(
            definition = name,
            version,
            "objects are stored in another version"
        );
        let written = rewrite(client, &definition, &version).await?;
        // The resource version makes sure that the definition still stores what was written.
        let trimmed = json!({
            "metadata": {"resourceVersion": definition.metadata.resource_version},
            "status": {"storedVersions": [version]},
        });
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        match definitions
            .patch_status(name, &parameters, &Patch::Merge(&trimmed))
            .await
        {
            Ok(_) => {
                tracing::info!(
                    definition = name,
                    version,
                    objects = written,
                    "all objects are stored in it"
                );
                return Ok(());
            }
            Err(error) if is_conflict(&error) => tokio::time::sleep(PAUSE).await,
            Err(error) => {
                let doing = format!("write the status of CustomResourceDefinition {name:?}");
                return Err(refused(&doing, error));
            }
        }
    }
    // Nothing is wrong with that: the next start tries again.
    tracing::warn!(
        definition = name,
        "it is changed by others all the time; its objects stay as they are stored"
    );
    Ok(())
}

/// Writes every object again as it is; returns how many there were.
async fn rewrite(
    client: &Client,
    definition: &CustomResourceDefinition,
    version: &str,
) -> Result<usize, Failure> {
    let names = &definition.spec.names;
    let kind = GroupVersionKind::gvk(&definition.spec.group, version, &names.kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, &names.plural);
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let mut page = ListParams::default().limit(PAGE);
    let mut written = 0;
    loop {
        let listed = all.list(&page).await;
        let listed = listed.map_err(|error| refused(&format!("list {}", names.plural), error))?;
        for object in listed.items {
            let name = object.metadata.name.clone().unwrap_or_default();
            let objects = match &object.metadata.namespace {
                Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
                None => all.clone(),
            };
            match objects.replace(&name, &PostParams::default(), &object).await {
                Ok(_) => written += 1,
                // Who changed it stored it anew, and what is gone is stored nowhere.
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
                Err(error) => {
                    let doing = format!("store {} {name:?} in version {version}", names.kind);
                    return Err(refused(&doing, error));
                }
            }
        }
        match listed.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page.continue_token = Some(token),
            None => return Ok(written),
        }
    }
}
