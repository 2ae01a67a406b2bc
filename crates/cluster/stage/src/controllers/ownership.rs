//! Which controller an object belongs to, and how one takes what is its own.

use serde::Deserialize;
use serde_json::{Value, json};

use super::work::Item;
use crate::api::Api;
use crate::client::{Client, Named};
use crate::object::Object;
use crate::selectors::LabelSelector;
use crate::status::Status;
use crate::store::{Event, ResourceKey, Stored};

/// Returns the reference that makes `owner` the controller of an object.
pub fn controller_reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner.name(),
        "uid": owner.uid(),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// Returns whether an object's controller is this one.
pub fn is_controlled_by(object: &Value, owner: &Value) -> bool {
    object
        .controller()
        .is_some_and(|found| found["uid"].as_str() == Some(owner.uid()))
}

#[derive(Deserialize)]
struct Owned {
    #[serde(default)]
    metadata: Owners,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Owners {
    owner_references: Vec<Reference>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Reference {
    api_version: String,
    kind: String,
    name: String,
    controller: Option<bool>,
}

/// Returns the controller that a stored object names: group, kind and name.
fn stored_controller(stored: &Stored) -> Option<(String, String, String)> {
    if stored.owners.is_empty() {
        return None;
    }
    let owned: Owned = serde_json::from_slice(&stored.bytes).ok()?;
    let found = owned
        .metadata
        .owner_references
        .into_iter()
        .find(|one| one.controller == Some(true))?;
    let group = found
        .api_version
        .split_once('/')
        .map_or(String::new(), |(group, _)| group.to_owned());
    Some((group, found.kind, found.name))
}

/// Returns the controllers of a kind that an event about what they own is for: the one that has the object, the one that
/// had it, and, where nobody has it, all that select it.
pub fn concerned(api: &Api, event: &Event, group: &str, kind: &str, plural: &str) -> Vec<Item> {
    let mut items = Vec::new();
    for stored in event.previous.iter().chain([&event.object]) {
        if let Some((owner_group, owner_kind, name)) = stored_controller(stored)
            && owner_group == group
            && owner_kind == kind
        {
            let item = Item::new(&stored.key.namespace, &name);
            if !items.contains(&item) {
                items.push(item);
            }
        }
    }
    if !event.object.owners.is_empty() {
        return items;
    }
    let owners = ResourceKey::new(group, plural);
    let namespace = &event.object.key.namespace;
    let listing = api
        .store
        .list(&owners, Some(namespace.as_ref()), None, None, None);
    for owner in listing.map(|listing| listing.items).unwrap_or_default() {
        if selector_of(&owner.value()).matches(&event.object.labels) {
            items.push(Item::of(&owner));
        }
    }
    items
}

/// Returns what a workload selects; nothing where it has no selector.
pub fn selector_of(workload: &Value) -> LabelSelector {
    let selector = &workload["spec"]["selector"];
    if workload["kind"] == "ReplicationController" {
        return selector
            .as_object()
            .filter(|map| !map.is_empty())
            .map_or_else(LabelSelector::nothing, LabelSelector::from_map);
    }
    if selector.is_null() {
        return LabelSelector::nothing();
    }
    LabelSelector::from_object(selector).unwrap_or_else(|_| LabelSelector::nothing())
}

/// Returns the objects of a resource that belong to a workload: those it has are let go when it doesn't select them any
/// more, and those that nobody has and that are worth taking are taken when it does.
pub async fn claim(
    client: &Client,
    resource: Named<'_>,
    workload: &Value,
    worth_taking: fn(&Value) -> bool,
) -> Result<Vec<Value>, Status> {
    let selector = selector_of(workload);
    let wanted = ResourceKey::new(resource.0, resource.1);
    let mut claimed = Vec::new();
    for stored in client.api().store.owned_by(workload.uid()) {
        if stored.key.resource != wanted {
            continue;
        }
        let object = stored.value();
        if !is_controlled_by(&object, workload) {
            continue;
        }
        if selector.matches(&stored.labels) {
            claimed.push(object);
        } else if !workload.is_being_deleted() {
            release(client, resource, &object, workload).await?;
        }
    }
    if workload.is_being_deleted() {
        return Ok(claimed);
    }
    for stored in client.list_selected_stored(resource, workload.namespace(), &selector)? {
        if stored.deleting {
            continue;
        }
        let owned = !stored.owners.is_empty();
        if owned && stored_controller(&stored).is_some() {
            continue;
        }
        let object = stored.value();
        if !worth_taking(&object) {
            continue;
        }
        if let Some(object) = adopt(client, resource, &object, workload).await? {
            claimed.push(object);
        }
    }
    Ok(claimed)
}

/// Takes an object that nobody has; `None` where someone else was quicker.
async fn adopt(
    client: &Client,
    resource: Named<'_>,
    object: &Value,
    workload: &Value,
) -> Result<Option<Value>, Status> {
    let mut owners = object["metadata"]["ownerReferences"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    owners.retain(|one| one["uid"].as_str() != Some(workload.uid()));
    owners.push(controller_reference(workload));
    let patch = json!({"metadata": {
        "ownerReferences": owners,
        "uid": object.uid(),
        "resourceVersion": object.metadata_text("resourceVersion"),
    }});
    let written = client
        .merge(resource, object.namespace(), object.name(), "", &patch)
        .await;
    match written {
        Ok(object) => Ok(Some(object)),
        Err(status) if status.code == http::StatusCode::NOT_FOUND => Ok(None),
        Err(status) => Err(status),
    }
}

/// Lets go of an object.
async fn release(
    client: &Client,
    resource: Named<'_>,
    object: &Value,
    workload: &Value,
) -> Result<(), Status> {
    let mut owners = object["metadata"]["ownerReferences"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    owners.retain(|one| one["uid"].as_str() != Some(workload.uid()));
    let owners = if owners.is_empty() {
        Value::Null
    } else {
        Value::Array(owners)
    };
    let patch = json!({"metadata": {
        "ownerReferences": owners,
        "uid": object.uid(),
        "resourceVersion": object.metadata_text("resourceVersion"),
    }});
    let written = client
        .merge(resource, object.namespace(), object.name(), "", &patch)
        .await;
    match written {
        Err(status) if status.code != http::StatusCode::NOT_FOUND => Err(status),
        _ => Ok(()),
    }
}
