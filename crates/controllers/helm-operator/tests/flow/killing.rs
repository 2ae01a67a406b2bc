//! An operator that is killed at any write, and started again.

use futures_util::StreamExt as _;
use serde_json::json;

use crate::line::Line;
use crate::world::{Settings, World};

/// How many lives are lived at the same time: most of the time they wait.
const AT_ONCE: usize = 6;

/// More writes than a life takes.
const MOST_WRITES: i64 = 60;

/// Every so many writes one is killed; `BATON_KILL_STEP=1` kills at all of them.
const USUAL_STEP: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_write_it_comes_to_the_same_end() {
    let step = std::env::var("BATON_KILL_STEP").ok();
    let step = step.and_then(|step| step.parse().ok()).unwrap_or(USUAL_STEP);
    let lives = (1..MOST_WRITES).step_by(step).map(live);
    let survived: Vec<bool> = futures_util::stream::iter(lives)
        .buffered(AT_ONCE)
        .collect()
        .await;
    assert!(survived.contains(&false), "nothing was killed");
    assert!(
        survived.contains(&true),
        "a life takes more than {MOST_WRITES} writes"
    );
}

/// Installs, upgrades and deletes a Stack with an operator that is killed at the n-th write; returns whether it wasn't.
async fn live(writes: i64) -> bool {
    let mut world = World::new().await;
    let line = Line::of(writes);
    let service = world.stage.as_ref().expect("a stage").service();
    world.start_with(&Settings::default(), line.to(service, None));
    let mut is_revived = false;

    world.stack("a", "v1", json!({"random": true})).await;
    go_on(&mut world, &line, &mut is_revived, "installed").await;
    world.ready("a").await;
    let password = world.get("Secret", "a-secret").await.expect("there")["data"]["password"].clone();
    assert_eq!(
        world.history("a").await,
        ["1 deployed"],
        "killed at write {writes}"
    );

    world
        .edit(
            "Stack",
            "a",
            json!({"spec": {"message": "second", "replicas": 2}}),
        )
        .await;
    go_on(&mut world, &line, &mut is_revived, "upgraded").await;
    world.ready("a").await;
    let map = world.get("ConfigMap", "a-config").await.expect("there");
    assert_eq!(map["data"]["message"], "second", "killed at write {writes}");
    let deployment = world.get("Deployment", "a-web").await.expect("there");
    assert_eq!(deployment["spec"]["replicas"], 2, "killed at write {writes}");
    let secret = world.get("Secret", "a-secret").await.expect("there");
    assert_eq!(secret["data"]["password"], password, "killed at write {writes}");
    assert_eq!(
        world.history("a").await,
        ["1 superseded", "2 deployed"],
        "killed at write {writes}"
    );

    world.delete("Stack", "a").await;
    go_on(&mut world, &line, &mut is_revived, "deleted").await;
    world.until_gone("Stack", "a").await;
    for (kind, name) in [
        ("ConfigMap", "a-config"),
        ("Deployment", "a-web"),
        ("Secret", "a-secret"),
    ] {
        world.until_gone(kind, name).await;
    }
    assert_eq!(
        world.history("a").await,
        Vec::<String>::new(),
        "killed at write {writes}"
    );
    !is_revived
}

/// Waits until this part of the life is over or the operator is dead; a dead one is replaced.
async fn go_on(world: &mut World, line: &Line, is_revived: &mut bool, part: &str) {
    if *is_revived {
        return;
    }
    let is_over = async {
        match part {
            "deleted" => world.until_gone("Stack", "a").await,
            "upgraded" => {
                world
                    .until("ConfigMap", "a-config", |map| map["data"]["message"] == "second")
                    .await;
                world.ready("a").await;
            }
            _ => {
                world.ready("a").await;
            }
        }
    };
    tokio::select! {
        () = is_over => {}
        () = line.dead() => {
            world.kill("operator").await;
            world.start(&Settings::default());
            *is_revived = true;
        }
    }
}
