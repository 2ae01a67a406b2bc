//! What can't be made true is tried again later and later: one write of the status and the revisions of one try each time,
//! whatever comes back of them.
//!
//! What is counted stands between two writes of the status, however long these are apart.

use serde_json::{Value, json};

use crate::line::Line;
use crate::world::{Settings, World, is_true, message, says};

/// The number of the next try.
fn attempt(stack: &Value) -> Option<u64> {
    stack["status"]["retry"]["attempt"].as_u64()
}

/// Waits until the next try of a Stack is the n-th.
async fn until_attempt(world: &World, number: u64) -> Value {
    world
        .until("Stack", "a", |stack| attempt(stack) == Some(number))
        .await
}

/// What was asked before each write of the status of a Stack since the last one; what came after the last one is left
/// out.
fn tries(asked: &[String]) -> Vec<Vec<&str>> {
    let mut tries = vec![Vec::new()];
    for request in asked {
        if request.starts_with("PATCH /apis/example.com/v1/namespaces/models/stacks/a/status") {
            tries.push(Vec::new());
        } else if let Some(last) = tries.last_mut() {
            last.push(request.as_str());
        }
    }
    tries.pop();
    tries
}

fn count(requests: &[&str], start: &str) -> usize {
    let is_one = |request: &&&str| request.starts_with(start);
    requests.iter().filter(is_one).count()
}

