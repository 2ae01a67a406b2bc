//! DaemonSets: one Pod on each node that fits.
//!
//! - `placement`: which nodes fit
//! - `rollout`: what has to be done now, as a pure function

mod placement;
mod rollout;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use self::rollout::decide;
use super::ownership::{claim, concerned};
use super::pods::{self, PODS};
use super::revisions::{self, REVISIONS};
use super::work::{Affected, Controller, Item, Next, itself};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::events::Reporter;
use crate::object::{Object, map_of};
use crate::status::Status;
use crate::store::{Event, EventKind, ResourceKey};

/// The resource of DaemonSets.
pub const DAEMON_SETS: Named<'static> = ("apps", "daemonsets");

const NODES: Named<'static> = ("", "nodes");

/// The label of a revision, and of the Pods made from it, with the hash of the template.
const HASH: &str = "controller-revision-hash";

/// Keeps one Pod of each DaemonSet on each node that fits.
#[derive(Debug)]
pub struct DaemonSets {
    reporter: Reporter,
}

impl Default for DaemonSets {
    fn default() -> Self {
        Self {
            reporter: Reporter::controller("daemonset-controller"),
        }
    }
}

fn sets_of_pod(api: &Api, event: &Event) -> Vec<Item> {
    concerned(api, event, "apps", "DaemonSet", "daemonsets")
}

/// A node concerns all sets when something changes that decides whether Pods fit there, not with every heartbeat.
fn sets_of_node(api: &Api, event: &Event) -> Vec<Item> {
    if event.kind != EventKind::Deleted
        && let Some(previous) = &event.previous
        && previous.labels == event.object.labels
        && previous.value()["spec"] == event.object.value()["spec"]
    {
        return Vec::new();
    }
    let sets = ResourceKey::new(DAEMON_SETS.0, DAEMON_SETS.1);
    let listing = api.store.list(&sets, None, None, None, None);
    let stored = listing.map(|listing| listing.items).unwrap_or_default();
    stored.iter().map(|set| Item::of(set)).collect()
}

impl Controller for DaemonSets {
    const NAME: &'static str = "daemon-set-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new(DAEMON_SETS.0, DAEMON_SETS.1), itself),
            (ResourceKey::new(PODS.0, PODS.1), sets_of_pod),
            (ResourceKey::new(REVISIONS.0, REVISIONS.1), sets_of_pod),
            (ResourceKey::new(NODES.0, NODES.1), sets_of_node),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(set) = client.get(DAEMON_SETS, &item.namespace, &item.name)? else {
            return Ok(Next::Wait);
        };
        if set.is_being_deleted() {
            return Ok(Next::Wait);
        }
        let nodes = client.list(NODES, "")?;
        let collisions = set["status"]["collisionCount"].as_i64();
        let history = revisions::settle(client, &set, HASH, collisions).await?;
        let hash = history.present.label(HASH).unwrap_or_default().to_owned();
        let pods = claim(client, PODS, &set, |_| true).await?;
        let now = Timestamp::now();
        let plan = decide(&set, &nodes, &pods, &hash, now);
        self.reporter.tell(client, &set, &plan.notes);
        for pod in &plan.delete {
            pods::delete(client, self.reporter, &set, pod).await?;
        }
        let made = pods::create_all(client, self.reporter, &set, plan.create).await;
        let mut status = plan.status;
        if let Some(collisions) = history.collisions {
            map_of(&mut status).insert("collisionCount".into(), collisions.into());
        }
        if status != set["status"] {
            let mut changed = set.clone();
            map_of(&mut changed).insert("status".into(), status);
            client.update_status(DAEMON_SETS, changed).await?;
        }
        made?;
        let limit = set["spec"]["revisionHistoryLimit"].as_i64();
        revisions::truncate(client, &history, limit, |revision| {
            let hash = revision.label(HASH);
            pods.iter().any(|pod: &Value| pod.label(HASH) == hash)
        })
        .await?;
        let seconds = set["spec"]["minReadySeconds"].as_i64().unwrap_or(0);
        Ok(
            pods::next_available(&pods, seconds, now).map_or(Next::Wait, |delay| {
                Next::After(delay.max(Duration::from_millis(50)))
            }),
        )
    }
}
