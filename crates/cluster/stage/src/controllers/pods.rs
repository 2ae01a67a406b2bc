//! What controllers know about Pods: whether they live, are ready, which to remove first, and how a template becomes one.

use std::cmp::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::ownership::controller_reference;
use crate::client::{Client, Named};
use crate::events::{EventType, Reporter};
use crate::object::Object;
use crate::options::DeleteOptions;
use crate::status::Status;

/// The resource of Pods.
pub const PODS: Named<'static> = ("", "pods");

/// The annotation that says how dear the deletion of a Pod is, compared with others of the same set.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// How many Pods are made before the first that fails stops the others; each batch that succeeds doubles it.
const FIRST_BATCH: usize = 1;

/// The longest that the name of what a Pod belongs to may be, for its `generateName` to end in a dash.
const LONGEST_PREFIX: usize = 253;

/// Returns the phase of a Pod.
pub fn phase(pod: &Value) -> &str {
    pod["status"]["phase"].as_str().unwrap_or_default()
}

/// Returns whether a Pod has ended, well or badly.
pub fn has_ended(pod: &Value) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Returns whether a Pod counts: it hasn't ended and isn't about to.
pub fn is_active(pod: &Value) -> bool {
    !has_ended(pod) && !pod.is_being_deleted()
}

/// Returns whether a Pod is on its way out.
pub fn is_terminating(pod: &Value) -> bool {
    !has_ended(pod) && pod.is_being_deleted()
}

/// Returns a condition of a Pod.
pub fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a Value> {
    super::conditions::find(&pod["status"], kind)
}

/// Returns whether a Pod is ready.
pub fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready").is_some_and(|one| one["status"] == "True")
}

/// Returns since when a Pod is ready.
fn ready_since(pod: &Value) -> Option<Timestamp> {
    condition(pod, "Ready")
        .filter(|one| one["status"] == "True")
        .and_then(|one| one["lastTransitionTime"].as_str()?.parse().ok())
}

/// Returns whether a Pod has been ready for so many seconds.
pub fn is_available(pod: &Value, seconds: i64, now: Timestamp) -> bool {
    if !is_ready(pod) {
        return false;
    }
    seconds <= 0 || until_available(pod, seconds, now).is_some_and(|left| left.is_zero())
}

/// Returns how long it is until a ready Pod has been so for so many seconds; `None` for one that isn't ready.
pub fn until_available(pod: &Value, seconds: i64, now: Timestamp) -> Option<Duration> {
    let ready = ready_since(pod)?;
    let at = ready.checked_add(jiff::SignedDuration::from_secs(seconds)).ok()?;
    Some(Duration::try_from(at.duration_since(now)).unwrap_or_default())
}

/// Returns how long it is until the next of the Pods becomes available.
pub fn next_available(pods: &[Value], seconds: i64, now: Timestamp) -> Option<Duration> {
    if seconds <= 0 {
        return None;
    }
    pods.iter()
        .filter_map(|pod| until_available(pod, seconds, now))
        .filter(|left| !left.is_zero())
        .min()
}

/// Returns when an object was made.
pub fn created(object: &Value) -> Option<Timestamp> {
    object.metadata_text("creationTimestamp").parse().ok()
}

/// Returns the Pods with those that should be removed first in front.
///
/// `neighbours` says how many Pods of the same kin run on the node of a Pod.
pub fn by_removal(mut pods: Vec<Value>, neighbours: &dyn Fn(&Value) -> usize, now: Timestamp) -> Vec<Value> {
    pods.sort_by(|one, other| removal_order(one, other, neighbours, now));
    pods
}

fn removal_order(
    one: &Value,
    other: &Value,
    neighbours: &dyn Fn(&Value) -> usize,
    now: Timestamp,
) -> Ordering {
    let bound = |pod: &Value| !pod["spec"]["nodeName"].as_str().unwrap_or_default().is_empty();
    let phase_rank = |pod: &Value| match phase(pod) {
        "Unknown" => 1,
        "Running" => 2,
        _ => 0,
    };
    let cost = |pod: &Value| -> i64 {
        pod.annotation(DELETION_COST)
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    };
    bound(one)
        .cmp(&bound(other))
        .then_with(|| phase_rank(one).cmp(&phase_rank(other)))
        .then_with(|| is_ready(one).cmp(&is_ready(other)))
        .then_with(|| cost(one).cmp(&cost(other)))
        .then_with(|| neighbours(other).cmp(&neighbours(one)))
        .then_with(|| {
            if is_ready(one) && is_ready(other) {
                by_age(one, other, ready_since(one), ready_since(other), now)
            } else {
                Ordering::Equal
            }
        })
        .then_with(|| most_restarts(other).cmp(&most_restarts(one)))
        .then_with(|| by_age(one, other, created(one), created(other), now))
        .then_with(|| one.uid().cmp(other.uid()))
}

/// Puts the younger first, where ages are compared by their order of magnitude, so that it isn't always the same node's
/// Pods that go.
fn by_age(
    one: &Value,
    other: &Value,
    since: Option<Timestamp>,
    other_since: Option<Timestamp>,
    now: Timestamp,
) -> Ordering {
    match (since, other_since) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (Some(since), Some(other_since)) if since == other_since => Ordering::Equal,
        (Some(since), Some(other_since)) => magnitude(now, since)
            .cmp(&magnitude(now, other_since))
            .then_with(|| one.uid().cmp(other.uid())),
    }
}

fn magnitude(now: Timestamp, since: Timestamp) -> i64 {
    u128::try_from(now.duration_since(since).as_nanos())
        .ok()
        .and_then(u128::checked_ilog2)
        .map_or(-1, i64::from)
}

