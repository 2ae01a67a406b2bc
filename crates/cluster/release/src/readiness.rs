//! Readiness: what an object of a release still waits for.
//!
//! Rollouts and definitions are judged by the probes that every revision of an extension has; what these don't know is
//! judged as Helm does when it waits.

use std::sync::LazyLock;

use apply::object::{ObjectId, generation, is_terminating, text};
use apply::probes::{ProbeResult, ProbeStatus, Probes, default_probes};
use serde_json::Value;

/// How an object stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It does what it is there for.
    Ready,
    /// It doesn't yet; with what it waits for.
    Waiting(String),
    /// It won't by itself; with the cause.
    Failed(String),
}

/// The probes; they are our own, so they can be read.
static PROBES: LazyLock<Probes> = LazyLock::new(|| Probes::read(&default_probes()).unwrap_or_default());

/// The kinds, by group, that take time to become ready.
const SLOW: &[(&str, &str)] = &[
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    ("apps", "ReplicaSet"),
    ("", "ReplicationController"),
    ("", "Pod"),
    ("", "PersistentVolumeClaim"),
    ("", "Service"),
    ("", "Namespace"),
    ("batch", "Job"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("cert-manager.io", "Certificate"),
    ("cert-manager.io", "Issuer"),
];

/// Returns whether objects of a kind take time to become ready; all others are ready once they exist.
pub fn matters(id: &ObjectId) -> bool {
    SLOW.contains(&(id.group(), id.kind.as_str()))
}

/// Judges an object as the server has it.
pub fn of(object: &Value) -> Readiness {
    let id = ObjectId::of(object);
    if is_terminating(object) {
        return Readiness::Waiting("it is being deleted".to_owned());
    }
    match (id.group(), id.kind.as_str()) {
        ("apps", "Deployment") => deployment(object),
        ("apps", "DaemonSet") => daemon_set(object),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => replicas(object),
        ("", "Pod") => pod(object),
        ("", "Service") => service(object),
        ("batch", "Job") => job(object),
        ("apiregistration.k8s.io", "APIService") => condition(object, "Available"),
        _ => probed(&PROBES.ask(object)),
    }
}

fn probed(result: &ProbeResult) -> Readiness {
    match result.status {
        ProbeStatus::True => Readiness::Ready,
        ProbeStatus::False | ProbeStatus::Unknown => Readiness::Waiting(result.messages.join(", ")),
    }
}

fn count(object: &Value, pointer: &str, otherwise: i64) -> i64 {
    object
        .pointer(pointer)
        .and_then(Value::as_i64)
        .unwrap_or(otherwise)
}

/// Returns whether the status speaks of an older spec.
fn is_outdated(object: &Value) -> bool {
    count(object, "/status/observedGeneration", 0) < generation(object)
}

fn unobserved() -> Readiness {
    Readiness::Waiting("its controller has not looked at it yet".to_owned())
}

/// Finds a condition: its status, reason and message.
fn find<'a>(object: &'a Value, kind: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let found = conditions
        .iter()
        .find(|condition| text(condition, "/type") == kind)?;
    Some((
        text(found, "/status"),
        text(found, "/reason"),
        text(found, "/message"),
    ))
}

fn condition(object: &Value, kind: &str) -> Readiness {
    match find(object, kind) {
        Some(("True", ..)) => Readiness::Ready,
        Some((_, reason, message)) => Readiness::Waiting(format!("{kind}: {}", said(reason, message))),
        None => Readiness::Waiting(format!("{kind} is not known yet")),
    }
}

