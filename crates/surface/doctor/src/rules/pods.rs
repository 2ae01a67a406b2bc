//! Pods of operators, controllers and catalogs: images that can't be pulled, programs that crash, pods without a node.

use std::collections::BTreeMap;

use apply::object::{is_terminating, label, text};
use serde_json::Value;

use crate::conditions::{Said, condition, shortened};
use crate::finding::Finding;
use crate::finding::Severity::{Broken, Note};
use crate::kinds;
use crate::moment::{FIRST_LOOK_SECONDS, seconds_since};
use crate::picture::Picture;
use crate::subject::Subject;

/// Looks at all pods of the picture; of several that suffer from the same, the first is told of.
pub fn look(picture: &Picture) -> Vec<Finding> {
    let mut findings: BTreeMap<(String, String, &str), (Finding, usize)> = BTreeMap::new();
    let pods = picture.all(kinds::POD).filter(|pod| !is_terminating(pod));
    for pod in pods {
        let Some(finding) = judge(picture, pod) else {
            continue;
        };
        let owner = text(pod, "/metadata/ownerReferences/0/uid");
        let group = match owner {
            "" => finding.object.to_string(),
            owner => owner.to_owned(),
        };
        let key = (group, finding.cause.clone(), finding.rule);
        findings.entry(key).or_insert((finding, 0)).1 += 1;
    }
    let mut findings: Vec<Finding> = findings
        .into_values()
        .map(|(mut finding, count)| {
            if count > 1 {
                finding.cause = format!("{} (and {} more pods)", finding.cause, count - 1);
            }
            finding
        })
        .collect();
    findings.sort_by(|left, right| left.object.cmp(&right.object));
    findings
}

/// The pods that a Deployment's selector picks.
pub(crate) fn of_deployment<'a>(picture: &'a Picture, deployment: &'a Value) -> Vec<&'a Value> {
    let selector = deployment
        .pointer("/spec/selector/matchLabels")
        .and_then(Value::as_object);
    let Some(selector) = selector.filter(|selector| !selector.is_empty()) else {
        return Vec::new();
    };
    picture
        .in_namespace(kinds::POD, text(deployment, "/metadata/namespace"))
        .filter(|pod| {
            selector
                .iter()
                .all(|(key, value)| label(pod, key) == value.as_str())
        })
        .collect()
}

fn judge(picture: &Picture, pod: &Value) -> Option<Finding> {
    let containers = ["initContainerStatuses", "containerStatuses"]
        .into_iter()
        .flat_map(|field| {
            let list = pod.pointer(&format!("/status/{field}")).and_then(Value::as_array);
            list.into_iter().flatten().map(move |status| (field, status))
        });
    for (field, status) in containers {
        if let Some(finding) = container(pod, field, status) {
            return Some(finding);
        }
    }
    let describe = Subject::of(pod).describe();
    if let Some(scheduled) = condition(pod, "PodScheduled").filter(Said::is_false) {
        return Some(
            Finding::new(Broken, "pod-without-node", pod)
                .at_condition("PodScheduled")
                .because(format!("no node takes it: {}", scheduled.words()))
                .next(format!(
                    "make room, or put its requests and selectors right: {describe}"
                )),
        );
    }
    if text(pod, "/status/phase") == "Failed" {
        return Some(
            Finding::new(Broken, "pod-failed", pod)
                .at("status.phase")
                .because(format!(
                    "it failed, {}: {}",
                    text(pod, "/status/reason"),
                    shortened(text(pod, "/status/message"))
                ))
                .next(describe),
        );
    }
    let age = seconds_since(pod, "/metadata/creationTimestamp", picture.now).unwrap_or_default();
    let unready = condition(pod, "Ready").filter(Said::is_false)?;
    if text(pod, "/status/phase") == "Succeeded" {
        return None;
    }
    let severity = if age > FIRST_LOOK_SECONDS { Broken } else { Note };
    Some(
        Finding::new(severity, "pod-not-ready", pod)
            .at_condition("Ready")
            .because(format!("it runs, but isn't ready: {}", unready.words()))
            .next(format!("see what its probes say: {describe}")),
    )
}

