//! A node without a kubelet: it binds Pods, says that they run, ends them as their annotations say, and lets go of
//! those that are being deleted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::simulation::{Fate, fate_of};

const NODE: &str = "test-node";

/// The node controller gives a silent node 40 s; four beats fit into that.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The tasks that play the node; they end when this value is dropped.
#[derive(Debug)]
pub(super) struct TestNode {
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for TestNode {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

#[derive(Debug)]
struct Api {
    client: reqwest::Client,
    url: String,
    addresses: AtomicU32,
}

impl TestNode {
    pub(super) fn start(client: reqwest::Client, url: &str) -> Self {
        let api = Arc::new(Api {
            client,
            url: url.to_owned(),
            addresses: AtomicU32::new(1),
        });
        let tasks = vec![tokio::spawn(beat(Arc::clone(&api))), tokio::spawn(tend(api))];
        Self { tasks }
    }
}

impl Api {
    async fn call(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, reqwest::Error> {
        let mut request = self
            .client
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(super::ADMIN_TOKEN);
        if !body.is_null() {
            request = request
                .header("Content-Type", content_type)
                .body(body.to_string());
        }
        let bytes = request.send().await?.error_for_status()?.bytes().await?;
        Ok(serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn merge(&self, path: &str, body: &Value) -> Result<Value, reqwest::Error> {
        self.call(Method::PATCH, path, "application/merge-patch+json", body)
            .await
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, reqwest::Error> {
        self.call(Method::POST, path, "application/json", body).await
    }
}

/// Keeps the Node and its Lease fresh, so that the node controller leaves the Pods alone.
async fn beat(api: Arc<Api>) {
    const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    loop {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": {
            "kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"}}});
        let _ = api.post("/api/v1/nodes", &node).await;
        let now = timestamp();
        let room = json!({"cpu": "64", "memory": "256Gi", "pods": "10000"});
        let status = json!({"status": {"capacity": room, "allocatable": room, "conditions": [{
            "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready",
            "lastHeartbeatTime": now, "lastTransitionTime": now}]}});
        let _ = api.merge(&format!("/api/v1/nodes/{NODE}/status"), &status).await;
        let renewed = json!({"spec": {"renewTime": now.replace('Z', ".000000Z")}});
        if api.merge(&format!("{LEASES}/{NODE}"), &renewed).await.is_err() {
            let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NODE},
                "spec": {"holderIdentity": NODE, "leaseDurationSeconds": 40}});
            let _ = api.post(LEASES, &lease).await;
        }
        tokio::time::sleep(HEARTBEAT).await;
    }
}

/// Follows all Pods and does to each what a node would.
async fn tend(api: Arc<Api>) {
    loop {
        let Ok(list) = api.call(Method::GET, "/api/v1/pods", "", &Value::Null).await else {
            tokio::time::sleep(Duration::from_millis(200)).await;
            continue;
        };
        for pod in list.get("items").and_then(Value::as_array).into_iter().flatten() {
            tokio::spawn(attend(Arc::clone(&api), pod.clone()));
        }
        let revision = list
            .pointer("/metadata/resourceVersion")
            .and_then(Value::as_str)
            .unwrap_or("0");
        let path = format!("{}/api/v1/pods?watch=true&resourceVersion={revision}", api.url);
        let Ok(answer) = api.client.get(path).bearer_auth(super::ADMIN_TOKEN).send().await else {
            continue;
        };
        let mut events = crate::watch::Events::new(answer.bytes_stream());
        while let Some(Ok(event)) = events.next().await {
            let kind = event.get("type").and_then(Value::as_str);
            if !matches!(kind, Some("ADDED" | "MODIFIED")) {
                continue;
            }
            if let Some(pod) = event.get("object") {
                tokio::spawn(attend(Arc::clone(&api), pod.clone()));
            }
        }
    }
}

/// One step in the life of one Pod. Errors are left to the next event: somebody else was faster.
async fn attend(api: Arc<Api>, pod: Value) {
    let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
    if !text("/metadata/deletionTimestamp").is_empty() {
        let now = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": text("/metadata/uid")}});
        let _ = api.call(Method::DELETE, &path, "application/json", &now).await;
        return;
    }
    let fate = fate_of(&pod);
    if fate == Fate::Pending || text("/status/phase") != "Pending" {
        return;
    }
    if text("/spec/nodeName").is_empty() {
        let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"kind": "Node", "name": NODE}});
        // Binding changes the Pod; the event of that change brings us back here.
        let _ = api.post(&format!("{path}/binding"), &binding).await;
        return;
    }
    let number = api.addresses.fetch_add(1, Ordering::Relaxed);
    let address = format!("10.244.{}.{}", number / 250 % 250, number % 250 + 1);
    let status = json!({"status": status_of(&pod, fate, &address)});
    let _ = api.merge(&format!("{path}/status"), &status).await;
}

fn status_of(pod: &Value, fate: Fate, address: &str) -> Value {
    let now = timestamp();
    let ready = fate == Fate::Running;
    let ended = matches!(fate, Fate::Succeeded | Fate::Failed);
    let mut conditions = BTreeMap::new();
    for kind in ["PodScheduled", "Initialized", "ContainersReady", "Ready"] {
        let holds = ready || matches!(kind, "PodScheduled" | "Initialized");
        conditions.insert(kind, if holds { "True" } else { "False" });
    }
    let state = if ended {
        let code = i32::from(fate == Fate::Failed);
        let reason = if code == 0 { "Completed" } else { "Error" };
        json!({"terminated": {"exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now}})
    } else {
        json!({"running": {"startedAt": now}})
    };
    let containers = pod
        .pointer("/spec/containers")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    json!({
        "phase": match fate {
            Fate::Succeeded => "Succeeded",
            Fate::Failed => "Failed",
            Fate::Running | Fate::Unready | Fate::Pending => "Running",
        },
        "startTime": now, "hostIP": "127.0.0.1", "podIP": address, "podIPs": [{"ip": address}],
        "conditions": conditions.iter().map(|(kind, status)| json!({
            "type": kind, "status": status, "lastTransitionTime": now})).collect::<Vec<_>>(),
        "containerStatuses": containers.iter().map(|container| json!({
            "name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0,
            "ready": ready, "started": !ended, "state": state})).collect::<Vec<_>>(),
    })
}

/// The current time as Kubernetes writes it.
fn timestamp() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_secs());
    jiff::Timestamp::from_second(seconds as i64).map_or_else(|_| String::new(), |now| now.to_string())
}
