//! Several operators side by side, told apart by a label.

use serde_json::json;

use crate::world::{Settings, World, message, says};

const ONE: Settings = Settings {
    name: "one",
    version: "1.0.0",
    label: Some("v1"),
    more: "",
};

const TWO: Settings = Settings {
    name: "two",
    version: "2.0.0",
    label: Some("v2"),
    more: "",
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relabelled_resource_is_handed_over_and_its_pods_go_on() {
    let mut world = World::new().await;
    world.start(&ONE);
    world.start(&TWO);
    world.stack("a", "v1", json!({"replicas": 2})).await;
    world.ready("a").await;
    let identity = |object: &serde_json::Value| {
        let metadata = &object["metadata"];
        (metadata["uid"].clone(), metadata["generation"].clone())
    };
    let before = identity(&world.get("Deployment", "a-web").await.expect("there"));
    let mut pods: Vec<_> = world.list("Pod").await.iter().map(identity).collect();
    pods.sort_by_key(|(uid, _)| uid.to_string());
    assert_eq!(pods.len(), 2);

    world
        .edit(
            "Stack",
            "a",
            json!({"metadata": {"labels": {"operatorVersion": "v2"}}}),
        )
        .await;
    // The first is away: whatever happens from here on is the second's doing.
    world.stop("one").await;
    world
        .edit("ConfigMap", "a-config", json!({"data": {"message": "changed"}}))
        .await;
    world
        .until("ConfigMap", "a-config", |map| map["data"]["message"] == "hello")
        .await;
    assert_eq!(
        identity(&world.get("Deployment", "a-web").await.expect("there")),
        before
    );
    let mut after: Vec<_> = world.list("Pod").await.iter().map(identity).collect();
    after.sort_by_key(|(uid, _)| uid.to_string());
    assert_eq!(after, pods);

    world
        .edit("Stack", "a", json!({"spec": {"message": "second"}}))
        .await;
    world
        .until("ConfigMap", "a-config", |map| map["data"]["message"] == "second")
        .await;
    world.ready("a").await;
    assert_eq!(world.history("a").await, ["1 superseded", "2 deployed"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resource_that_nobody_looks_after_is_told_so_by_the_newest() {
    let mut world = World::new().await;
    world.start(&ONE);
    world.start(&TWO);
    // Both are on the roster once both look after something.
    world.stack("one", "v1", json!({})).await;
    world.stack("two", "v2", json!({})).await;
    world.ready("one").await;
    world.ready("two").await;
    world.stack("a", "v9", json!({})).await;
    let stack = world
        .until("Stack", "a", |stack| {
            says(stack, "Selected", "False", "NotSelected")
        })
        .await;
    let words = "no running operator looks after this resource: it has operatorVersion=v9; running operators look after \
                 operatorVersion=v2 (stack 2.0.0), operatorVersion=v1 (stack 1.0.0); set the label of one of them";
    assert_eq!(message(&stack, "Selected"), words);
    assert_eq!(world.told("a", "NotSelected").await, words);
    assert_eq!(stack["metadata"].get("finalizers"), None);
    assert_eq!(world.get("ConfigMap", "a-config").await, None);

    world
        .edit(
            "Stack",
            "a",
            json!({"metadata": {"labels": {"operatorVersion": "v1"}}}),
        )
        .await;
    let stack = world.ready("a").await;
    assert_eq!(message(&stack, "Selected"), "");
}

/// Waits until a Stack says that nobody looks after it, and nothing of whether it works; returns the words.
async fn until_alone(world: &World, name: &str) -> String {
    let stack = world
        .until("Stack", name, |stack| {
            says(stack, "Selected", "False", "NotSelected") && says(stack, "Ready", "Unknown", "NotSelected")
        })
        .await;
    let words = message(&stack, "Selected");
    assert_eq!(world.told(name, "NotSelected").await, words);
    words
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resource_whose_operator_is_taken_away_is_told_so_until_one_comes() {
    let mut world = World::new().await;
    world.start(&ONE);
    world.start(&TWO);
    world.stack("two", "v2", json!({})).await;
    world.stack("a", "v1", json!({})).await;
    world.ready("two").await;
    world.ready("a").await;
    world.stop("one").await;
    assert_eq!(
        until_alone(&world, "a").await,
        "no running operator looks after this resource: it has operatorVersion=v1; running operators look after \
         operatorVersion=v2 (stack 2.0.0); set the label of one of them"
    );
    world.delete("ConfigMap", "a-config").await;
    world.start(&ONE);
    world.until("ConfigMap", "a-config", |_| true).await;
    let stack = world.ready("a").await;
    assert_eq!(message(&stack, "Selected"), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_that_gives_no_sign_any_more_does_not_run() {
    let mut world = World::new().await;
    let watches = json!([{"group": "example.com", "kind": "Stack", "chart": "stack", "version": "0.9.0",
        "selector": {"matchLabels": {"operatorVersion": "v0"}}}]);
    let now = jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
        .to_string();
    world
        .create(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "silent", "labels": {"baton-olm.dev/helm-operator": "true"},
                "annotations": {"baton-olm.dev/watches": watches.to_string()}},
            "spec": {"holderIdentity": "crashed", "leaseDurationSeconds": 2, "renewTime": now},
        }))
        .await;
    world.start(&TWO);
    world.stack("a", "v0", json!({})).await;
    assert_eq!(
        until_alone(&world, "a").await,
        "no running operator looks after this resource: it has operatorVersion=v0; running operators look after \
         operatorVersion=v2 (stack 2.0.0); set the label of one of them"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_operators_that_pick_a_resource_the_newer_has_it() {
    let mut world = World::new().await;
    let newer = Settings { label: None, ..TWO };
    world.start(&newer);
    world.stack("known", "v1", json!({})).await;
    world.ready("known").await;
    world.start(&ONE);
    world.stack("a", "v1", json!({})).await;
    world.ready("a").await;
    let words = world.told("a", "AlsoSelected").await;
    assert!(
        words.starts_with(
            "another operator picks this resource too and looks after it: stack 2.0.0 (default/"
        ),
        "{words}"
    );
    assert_eq!(world.history("a").await, ["1 deployed"]);

    world.stop("two").await;
    world
        .edit("Stack", "a", json!({"spec": {"message": "second"}}))
        .await;
    world
        .until("ConfigMap", "a-config", |map| map["data"]["message"] == "second")
        .await;
}
