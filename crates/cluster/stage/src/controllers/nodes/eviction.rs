//! Pods that don't tolerate what their node has become: they are deleted, at once or when their patience is over.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::work::{Affected, Controller, Item, Next, itself};
use super::{NODES, left_of};
use crate::client::Client;
use crate::controllers::conditions::{self, Condition};
use crate::controllers::pods::PODS;
use crate::node::fit::tolerations;
use crate::object::Object;
use crate::options::DeleteOptions;
use crate::status::Status;
use crate::store::ResourceKey;

/// Deletes pods that don't tolerate the `NoExecute` taints of their nodes.
#[derive(Debug, Default)]
pub struct TaintEviction {
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// The taints of nodes that have some, by the node's name: pods of all others need no look.
    taints: HashMap<String, Vec<Value>>,
    /// On which node and since when pods bear what they tolerate for a time, by uid.
    bearing: HashMap<String, (String, Timestamp)>,
}

impl Controller for TaintEviction {
    const NAME: &'static str = "node-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new(NODES.0, NODES.1), itself),
            (ResourceKey::new(PODS.0, PODS.1), itself),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        // Only nodes have no namespace.
        if item.namespace.is_empty() {
            return self.look_at_node(client, &item.name).await;
        }
        if self.with_memory(|memory| memory.taints.is_empty()) {
            return Ok(Next::Wait);
        }
        let Some(pod) = client.get(PODS, &item.namespace, &item.name)? else {
            return Ok(Next::Wait);
        };
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        let Some(taints) = self.with_memory(|memory| memory.taints.get(node).cloned()) else {
            return Ok(Next::Wait);
        };
        let left = self.look_at_pod(client, pod, &taints).await?;
        Ok(left.map_or(Next::Wait, Next::After))
    }
}

impl TaintEviction {
    fn with_memory<T>(&self, work: impl FnOnce(&mut Memory) -> T) -> T {
        work(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn look_at_node(&self, client: &Client, name: &str) -> Result<Next, Status> {
        let node = client.get(NODES, "", name)?.unwrap_or_default();
        let taints: Vec<Value> = node["spec"]["taints"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|taint| taint["effect"] == "NoExecute")
            .cloned()
            .collect();
        self.with_memory(|memory| {
            if taints.is_empty() {
                memory.taints.remove(name);
                memory.bearing.retain(|_, (node, _)| node != name);
            } else {
                memory.taints.insert(name.to_owned(), taints.clone());
            }
        });
        if taints.is_empty() {
            return Ok(Next::Wait);
        }
        let mut soonest: Option<Duration> = None;
        for pod in client.list(PODS, "")? {
            if pod["spec"]["nodeName"] == name
                && let Some(left) = self.look_at_pod(client, pod, &taints).await?
            {
                soonest = Some(soonest.map_or(left, |soonest| soonest.min(left)));
            }
        }
        Ok(soonest.map_or(Next::Wait, Next::After))
    }

    /// Deletes a pod, or returns how long it still bears its node.
    async fn look_at_pod(
        &self,
        client: &Client,
        pod: Value,
        taints: &[Value],
    ) -> Result<Option<Duration>, Status> {
        if pod.is_being_deleted() {
            return Ok(None);
        }
        let Some(patience) = patience(&pod, taints) else {
            return Ok(None);
        };
        let now = Timestamp::now();
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        let since = self.with_memory(|memory| {
            let known = memory.bearing.entry(pod.uid().to_owned());
            known.or_insert_with(|| (node.to_owned(), now)).1
        });
        let left = left_of(patience, since, now);
        if !left.is_zero() {
            return Ok(Some(left));
        }
        self.with_memory(|memory| memory.bearing.remove(pod.uid()));
        evict(client, pod).await?;
        Ok(None)
    }
}

/// Returns how long a pod bears taints; `None` for ever.
fn patience(pod: &Value, taints: &[Value]) -> Option<Duration> {
    let mut shortest: Option<Duration> = None;
    for taint in taints {
        let mut used = tolerations(pod, taint).peekable();
        if used.peek().is_none() {
            return Some(Duration::ZERO);
        }
        // Of those that tolerate the same taint, the shortest counts, as upstream has it.
        for seconds in used.filter_map(|toleration| toleration["tolerationSeconds"].as_i64()) {
            let time = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
            shortest = Some(shortest.map_or(time, |shortest| shortest.min(time)));
        }
    }
    shortest
}

async fn evict(client: &Client, mut pod: Value) -> Result<(), Status> {
    let (namespace, name, uid) = (
        pod.namespace().to_owned(),
        pod.name().to_owned(),
        pod.uid().to_owned(),
    );
    let condition = Condition::new(
        "DisruptionTarget",
        "True",
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    );
    conditions::set(&mut pod["status"], &condition, Timestamp::now());
    let patch = json!({"metadata": {"uid": uid}, "status": {"conditions": pod["status"]["conditions"]}});
    client.merge(PODS, &namespace, &name, "status", &patch).await?;
    let options = DeleteOptions {
        uid: Some(uid),
        ..DeleteOptions::default()
    };
    client.delete(PODS, &namespace, &name, &options).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_bears_what_it_tolerates_for_as_long_as_it_says() {
        let taint = |key: &str| json!({"key": key, "effect": "NoExecute"});
        let pod = |tolerations: Value| json!({"spec": {"tolerations": tolerations}});
        let both = [taint("a"), taint("b")];
        for (tolerations, taints, expected) in [
            (json!([]), &both[..1], Some(0)),
            (json!([{"key": "a", "operator": "Exists"}]), &both[..1], None),
            (json!([{"key": "a", "operator": "Exists"}]), &both[..], Some(0)),
            (
                json!([{"operator": "Exists", "tolerationSeconds": 7}]),
                &both[..],
                Some(7),
            ),
            (
                json!([{"operator": "Exists", "tolerationSeconds": -1}]),
                &both[..],
                Some(0),
            ),
            (
                json!([{"key": "a", "operator": "Exists", "tolerationSeconds": 9}, {"key": "b", "operator": "Exists"}]),
                &both[..],
                Some(9),
            ),
        ] {
            let pod = pod(tolerations);
            assert_eq!(
                patience(&pod, taints).map(|time| time.as_secs()),
                expected,
                "{pod}"
            );
        }
    }

    #[tokio::test]
    async fn a_pod_goes_when_its_node_is_tainted_and_one_that_tolerates_it_stays() {
        let stage = crate::Stage::in_memory(crate::Options::default())
            .await
            .expect("a stage");
        let client = stage.client();
        for (name, tolerations) in [
            ("goes", json!([])),
            ("stays", json!([{"key": "k", "operator": "Exists"}])),
        ] {
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
                "spec": {"tolerations": tolerations, "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "c", "image": "i"}]}});
            let created = async || client.create(PODS, pod.clone()).await;
            // The ServiceAccount of the namespace comes a moment after the namespace.
            while created().await.is_err() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            while client
                .get(PODS, "default", name)
                .expect("a store")
                .expect("a pod")["spec"]["nodeName"]
                .is_null()
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        let taints = json!({"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}});
        client
            .merge(NODES, "", "baton", "", &taints)
            .await
            .expect("tainted");
        while client.get(PODS, "default", "goes").expect("a store").is_some() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(client.get(PODS, "default", "stays").expect("a store").is_some());
    }
}
