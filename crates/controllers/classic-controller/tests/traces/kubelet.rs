//! What the recordings had for a kubelet: every pod becomes ready at once, except those that are held back.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

/// The annotation of the recordings that holds a pod back.
const READY: &str = "test.baton/ready";

/// The kubelet of the whole cluster.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kubelet {
    released: Arc<Mutex<BTreeSet<String>>>,
}

impl Kubelet {
    /// Plays until it is dropped.
    pub(crate) async fn play(self, client: Client) {
        let pods: Api<Pod> = Api::all(client.clone());
        let mut events = std::pin::pin!(watcher(pods, watcher::Config::default()));
        while let Some(event) = events.next().await {
            if let Ok(Event::Apply(pod) | Event::InitApply(pod)) = event {
                self.look_at(&client, &pod).await;
            }
        }
    }

    /// Lets the pods of a namespace become ready that were held back.
    pub(crate) async fn release(&self, client: &Client, namespace: &str) {
        self.released
            .lock()
            .expect("no panic")
            .insert(namespace.to_owned());
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        for pod in pods.list(&kube::api::ListParams::default()).await.expect("pods") {
            self.look_at(client, &pod).await;
        }
    }

    async fn look_at(&self, client: &Client, pod: &Pod) {
        let namespace = pod.namespace().unwrap_or_default();
        let is_released = self.released.lock().expect("no panic").contains(&namespace);
        let is_held = pod.annotations().get(READY).map(String::as_str) == Some("never") && !is_released;
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let is_new = phase.is_none_or(|phase| phase == "Pending");
        if is_held || !is_new || pod.metadata.deletion_timestamp.is_some() {
            return;
        }
        let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
        let patch = Patch::Merge(json!({"status": status(pod)}));
        // A pod may be gone meanwhile.
        let _ = pods
            .patch_status(&pod.name_any(), &PatchParams::default(), &patch)
            .await;
    }
}

fn status(pod: &Pod) -> Value {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let containers: Vec<Value> = pod
        .spec
        .iter()
        .flat_map(|spec| &spec.containers)
        .map(|container| {
            json!({
                "name": container.name, "image": container.image, "imageID": "", "ready": true, "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            })
        })
        .collect();
    let conditions: Vec<Value> = ["Ready", "ContainersReady", "PodScheduled", "Initialized"]
        .iter()
        .map(|name| json!({"type": name, "status": "True", "lastTransitionTime": now}))
        .collect();
    json!({"phase": "Running", "startTime": now, "conditions": conditions, "containerStatuses": containers})
}
