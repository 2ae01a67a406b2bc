//! What the status of a Deployment says about its rollout.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::sets::{counted, max_unavailable, progress_deadline, replicas};
use crate::controllers::conditions::{self, Condition, set_count};
use crate::controllers::work::Next;
use crate::object::{Object, map_of};

const PROGRESSING: &str = "Progressing";
const PROGRESS_TIMED_OUT: &str = "ProgressDeadlineExceeded";
const NEW_SET_AVAILABLE: &str = "NewReplicaSetAvailable";

/// Returns the status that the ReplicaSets come to, with the conditions as they were but for `Available`.
pub(super) fn status_of(
    deployment: &Value,
    sets: &[&Value],
    newest: Option<&Value>,
    now: Timestamp,
) -> Value {
    let sum = |name: &str| -> i64 { sets.iter().map(|set| counted(&set["status"], name)).sum() };
    let available = sum("availableReplicas");
    let wanted: i64 = sets.iter().map(|set| replicas(set)).sum();
    let mut map = Map::new();
    map.insert("observedGeneration".into(), deployment.generation().into());
    set_count(&mut map, "replicas", sum("replicas"));
    let updated = newest.map_or(0, |set| counted(&set["status"], "replicas"));
    set_count(&mut map, "updatedReplicas", updated);
    set_count(&mut map, "readyReplicas", sum("readyReplicas"));
    set_count(&mut map, "availableReplicas", available);
    set_count(&mut map, "unavailableReplicas", (wanted - available).max(0));
    let before = &deployment["status"];
    for name in ["collisionCount", "conditions"] {
        if let Some(value) = before.get(name).filter(|value| !value.is_null()) {
            map.insert(name.into(), value.clone());
        }
    }
    let terminating: Option<i64> = sets
        .iter()
        .map(|set| set["status"]["terminatingReplicas"].as_i64())
        .sum();
    if let Some(terminating) = terminating {
        map.insert("terminatingReplicas".into(), terminating.into());
    }
    let mut status = Value::Object(map);
    let condition = if available >= replicas(deployment) - max_unavailable(deployment) {
        Condition::new(
            "Available",
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )
    } else {
        Condition::new(
            "Available",
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    };
    conditions::set_with_update_time(&mut status, &condition, now);
    status
}

/// Adds to a status how the rollout goes on.
pub(super) fn note_progress(
    deployment: &Value,
    status: &mut Value,
    sets: &[&Value],
    newest: Option<&Value>,
    now: Timestamp,
) {
    let has_deadline = progress_deadline(deployment).is_some();
    if !has_deadline {
        conditions::remove(status, PROGRESSING);
    }
    let current = conditions::find(&deployment["status"], PROGRESSING).cloned();
    let was_done = counted(status, "replicas") == counted(status, "updatedReplicas")
        && current
            .as_ref()
            .is_some_and(|one| one["reason"] == NEW_SET_AVAILABLE);
    if has_deadline && !was_done {
        let subject = newest.map_or_else(
            || format!("Deployment \"{}\"", deployment.name()),
            |set| format!("ReplicaSet \"{}\"", set.name()),
        );
        if is_complete(deployment, status) {
            let text = format!("{subject} has successfully progressed.");
            let condition = Condition::new(PROGRESSING, "True", NEW_SET_AVAILABLE, text);
            conditions::set_with_update_time(status, &condition, now);
        } else if has_progressed(&deployment["status"], status) {
            let text = format!("{subject} is progressing.");
            let condition = Condition::new(PROGRESSING, "True", "ReplicaSetUpdated", text);
            conditions::remove(status, PROGRESSING);
            conditions::set_with_update_time(status, &condition, now);
            if let Some(current) = current.filter(|one| one["status"] == "True") {
                keep_transition_time(status, &current);
            }
        } else if has_timed_out(deployment, now) {
            let text = format!("{subject} has timed out progressing.");
            let condition = Condition::new(PROGRESSING, "False", PROGRESS_TIMED_OUT, text);
            conditions::set_with_update_time(status, &condition, now);
        }
    }
    match replica_failure(sets, newest) {
        Some(failure) => {
            let same = conditions::find(status, "ReplicaFailure")
                .is_some_and(|one| one["status"] == failure["status"] && one["reason"] == failure["reason"]);
            if !same {
                conditions::put(status, failure);
            }
        }
        None => conditions::remove(status, "ReplicaFailure"),
    }
}

fn keep_transition_time(status: &mut Value, current: &Value) {
    if let Some(Value::Array(all)) = map_of(status).get_mut("conditions") {
        for one in all.iter_mut().filter(|one| one["type"] == PROGRESSING) {
            map_of(one).insert("lastTransitionTime".into(), current["lastTransitionTime"].clone());
        }
    }
}

/// Returns whether all Pods are of the present template and available.
pub(super) fn is_complete(deployment: &Value, status: &Value) -> bool {
    let wanted = replicas(deployment);
    ["updatedReplicas", "replicas", "availableReplicas"]
        .iter()
        .all(|name| counted(status, name) == wanted)
        && counted(status, "observedGeneration") >= deployment.generation()
}

fn has_progressed(before: &Value, after: &Value) -> bool {
    let old_pods = |status: &Value| counted(status, "replicas") - counted(status, "updatedReplicas");
    let grew = |name: &str| counted(after, name) > counted(before, name);
    grew("updatedReplicas")
        || old_pods(after) < old_pods(before)
        || grew("readyReplicas")
        || grew("availableReplicas")
}

/// Returns when a rollout that makes no progress has failed.
fn deadline(deployment: &Value) -> Option<Timestamp> {
    let condition = conditions::find(&deployment["status"], PROGRESSING)?;
    let since: Timestamp = condition["lastUpdateTime"].as_str()?.parse().ok()?;
    since
        .checked_add(SignedDuration::from_secs(progress_deadline(deployment)?))
        .ok()
}

fn has_timed_out(deployment: &Value, now: Timestamp) -> bool {
    let reason = conditions::find(&deployment["status"], PROGRESSING).map(|one| &one["reason"]);
    match reason.and_then(Value::as_str) {
        None | Some(NEW_SET_AVAILABLE) => false,
        Some(PROGRESS_TIMED_OUT) => true,
        Some(_) => deadline(deployment).is_some_and(|at| at < now),
    }
}

/// Returns when to look again at a rollout which may stop to make progress.
pub(super) fn next_look(deployment: &Value, now: Timestamp) -> Next {
    let reason = conditions::find(&deployment["status"], PROGRESSING).map(|one| one["reason"].clone());
    if is_complete(deployment, &deployment["status"]) || reason.is_some_and(|one| one == PROGRESS_TIMED_OUT) {
        return Next::Wait;
    }
    deadline(deployment).map_or(Next::Wait, |at| {
        let left = Duration::try_from(at.duration_since(now)).unwrap_or_default();
        Next::After(left + Duration::from_secs(1))
    })
}

fn replica_failure(sets: &[&Value], newest: Option<&Value>) -> Option<Value> {
    let failed = |set: &Value| conditions::find(&set["status"], "ReplicaFailure").cloned();
    let mut failure = newest
        .and_then(failed)
        .or_else(|| sets.iter().find_map(|set| failed(set)))?;
    let at = failure["lastTransitionTime"].clone();
    map_of(&mut failure).insert("lastUpdateTime".into(), at);
    Some(failure)
}
