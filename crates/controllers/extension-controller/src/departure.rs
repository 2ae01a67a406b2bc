//! What happens when an extension is deleted.
//!
//! Usually nothing: revisions and objects belong to it and go with it. Where something shall stay, its revisions are
//! deleted first, and it waits until they have let go of what stays.

use api::cluster_object_set::LifecycleState;
use api::{ClusterExtension, ClusterObjectSet, keys};
use apply::refusal::{is_not_found, words};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::acting::Actor;
use crate::failure::Failure;
use crate::settings::{OnDelete, Settings};

/// How far a deletion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// Nothing is left to do.
    Done,
    /// A revision is still looked after.
    Waiting,
}

/// The finalizers of an extension that are set or removed here.
pub const FINALIZERS: [&str; 2] = [keys::CLEANUP_UNPACK_CACHE, keys::CLEANUP_CONTENT_MANAGER_CACHE];

/// Returns the finalizers that an extension must have, where it lacks one.
pub fn with_finalizer(extension: &ClusterExtension) -> Option<Vec<String>> {
    let mut finalizers = extension.metadata.finalizers.clone().unwrap_or_default();
    let wanted = keys::CLEANUP_UNPACK_CACHE.to_owned();
    (!finalizers.contains(&wanted)).then(|| {
        finalizers.push(wanted);
        finalizers
    })
}

/// Returns the finalizers of others, where an extension has some of ours.
pub fn without_finalizers(extension: &ClusterExtension) -> Option<Vec<String>> {
    let finalizers = extension.metadata.finalizers.as_ref()?;
    let others: Vec<String> = finalizers
        .iter()
        .filter(|finalizer| !FINALIZERS.contains(&finalizer.as_str()))
        .cloned()
        .collect();
    (others.len() != finalizers.len()).then_some(others)
}

/// Lets go of what shall stay.
///
/// # Errors
///
/// If it isn't known what shall stay, or it can't be let go.
pub async fn depart(actor: &Actor<'_>, extension: &ClusterExtension) -> Result<Departure, Failure> {
    let annotations = extension.metadata.annotations.clone().unwrap_or_default();
    let settings = Settings::read(&annotations);
    let on_delete = match settings {
        Ok(settings) => settings.on_delete,
        Err(invalid) => {
            // Of all that can't be understood, only this one says what must not be lost.
            if let Some(setting) = invalid.iter().find(|setting| setting.key == keys::ON_DELETE) {
                return Err(Failure::misconfigured(setting));
            }
            let only = annotations.into_iter().filter(|(key, _)| key == keys::ON_DELETE);
            Settings::read(&only.collect()).unwrap_or_default().on_delete
        }
    };
    let name = extension.name();
    let mut departure = Departure::Done;
    if on_delete != OnDelete::DeleteEverything {
        for object_set in actor.index.revisions_of(name) {
            // What is archived has nothing left to let go of.
            if object_set.spec.lifecycle_state == LifecycleState::Archived {
                continue;
            }
            let released = release(actor, &object_set, on_delete).await.map_err(|fault| {
                let revision = object_set.name();
                Failure::passing(format!("releasing the objects of {revision}: {}", words(&fault)))
            })?;
            if released == Departure::Waiting {
                departure = Departure::Waiting;
            }
        }
    }
    if departure == Departure::Waiting {
        return Ok(departure);
    }
    actor
        .delete_ownerless_secrets(name)
        .await
        .map_err(|fault| Failure::passing(format!("deleting Secrets of {name}: {}", words(&fault))))?;
    Ok(Departure::Done)
}

/// Has a revision deleted after it was told what outlives it; whoever applies its objects lets go of those.
async fn release(
    actor: &Actor<'_>,
    object_set: &ClusterObjectSet,
    on_delete: OnDelete,
) -> Result<Departure, kube::Error> {
    let object_sets: Api<ClusterObjectSet> = Api::all(actor.client.clone());
    let Some(live) = object_sets.get_opt(object_set.name()).await? else {
        return Ok(Departure::Done);
    };
    if live.metadata.deletion_timestamp.is_some() {
        return Ok(Departure::Waiting);
    }
    let annotations = live.metadata.annotations.as_ref();
    let told = annotations.and_then(|annotations| annotations.get(keys::ON_DELETE));
    if told.map(String::as_str) != on_delete.word() {
        let patch = json!({"metadata": {
            "annotations": {keys::ON_DELETE: on_delete.word()},
            "resourceVersion": live.metadata.resource_version,
        }});
        object_sets
            .patch(live.name(), &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
    }
    match object_sets.delete(live.name(), &DeleteParams::background()).await {
        Err(fault) if !is_not_found(&fault) => Err(fault),
        _ => Ok(Departure::Waiting),
    }
}
