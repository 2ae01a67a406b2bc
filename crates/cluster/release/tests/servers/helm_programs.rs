//! Helm 3 and Helm 4 on releases of ours, and we on theirs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use contract::clients::Clients;
use release::hooks::Attempt;
use serde_json::{Value, json};
use stage::server::ServeOptions;

use crate::world::{NAMESPACE, World, files};

/// A Helm, and a chart that it can read.
struct Helm {
    program: PathBuf,
    folder: tempfile::TempDir,
}

impl Helm {
    fn run_here(&self, arguments: &[String]) -> Result<String, String> {
        let folder = self.folder.path();
        let output = Command::new(&self.program)
            .args(arguments)
            .args(["--namespace", NAMESPACE])
            .env("KUBECONFIG", folder.join("kubeconfig"))
            .env("HOME", folder)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(format!(
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}

/// Writes the chart where a program can read it.
fn write_chart(folder: &Path) {
    for (name, content) in files() {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }
}

/// A cluster that a Helm can reach, too.
struct Shared {
    world: World,
    helm: Arc<Helm>,
    _serving: stage::server::Serving,
}

impl Shared {
    async fn with(program: &str) -> Self {
        let clients = Clients::locate().unwrap_or_else(|reason| panic!("{reason}"));
        let world = World::new().await;
        let serving = world
            .stage
            .serve(([127, 0, 0, 1], 0).into(), &ServeOptions::default())
            .await
            .expect("a listening stage");
        let folder = tempfile::tempdir().expect("a folder");
        serving
            .write_kubeconfig(&folder.path().join("kubeconfig"))
            .expect("a kubeconfig");
        write_chart(&folder.path().join("kitchen"));
        Self {
            world,
            helm: Arc::new(Helm {
                program: clients.program(program),
                folder,
            }),
            _serving: serving,
        }
    }

    async fn helm(&self, arguments: &[&str]) -> String {
        let helm = Arc::clone(&self.helm);
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let ran = tokio::task::spawn_blocking(move || helm.run_here(&arguments)).await;
        ran.expect("no panic").expect("Helm does it")
    }

    async fn json(&self, arguments: &[&str]) -> Value {
        let mut arguments = arguments.to_vec();
        arguments.extend(["--output", "json"]);
        serde_json::from_str(&self.helm(&arguments).await).expect("JSON")
    }

    async fn states(&self) -> Vec<String> {
        let history = self.json(&["history", "soup"]).await;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let revisions = history.as_array().expect("revisions").iter();
        revisions
            .map(|revision| format!("{} {}", text(&revision["status"]), text(&revision["description"])))
            .collect()
    }

    async fn map(&self) -> Value {
        let map = self.world.get("v1", "ConfigMap", "soup-cm").await.expect("a map");
        map["data"].clone()
    }
}

async fn helm_goes_on_with_our_releases(program: &str) {
    let shared = Shared::with(program).await;
    let world = &shared.world;
    let hooks = json!({"pre-upgrade": {"policy": "hook-succeeded"}, "post-rollback": {}});
    world
        .install("soup", json!({"note": "first", "hooks": hooks}))
        .await
        .expect("installed");
    world
        .upgrade("soup", json!({"message": "two", "hooks": hooks}))
        .await
        .expect("upgraded");

    let list = shared.json(&["list"]).await;
    assert_eq!(list[0]["name"], "soup");
    assert_eq!(list[0]["revision"], "2");
    assert_eq!(list[0]["status"], "deployed");
    assert_eq!(list[0]["chart"], "kitchen-0.3.0");
    assert_eq!(list[0]["app_version"], "1.7");
    assert_eq!(
        shared.states().await,
        ["superseded Install complete", "deployed Upgrade complete"]
    );
    let all = shared.helm(&["get", "all", "soup"]).await;
    for part in [
        "message: two",
        "COMPUTED VALUES",
        "replicas: 1",
        "HOOKS:",
        "soup-pre-upgrade",
        "Kitchen soup revision 2.",
    ] {
        assert!(all.contains(part), "{part} in {all}");
    }
    let values = shared.json(&["get", "values", "soup", "--revision", "1"]).await;
    assert_eq!(values["note"], "first");

    shared.helm(&["rollback", "soup", "1"]).await;
    assert_eq!(shared.map().await, json!({"message": "hello", "note": "first"}));
    shared
        .helm(&[
            "upgrade",
            "soup",
            "kitchen",
            "--set",
            "message=helm,note=helms,extra=true",
        ])
        .await;
    assert_eq!(shared.map().await, json!({"message": "helm", "note": "helms"}));
    assert_eq!(
        shared.states().await,
        [
            "superseded Install complete",
            "superseded Upgrade complete",
            "superseded Rollback to 1",
            "deployed Upgrade complete",
        ]
    );
    // What Helm wrote goes where our chart no longer has it.
    world
        .upgrade("soup", json!({"message": "ours"}))
        .await
        .expect("upgraded");
    assert_eq!(shared.map().await, json!({"message": "ours"}));
    assert!(world.get("v1", "ConfigMap", "soup-extra").await.is_none());
    shared.helm(&["uninstall", "soup"]).await;
    assert_eq!(world.objects("soup").await, Vec::<String>::new());
    assert_eq!(world.history("soup").await, Vec::<String>::new());
}

async fn we_go_on_with_releases_of_helm(program: &str) {
    let shared = Shared::with(program).await;
    let world = &shared.world;
    shared
        .helm(&[
            "install",
            "soup",
            "kitchen",
            "--set",
            "note=helms,extra=true",
            "--labels",
            "team=kitchen",
        ])
        .await;
    let standing = world.standing("soup").await;
    assert_eq!(standing.status().as_str(), "deployed");
    assert_eq!(standing.last.user_labels()["team"], "kitchen");
    world
        .upgrade("soup", json!({"message": "ours"}))
        .await
        .expect("upgraded");
    assert_eq!(
        shared.map().await,
        json!({"message": "ours"}),
        "a field that Helm wrote and the chart dropped"
    );
    assert!(world.get("v1", "ConfigMap", "soup-extra").await.is_none());
    assert_eq!(world.standing("soup").await.last.user_labels()["team"], "kitchen");
    let standing = world.standing("soup").await;
    world
        .releases("soup")
        .rollback(standing, Some(1))
        .await
        .expect("back");
    assert_eq!(shared.map().await, json!({"message": "hello", "note": "helms"}));
    assert_eq!(
        shared.states().await,
        [
            "superseded Install complete",
            "superseded Upgrade complete",
            "deployed Rollback to 1",
        ]
    );
    let standing = world.standing("soup").await;
    world
        .releases("soup")
        .uninstall(standing, Attempt::First)
        .await
        .expect("gone");
    assert_eq!(shared.json(&["list"]).await, json!([]));
    assert_eq!(world.objects("soup").await, Vec::<String>::new());
}

pub(crate) async fn helm_3_goes_on_with_our_releases() {
    helm_goes_on_with_our_releases("helm3").await;
}

pub(crate) async fn helm_4_goes_on_with_our_releases() {
    helm_goes_on_with_our_releases("helm4").await;
}

pub(crate) async fn we_go_on_with_releases_of_helm_3() {
    we_go_on_with_releases_of_helm("helm3").await;
}

pub(crate) async fn we_go_on_with_releases_of_helm_4() {
    we_go_on_with_releases_of_helm("helm4").await;
}
