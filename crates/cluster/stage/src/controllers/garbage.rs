//! Garbage: objects whose owners are gone, and owners that wait for what they own.
//!
//! The store knows who names which owner, so nothing is kept here but a queue: an event of any resource says which
//! objects have to be looked at. `decide` says what becomes of one.

mod decision;
mod looking;
mod queue;

pub use queue::start;

use decision::{Plan, decide};
use looking::observe;

use http::StatusCode;
use serde_json::{Value, json};

use crate::client::{Client, Named};
use crate::events::{Note, Reporter};
use crate::object::Object;
use crate::options::DeleteOptions;
use crate::status::Status;
use crate::store::Key;

/// The user that collects garbage.
const NAME: &str = "generic-garbage-collector";

/// What has to be looked at after an object.
#[derive(Debug, Default)]
struct Outcome {
    /// Objects that have to be looked at now.
    now: Vec<Key>,
    /// Whether the object itself has to be looked at again, because an owner's kind isn't served yet.
    again: bool,
}

/// Looks at one object, and does with it what its owners and dependents ask for.
async fn reconcile(client: &Client, reporter: Reporter, key: &Key) -> Result<Outcome, Status> {
    let Some(seen) = observe(client, key)? else {
        return Ok(Outcome::default());
    };
    let resource = (key.resource.group(), key.resource.plural());
    let plan = decide(&seen);
    let done = act(client, resource, key, &seen.object, &plan).await;
    let notes: Vec<Note> = seen
        .invalid_owners
        .iter()
        .map(|owner| {
            Note::warning(
                "OwnerRefInvalidNamespace",
                looking::invalid_owner_text(key, owner),
            )
        })
        .collect();
    reporter.tell(client, &seen.object, &notes);
    match done {
        Ok(outcome) => Ok(outcome),
        // It is gone, which is what garbage should be; what it owned is looked at when its end is seen.
        Err(status) if status.code == StatusCode::NOT_FOUND => Ok(Outcome::default()),
        Err(status) => Err(status),
    }
}

async fn act(
    client: &Client,
    resource: Named<'_>,
    key: &Key,
    object: &Value,
    plan: &Plan,
) -> Result<Outcome, Status> {
    let mut outcome = Outcome::default();
    match plan {
        Plan::Nothing => {}
        Plan::LookLater => outcome.again = true,
        Plan::DropOwners(uids) => drop_owners(client, resource, key, object, uids).await?,
        Plan::Delete {
            propagation,
            unblock_owners,
        } => {
            if *unblock_owners {
                unblock(client, resource, key, object).await?;
            }
            let current = client.get_stored(resource, &key.namespace, &key.name)?;
            let options = DeleteOptions {
                propagation: Some(*propagation),
                uid: Some(object.uid().to_owned()),
                // What was decided holds for the object as it was looked at, or as it was unblocked just now.
                resource_version: current.map(|current| current.revision.to_string()),
                ..DeleteOptions::default()
            };
            client
                .delete(resource, &key.namespace, &key.name, &options)
                .await?;
        }
        Plan::Orphan { dependents } => {
            for dependent in dependents {
                let named = (dependent.resource.group(), dependent.resource.plural());
                let Some(stored) = client.get_stored(named, &dependent.namespace, &dependent.name)? else {
                    continue;
                };
                let uids = [object.uid().to_owned()];
                match drop_owners(client, named, dependent, &stored.value(), &uids).await {
                    Err(status) if status.code != StatusCode::NOT_FOUND => return Err(status),
                    _ => {}
                }
            }
            drop_finalizer(client, resource, key, object, crate::api::delete::ORPHAN).await?;
        }
        Plan::LookAt { dependents } => outcome.now.clone_from(dependents),
        Plan::EndForeground { dependents } => {
            drop_finalizer(client, resource, key, object, crate::api::delete::FOREGROUND).await?;
            outcome.now.clone_from(dependents);
        }
    }
    Ok(outcome)
}

/// Writes metadata of the object as it was looked at: someone else's write in between makes it fail and be tried again.
async fn write_metadata(
    client: &Client,
    resource: Named<'_>,
    key: &Key,
    object: &Value,
    field: &str,
    value: Value,
) -> Result<(), Status> {
    let version = object.metadata_text("resourceVersion");
    let patch = json!({"metadata": {field: value, "uid": object.uid(), "resourceVersion": version}});
    client
        .merge(resource, &key.namespace, &key.name, "", &patch)
        .await
        .map(drop)
}

fn owner_references(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Returns a list as a merge patch writes it: an empty one goes.
fn list_or_nothing(list: Vec<Value>) -> Value {
    if list.is_empty() { Value::Null } else { list.into() }
}

async fn drop_owners(
    client: &Client,
    resource: Named<'_>,
    key: &Key,
    object: &Value,
    uids: &[String],
) -> Result<(), Status> {
    let gone = |owner: &&Value| uids.iter().any(|uid| owner["uid"] == uid.as_str());
    if !owner_references(object).iter().any(|owner| gone(&owner)) {
        return Ok(());
    }
    let kept = owner_references(object)
        .iter()
        .filter(|owner| !gone(owner))
        .cloned()
        .collect();
    write_metadata(
        client,
        resource,
        key,
        object,
        "ownerReferences",
        list_or_nothing(kept),
    )
    .await
}

/// Says that the object no longer keeps its owners waiting, which breaks circles of owners that wait for each other.
async fn unblock(client: &Client, resource: Named<'_>, key: &Key, object: &Value) -> Result<(), Status> {
    let mut owners = owner_references(object).to_vec();
    for owner in &mut owners {
        if owner["blockOwnerDeletion"] == true {
            owner["blockOwnerDeletion"] = false.into();
        }
    }
    write_metadata(client, resource, key, object, "ownerReferences", owners.into()).await
}

async fn drop_finalizer(
    client: &Client,
    resource: Named<'_>,
    key: &Key,
    object: &Value,
    finalizer: &str,
) -> Result<(), Status> {
    let kept: Vec<Value> = object
        .finalizers()
        .into_iter()
        .filter(|name| *name != finalizer)
        .map(Value::from)
        .collect();
    write_metadata(client, resource, key, object, "finalizers", list_or_nothing(kept)).await
}
