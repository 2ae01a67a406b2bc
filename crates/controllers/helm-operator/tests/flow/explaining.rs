//! Workloads that don't come up: the condition says why, as their pods tell it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::line::Line;
use crate::world::{Settings, World, message, says};

/// Returns what a Stack's pods are asked by.
fn asks_pods(request: &str) -> bool {
    request.starts_with("GET /api/v1/namespaces/models/pods?")
}

fn simulated(fate: &str) -> Value {
    json!({"annotations": {"stage.baton.dev/simulate": fate, "stage.baton.dev/simulate-message": "reading /models\nno such model"}})
}

/// Waits until pods are asked; returns how often they were.
async fn asked(line: &Line) -> usize {
    let asked = async {
        loop {
            let asked = line.take().iter().filter(|request| asks_pods(request)).count();
            if asked > 0 {
                break asked;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let asked = tokio::time::timeout(Duration::from_mins(1), asked).await;
    asked.expect("pods are asked")
}

/// Waits until it is said of a Stack why its Deployment isn't available.
async fn explained(world: &World, name: &str, because: &str) -> Value {
    let begin = format!("waiting for Deployment {name}-web (0 of 1 pods are available: pod {name}-web-");
    let is_explained = |stack: &Value| {
        let words = message(stack, "Ready");
        says(stack, "Ready", "False", "Waiting") && words.starts_with(&begin) && words.contains(because)
    };
    world.until("Stack", name, is_explained).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_keeps_pods_from_running_is_said_until_they_run() {
    let mut world = World::new().await;
    let line = Line::lasting();
    let service = world.stage.as_ref().expect("a stage").service();
    world.start_with(&Settings::default(), line.to(service, None));
    world.stack("crashes", "v1", simulated("crash-loop")).await;
    let placed = json!({"nodeSelector": {"nvidia.com/gpu.product": "A100"}});
    world.stack("placed", "v1", placed).await;

    let stack = explained(&world, "crashes", "container web: CrashLoopBackOff after ").await;
    let words = message(&stack, "Ready");
    assert!(
        words.ends_with("it ended with 1 (Error): \"no such model\")"),
        "{words}"
    );
    explained(
        &world,
        "placed",
        ": no node has label nvidia.com/gpu.product=A100)",
    )
    .await;

    // One that starts anew learns from a list what it was told before.
    world.stop("operator").await;
    line.take();
    let service = world.stage.as_ref().expect("a stage").service();
    world.start_with(&Settings::default(), line.to(service, None));
    asked(&line).await;
    explained(&world, "crashes", "container web: CrashLoopBackOff after ").await;

    for (name, mended) in [
        ("crashes", simulated("running")),
        ("placed", json!({"nodeSelector": null})),
    ] {
        world.edit("Stack", name, json!({"spec": mended})).await;
        let stack = world.ready(name).await;
        assert_eq!(message(&stack, "Ready"), "");
    }
    // Of what works nothing is asked.
    World::rest(&line).await;
    assert!(!line.take().iter().any(|request| asks_pods(request)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_not_read_pods_says_what_the_workload_says() {
    let mut world = World::limited().await;
    world.forbid(&[("pods", "list")]).await;
    let line = Line::lasting();
    world.start_limited(&line);
    world.stack("a", "v1", simulated("crash-loop")).await;
    let waits = "waiting for Deployment a-web (0 of 1 pods are available)";
    world
        .until("Stack", "a", |stack| message(stack, "Ready") == waits)
        .await;
    assert_eq!(asked(&line).await, 1);
    world.stack("b", "v1", json!({})).await;
    world.ready("b").await;
    let stack = world.get("Stack", "a").await.expect("there");
    assert_eq!(message(&stack, "Ready"), waits);
}
