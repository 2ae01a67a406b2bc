//! Deployments: a ReplicaSet for every template they had, and the step from one to the next.
//!
//! - `rollout`: what has to be done now, as a pure function
//! - `sets`: what a Deployment knows about its ReplicaSets
//! - `progress`: what the status says about it

mod progress;
mod rollout;
mod sets;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use self::rollout::{Plan, decide};
use self::sets::TEMPLATE_HASH;
use super::conditions::{self, Condition};
use super::ownership::{claim, concerned, is_controlled_by};
use super::pods;
use super::replicasets::REPLICA_SETS;
use super::template_hash::same_template;
use super::work::{Affected, Controller, Item, Next, itself};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::events::{EventType, Note, Reporter};
use crate::object::{Object, map_of};
use crate::options::DeleteOptions;
use crate::status::Status;
use crate::store::{Event, EventKind, ResourceKey};

/// The resource of Deployments.
pub const DEPLOYMENTS: Named<'static> = ("apps", "deployments");

/// Rolls out the templates of Deployments.
#[derive(Debug)]
pub struct Deployments {
    reporter: Reporter,
}

impl Default for Deployments {
    fn default() -> Self {
        Self {
            reporter: Reporter::controller("deployment-controller"),
        }
    }
}

fn deployments_of_set(api: &Api, event: &Event) -> Vec<Item> {
    concerned(api, event, "apps", "Deployment", "deployments")
}

/// A Deployment that makes everything anew waits for the last of its Pods to go.
fn deployments_of_deleted_pod(api: &Api, event: &Event) -> Vec<Item> {
    if event.kind != EventKind::Deleted {
        return Vec::new();
    }
    let owners = event.object.owners.iter();
    let mut items = Vec::new();
    for set in owners.filter_map(|uid| set_with_uid(api, event, uid)) {
        if let Some(owner) = set.controller().filter(|owner| owner["kind"] == "Deployment") {
            let name = owner["name"].as_str().unwrap_or_default();
            items.push(Item::new(&event.object.key.namespace, name));
        }
    }
    items
}

fn set_with_uid(api: &Api, event: &Event, uid: &str) -> Option<Value> {
    let pod = event.object.value();
    let owner = pod
        .controller()
        .filter(|owner| owner["uid"].as_str() == Some(uid))?;
    let sets = ResourceKey::new(REPLICA_SETS.0, REPLICA_SETS.1);
    let key = crate::store::Key::new(&sets, &event.object.key.namespace, owner["name"].as_str()?);
    Some(api.store.get(&key)?.value())
}

impl Controller for Deployments {
    const NAME: &'static str = "deployment-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new(DEPLOYMENTS.0, DEPLOYMENTS.1), itself),
            (
                ResourceKey::new(REPLICA_SETS.0, REPLICA_SETS.1),
                deployments_of_set,
            ),
            (
                ResourceKey::new(pods::PODS.0, pods::PODS.1),
                deployments_of_deleted_pod,
            ),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(seen) = client.get(DEPLOYMENTS, &item.namespace, &item.name)? else {
            return Ok(Next::Wait);
        };
        let sets = claim(client, REPLICA_SETS, &seen, |_| true).await?;
        let living = living_sets(client, &seen, &sets);
        let plan = decide(&seen, &sets, &living, Timestamp::now());
        self.act(client, &seen, plan).await
    }
}

/// Returns the uids of the ReplicaSets which have Pods that haven't ended; only those who make everything anew ask.
fn living_sets(client: &Client, deployment: &Value, sets: &[Value]) -> BTreeSet<String> {
    if deployment["spec"]["strategy"]["type"] != "Recreate" {
        return BTreeSet::new();
    }
    let store = &client.api().store;
    sets.iter()
        .filter(|set| {
            store
                .owned_by(set.uid())
                .iter()
                .map(|stored| stored.value())
                .any(|pod| pod["kind"] == "Pod" && !pods::has_ended(&pod))
        })
        .map(|set| set.uid().to_owned())
        .collect()
}

impl Deployments {
    async fn act(&self, client: &Client, seen: &Value, plan: Plan) -> Result<Next, Status> {
        if let Some(set) = plan.create {
            self.create_set(client, seen, set, &plan.created_notes).await?;
        }
        for (set, notes) in plan.update {
            client.update(REPLICA_SETS, set).await?;
            self.reporter.tell(client, seen, &notes);
        }
        for name in plan.delete {
            client
                .delete(REPLICA_SETS, seen.namespace(), &name, &DeleteOptions::default())
                .await?;
        }
        if plan.deployment != *seen {
            client.update_status(DEPLOYMENTS, plan.deployment).await?;
        }
        Ok(plan.next)
    }

    async fn create_set(
        &self,
        client: &Client,
        seen: &Value,
        set: Value,
        notes: &[Note],
    ) -> Result<(), Status> {
        let name = set.name().to_owned();
        let template = set["spec"]["template"].clone();
        let Err(failure) = client.create(REPLICA_SETS, set).await else {
            self.reporter.tell(client, seen, notes);
            return Ok(());
        };
        if failure.reason == "AlreadyExists" {
            let present = client.get(REPLICA_SETS, seen.namespace(), &name)?;
            let is_ours = present.is_some_and(|present| {
                is_controlled_by(&present, seen)
                    && same_template(&present["spec"]["template"], &template, TEMPLATE_HASH)
            });
            if !is_ours {
                let mut changed = seen.clone();
                let collisions = seen["status"]["collisionCount"].as_i64().unwrap_or(0);
                map_of(map_of(&mut changed).entry("status").or_insert(Value::Null))
                    .insert("collisionCount".into(), (collisions + 1).into());
                client.update_status(DEPLOYMENTS, changed).await?;
            }
            return Err(failure);
        }
        if pods::is_namespace_ending(&failure) {
            return Err(failure);
        }
        let message = format!("Failed to create new replica set \"{name}\": {failure}");
        if sets::progress_deadline(seen).is_some() {
            let mut changed = seen.clone();
            let condition = Condition::new("Progressing", "False", "ReplicaSetCreateError", &*message);
            let status = map_of(&mut changed).entry("status").or_insert(Value::Null);
            conditions::set_with_update_time(status, &condition, Timestamp::now());
            if changed != *seen {
                client.update_status(DEPLOYMENTS, changed).await?;
            }
        }
        self.reporter.note(
            client,
            seen,
            EventType::Warning,
            "ReplicaSetCreateError",
            &message,
        );
        Err(failure)
    }
}
