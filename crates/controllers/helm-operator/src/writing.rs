//! What is written of resources themselves: finalizers and status.

use std::sync::Arc;
use std::time::Duration;

use apply::refusal::{is_conflict, is_not_found};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use release::cluster::ServerError;
use release::documents::Document;
use release::identity::ReleaseId;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::resource::{CustomResource, FINALIZER, OLD_FINALIZER};
use crate::status::StatusChange;
use crate::world::{Key, World};

/// How often it is looked whether objects are gone.
const VANISHING_PAUSE: Duration = Duration::from_secs(1);

/// Why a resource could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// The server refused it, or was not reached.
    #[error(transparent)]
    Server(#[from] kube::Error),
    /// It is not known how the kind is addressed.
    #[error(transparent)]
    Address(#[from] ServerError),
}

impl WriteError {
    /// Whether the resource is gone.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Server(fault) if is_not_found(fault))
    }

    /// Whether somebody else changed it meanwhile.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Server(fault) if is_conflict(fault))
    }
}

/// Returns how the resources of a watch are reached, where this one is.
async fn api(world: &World, key: &Key) -> Result<Api<DynamicObject>, WriteError> {
    let resource = world.address(&world.blueprints[key.watch]).await?;
    let (client, namespace) = (world.cluster.client().clone(), &key.resource.namespace);
    Ok(if namespace.is_empty() {
        Api::all_with(client, &resource)
    } else {
        Api::namespaced_with(client, namespace, &resource)
    })
}

fn parameters(world: &World) -> PatchParams {
    PatchParams {
        field_manager: Some(world.cluster.manager().to_owned()),
        ..PatchParams::default()
    }
}

/// Adds the finalizer, and notes the new state.
pub(crate) async fn add_finalizer(
    world: &World,
    key: &Key,
    resource: &CustomResource,
) -> Result<(), WriteError> {
    set_finalizers(world, key, resource, |finalizers| {
        finalizers.push(FINALIZER.to_owned());
    })
    .await
}

/// Removes the finalizers of this operator and the older one, and notes the new state.
pub(crate) async fn remove_finalizer(
    world: &World,
    key: &Key,
    resource: &CustomResource,
) -> Result<(), WriteError> {
    let ours = [FINALIZER, OLD_FINALIZER];
    set_finalizers(world, key, resource, |finalizers| {
        finalizers.retain(|finalizer| !ours.contains(&finalizer.as_str()));
    })
    .await
}

async fn set_finalizers(
    world: &World,
    key: &Key,
    resource: &CustomResource,
    change: impl FnOnce(&mut Vec<String>),
) -> Result<(), WriteError> {
    // The list is replaced as a whole: somebody else's finalizer must not be lost, so the list and the version that it is
    // of go together.
    let newest = world.newest(key, resource);
    let mut finalizers = newest.finalizers.clone();
    change(&mut finalizers);
    let change = json!({"metadata": {"finalizers": finalizers, "resourceVersion": newest.resource_version}});
    let api = api(world, key).await?;
    let parameters = parameters(world);
    let written = api
        .patch(&resource.id.name, &parameters, &Patch::Merge(&change))
        .await?;
    note(world, key, written);
    Ok(())
}

/// Writes what changed of a status, and notes the new state.
pub(crate) async fn write_status(
    world: &World,
    key: &Key,
    resource: &CustomResource,
    change: &StatusChange,
) -> Result<(), WriteError> {
    let newest = world.newest(key, resource);
    let Value::Object(before) = newest.status.open() else {
        return Ok(());
    };
    let Some(after) = change.apply(&before, Timestamp::now()) else {
        return Ok(());
    };
    let change = json!({"status": merge_patch(&before, after)});
    let api = api(world, key).await?;
    let parameters = parameters(world);
    let written = api
        .patch_status(&resource.id.name, &parameters, &Patch::Merge(&change))
        .await?;
    note(world, key, written);
    Ok(())
}

/// Returns what turns one table into another: what is new, and null for what is gone, also within tables, because a server
/// keeps what a merge doesn't name.
fn merge_patch(before: &Map<String, Value>, after: Map<String, Value>) -> Value {
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    let mut change: Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in after {
        match (before.get(&key), value) {
            (Some(before), value) if *before == value => {}
            (Some(Value::Object(before)), Value::Object(after)) => {
                change.insert(key, merge_patch(before, after));
            }
            (_, value) => {
                change.insert(key, value);
            }
        }
    }
    Value::Object(change)
}

fn note(world: &World, key: &Key, written: DynamicObject) {
    if let Ok(object) = serde_json::to_value(written) {
        let resource = CustomResource::read(object);
        // A resource without finalizers that is deleted is gone with this write.
        if !(resource.is_deleted && resource.finalizers.is_empty()) {
            // The answer also has what others changed meanwhile. Their event is no news any more when it comes.
            let known = world.resource(key);
            let is_asked_for_more = !known.is_some_and(|known| resource.asks_the_same_as(&known));
            world.saw(key.watch, resource);
            if is_asked_for_more {
                world.look_at(key);
            }
        }
    }
}

/// Returns whether a namespace is on its way out.
pub(crate) async fn is_namespace_terminating(world: &World, namespace: &str) -> bool {
    if namespace.is_empty() {
        return false;
    }
    let namespaces: Api<Namespace> = Api::all(world.cluster.client().clone());
    match namespaces.get_metadata_opt(namespace).await {
        Ok(Some(namespace)) => namespace.metadata.deletion_timestamp.is_some(),
        Ok(None) => true,
        // One who may not look can't know.
        Err(_) => false,
    }
}

/// Waits until none of the objects is there any more, or the time is over.
pub(crate) async fn wait_until_gone(world: &World, id: &ReleaseId, documents: &[Document], within: Duration) {
    let until = Instant::now() + within;
    for document in documents {
        if release::identity::is_kept(&document.object) {
            continue;
        }
        let placed = world
            .cluster
            .place(&document.id, Arc::clone(&document.object), &id.namespace)
            .await;
        let Ok(placed) = placed else { continue };
        let resource: &ApiResource = &placed.resource;
        let client = world.cluster.client().clone();
        let api: Api<DynamicObject> = if placed.is_namespaced {
            Api::namespaced_with(client, &placed.id.namespace, resource)
        } else {
            Api::all_with(client, resource)
        };
        while Instant::now() < until {
            match api.get_metadata_opt(&placed.id.name).await {
                Ok(None) => break,
                Ok(Some(_)) | Err(_) => tokio::time::sleep(VANISHING_PAUSE).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_patch_has_only_what_changed() {
        let table = |value: Value| value.as_object().cloned().unwrap_or_default();
        let before =
            table(json!({"same": [1], "changed": 1, "gone": {}, "drift": {"fields": [1], "left": [2]}}));
        let after = table(json!({"same": [1], "changed": 2, "new": 3, "drift": {"fields": [3]}}));
        assert_eq!(
            merge_patch(&before, after),
            json!({"changed": 2, "gone": null, "new": 3, "drift": {"fields": [3], "left": null}})
        );
    }
}
