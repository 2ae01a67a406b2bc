//! Pods of shell scripts, from their start to their end.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::Service as _;

use crate::client::Client;
use crate::node::addresses::Occupant;
use crate::node::images::{Found, Images, Unpacked};
use crate::node::pods::PODS;
use crate::object::Object;
use crate::options::DeleteOptions;
use crate::{Options, Stage};

/// Shell scripts that stand for images: `script/<name>` is a file of that name.
#[derive(Debug)]
struct Scripts(PathBuf);

impl Images for Scripts {
    fn find<'a>(&'a self, reference: &'a str, _: &'a Path) -> Found<'a> {
        Box::pin(async move {
            let Some(name) = reference.strip_prefix("script/") else {
                return Ok(None);
            };
            if !self.0.join(name).is_file() {
                return Err(format!("there is no script {name}"));
            }
            Ok(Some(Arc::new(Unpacked {
                digest: format!("sha256:{name}"),
                root: self.0.clone(),
                entrypoint: vec![format!("/{name}")],
                command: vec!["usual".to_owned()],
                environment: vec![("FROM_IMAGE".to_owned(), "image".to_owned())],
                working_directory: "/".to_owned(),
                user: String::new(),
            })))
        })
    }
}

pub(super) struct World {
    pub(super) stage: Stage,
    pub(super) client: Client,
    pub(super) scripts: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        Self::on(tempfile::tempdir().expect("a directory"), None).await
    }

    /// Starts a world whose scripts are in one directory and whose data, if it is kept, in another.
    async fn on(scripts: tempfile::TempDir, data: Option<&Path>) -> Self {
        // Scripts want the machine's shell.
        Self::with(scripts, data, true).await
    }

    pub(super) async fn with(scripts: tempfile::TempDir, data: Option<&Path>, host_programs: bool) -> Self {
        let mut options = Options {
            data_dir: data.map(Path::to_owned),
            ..Options::default()
        };
        options.node.images = Some(Arc::new(Scripts(scripts.path().to_owned())));
        options.node.host_programs = host_programs;
        let stage = Stage::start(options).await.expect("a stage starts");
        let client = stage.client();
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": "default"}});
        let _ = client.create(("", "serviceaccounts"), account).await;
        Self {
            stage,
            client,
            scripts,
        }
    }

    pub(super) fn script(&self, name: &str, text: &str) {
        let path = self.scripts.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    }

    pub(super) async fn pod(&self, name: &str, container: Value, spec: Value) {
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"automountServiceAccountToken": false, "terminationGracePeriodSeconds": 5,
                "containers": [{"name": "c", "image": format!("script/{name}")}]},
        });
        for (field, value) in container.as_object().into_iter().flatten() {
            pod["spec"]["containers"][0][field] = value.clone();
        }
        for (field, value) in spec.as_object().into_iter().flatten() {
            pod["spec"][field] = value.clone();
        }
        self.client.create(PODS, pod).await.expect("created");
    }

    pub(super) async fn until(&self, name: &str, is: impl Fn(&Value) -> bool) -> Value {
        let wait = async {
            loop {
                let pod = self.client.get(PODS, "default", name).expect("pods are served");
                if let Some(pod) = pod.filter(&is) {
                    return pod;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let Ok(pod) = tokio::time::timeout(Duration::from_secs(30), wait).await else {
            panic!("pod {name} is {:#?}", self.client.get(PODS, "default", name));
        };
        pod
    }

    async fn logs(&self, name: &str, query: &str) -> (StatusCode, String) {
        self.get(&format!("{name}/log?{query}")).await
    }

    /// Asks for something below the pods.
    pub(super) async fn get(&self, path: &str) -> (StatusCode, String) {
        let request = Request::get(format!("/api/v1/namespaces/default/pods/{path}"))
            .body(http_body_util::Empty::<bytes::Bytes>::new())
            .expect("a request");
        let answer = self.stage.service().call(request).await.expect("an answer");
        let (head, body) = answer.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        (head.status, String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) async fn logs_until(&self, name: &str, text: &str) {
        let wait = async {
            while !self.logs(name, "").await.1.contains(text) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), wait)
            .await
            .expect("the log has it");
    }
}

pub(super) fn status(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]
}

#[tokio::test]
async fn a_program_runs_with_its_environment_and_volumes_and_is_stopped_with_its_pod() {
    let world = World::new().await;
    world.script(
        "a",
        "echo \"$GREETING $FROM_IMAGE $NAME $(cat \"$1\")\"; echo oops >&2; echo $$ > \"$PLACE/pid\"; \
         trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done",
    );
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "default"}, "data": {"key": "value"}});
    world
        .client
        .create(("", "configmaps"), settings)
        .await
        .expect("created");
    let container = json!({
        "args": ["/etc/settings/key"],
        "env": [{"name": "GREETING", "value": "hello"}, {"name": "PLACE", "value": "/scratch"},
            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "volumeMounts": [{"name": "settings", "mountPath": "/etc/settings"}, {"name": "scratch", "mountPath": "/scratch"}],
    });
    let spec = json!({"volumes": [{"name": "settings", "configMap": {"name": "settings"}}, {"name": "scratch", "emptyDir": {}}]});
    world.pod("a", container, spec).await;
    let running = world.until("a", |pod| status(pod)["ready"] == true).await;
    assert_eq!(running["status"]["phase"], "Running");
    assert_eq!(running.annotation("stage.baton.dev/simulated"), None);
    assert_eq!(status(&running)["imageID"], "sha256:a");
    world.logs_until("a", "oops").await;
    world.logs_until("a", "hello image a value").await;
    let (_, last) = world.logs("a", "tailLines=1&timestamps=true").await;
    assert!(last.starts_with("20") && last.lines().count() == 1, "{last}");
    let address = running["status"]["podIP"]
        .as_str()
        .and_then(|text| text.parse().ok());
    let node = &world.stage.api().node;
    assert_eq!(
        node.occupant(&address.expect("an address")),
        Some(Occupant::Programs)
    );
    assert_eq!(node.occupant_of(running.uid()), Occupant::Programs);
    let place = world
        .stage
        .api()
        .node
        .shared
        .pod_directory(running.uid())
        .join("volumes/scratch/pid");
    let id = fs::read_to_string(place).expect("the program wrote it");
    world
        .client
        .delete(PODS, "default", "a", &DeleteOptions::default())
        .await
        .expect("deleted");
    let gone = async {
        while world
            .client
            .get(PODS, "default", "a")
            .expect("pods are served")
            .is_some()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone)
        .await
        .expect("it ends when asked to");
    assert!(
        !Path::new("/proc").join(id.trim()).exists(),
        "the process is gone"
    );
}

