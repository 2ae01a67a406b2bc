//! Pods that really run, from the image to the end of their process.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use image::build::{self, ImageSettings};
use image::content::ContentStore;
use image::layer::{Compression, LayerFiles};
use image::layout::{self, NamedImage};
use image::manifest;
use image::program::BUILT_BY_BATON_LABEL;
use serde_json::{Value, json};

use super::running::{Running, client, kubeconfig};
use super::world::World;

const IMAGE: &str = "example.com/team/program:1";

/// How long anything may take before the test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// A stage that runs what is in `dist`. The program of the image there is a script, so that the machine's shell has to be
/// accepted for it.
const ARGUMENTS: [&str; 5] = ["--data-dir", "data", "--images", "dist", "--host-programs"];

/// A layout with an image of baton, as `baton bundle build` writes one. The program stands for the binary, which takes
/// long to pack.
fn build_image(world: &World) {
    let store = ContentStore::temporary().expect("a store");
    let mut files = LayerFiles::new();
    let program = format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_baton"));
    files.add_bytes("/baton", program, 0o755).expect("a file");
    let layer = files.write(&store, Compression::Gzip).expect("a layer");
    let settings = ImageSettings {
        labels: [(BUILT_BY_BATON_LABEL.to_owned(), "/baton".to_owned())].into(),
        entrypoint: vec!["/baton".to_owned()],
        ..ImageSettings::default()
    };
    let image = build::image(&store, &settings, manifest::host_architecture(), &[layer]).expect("an image");
    let named = NamedImage {
        descriptor: image.descriptor.clone(),
        name: Some(IMAGE.to_owned()),
    };
    layout::export_directory(&store, &[named], &world.path("dist")).expect("a layout");
}

/// The administrator's requests.
struct Administrator {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
    url: String,
}

impl Administrator {
    fn of(world: &World, running: &Running) -> Self {
        Self {
            runtime: tokio::runtime::Runtime::new().expect("a runtime"),
            client: client(&kubeconfig(world, "data/baton.kubeconfig"), true),
            url: running.url.clone(),
        }
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, String) {
        let method = method.parse().expect("a method");
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        if let Some(body) = body {
            request = request
                .header("Content-Type", "application/json")
                .body(body.to_string());
        }
        self.runtime.block_on(async {
            let answer = request.send().await.expect("an answer");
            let code = answer.status().as_u16();
            (code, answer.text().await.expect("a text"))
        })
    }

    fn create(&self, path: &str, object: &Value) {
        // The ServiceAccount of the namespace comes a moment after the namespace.
        until(&format!("{path} takes it"), || {
            let (code, text) = self.ask("POST", path, Some(object));
            assert!(code == 201 || code == 403, "{code} {text}");
            (code == 201).then_some(())
        });
    }

    fn pods(&self) -> Vec<Value> {
        let (code, text) = self.ask("GET", "/api/v1/namespaces/default/pods", None);
        assert_eq!(code, 200, "{text}");
        let list: Value = serde_json::from_str(&text).expect("JSON");
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Waits for a ready pod that was started again so many times.
    fn ready_pod(&self, restarts: i64) -> Value {
        until(&format!("a pod is ready after {restarts} restarts"), || {
            self.pods().into_iter().find(|pod| {
                let status = &pod["status"]["containerStatuses"][0];
                status["ready"] == true && status["restartCount"] == restarts
            })
        })
    }

    fn logs(&self, pod: &Value, query: &str) -> String {
        let name = pod["metadata"]["name"].as_str().expect("a name");
        let path = format!("/api/v1/namespaces/default/pods/{name}/log{query}");
        let (code, text) = self.ask("GET", &path, None);
        assert_eq!(code, 200, "{text}");
        text
    }
}

fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The processes of pods whose images lie below a folder.
fn processes(folder: &Path) -> Vec<String> {
    let marker = format!("BATON_ROOT={}", folder.display());
    let entries = fs::read_dir("/proc").expect("processes");
    let ids = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    ids.filter(|id| {
        let variables = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        variables
            .split(|byte| *byte == 0)
            .any(|variable| variable.starts_with(marker.as_bytes()))
    })
    .collect()
}

fn kill(id: &str) {
    let killed = Command::new("kill").args(["-KILL", id]).status().expect("kill");
    assert!(killed.success());
}

fn deployment(port: u16) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "registry"},
        "spec": {"selector": {"matchLabels": {"app": "registry"}}, "template": {
            "metadata": {"labels": {"app": "registry"}},
            "spec": {
                "terminationGracePeriodSeconds": 5,
                "containers": [{
                    "name": "program", "image": IMAGE,
                    "args": ["registry", "serve", "--address", format!("127.0.0.1:{port}"), "--storage", "/storage"],
                    "volumeMounts": [{"name": "storage", "mountPath": "/storage"}],
                    "readinessProbe": {"httpGet": {"path": "/v2/", "port": port}, "periodSeconds": 1},
                }],
                "volumes": [{"name": "storage", "emptyDir": {}}],
            },
        }},
    })
}

