//! What the recordings had for a kubelet: pods become ready, and those of Jobs end as an annotation says.

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

/// The annotation of the recordings.
const EXIT: &str = "fake-kubelet/exit";

/// Plays the kubelet in a namespace until it is dropped.
pub(crate) async fn play(client: Client, namespace: String) {
    let pods: Api<Pod> = Api::namespaced(client, &namespace);
    let mut events = std::pin::pin!(watcher(pods.clone(), watcher::Config::default()));
    while let Some(event) = events.next().await {
        if let Ok(Event::Apply(pod) | Event::InitApply(pod)) = event
            && let Some(status) = status(&pod)
        {
            let name = pod.name_any();
            // A pod may be gone meanwhile.
            let _ = pods
                .patch_status(
                    &name,
                    &PatchParams::default(),
                    &Patch::Merge(json!({"status": status})),
                )
                .await;
        }
    }
}

fn status(pod: &Pod) -> Option<Value> {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let is_new = phase.is_none_or(|phase| phase == "Pending") && pod.metadata.deletion_timestamp.is_none();
    let is_of_job = pod.owner_references().iter().any(|owner| owner.kind == "Job");
    let (phase, is_ready, exit) = match pod.annotations().get(EXIT).map(String::as_str) {
        Some("hang") => return None,
        Some("0") => ("Succeeded", false, Some(0)),
        Some(_) => ("Failed", false, Some(1)),
        None if is_of_job => ("Succeeded", false, Some(0)),
        None => ("Running", true, None),
    };
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let containers: Vec<Value> = pod
        .spec
        .iter()
        .flat_map(|spec| &spec.containers)
        .map(|container| {
            let state = match exit {
                None => json!({"running": {"startedAt": now}}),
                Some(exit) => json!({"terminated": {"exitCode": exit, "startedAt": now, "finishedAt": now}}),
            };
            json!({
                "name": container.name, "image": container.image, "imageID": "", "ready": is_ready, "restartCount": 0,
                "state": state,
            })
        })
        .collect();
    let truth = if is_ready { "True" } else { "False" };
    let conditions: Vec<Value> = ["Ready", "ContainersReady", "PodScheduled", "Initialized"]
        .iter()
        .map(|name| {
            let status = if matches!(*name, "Ready" | "ContainersReady") {
                truth
            } else {
                "True"
            };
            json!({"type": name, "status": status, "lastTransitionTime": now})
        })
        .collect();
    is_new.then(|| json!({"phase": phase, "startTime": now, "conditions": conditions, "containerStatuses": containers}))
}
