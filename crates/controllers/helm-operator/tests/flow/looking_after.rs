//! What is kept as it should be, what stays as it is, and what it costs.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::line::Line;
use crate::world::{Settings, World, is_true, says};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_change_is_set_back_and_named() {
    let mut world = World::new().await;
    world.start(&Settings::default());
    world.stack("a", "v1", json!({})).await;
    world.ready("a").await;
    world
        .edit("Deployment", "a-web", json!({"spec": {"replicas": 3}}))
        .await;
    world
        .until("Deployment", "a-web", |deployment| {
            deployment["spec"]["replicas"] == 1
        })
        .await;
    let stack = world
        .until("Stack", "a", |stack| {
            stack["status"]["drift"]["fields"].is_array()
        })
        .await;
    assert_eq!(
        stack["status"]["drift"]["fields"],
        json!(["Deployment a-web: spec.replicas"])
    );
    assert_eq!(
        world.told("a", "DriftRepaired").await,
        "changed by others and set back: Deployment a-web: spec.replicas"
    );

    // What nobody asked for is nobody's business.
    world
        .edit("ConfigMap", "a-config", json!({"data": {"foreign": "stays"}}))
        .await;
    world.delete("Deployment", "a-web").await;
    world
        .until("Deployment", "a-web", |deployment| {
            deployment["metadata"].get("deletionTimestamp").is_none()
        })
        .await;
    world
        .until("Stack", "a", |stack| {
            stack["status"]["drift"]["fields"] == json!(["Deployment a-web was deleted"])
        })
        .await;
    world.ready("a").await;
    let map = world.get("ConfigMap", "a-config").await.expect("there");
    assert_eq!(map["data"]["foreign"], "stays");
    assert_eq!(world.history("a").await, ["1 deployed"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_scales_keeps_the_number_until_another_one_is_asked_for() {
    let mut world = World::new().await;
    let line = Line::lasting();
    let service = world.stage.as_ref().expect("a stage").service();
    world.start_with(&Settings::default(), line.to(service, None));
    world.stack("a", "v1", json!({})).await;
    world.ready("a").await;
    let scale = async |replicas: i64| {
        let parameters = PatchParams {
            field_manager: Some("autoscaler".to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        let scaled = world
            .api("Deployment")
            .patch_scale("a-web", &parameters, &patch)
            .await;
        scaled.expect("scaled");
    };
    scale(3).await;
    let stack = world
        .until("Stack", "a", |stack| stack["status"]["drift"]["left"].is_array())
        .await;
    let words = "Deployment a-web: spec.replicas is left to autoscaler, which scales it";
    assert_eq!(stack["status"]["drift"], json!({"left": [words]}));
    assert_eq!(world.told("a", "LeftToOthers").await, words);
    let replicas = async || {
        let deployment = world.get("Deployment", "a-web").await.expect("there");
        deployment["spec"]["replicas"].clone()
    };
    assert_eq!(replicas().await, 3);

    // Scaled again, it isn't even looked at; changed otherwise, it is set back but for that.
    World::rest(&line).await;
    scale(4).await;
    let image = |image: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": image}]}}}});
    world.edit("Deployment", "a-web", image("nginx:0")).await;
    let deployment = world
        .until("Deployment", "a-web", |deployment| {
            deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.27"
        })
        .await;
    assert_eq!(deployment["spec"]["replicas"], 4);
    world
        .until("Stack", "a", |stack| {
            let drift = &stack["status"]["drift"];
            drift["fields"].is_array() && drift["left"] == json!([words])
        })
        .await;
    // What else is set back changes nothing of that.
    world
        .edit("ConfigMap", "a-config", json!({"data": {"message": "changed"}}))
        .await;
    world
        .until("Stack", "a", |stack| {
            let drift = &stack["status"]["drift"];
            drift["fields"] == json!(["ConfigMap a-config: data.message"]) && drift["left"] == json!([words])
        })
        .await;

    // An upgrade leaves the number alone, unless it is about the number.
    world
        .edit("Stack", "a", json!({"spec": {"image": "nginx:1.28"}}))
        .await;
    let deployment = world
        .until("Deployment", "a-web", |deployment| {
            deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.28"
        })
        .await;
    assert_eq!(deployment["spec"]["replicas"], 4);
    world.edit("Stack", "a", json!({"spec": {"replicas": 2}})).await;
    world
        .until("Deployment", "a-web", |deployment| {
            deployment["spec"]["replicas"] == 2
        })
        .await;
    world
        .until("Stack", "a", |stack| {
            stack["status"]["drift"].get("left").is_none()
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_rest_nothing_is_asked() {
    let mut world = World::new().await;
    let line = Line::lasting();
    let service = world.stage.as_ref().expect("a stage").service();
    world.start_with(&Settings::default(), line.to(service, None));
    for name in ["a", "b", "c"] {
        world.stack(name, "v1", json!({"random": true})).await;
    }
    for name in ["a", "b", "c"] {
        world.ready(name).await;
    }
    World::rest(&line).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(line.take(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_values_stay_over_upgrades_and_restarts() {
    let mut world = World::new().await;
    world.start(&Settings::default());
    world.stack("a", "v1", json!({"random": true})).await;
    world.ready("a").await;
    let password = |secret: &Value| secret["data"]["password"].clone();
    let first = password(&world.get("Secret", "a-secret").await.expect("there"));
    assert!(first.is_string());

    world
        .edit("Stack", "a", json!({"spec": {"message": "second"}}))
        .await;
    world
        .until("ConfigMap", "a-config", |map| map["data"]["message"] == "second")
        .await;
    world.ready("a").await;
    assert_eq!(world.history("a").await, ["1 superseded", "2 deployed"]);

    world.stop("operator").await;
    let line = Line::lasting();
    let service = world.stage.as_ref().expect("a stage").service();
    world.start_with(&Settings::default(), line.to(service, None));
    World::rest(&line).await;
    assert_eq!(world.history("a").await, ["1 superseded", "2 deployed"]);
    assert_eq!(
        password(&world.get("Secret", "a-secret").await.expect("there")),
        first
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_start_anew_with_their_configuration_where_that_is_asked_for() {
    for (more, wish, is_restarted) in [
        ("", json!(null), false),
        ("  restartOnConfiguration: true\n", json!(null), true),
        ("  restartOnConfiguration: true\n", json!("false"), false),
        ("", json!("true"), true),
    ] {
        let mut world = World::new().await;
        world.start(&Settings {
            more,
            ..Settings::default()
        });
        world.stack("a", "v1", json!({})).await;
        let wish = json!({"metadata": {"annotations": {"baton-olm.dev/restart-on-configuration": wish}}});
        world.edit("Stack", "a", wish.clone()).await;
        world.ready("a").await;
        let template = |deployment: &Value| deployment["spec"]["template"].clone();
        // The annotation may have come after the installation.
        world
            .edit("Stack", "a", json!({"spec": {"message": "first"}}))
            .await;
        world
            .until("ConfigMap", "a-config", |map| map["data"]["message"] == "first")
            .await;
        world.ready("a").await;
        let before = template(&world.get("Deployment", "a-web").await.expect("there"));
        world
            .edit("Stack", "a", json!({"spec": {"message": "second"}}))
            .await;
        world
            .until("ConfigMap", "a-config", |map| map["data"]["message"] == "second")
            .await;
        world.ready("a").await;
        let after = template(&world.get("Deployment", "a-web").await.expect("there"));
        assert_eq!(before != after, is_restarted, "{more:?} {wish}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_resource_is_left_alone() {
    let mut world = World::new().await;
    let line = Line::lasting();
    let service = world.stage.as_ref().expect("a stage").service();
    world.start_with(&Settings::default(), line.to(service, None));
    world.stack("a", "v1", json!({})).await;
    world.ready("a").await;
    world
        .edit(
            "Stack",
            "a",
            json!({"metadata": {"annotations": {"baton-olm.dev/pause": "true"}}}),
        )
        .await;
    world
        .until("Stack", "a", |stack| {
            says(stack, "Paused", "True", "PauseReconcileAnnotationTrue")
                && stack["status"].get("deployedRelease").is_none()
        })
        .await;
    world
        .edit("Stack", "a", json!({"spec": {"message": "second"}}))
        .await;
    world
        .edit("ConfigMap", "a-config", json!({"data": {"message": "changed"}}))
        .await;
    World::rest(&line).await;
    let map = world.get("ConfigMap", "a-config").await.expect("there");
    assert_eq!(map["data"]["message"], "changed");

    world
        .edit(
            "Stack",
            "a",
            json!({"metadata": {"annotations": {"baton-olm.dev/pause": null}}}),
        )
        .await;
    world
        .until("ConfigMap", "a-config", |map| map["data"]["message"] == "second")
        .await;
    let stack = world.ready("a").await;
    assert!(!is_true(&stack, "Paused"));
}