#[cfg(target_os = "linux")]
#[test]
fn a_pod_of_an_image_that_baton_built_is_a_process_from_its_start_to_its_end() {
    let world = World::new();
    build_image(&world);
    let running = Running::start(&world, &ARGUMENTS);
    let data = fs::canonicalize(world.path("data")).expect("a folder");
    let administrator = Administrator::of(&world, &running);
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port")
        .port();
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    administrator.create(deployments, &deployment(port));
    let pod = administrator.ready_pod(0);
    assert_eq!(pod["status"]["phase"], "Running");
    assert_eq!(
        pod["metadata"]["annotations"]["stage.baton.dev/simulated"],
        Value::Null
    );
    let log = administrator.logs(&pod, "");
    assert!(
        log.contains(&format!("registry at http://127.0.0.1:{port}")),
        "{log}"
    );

    let first = processes(&data);
    assert_eq!(first.len(), 1, "{first:?}");
    kill(&first[0]);
    let pod = administrator.ready_pod(1);
    let last = &pod["status"]["containerStatuses"][0]["lastState"]["terminated"];
    assert_eq!(last["exitCode"], 137);
    assert!(
        administrator
            .logs(&pod, "?previous=true&tailLines=1")
            .contains("registry at")
    );

    // A server that is killed takes the processes with it, and the next one starts them again.
    running.kill();
    until("no process is left behind", || {
        processes(&data).is_empty().then_some(())
    });
    let running = Running::start(&world, &ARGUMENTS);
    let administrator = Administrator::of(&world, &running);
    administrator.ready_pod(2);

    let (code, text) = administrator.ask("DELETE", &format!("{deployments}/registry"), None);
    assert_eq!(code, 200, "{text}");
    until("the pod and its process are gone", || {
        (administrator.pods().is_empty() && processes(&data).is_empty()).then_some(())
    });
    assert_eq!(running.stop(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_acts_as_its_service_account() {
    let world = World::new();
    build_image(&world);
    let running = Running::start(&world, &ARGUMENTS);
    let administrator = Administrator::of(&world, &running);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "who"},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": IMAGE,
            "command": ["/bin/sh", "-c", "cat $TOKEN; echo; echo $KUBERNETES_SERVICE_PORT; cat $KUBECONFIG"],
            "env": [{"name": "TOKEN", "value": "/var/run/secrets/kubernetes.io/serviceaccount/token"}]}]},
    });
    administrator.create("/api/v1/namespaces/default/pods", &pod);
    let ended = until("the pod ends", || {
        administrator
            .pods()
            .into_iter()
            .find(|pod| matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed")))
    });
    let log = administrator.logs(&ended, "");
    assert_eq!(ended["status"]["phase"], "Succeeded", "{log}");
    let mut lines = log.lines();
    let token = lines.next().expect("a token").to_owned();
    let port = lines.next().expect("a port");
    assert!(running.url.ends_with(&format!(":{port}")), "{port}");
    let config: Value = serde_json::from_str(lines.next().expect("a kubeconfig")).expect("JSON");
    assert_eq!(config["clusters"][0]["cluster"]["server"], running.url.as_str());
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let client = client(&kubeconfig(&world, "data/baton.kubeconfig"), false);
    let text = administrator.runtime.block_on(async {
        let url = format!("{}/apis/authentication.k8s.io/v1/selfsubjectreviews", running.url);
        let request = client.post(url).bearer_auth(token);
        let request = request
            .header("Content-Type", "application/json")
            .body(review.to_string());
        request
            .send()
            .await
            .expect("an answer")
            .text()
            .await
            .expect("a text")
    });
    let review: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        review["status"]["userInfo"]["username"],
        "system:serviceaccount:default:default"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_shell_of_this_machine_is_no_program_of_a_pod() {
    let world = World::new();
    build_image(&world);
    let running = Running::start(&world, &["--data-dir", "data", "--images", "dist"]);
    let administrator = Administrator::of(&world, &running);
    let mark = world.path("mark");
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "attack"},
        "spec": {"containers": [{"name": "c", "image": IMAGE,
            "command": ["/bin/sh", "-c", format!("id > {}", mark.display())]}]},
    });
    administrator.create("/api/v1/namespaces/default/pods", &pod);
    let waiting = until("the pod is refused", || {
        let pod = administrator.pods().pop()?;
        let waiting = pod["status"]["containerStatuses"][0]["state"]["waiting"].clone();
        (waiting["reason"] == "CreateContainerError").then_some(waiting)
    });
    let message = waiting["message"].as_str().expect("a message");
    assert!(
        message.starts_with("exec: \"/bin/sh\": stat /bin/sh: no such file or directory; "),
        "{message}"
    );
    assert!(message.contains("--host-programs"), "{message}");
    assert!(!mark.exists());
    assert_eq!(running.stop(), Some(0));
}
