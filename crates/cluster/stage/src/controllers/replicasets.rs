//! ReplicaSets and ReplicationControllers: a number of Pods from one template.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{self, Condition, set_count};
use super::ownership::{claim, concerned, selector_of};
use super::pods::{self, PODS};
use super::work::{Affected, Controller, Item, Next, itself};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::events::Reporter;
use crate::object::{Object, map_of};
use crate::selectors::LabelSelector;
use crate::status::Status;
use crate::store::{Event, ResourceKey};

/// The resource of ReplicaSets.
pub const REPLICA_SETS: Named<'static> = ("apps", "replicasets");

const REPLICATION_CONTROLLERS: Named<'static> = ("", "replicationcontrollers");

/// How many Pods are made or removed in one go, so that others get their turn.
const BURST: usize = 500;

/// Keeps the number of Pods of ReplicaSets.
#[derive(Debug)]
pub struct ReplicaSets {
    reporter: Reporter,
}

/// Keeps the number of Pods of ReplicationControllers.
#[derive(Debug)]
pub struct ReplicationControllers {
    reporter: Reporter,
}

impl Default for ReplicaSets {
    fn default() -> Self {
        Self {
            reporter: Reporter::controller("replicaset-controller"),
        }
    }
}

impl Default for ReplicationControllers {
    fn default() -> Self {
        Self {
            reporter: Reporter::controller("replication-controller"),
        }
    }
}

fn sets_of_pod(api: &Api, event: &Event) -> Vec<Item> {
    concerned(api, event, "apps", "ReplicaSet", "replicasets")
}

fn controllers_of_pod(api: &Api, event: &Event) -> Vec<Item> {
    concerned(api, event, "", "ReplicationController", "replicationcontrollers")
}

fn watched(resource: Named<'_>, of_pod: Affected) -> Vec<(ResourceKey, Affected)> {
    vec![
        (ResourceKey::new(resource.0, resource.1), itself),
        (ResourceKey::new(PODS.0, PODS.1), of_pod),
    ]
}

impl Controller for ReplicaSets {
    const NAME: &'static str = "replicaset-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        watched(REPLICA_SETS, sets_of_pod)
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        keep(client, self.reporter, REPLICA_SETS, item).await
    }
}

impl Controller for ReplicationControllers {
    const NAME: &'static str = "replication-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        watched(REPLICATION_CONTROLLERS, controllers_of_pod)
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        keep(client, self.reporter, REPLICATION_CONTROLLERS, item).await
    }
}

/// What has to be done to the Pods of a set.
#[derive(Debug, Default, PartialEq)]
struct Plan {
    create: usize,
    delete: Vec<Value>,
}

