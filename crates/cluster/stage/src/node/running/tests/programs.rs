//! Pods that try to run what isn't their image's.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::processes::{World, status};
use crate::node::pods::PODS;
use crate::options::DeleteOptions;

/// A world whose image has the machine's shell as its own, and nothing else of the machine.
async fn with_own_shell() -> World {
    let scripts = tempfile::tempdir().expect("a directory");
    let bin = scripts.path().join("bin");
    fs::create_dir(&bin).expect("a directory");
    fs::copy("/bin/sh", bin.join("own")).expect("a shell");
    std::os::unix::fs::symlink("/bin/own", bin.join("sh")).expect("a link");
    World::with(scripts, None, false).await
}

#[tokio::test]
async fn a_program_comes_from_the_image_and_from_nowhere_else() {
    let world = with_own_shell().await;
    let mark = world.scripts.path().join("mark");
    let attack = format!("echo attacked > {}", mark.display());
    world.script("own", "echo from the image; kill -STOP $$");
    world.script("other", "exit 0");
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "default"},
        "data": {"run": format!("#!/bin/sh\n{attack}\n")}});
    world
        .client
        .create(("", "configmaps"), settings)
        .await
        .expect("created");
    let spec = json!({"volumes": [
        {"name": "machine", "hostPath": {"path": "/"}},
        {"name": "settings", "configMap": {"name": "settings", "defaultMode": 493}},
    ]});
    for (command, reason, message) in [
        (
            json!({"command": ["/usr/bin/env", "sh", "-c", attack]}),
            "CreateContainerError",
            "exec: \"/usr/bin/env\": stat /usr/bin/env: no such file or directory",
        ),
        (
            json!({"command": ["env", "sh", "-c", attack]}),
            "CreateContainerError",
            "exec: \"env\": executable file not found in $PATH",
        ),
        (
            json!({"command": ["env", "sh", "-c", attack], "env": [{"name": "PATH", "value": "/machine/usr/bin:/usr/bin"}],
                "volumeMounts": [{"name": "machine", "mountPath": "/machine"}]}),
            "CreateContainerError",
            "exec: \"env\": executable file not found in $PATH",
        ),
        (
            json!({"command": ["/machine/usr/bin/env", "sh", "-c", attack],
                "volumeMounts": [{"name": "machine", "mountPath": "/machine"}]}),
            "CreateContainerError",
            "exec: \"/machine/usr/bin/env\": permission denied: it lies in a volume",
        ),
        (
            json!({"command": ["/settings/run"],
                "volumeMounts": [{"name": "settings", "mountPath": "/settings"}]}),
            "CreateContainerError",
            "exec: \"/settings/run\": permission denied: it lies in a volume",
        ),
        (
            json!({"env": [{"name": "LD_PRELOAD", "value": "/settings/run"}],
                "volumeMounts": [{"name": "settings", "mountPath": "/settings"}]}),
            "CreateContainerConfigError",
            "env LD_PRELOAD would bring code into the program",
        ),
    ] {
        world.pod("other", command, spec.clone()).await;
        let waiting = world
            .until("other", |pod| status(pod)["state"]["waiting"]["reason"] == reason)
            .await;
        let told = status(&waiting)["state"]["waiting"]["message"].clone();
        let told = told.as_str().unwrap_or_default();
        assert!(
            told.starts_with(message) && told.contains("--host-programs"),
            "{told}"
        );
        let options = DeleteOptions {
            grace_period_seconds: Some(0),
            ..DeleteOptions::default()
        };
        world
            .client
            .delete(PODS, "default", "other", &options)
            .await
            .expect("deleted");
    }
    // Probes and hooks are no way either, and what the image has runs.
    let container = json!({
        "lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", "echo hooked > $MARK"]}}},
        "env": [{"name": "MARK", "value": world.scripts.path().join("hooked").display().to_string()}],
        "readinessProbe": {"exec": {"command": ["/usr/bin/env", "sh", "-c", attack]}, "periodSeconds": 1},
    });
    world.pod("own", container, json!({})).await;
    world.logs_until("own", "from the image").await;
    let unready = ("", "events");
    let told = async {
        loop {
            let events = world.client.list(unready, "default").expect("events are served");
            let mut messages = events.iter().filter_map(|event| event["message"].as_str());
            if let Some(message) = messages.find(|message| message.starts_with("Readiness probe failed: ")) {
                return message.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(30), told)
        .await
        .expect("an event says so");
    assert!(
        told.contains("exec: \"/usr/bin/env\": stat /usr/bin/env: no such file or directory"),
        "{told}"
    );
    assert!(
        world.scripts.path().join("hooked").is_file(),
        "the hook ran before the probe"
    );
    assert!(!mark.exists());
}