#[tokio::test]
async fn a_program_that_fails_is_started_again_with_back_off() {
    let world = World::new().await;
    world.script("b", "echo run $1; exit 3");
    world
        .pod(
            "b",
            json!({"terminationMessagePolicy": "FallbackToLogsOnError"}),
            json!({}),
        )
        .await;
    let waiting = |pod: &Value| status(pod)["state"]["waiting"]["reason"] == "CrashLoopBackOff";
    let crashed = world.until("b", waiting).await;
    assert_eq!(crashed["status"]["phase"], "Running");
    assert_eq!(
        status(&crashed)["restartCount"],
        2,
        "the first restart comes at once"
    );
    assert_eq!(status(&crashed)["lastState"]["terminated"]["exitCode"], 3);
    assert_eq!(
        status(&crashed)["lastState"]["terminated"]["message"],
        "run usual\n"
    );
    let message = status(&crashed)["state"]["waiting"]["message"]
        .as_str()
        .unwrap_or_default();
    assert!(
        message.starts_with("back-off 10s restarting failed container=c pod=b_default("),
        "{message}"
    );
    assert_eq!(
        world.logs("b", "previous=true").await,
        (StatusCode::OK, "run usual\n".to_owned())
    );
}

#[tokio::test]
async fn a_program_that_ends_ends_its_pod_where_nothing_starts_it_again() {
    let world = World::new().await;
    for (name, code, phase) in [("c", 0, "Succeeded"), ("d", 5, "Failed")] {
        world.script(name, &format!("echo done; exit {code}"));
        world
            .pod(name, json!({}), json!({"restartPolicy": "Never"}))
            .await;
        let ended = world.until(name, |pod| pod["status"]["phase"] == phase).await;
        assert_eq!(status(&ended)["state"]["terminated"]["exitCode"], code);
        assert_eq!(
            world.logs(name, "follow=true").await.1,
            "done\n",
            "following ends with the program"
        );
    }
}