async fn keep(client: &Client, reporter: Reporter, resource: Named<'_>, item: &Item) -> Result<Next, Status> {
    let Some(set) = client.get(resource, &item.namespace, &item.name)? else {
        return Ok(Next::Wait);
    };
    let all = claim(client, PODS, &set, pods::is_active).await?;
    let now = Timestamp::now();
    let terminating = all.iter().filter(|pod| pods::is_terminating(pod)).count();
    let active: Vec<Value> = all.into_iter().filter(pods::is_active).collect();
    let mut failure = None;
    if !set.is_being_deleted() {
        let plan = decide(&set, &active, |active| related(client, &set, active), now);
        failure = act(client, reporter, &set, plan).await.err();
    }
    let wanted = status(&set, &active, terminating, failure.as_ref(), now);
    if wanted != set["status"] {
        let mut changed = set.clone();
        map_of(&mut changed).insert("status".into(), wanted.clone());
        client.update_status(resource, changed).await?;
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    if wanted["readyReplicas"] != wanted["availableReplicas"] {
        let seconds = set["spec"]["minReadySeconds"].as_i64().unwrap_or(0);
        let delay = pods::next_available(&active, seconds, now);
        return Ok(Next::After(delay.unwrap_or(Duration::from_secs(1))));
    }
    Ok(Next::Wait)
}

/// Counts the active Pods on each node that belong to the same owner as the set does: the siblings of its Pods.
fn related(client: &Client, set: &Value, active: &[Value]) -> HashMap<String, usize> {
    let mut selectors = vec![selector_of(set)];
    if let Some(owner) = set.controller().and_then(|owner| owner["uid"].as_str()) {
        let siblings = client.api().store.owned_by(owner);
        selectors.extend(
            siblings
                .iter()
                .map(|sibling| sibling.value())
                .filter(|sibling| sibling["kind"] == set["kind"] && sibling.uid() != set.uid())
                .map(|sibling| selector_of(&sibling)),
        );
    }
    let mut nodes: HashMap<String, usize> = HashMap::new();
    let mut count = |pod: &Value| {
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        *nodes.entry(node.to_owned()).or_default() += 1;
    };
    if selectors.len() == 1 {
        active.iter().for_each(&mut count);
        return nodes;
    }
    for stored in client.list_stored(PODS, set.namespace()).unwrap_or_default() {
        if selectors.iter().any(|selector| selector.matches(&stored.labels)) {
            let pod = stored.value();
            if pods::is_active(&pod) {
                count(&pod);
            }
        }
    }
    nodes
}

fn decide(
    set: &Value,
    active: &[Value],
    related: impl FnOnce(&[Value]) -> HashMap<String, usize>,
    now: Timestamp,
) -> Plan {
    let wanted = usize::try_from(set["spec"]["replicas"].as_i64().unwrap_or(1)).unwrap_or(0);
    if active.len() < wanted {
        return Plan {
            create: (wanted - active.len()).min(BURST),
            delete: Vec::new(),
        };
    }
    let surplus = (active.len() - wanted).min(BURST);
    if surplus == 0 {
        return Plan::default();
    }
    let nodes = related(active);
    let neighbours = |pod: &Value| {
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        nodes.get(node).copied().unwrap_or(0)
    };
    let mut delete = pods::by_removal(active.to_vec(), &neighbours, now);
    delete.truncate(surplus);
    Plan { create: 0, delete }
}

async fn act(client: &Client, reporter: Reporter, set: &Value, plan: Plan) -> Result<(), Status> {
    if plan.create > 0 {
        let pod = pods::from_template(&set["spec"]["template"], set);
        let all = vec![pod; plan.create];
        pods::create_all(client, reporter, set, all).await?;
    }
    for pod in &plan.delete {
        pods::delete(client, reporter, set, pod).await?;
    }
    Ok(())
}

fn status(
    set: &Value,
    active: &[Value],
    terminating: usize,
    failure: Option<&Status>,
    now: Timestamp,
) -> Value {
    let mut status = if set["status"].is_object() {
        set["status"].clone()
    } else {
        json!({})
    };
    let labels = set["spec"]["template"]["metadata"]["labels"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let labelled = LabelSelector::from_map(&labels);
    let seconds = set["spec"]["minReadySeconds"].as_i64().unwrap_or(0);
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let counted = |test: &dyn Fn(&Value) -> bool| number(active.iter().filter(|pod| test(pod)).count());
    let wanted = set["spec"]["replicas"].as_i64().unwrap_or(1);
    let had_failed = conditions::find(&status, "ReplicaFailure").is_some();
    match failure {
        Some(failure) if !had_failed => {
            let reason = if number(active.len()) < wanted {
                "FailedCreate"
            } else {
                "FailedDelete"
            };
            let condition = Condition::new("ReplicaFailure", "True", reason, failure.to_string());
            conditions::set(&mut status, &condition, now);
        }
        None if had_failed => conditions::remove(&mut status, "ReplicaFailure"),
        _ => {}
    }
    let has_terminating = set["kind"] == "ReplicaSet";
    let map = map_of(&mut status);
    map.insert("replicas".into(), active.len().into());
    set_count(
        map,
        "fullyLabeledReplicas",
        counted(&|pod| labelled.matches_object(pod)),
    );
    set_count(map, "readyReplicas", counted(&pods::is_ready));
    set_count(
        map,
        "availableReplicas",
        counted(&|pod| pods::is_available(pod, seconds, now)),
    );
    if has_terminating {
        map.insert("terminatingReplicas".into(), terminating.into());
    }
    map.insert("observedGeneration".into(), set.generation().into());
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(replicas: i64) -> Value {
        json!({"kind": "ReplicaSet", "metadata": {"name": "a", "generation": 3},
            "spec": {"replicas": replicas, "template": {"metadata": {"labels": {"a": "b"}}}}})
    }

    fn pod(name: &str, ready: bool) -> Value {
        let ready = if ready { "True" } else { "False" };
        json!({"metadata": {"name": name, "uid": name, "labels": {"a": "b"}}, "spec": {"nodeName": "n"},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}})
    }

    #[test]
    fn the_number_of_pods_is_kept() {
        let now = Timestamp::UNIX_EPOCH;
        let none = |_: &[Value]| HashMap::new();
        assert_eq!(decide(&set(2), &[], none, now).create, 2);
        assert_eq!(decide(&set(0), &[], none, now), Plan::default());
        assert_eq!(decide(&set(2000), &[], none, now).create, BURST);
        let active = [pod("a", true), pod("b", false), pod("c", true)];
        let plan = decide(&set(2), &active, none, now);
        assert_eq!(plan.delete, vec![pod("b", false)]);
        assert_eq!(decide(&set(3), &active, none, now), Plan::default());
    }

    #[test]
    fn a_failure_is_a_condition_until_it_is_over() {
        let now = Timestamp::UNIX_EPOCH;
        let failure = Status::bad_request("no");
        let failed = status(&set(1), &[], 0, Some(&failure), now);
        assert_eq!(failed["conditions"][0]["reason"], "FailedCreate");
        assert_eq!(failed["conditions"][0]["message"], "no");
        let mut again = set(1);
        again["status"] = failed;
        let fine = status(&again, &[pod("a", true)], 0, None, now);
        assert_eq!(
            fine,
            json!({"replicas": 1, "fullyLabeledReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
                "terminatingReplicas": 0, "observedGeneration": 3})
        );
    }
}
