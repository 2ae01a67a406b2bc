//! What a kubelet does for the pods of operators on a real server: one process for each that runs.
//!
//! The test node of the real server only says that pods run. Each process gets what its pod would get: the folder of
//! its image's version, and the token of its service account, so that it may do what the bundle allows and no more.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use contract::real::RealCluster;
use serde_json::{Value, json};

use super::cluster::{Administrator, Ended};
use super::customer::OPERATORS;
use super::world::World;

/// The folder of a world with the files of each published version.
pub(crate) const PUBLISHED: &str = "published";

/// Runs the operators of a cluster until it is dropped.
pub(crate) struct Operators {
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Operators {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Where processes are started.
struct Place {
    server: String,
    authority: String,
    published: PathBuf,
}

impl Operators {
    pub(crate) fn follow(
        runtime: &tokio::runtime::Runtime,
        api: Arc<Administrator>,
        kubernetes: &RealCluster,
        world: &World,
    ) -> Self {
        let place = Place {
            server: kubernetes.url.clone(),
            authority: kubernetes.authority.clone(),
            published: world.path(PUBLISHED),
        };
        Self {
            task: runtime.spawn(async move {
                let mut processes = BTreeMap::new();
                loop {
                    // A server that doesn't answer is asked again.
                    if let Ok((200, pods)) = api.ask("GET", &pods_path(), None).await {
                        tend(&api, &place, &pods, &mut processes).await;
                    }
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }),
        }
    }
}

fn pods_path() -> String {
    format!("api/v1/namespaces/{OPERATORS}/pods")
}

/// Starts what has no process, and ends the processes whose pods are gone.
async fn tend(api: &Administrator, place: &Place, pods: &Value, processes: &mut BTreeMap<String, Ended>) {
    let pods = pods["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let running: BTreeMap<&str, &Value> = pods
        .iter()
        .filter(|pod| is_ready(pod) && pod["metadata"]["deletionTimestamp"].is_null())
        .filter_map(|pod| Some((pod["metadata"]["uid"].as_str()?, pod)))
        .collect();
    processes.retain(|pod, _| running.contains_key(pod.as_str()));
    for (identity, pod) in running {
        if !processes.contains_key(identity)
            && let Some(process) = start(api, place, pod).await
        {
            processes.insert(identity.to_owned(), process);
        }
    }
}

/// Whether a pod is ready.
pub(crate) fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

async fn start(api: &Administrator, place: &Place, pod: &Value) -> Option<Ended> {
    let container = &pod["spec"]["containers"][0];
    let (_, version) = container["image"].as_str()?.rsplit_once(':')?;
    let version = version.split('@').next()?;
    let folder = place.published.join(version);
    let account = pod["spec"]["serviceAccountName"].as_str()?;
    let path = format!("api/v1/namespaces/{OPERATORS}/serviceaccounts/{account}/token");
    let asked = json!({"spec": {"expirationSeconds": 3600}});
    let (_, token) = api.ask("POST", &path, Some(&asked)).await.ok()?;
    let kubeconfig = folder.join(format!("{}.kubeconfig", pod["metadata"]["name"].as_str()?));
    let text = place.kubeconfig(token["status"]["token"].as_str()?);
    std::fs::write(&kubeconfig, text).expect("a kubeconfig");
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command
        .args(["operator", "run", "--watches-file", "watches.yaml"])
        .args(["--metrics-bind-address", "0", "--health-probe-bind-address", "0"])
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log(&folder));
    for variable in container["env"].as_array().into_iter().flatten() {
        let field = variable["valueFrom"]["fieldRef"]["fieldPath"].as_str();
        let value = match field {
            Some(field) => of_field(pod, field),
            None => variable["value"].as_str(),
        };
        command.env(variable["name"].as_str()?, value.unwrap_or_default());
    }
    Some(Ended(command.spawn().expect("the program runs")))
}

/// What the downward API gives for a field of a pod.
fn of_field<'p>(pod: &'p Value, field: &str) -> Option<&'p str> {
    let annotation = field
        .strip_prefix("metadata.annotations['")
        .and_then(|rest| rest.strip_suffix("']"));
    match annotation {
        Some(name) => pod["metadata"]["annotations"][name].as_str(),
        None => pod.pointer(&format!("/{}", field.replace('.', "/")))?.as_str(),
    }
}

fn log(folder: &Path) -> File {
    File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"))
        .expect("a log")
}

impl Place {
    fn kubeconfig(&self, token: &str) -> String {
        use base64::Engine as _;
        let authority = base64::engine::general_purpose::STANDARD.encode(&self.authority);
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "story",
            "clusters": [{"name": "story", "cluster": {
                "server": self.server, "certificate-authority-data": authority}}],
            "users": [{"name": "story", "user": {"token": token}}],
            "contexts": [{"name": "story", "context": {"cluster": "story", "user": "story"}}],
        })
        .to_string()
    }
}
