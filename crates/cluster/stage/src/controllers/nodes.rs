//! Nodes that others made, and ours: what their conditions say becomes taints, and one that isn't heard of is unknown.
//!
//! - [`health`]: when a node counts as lost
//! - [`taints`]: which taints a node has because of how it is
//! - [`eviction`]: pods that don't tolerate what their node has become

pub mod eviction;
pub mod health;
pub mod taints;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::work::{Affected, Controller, Item, Next, itself};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::object::Object;
use crate::status::Status;
use crate::store::{Event, ResourceKey};

/// The resource of nodes.
pub const NODES: Named<'static> = ("", "nodes");

const LEASES: Named<'static> = ("coordination.k8s.io", "leases");

/// Where nodes keep their leases.
const LEASE_NAMESPACE: &str = "kube-node-lease";

/// Labels that have an old name beside the new one: new, old.
const OLD_LABELS: [(&str, &str); 2] = [
    ("kubernetes.io/os", "beta.kubernetes.io/os"),
    ("kubernetes.io/arch", "beta.kubernetes.io/arch"),
];

/// Watches over nodes.
#[derive(Debug, Default)]
pub struct Nodes {
    heard: Mutex<HashMap<String, health::Heard>>,
}

impl Controller for Nodes {
    const NAME: &'static str = "node-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new(NODES.0, NODES.1), itself),
            (ResourceKey::new(LEASES.0, LEASES.1), node_of_lease),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(node) = client.get(NODES, "", &item.name)? else {
            self.with_heard(|heard| heard.remove(&*item.name));
            return Ok(Next::Wait);
        };
        let lease = client.get(LEASES, LEASE_NAMESPACE, &item.name)?;
        let now = Timestamp::now();
        let left = self.with_heard(|heard| {
            let heard = heard.entry(item.name.to_string()).or_default();
            heard.listen(&node, lease.as_ref(), now)
        });
        let next = if left.is_zero() {
            if let Some(conditions) = health::lost(&node, now) {
                let mut wanted = node;
                wanted["status"]["conditions"] = conditions.into();
                client.update_status(NODES, wanted).await?;
                // The write is seen, and what follows from it is decided then.
                return Ok(Next::Wait);
            }
            Next::Wait
        } else {
            Next::After(left)
        };
        if let Some(patch) = adjustments(&node, now) {
            client.merge(NODES, "", &item.name, "", &patch).await?;
        }
        Ok(next)
    }
}

impl Nodes {
    fn with_heard<T>(&self, work: impl FnOnce(&mut HashMap<String, health::Heard>) -> T) -> T {
        work(&mut self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn node_of_lease(_: &Api, event: &Event) -> Vec<Item> {
    let key = &event.object.key;
    if &*key.namespace == LEASE_NAMESPACE {
        vec![Item::new("", &key.name)]
    } else {
        Vec::new()
    }
}

/// Returns the merge patch that gives a node the taints and labels it should have; `None` where it has them.
fn adjustments(node: &Value, now: Timestamp) -> Option<Value> {
    let mut patch = Map::new();
    if let Some(taints) = taints::decide(node, now) {
        patch.insert("spec".into(), json!({"taints": taints}));
    }
    let mut labels = Map::new();
    for (new, old) in OLD_LABELS {
        if let Some(value) = node.label(new)
            && node.label(old) != Some(value)
        {
            labels.insert(old.into(), value.into());
        }
    }
    let mut metadata = Map::new();
    if !labels.is_empty() {
        metadata.insert("labels".into(), labels.into());
    }
    if patch.is_empty() && metadata.is_empty() {
        return None;
    }
    // The list of taints is replaced as a whole, so it must be the one that was looked at.
    metadata.insert(
        "resourceVersion".into(),
        node.metadata_text("resourceVersion").into(),
    );
    patch.insert("metadata".into(), metadata.into());
    Some(patch.into())
}

/// Returns what is left of a time that began at a moment.
fn left_of(whole: Duration, since: Timestamp, now: Timestamp) -> Duration {
    whole.saturating_sub(Duration::try_from(now.duration_since(since)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_node_is_tainted_until_it_is_ready_and_when_it_is_cordoned() {
        let stage = crate::Stage::in_memory(crate::Options::default())
            .await
            .expect("a stage");
        let client = stage.client();
        let made = client
            .create(
                NODES,
                json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": "n", "labels": {"kubernetes.io/os": "linux"}}}),
            )
            .await
            .expect("a node");
        assert_eq!(
            made["spec"]["taints"],
            json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])
        );
        let until = async |keys: &[&str]| {
            loop {
                let node = client.get(NODES, "", "n").expect("a store").expect("a node");
                let there: Vec<String> = node["spec"]["taints"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|taint| {
                        format!(
                            "{}:{}",
                            taint["key"].as_str().unwrap_or_default(),
                            taint["effect"].as_str().unwrap_or_default()
                        )
                    })
                    .collect();
                if there == keys {
                    return node;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let ready = |status: &str| {
            json!({"status": {"conditions": [
            {"type": "Ready", "status": status, "reason": "r", "message": "m"}]}})
        };
        client
            .merge(NODES, "", "n", "status", &ready("True"))
            .await
            .expect("ready");
        let node = until(&[]).await;
        assert_eq!(node.label("beta.kubernetes.io/os"), Some("linux"));
        client
            .merge(NODES, "", "n", "", &json!({"spec": {"unschedulable": true}}))
            .await
            .expect("cordoned");
        until(&["node.kubernetes.io/unschedulable:NoSchedule"]).await;
        client
            .merge(NODES, "", "n", "status", &ready("False"))
            .await
            .expect("not ready");
        until(&[
            "node.kubernetes.io/unschedulable:NoSchedule",
            "node.kubernetes.io/not-ready:NoSchedule",
            "node.kubernetes.io/not-ready:NoExecute",
        ])
        .await;
    }
}