const REVISION: &str = "POST /api/v1/namespaces/models/secrets";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_that_the_server_refuses_makes_no_storm() {
    let mut world = World::new().await;
    let line = Line::lasting();
    let service = world.stage.as_ref().expect("a stage").service();
    world.start_with(&Settings::default(), line.to(service, None));
    world.stack("a", "v1", json!({"replicas": -1})).await;
    let stack = until_attempt(&world, 4).await;
    let asked = line.take();
    let tries = tries(&asked);
    assert_eq!(tries.len(), 3, "{tries:#?}");
    for requests in &tries {
        assert_eq!(count(requests, REVISION), 1, "{requests:#?}");
    }
    assert!(says(&stack, "ReleaseFailed", "True", "InstallError"), "{stack}");
    assert!(says(&stack, "Retrying", "True", "BackOff"), "{stack}");
    let at = stack["status"]["retry"]["nextTryAt"].as_str().expect("a time");
    let time = at.split_once('T').map_or(at, |(_, time)| time);
    assert_eq!(
        message(&stack, "Retrying"),
        format!("next try at {time}, attempt 4")
    );
    world.edit("Stack", "a", json!({"spec": {"replicas": 1}})).await;
    let stack = world.ready("a").await;
    assert!(!is_true(&stack, "Retrying"), "{stack}");
    assert_eq!(stack["status"].get("retry"), None);
    assert_eq!(world.history("a").await, ["1 deployed"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_that_the_server_refuses_leaves_what_worked_in_the_history() {
    let mut world = World::new().await;
    let line = Line::lasting();
    let service = world.stage.as_ref().expect("a stage").service();
    world.start_with(&Settings::default(), line.to(service, None));
    world.stack("a", "v1", json!({})).await;
    world.ready("a").await;
    world
        .edit("Stack", "a", json!({"spec": {"message": "second"}}))
        .await;
    world
        .until("ConfigMap", "a-config", |map| map["data"]["message"] == "second")
        .await;
    world.ready("a").await;
    World::rest(&line).await;
    let bad = json!({"spec": {"replicas": -1, "message": "third"}});
    world.edit("Stack", "a", bad).await;
    let stack = until_attempt(&world, 5).await;
    let asked = line.take();
    assert!(says(&stack, "ReleaseFailed", "True", "UpgradeError"), "{stack}");
    let tries = tries(&asked);
    assert_eq!(tries.len(), 4, "{tries:#?}");
    for requests in &tries {
        // The try and the way back.
        assert_eq!(count(requests, REVISION), 2, "{requests:#?}");
    }
    assert_eq!(
        world.history("a").await,
        ["1 superseded", "2 superseded", "9 failed", "10 deployed"]
    );

    // Who deletes what is in the way, or thinks so, needn't wait.
    world.delete("ConfigMap", "a-config").await;
    until_attempt(&world, 2).await;
    let map = world.get("ConfigMap", "a-config").await.expect("there");
    assert_eq!(map["data"]["message"], "second");

    world.edit("Stack", "a", json!({"spec": {"replicas": 2}})).await;
    let stack = world.ready("a").await;
    assert_eq!(stack["status"].get("retry"), None);
    let history = world.history("a").await;
    assert_eq!(history[..2], ["1 superseded", "2 superseded"]);
    let map = world.get("ConfigMap", "a-config").await.expect("there");
    assert_eq!(map["data"]["message"], "third");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whether_it_works_is_said_while_a_try_waits() {
    let mut world = World::new().await;
    world.start(&Settings::default());
    world.stack("a", "v1", json!({})).await;
    world.ready("a").await;
    world.edit("Stack", "a", json!({"spec": {"replicas": -1}})).await;
    let stack = until_attempt(&world, 4).await;
    assert!(is_true(&stack, "Ready"), "{stack}");
    let pods = world.list("Pod").await;
    let pod = pods[0]["metadata"]["name"].as_str().expect("a name");
    let unready = json!({"metadata": {"annotations": {"stage.baton.dev/simulate": "unready"}}});
    world.edit("Pod", pod, unready).await;
    let stack = world
        .until("Stack", "a", |stack| says(stack, "Ready", "False", "Waiting"))
        .await;
    assert!(is_true(&stack, "Retrying"), "{stack}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_process_counts_on_and_a_new_chart_begins_anew() {
    let mut world = World::new().await;
    world.start(&Settings::default());
    world.stack("a", "v1", json!({"fail": "out of order"})).await;
    until_attempt(&world, 4).await;
    world.stop("operator").await;
    let stack = world.get("Stack", "a").await.expect("there");
    let number = attempt(&stack).expect("it was tried");

    let line = Line::lasting();
    let service = world.stage.as_ref().expect("a stage").service();
    world.start_with(&Settings::default(), line.to(service, None));
    let stack = world
        .until("Stack", "a", |stack| attempt(stack) != Some(number))
        .await;
    assert_eq!(attempt(&stack), Some(number + 1));
    assert_eq!(tries(&line.take()).len(), 1);
    world.stop("operator").await;

    world.start(&Settings {
        version: "1.0.1",
        ..Settings::default()
    });
    let stack = world
        .until("Stack", "a", |stack| attempt(stack) != Some(number + 1))
        .await;
    assert_eq!(attempt(&stack), Some(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repair_that_is_refused_makes_no_storm() {
    let mut world = World::limited().await;
    let line = Line::lasting();
    world.start_limited(&line);
    world.stack("a", "v1", json!({})).await;
    world.ready("a").await;
    world.forbid(&[("configmaps", "patch")]).await;
    World::rest(&line).await;
    world
        .edit("ConfigMap", "a-config", json!({"data": {"message": "changed"}}))
        .await;
    let stack = until_attempt(&world, 4).await;
    assert!(
        says(&stack, "Irreconcilable", "True", "ReconcileError"),
        "{stack}"
    );
    let asked = line.take();
    let tries = tries(&asked);
    assert_eq!(tries.len(), 3, "{tries:#?}");
    for requests in &tries {
        let repairs = "PATCH /api/v1/namespaces/models/configmaps/a-config";
        assert_eq!(count(requests, repairs), 1, "{requests:#?}");
        assert_eq!(count(requests, REVISION), 0, "{requests:#?}");
    }
    world.forbid(&[]).await;
    world
        .until("ConfigMap", "a-config", |map| map["data"]["message"] == "hello")
        .await;
    let stack = world
        .until("Stack", "a", |stack| stack["status"].get("retry").is_none())
        .await;
    assert!(!is_true(&stack, "Irreconcilable"), "{stack}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_out_that_is_refused_makes_no_storm() {
    let mut world = World::limited().await;
    let line = Line::lasting();
    world.start_limited(&line);
    world.stack("a", "v1", json!({})).await;
    world.ready("a").await;
    world.forbid(&[("configmaps", "delete")]).await;
    World::rest(&line).await;
    world.delete("Stack", "a").await;
    let stack = until_attempt(&world, 4).await;
    assert!(says(&stack, "ReleaseFailed", "True", "UninstallError"), "{stack}");
    let asked = line.take();
    let tries = tries(&asked);
    assert_eq!(tries.len(), 3, "{tries:#?}");
    for requests in &tries {
        let deletions = "DELETE /api/v1/namespaces/models/configmaps/a-config";
        assert_eq!(count(requests, deletions), 1, "{requests:#?}");
    }
    world.forbid(&[]).await;
    world.until_gone("Stack", "a").await;
    world.until_gone("ConfigMap", "a-config").await;
}

/// Lets a Stack fail for a while, lets come what it waits for, and sees it tried at once: that fails otherwise, and so the
/// count begins anew.
async fn hurried(spec: Value, before: Option<Value>, change: impl AsyncFnOnce(&World)) {
    let mut world = World::new().await;
    if let Some(before) = before {
        world.create(before).await;
    }
    world.start(&Settings::default());
    world.stack("a", "v1", spec).await;
    until_attempt(&world, 5).await;
    change(&world).await;
    until_attempt(&world, 2).await;
    world
        .edit("Stack", "a", json!({"spec": {"replicas": 1, "needs": null}}))
        .await;
    let stack = world.ready("a").await;
    assert_eq!(stack["status"].get("retry"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_chart_looked_up_in_vain_is_waited_for() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}});
    hurried(json!({"needs": "other", "replicas": -1}), None, async |world| {
        world.create(map).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_in_the_way_is_waited_for_to_go() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a-config"}});
    hurried(json!({"replicas": -1}), Some(map), async |world| {
        world.delete("ConfigMap", "a-config").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kind_that_the_server_lacks_is_waited_for() {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.org"},
        "spec": {
            "group": "example.org", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    hurried(json!({"widget": true, "replicas": -1}), None, async |world| {
        world.create(definition).await;
    })
    .await;
}