#[tokio::test]
async fn probes_and_init_containers_decide_about_readiness() {
    let world = World::new().await;
    world.script("init", "echo prepared > \"$1\"");
    world.script("e", "while :; do sleep 0.05; done");
    let mount = json!([{"name": "scratch", "mountPath": "/scratch"}]);
    let container = json!({"volumeMounts": mount, "readinessProbe":
        {"exec": {"command": ["/bin/sh", "-c", "test -f $FLAG"]}, "periodSeconds": 1},
        "env": [{"name": "FLAG", "value": "/scratch/flag"}]});
    let spec = json!({
        "volumes": [{"name": "scratch", "emptyDir": {}}],
        "initContainers": [{"name": "i", "image": "script/init", "args": ["/scratch/prepared"], "volumeMounts": mount}],
    });
    world.pod("e", container, spec).await;
    let unready = world.until("e", |pod| pod["status"]["phase"] == "Running").await;
    assert_eq!(status(&unready)["ready"], false);
    assert_eq!(
        unready["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"],
        0
    );
    let scratch = world
        .stage
        .api()
        .node
        .shared
        .pod_directory(unready.uid())
        .join("volumes/scratch");
    assert_eq!(
        fs::read_to_string(scratch.join("prepared")).expect("written"),
        "prepared\n"
    );
    fs::write(scratch.join("flag"), "").expect("written");
    world.until("e", |pod| status(pod)["ready"] == true).await;
}

#[tokio::test]
async fn what_a_pod_asks_for_of_its_rights_and_does_not_get_is_told_once() {
    let world = World::new().await;
    world.script("s", "exit 0");
    let container = json!({"securityContext": {"privileged": true}});
    let spec = json!({"restartPolicy": "Never", "securityContext": {"supplementalGroups": [4_000_000]}});
    world.pod("s", container, spec).await;
    world
        .until("s", |pod| pod["status"]["phase"] == "Succeeded")
        .await;
    let told = async {
        loop {
            let events = world
                .client
                .list(("", "events"), "default")
                .expect("events are served");
            let told = events
                .into_iter()
                .find(|event| event["reason"] == "SecurityContextIgnored");
            if let Some(event) = told {
                return event;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(30), told)
        .await
        .expect("an event says so");
    assert_eq!((&told["type"], &told["count"]), (&json!("Warning"), &json!(1)));
    let message = told["message"].as_str().unwrap_or_default();
    for field in [
        "spec.securityContext.supplementalGroups",
        "spec.containers[c].securityContext.privileged",
    ] {
        assert!(message.contains(field), "{message}");
    }
}

#[tokio::test]
async fn what_is_missing_is_said_and_waited_for() {
    let world = World::new().await;
    world.script("f", "echo $V; sleep 1000");
    let container =
        json!({"env": [{"name": "V", "valueFrom": {"configMapKeyRef": {"name": "late", "key": "v"}}}]});
    world.pod("f", container, json!({})).await;
    let reason = |pod: &Value| status(pod)["state"]["waiting"]["reason"].clone();
    let waiting = world
        .until("f", |pod| reason(pod) == "CreateContainerConfigError")
        .await;
    assert_eq!(
        status(&waiting)["state"]["waiting"]["message"],
        "configmap \"late\" not found"
    );
    // It isn't simulated, so nothing says so.
    let (code, text) = world.get("f:8080/proxy/").await;
    assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        text.contains("pod default/f doesn't listen at port 8080: no program of it runs now"),
        "{text}"
    );
    let (code, text) = world.get("f/portforward").await;
    assert_eq!(code, StatusCode::NOT_IMPLEMENTED);
    assert!(
        text.contains("cannot forward ports to pod default/f: no program of it runs now"),
        "{text}"
    );
    let (code, text) = world.logs("f", "").await;
    assert_eq!(code, StatusCode::BAD_REQUEST);
    assert!(
        text.contains("container \\\"c\\\" in pod \\\"f\\\" is waiting to start: CreateContainerConfigError"),
        "{text}"
    );
    let late = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "late", "namespace": "default"}, "data": {"v": "here"}});
    world
        .client
        .create(("", "configmaps"), late)
        .await
        .expect("created");
    world.until("f", |pod| pod["status"]["phase"] == "Running").await;
    world.logs_until("f", "here").await;
    world.pod("none", json!({}), json!({})).await;
    world.until("none", |pod| reason(pod) == "ErrImagePull").await;
}

#[tokio::test]
async fn pods_are_taken_up_again_when_the_cluster_is_started_again() {
    let data = tempfile::tempdir().expect("a directory");
    let world = World::on(tempfile::tempdir().expect("a directory"), Some(data.path())).await;
    world.script("g", "echo started; sleep 1000");
    world.pod("g", json!({}), json!({})).await;
    let before = world.until("g", |pod| status(pod)["ready"] == true).await;
    let World {
        stage,
        client,
        scripts,
    } = world;
    drop(client);
    stage.stop().await;
    let world = World::on(scripts, Some(data.path())).await;
    let after = world
        .until("g", |pod| {
            status(pod)["restartCount"] == 1 && status(pod)["ready"] == true
        })
        .await;
    assert_eq!(after["status"]["podIP"], before["status"]["podIP"]);
    assert_eq!(
        status(&after)["lastState"]["terminated"]["reason"],
        "ContainerStatusUnknown"
    );
}
