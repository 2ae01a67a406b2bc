//! What is left of an extension when nothing of OLM's tells of it any more: its objects carry its name.

use apply::object::ObjectId;
use futures_util::{StreamExt as _, stream};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::discovery::{ApiGroup, Discovery, verbs};

use super::AT_ONCE;
use crate::cluster::refused;
use crate::failure::Failure;

/// Finds the objects of all kinds that a selector selects and that are on their way out, each with what tells it from another one
/// of its name.
pub(super) async fn find(client: &Client, selector: &str) -> Result<Vec<(ObjectId, String)>, Failure> {
    let discovery = Discovery::new(client.clone())
        .run_aggregated()
        .await
        .map_err(|error| refused("ask the cluster for its kinds", error))?;
    let kinds = discovery.groups().flat_map(ApiGroup::recommended_resources);
    let listing = kinds
        .filter(|(_, capabilities)| capabilities.supports_operation(verbs::LIST))
        .map(|(resource, _)| of_kind(client, resource, selector));
    let listing: Vec<_> = listing.collect();
    let found: Vec<Vec<(ObjectId, String)>> = stream::iter(listing).buffer_unordered(AT_ONCE).collect().await;
    let mut found: Vec<(ObjectId, String)> = found.into_iter().flatten().collect();
    found.sort();
    Ok(found)
}

/// Those of one kind; whoever may not list them learns of the others.
async fn of_kind(client: &Client, resource: ApiResource, selector: &str) -> Vec<(ObjectId, String)> {
    let objects: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let owned = ListParams::default().labels(selector);
    let Ok(listed) = objects.list_metadata(&owned).await else {
        return Vec::new();
    };
    let on_its_way = listed.items.into_iter().filter_map(|object| {
        let metadata = object.metadata;
        metadata.deletion_timestamp.as_ref()?;
        let id = ObjectId {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
            namespace: metadata.namespace.unwrap_or_default(),
            name: metadata.name?,
        };
        Some((id, metadata.uid?))
    });
    on_its_way.collect()
}
