//! Pods of operators, controllers and catalogs: images that can't be pulled, programs that crash, pods without a node.

use std::collections::BTreeMap;

use apply::object::{is_terminating, label, text};
use apply::pod_trouble::{self, Stopped, Trouble};
use serde_json::Value;

use crate::conditions::{Said, condition};
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
    if let Some(trouble) = pod_trouble::of(pod) {
        return Some(suffering(pod, &trouble));
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
            .next(format!(
                "see what its probes say: {}",
                Subject::of(pod).describe()
            )),
    )
}

/// What keeps a pod from running, and what to do about it.
fn suffering(pod: &Value, trouble: &Trouble) -> Finding {
    let subject = Subject::of(pod);
    let describe = subject.describe();
    let found = |rule| Finding::new(Broken, rule, pod).because(trouble.to_string());
    let at = |stopped: &Stopped| format!("status.{}[{}].state.waiting", stopped.field, stopped.container);
    match trouble {
        Trouble::Image(stopped) => found("image-not-pulled").at(at(stopped)).next(format!(
            "see that the image is there and that its pull secret is right: kubectl describe {}",
            subject.for_kubectl()
        )),
        Trouble::Start(stopped) => found("container-not-started").at(at(stopped)).next(format!(
            "make the ConfigMap or Secret that it names: kubectl describe {}",
            subject.for_kubectl()
        )),
        Trouble::Crash(stopped) => found("container-crashes").at(at(stopped)).next(format!(
            "read its last words: kubectl logs {} -n {} -c {} --previous",
            subject.name, subject.namespace, stopped.container
        )),
        Trouble::NoNode(_) => found("pod-without-node")
            .at_condition("PodScheduled")
            .next(format!(
                "make room, or put its requests and selectors right: {describe}"
            )),
        Trouble::Failed(_) => found("pod-failed").at("status.phase").next(describe),
    }
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
                    "broken image-not-pulled Pod apps/web: container manager: ImagePullBackOff, image \"r.example/web:1\" can't be pulled: not found",
                ),
            ),
            (
                waiting("CrashLoopBackOff", "back-off"),
                Some(
                    "broken container-crashes Pod apps/web: container manager: CrashLoopBackOff after 4 restarts, it ended with 3 (Error)",
                ),
            ),
            (
                waiting("CreateContainerConfigError", "secret \"a\" not found"),
                Some(
                    "broken container-not-started Pod apps/web: container manager: CreateContainerConfigError, it can't be started: secret \"a\" not found",
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
                "broken image-not-pulled Pod apps/a: container manager: ErrImagePull, image \"r.example/web:1\" can't be pulled: not found (and 2 more pods)"
            ]
        );
    }
}