fn said(reason: &str, message: &str) -> String {
    match (reason, message) {
        (reason, "") => reason.to_owned(),
        ("", message) => message.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

fn deployment(object: &Value) -> Readiness {
    if let Some((_, reason @ "ProgressDeadlineExceeded", message)) = find(object, "Progressing") {
        return Readiness::Failed(said(reason, message));
    }
    if is_outdated(object) {
        return unobserved();
    }
    let wanted = count(object, "/spec/replicas", 1);
    let updated = count(object, "/status/updatedReplicas", 0);
    let available = count(object, "/status/availableReplicas", 0);
    if updated < wanted {
        return Readiness::Waiting(format!("{updated} of {wanted} pods are updated"));
    }
    let all = count(object, "/status/replicas", 0);
    if all > updated {
        return Readiness::Waiting(format!("{} old pods still run", all - updated));
    }
    if available < wanted {
        return Readiness::Waiting(format!("{available} of {wanted} pods are available"));
    }
    probed(&PROBES.ask(object))
}

fn daemon_set(object: &Value) -> Readiness {
    if is_outdated(object) {
        return unobserved();
    }
    let wanted = count(object, "/status/desiredNumberScheduled", 0);
    let updated = count(object, "/status/updatedNumberScheduled", 0);
    let ready = count(object, "/status/numberReady", 0);
    let rolls = text(object, "/spec/updateStrategy/type") != "OnDelete";
    if rolls && updated < wanted {
        return Readiness::Waiting(format!("{updated} of {wanted} pods are updated"));
    }
    if ready < wanted {
        return Readiness::Waiting(format!("{ready} of {wanted} pods are ready"));
    }
    Readiness::Ready
}

fn replicas(object: &Value) -> Readiness {
    if is_outdated(object) {
        return unobserved();
    }
    let wanted = count(object, "/spec/replicas", 1);
    let ready = count(object, "/status/readyReplicas", 0);
    if ready < wanted {
        return Readiness::Waiting(format!("{ready} of {wanted} pods are ready"));
    }
    Readiness::Ready
}

fn pod(object: &Value) -> Readiness {
    match text(object, "/status/phase") {
        "Succeeded" => Readiness::Ready,
        "Failed" => Readiness::Failed(said(
            text(object, "/status/reason"),
            text(object, "/status/message"),
        )),
        _ => condition(object, "Ready"),
    }
}

/// A Service is ready when it has its address; one for outside needs one from there, too.
fn service(object: &Value) -> Readiness {
    let kind = text(object, "/spec/type");
    if kind == "ExternalName" {
        return Readiness::Ready;
    }
    if text(object, "/spec/clusterIP").is_empty() {
        return Readiness::Waiting("it has no address in the cluster yet".to_owned());
    }
    let has = |pointer: &str| {
        let list = object.pointer(pointer).and_then(Value::as_array);
        list.is_some_and(|list| !list.is_empty())
    };
    if kind == "LoadBalancer" && !has("/spec/externalIPs") && !has("/status/loadBalancer/ingress") {
        return Readiness::Waiting("it has no address outside the cluster yet".to_owned());
    }
    Readiness::Ready
}

fn job(object: &Value) -> Readiness {
    if let Some(("True", reason, message)) = find(object, "Failed") {
        return Readiness::Failed(said(reason, message));
    }
    if matches!(find(object, "Complete"), Some(("True", ..))) {
        return Readiness::Ready;
    }
    let wanted = count(object, "/spec/completions", 1);
    let done = count(object, "/status/succeeded", 0);
    Readiness::Waiting(format!("{done} of {wanted} pods have succeeded"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(api_version: &str, kind: &str, spec: Value, status: Value) -> Value {
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "generation": 2}, "spec": spec, "status": status})
    }

    #[test]
    fn objects_say_what_they_wait_for() {
        let available = json!([{"type": "Available", "status": "True"}]);
        let late = json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too slow"}]);
        #[rustfmt::skip]
        let table = [
            ("apps/v1", "Deployment", json!({"replicas": 2}), json!({"observedGeneration": 1}), "waiting: its controller has not looked at it yet"),
            ("apps/v1", "Deployment", json!({"replicas": 2}), json!({"observedGeneration": 2, "updatedReplicas": 1, "replicas": 2}), "waiting: 1 of 2 pods are updated"),
            ("apps/v1", "Deployment", json!({"replicas": 2}), json!({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 3, "availableReplicas": 3}), "waiting: 1 old pods still run"),
            ("apps/v1", "Deployment", json!({"replicas": 2}), json!({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 1}), "waiting: 1 of 2 pods are available"),
            ("apps/v1", "Deployment", json!({"replicas": 2}), json!({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 2, "conditions": available}), "ready"),
            ("apps/v1", "Deployment", json!({"replicas": 0}), json!({"observedGeneration": 2, "conditions": available}), "ready"),
            ("apps/v1", "Deployment", json!({"replicas": 2}), json!({"observedGeneration": 2, "conditions": late}), "failed: ProgressDeadlineExceeded: too slow"),
            ("apps/v1", "StatefulSet", json!({"replicas": 1}), json!({"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}), "ready"),
            ("apps/v1", "DaemonSet", json!({}), json!({"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberReady": 2}), "waiting: 2 of 3 pods are ready"),
            ("apps/v1", "ReplicaSet", json!({"replicas": 1}), json!({"observedGeneration": 2, "readyReplicas": 1}), "ready"),
            ("v1", "Pod", json!({}), json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]}), "waiting: Ready: ContainersNotReady"),
            ("v1", "Pod", json!({}), json!({"phase": "Failed", "reason": "Evicted"}), "failed: Evicted"),
            ("v1", "Service", json!({"type": "ClusterIP", "clusterIP": "10.0.0.1"}), json!({}), "ready"),
            ("v1", "Service", json!({"type": "ExternalName"}), json!({}), "ready"),
            ("v1", "Service", json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1"}), json!({}), "waiting: it has no address outside the cluster yet"),
            ("v1", "PersistentVolumeClaim", json!({}), json!({"phase": "Bound"}), "ready"),
            ("batch/v1", "Job", json!({}), json!({"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}), "failed: BackoffLimitExceeded"),
            ("batch/v1", "Job", json!({"completions": 3}), json!({"succeeded": 1}), "waiting: 1 of 3 pods have succeeded"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition", json!({}), json!({"conditions": [{"type": "Established", "status": "True"}]}), "ready"),
            ("v1", "ConfigMap", json!({}), json!(null), "ready"),
        ];
        for (api_version, kind, spec, status, expected) in table {
            let object = object(api_version, kind, spec, status);
            let told = match of(&object) {
                Readiness::Ready => "ready".to_owned(),
                Readiness::Waiting(what) => format!("waiting: {what}"),
                Readiness::Failed(cause) => format!("failed: {cause}"),
            };
            assert_eq!(told, expected, "{object}");
            assert_eq!(matters(&ObjectId::of(&object)), kind != "ConfigMap", "{kind}");
        }
    }

    #[test]
    fn what_is_being_deleted_is_not_ready() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        assert_eq!(of(&object), Readiness::Waiting("it is being deleted".to_owned()));
    }
}
