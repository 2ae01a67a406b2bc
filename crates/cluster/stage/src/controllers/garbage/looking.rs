//! What is seen of an object, its owners and its dependents.

use serde_json::Value;

use super::decision::{Dependent, Owner, OwnerState, Seen};
use super::owner_references;
use crate::api::delete::FOREGROUND;
use crate::client::Client;
use crate::object::Object;
use crate::status::Status;
use crate::store::{Key, ResourceKey, Stored};

/// Looks at an object; `None` where there is nothing to decide.
pub(super) fn observe(client: &Client, key: &Key) -> Result<Option<Seen>, Status> {
    let store = &client.api().store;
    let Some(stored) = store.get(key) else {
        return Ok(None);
    };
    if stored.owners.is_empty() && !stored.deleting {
        return Ok(None);
    }
    let object = stored.value();
    let mut seen = Seen {
        owners: Vec::new(),
        dependents: Vec::new(),
        invalid_owners: Vec::new(),
        object,
    };
    for reference in owner_references(&seen.object) {
        let (state, is_invalid) = look_up(client, key, reference);
        if is_invalid {
            seen.invalid_owners.push(reference.clone());
        }
        seen.owners.push(Owner {
            uid: reference["uid"].as_str().unwrap_or_default().to_owned(),
            state,
        });
    }
    seen.dependents = store
        .owned_by(&stored.uid)
        .iter()
        .filter(|dependent| reaches(&stored, dependent))
        .map(|dependent| dependent_of(&stored.uid, dependent))
        .collect();
    Ok(Some(seen))
}

/// Returns whether an object can be the owner of another: one of the whole cluster, or of the same namespace.
fn reaches(owner: &Stored, dependent: &Stored) -> bool {
    owner.key.namespace.is_empty() || owner.key.namespace == dependent.key.namespace
}

fn dependent_of(owner: &str, dependent: &Stored) -> Dependent {
    let object = dependent.value();
    let blocks = owner_references(&object)
        .iter()
        .any(|reference| reference["uid"] == owner && reference["blockOwnerDeletion"] == true);
    Dependent {
        key: dependent.key.clone(),
        blocks,
        waits: dependent.deleting && object.finalizers().contains(&FOREGROUND),
    }
}

/// Returns what an owner is, and whether the reference to it leads into another namespace.
fn look_up(client: &Client, key: &Key, reference: &Value) -> (OwnerState, bool) {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let served = client.api().resources.now();
    let Some(resource) = served.of_kind(text("apiVersion"), text("kind")) else {
        return (OwnerState::UnknownKind, false);
    };
    let store = &client.api().store;
    let elsewhere = || is_elsewhere(client, &resource.storage, text("uid"));
    if resource.namespaced && key.namespace.is_empty() {
        return (OwnerState::Unreachable, elsewhere());
    }
    let namespace = if resource.namespaced { &*key.namespace } else { "" };
    match store.get(&Key::new(&resource.storage, namespace, text("name"))) {
        Some(owner) if *owner.uid == *text("uid") => {
            let waits = owner.deleting && owner.value().finalizers().contains(&FOREGROUND);
            let state = if waits {
                OwnerState::Waiting
            } else {
                OwnerState::Solid
            };
            (state, false)
        }
        _ => (OwnerState::Gone, resource.namespaced && elsewhere()),
    }
}

/// Returns whether an object with this uid is in some namespace.
fn is_elsewhere(client: &Client, resource: &ResourceKey, uid: &str) -> bool {
    let listed = client.api().store.list(resource, None, None, None, None);
    listed.is_ok_and(|listing| listing.items.iter().any(|item| *item.uid == *uid))
}

/// Returns what is told about an object that names an owner in another namespace.
pub(super) fn invalid_owner_text(key: &Key, reference: &Value) -> String {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    format!(
        "ownerRef [{}/{}, namespace: {}, name: {}, uid: {}] does not exist in namespace {:?}",
        text("apiVersion"),
        text("kind"),
        key.namespace,
        text("name"),
        text("uid"),
        key.namespace,
    )
}