fn most_restarts(pod: &Value) -> i64 {
    let statuses = pod["status"]["containerStatuses"].as_array();
    statuses
        .into_iter()
        .flatten()
        .filter_map(|one| one["restartCount"].as_i64())
        .max()
        .unwrap_or(0)
}

/// Returns the Pod that a template makes for its owner, whose name begins with the owner's.
pub fn from_template(template: &Value, owner: &Value) -> Value {
    let mut metadata = Map::new();
    for name in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template["metadata"].get(name).filter(|value| !value.is_null()) {
            metadata.insert(name.to_owned(), value.clone());
        }
    }
    let mut prefix = format!("{}-", owner.name());
    if prefix.len() > LONGEST_PREFIX {
        prefix.pop();
    }
    metadata.insert("generateName".into(), prefix.into());
    metadata.insert("namespace".into(), owner.namespace().into());
    metadata.insert("ownerReferences".into(), json!([controller_reference(owner)]));
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
}

/// Makes a Pod for its owner and says so in an event.
pub async fn create(client: &Client, reporter: Reporter, owner: &Value, pod: Value) -> Result<Value, Status> {
    match client.create(PODS, pod).await {
        Ok(made) => {
            let text = format!("Created pod: {}", made.name());
            reporter.note(client, owner, EventType::Normal, "SuccessfulCreate", &text);
            Ok(made)
        }
        Err(status) => {
            if !is_namespace_ending(&status) {
                let text = format!("Error creating: {status}");
                reporter.note(client, owner, EventType::Warning, "FailedCreate", &text);
            }
            Err(status)
        }
    }
}

/// Makes several Pods: a few at first, and more with every batch that succeeds.
pub async fn create_all(
    client: &Client,
    reporter: Reporter,
    owner: &Value,
    pods: Vec<Value>,
) -> Result<(), Status> {
    let mut left = pods;
    let mut batch = FIRST_BATCH;
    while !left.is_empty() {
        let rest = left.split_off(batch.min(left.len()));
        let results =
            futures_util::future::join_all(left.into_iter().map(|pod| create(client, reporter, owner, pod)))
                .await;
        for result in results {
            match result {
                // Nothing can be made there any more, which is no failure of the workload.
                Err(status) if is_namespace_ending(&status) => {}
                other => {
                    other?;
                }
            }
        }
        left = rest;
        batch = batch.saturating_mul(2);
    }
    Ok(())
}

/// Deletes a Pod of its owner and says so in an event.
pub async fn delete(client: &Client, reporter: Reporter, owner: &Value, pod: &Value) -> Result<(), Status> {
    let options = DeleteOptions {
        uid: Some(pod.uid().to_owned()),
        ..DeleteOptions::default()
    };
    match client.delete(PODS, pod.namespace(), pod.name(), &options).await {
        Ok(false) => Ok(()),
        Ok(true) => {
            let text = format!("Deleted pod: {}", pod.name());
            reporter.note(client, owner, EventType::Normal, "SuccessfulDelete", &text);
            Ok(())
        }
        // Another Pod has the name by now: this one is gone.
        Err(status) if status.code == http::StatusCode::CONFLICT => Ok(()),
        Err(status) => {
            let text = format!("Error deleting: {status}");
            reporter.note(client, owner, EventType::Warning, "FailedDelete", &text);
            Err(status)
        }
    }
}

/// Returns whether a refusal is about a namespace that is going away.
pub fn is_namespace_ending(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| {
        details
            .causes
            .iter()
            .any(|cause| cause.reason == "NamespaceTerminating")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, extra: Value) -> Value {
        let mut pod = json!({
            "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"nodeName": "n"},
            "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:10Z"}]},
        });
        json_merge(&mut pod, extra);
        pod
    }

    fn json_merge(into: &mut Value, from: Value) {
        match (into, from) {
            (Value::Object(into), Value::Object(from)) => {
                for (name, value) in from {
                    json_merge(into.entry(name).or_insert(Value::Null), value);
                }
            }
            (into, from) => *into = from,
        }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn the_least_useful_pods_are_removed_first() {
        let now = at("2026-01-02T00:00:00Z");
        let pods = vec![
            pod("old", json!({})),
            pod(
                "young",
                json!({"status": {"conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T23:59:00Z"}]}}),
            ),
            pod("unready", json!({"status": {"conditions": []}})),
            pod(
                "pending",
                json!({"status": {"phase": "Pending", "conditions": []}}),
            ),
            pod(
                "unbound",
                json!({"spec": {"nodeName": null}, "status": {"phase": "Pending", "conditions": []}}),
            ),
            pod(
                "cheap",
                json!({"metadata": {"annotations": {DELETION_COST: "-5"}}}),
            ),
        ];
        let names: Vec<String> = by_removal(pods, &|_| 0, now)
            .iter()
            .map(|pod| pod.name().to_owned())
            .collect();
        assert_eq!(names, ["unbound", "pending", "unready", "cheap", "young", "old"]);
    }

    #[test]
    fn a_pod_is_available_when_it_was_ready_long_enough() {
        let one = pod("a", json!({}));
        assert!(is_available(&one, 0, at("2026-01-01T00:00:10Z")));
        assert!(!is_available(&one, 5, at("2026-01-01T00:00:14Z")));
        assert!(is_available(&one, 5, at("2026-01-01T00:00:15Z")));
        assert_eq!(
            next_available(&[one], 5, at("2026-01-01T00:00:12Z")),
            Some(Duration::from_secs(3))
        );
    }
}