/// What is wrong with one container.
fn container(pod: &Value, field: &str, status: &Value) -> Option<Finding> {
    let subject = Subject::of(pod);
    let (namespace, name) = (&subject.namespace, &subject.name);
    let container = text(status, "/name");
    let at = |what: &str| format!("status.{field}[{container}].{what}");
    let (reason, message) = (
        text(status, "/state/waiting/reason"),
        shortened(text(status, "/state/waiting/message")),
    );
    let because = if message.is_empty() {
        reason.to_owned()
    } else {
        message
    };
    let finding = match reason {
        "ErrImagePull"
        | "ImagePullBackOff"
        | "InvalidImageName"
        | "ErrImageNeverPull"
        | "ImageInspectError"
        | "RegistryUnavailable" => {
            let image = text(status, "/image");
            Finding::new(Broken, "image-not-pulled", pod)
                .at(at("state.waiting"))
                .because(format!("image {image} can't be pulled: {because}"))
                .next(format!(
                    "see that the image is there and that its pull secret is right: kubectl describe {}",
                    subject.for_kubectl()
                ))
        }
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" => {
            Finding::new(Broken, "container-not-started", pod)
                .at(at("state.waiting"))
                .because(format!("container {container} can't be started: {because}"))
                .next(format!(
                    "make the ConfigMap or Secret that it names: kubectl describe {}",
                    subject.for_kubectl()
                ))
        }
        "CrashLoopBackOff" => {
            let ended = status.pointer("/lastState/terminated");
            let why = match ended.map(|ended| (text(ended, "/reason"), ended.pointer("/exitCode"))) {
                Some(("OOMKilled", _)) => "it needs more memory than it may have".to_owned(),
                Some((_, Some(code))) => format!("it ended with code {code}"),
                _ => "it ended".to_owned(),
            };
            let restarts = status
                .pointer("/restartCount")
                .and_then(Value::as_i64)
                .unwrap_or_default();
            Finding::new(Broken, "container-crashes", pod)
                .at(at("state.waiting"))
                .because(format!(
                    "container {container} crashes again and again ({restarts} times): {why}"
                ))
                .next(format!(
                    "read its last words: kubectl logs {name} -n {namespace} -c {container} --previous"
                ))
        }
        _ => return None,
    };
    Some(finding)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture, told};

    fn pod(name: &str, status: Value) -> Value {
        let rest = json!({"metadata": {"ownerReferences": [{"uid": "set"}]}, "status": status});
        object("v1", "Pod", "apps", name, rest)
    }

    fn waiting(reason: &str, message: &str) -> Value {
        json!({"containerStatuses": [{"name": "manager", "image": "r.example/web:1", "restartCount": 4,
            "state": {"waiting": {"reason": reason, "message": message}},
            "lastState": {"terminated": {"exitCode": 3, "reason": "Error"}}}]})
    }

    #[test]
    fn a_pod_runs_or_says_why_not() {
        let ready = |status: &str| {
            json!({"phase": "Running", "conditions": [
            {"type": "Ready", "status": status, "reason": "ContainersNotReady", "message": "probe failed"}]})
        };
        for (status, expected) in [
            (ready("True"), None),
            (
                ready("False"),
                Some("broken pod-not-ready Pod apps/web: it runs, but isn't ready: probe failed"),
            ),
            (
                waiting("ImagePullBackOff", "not found"),
                Some(
                    "broken image-not-pulled Pod apps/web: image r.example/web:1 can't be pulled: not found",
                ),
            ),
            (
                waiting("CrashLoopBackOff", "back-off"),
                Some(
                    "broken container-crashes Pod apps/web: container manager crashes again and again (4 times): it ended with code 3",
                ),
            ),
            (
                waiting("CreateContainerConfigError", "secret \"a\" not found"),
                Some(
                    "broken container-not-started Pod apps/web: container manager can't be started: secret \"a\" not found",
                ),
            ),
            (
                json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}]}),
                Some("broken pod-without-node Pod apps/web: no node takes it: 0/3 nodes"),
            ),
            (
                json!({"phase": "Failed", "reason": "Evicted", "message": "disk pressure"}),
                Some("broken pod-failed Pod apps/web: it failed, Evicted: disk pressure"),
            ),
            (waiting("ContainerCreating", ""), None),
        ] {
            let findings = told(&look(&picture([pod("web", status)])));
            assert_eq!(findings, expected.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn pods_that_suffer_from_the_same_are_told_of_once() {
        let pods = ["c", "a", "b"].map(|name| pod(name, waiting("ErrImagePull", "not found")));
        assert_eq!(
            told(&look(&picture(pods))),
            [
                "broken image-not-pulled Pod apps/a: image r.example/web:1 can't be pulled: not found (and 2 more pods)"
            ]
        );
    }
}
