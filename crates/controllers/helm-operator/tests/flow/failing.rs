//! What can't be made true: the status says why, and what would help.

use serde_json::json;

use crate::line::Line;
use crate::world::{Settings, World, is_true, message, says};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_values_are_named_as_fields_of_the_resource() {
    let mut world = World::new().await;
    world.start(&Settings::default());
    world.stack("a", "v1", json!({"replicas": 99})).await;
    let stack = world
        .until("Stack", "a", |stack| {
            says(stack, "ReleaseFailed", "True", "InstallError")
        })
        .await;
    let words = message(&stack, "Irreconcilable");
    assert!(
        words.starts_with(
            "values don't meet the specifications of the schema(s) in the following chart(s):\nstack:\n- at '/replicas': \
             maximum: got 99, want 5\n"
        ),
        "{words}"
    );
    assert_eq!(message(&stack, "Valid"), "spec.replicas: maximum: got 99, want 5");
    assert_eq!(world.history("a").await, Vec::<String>::new());
    world.edit("Stack", "a", json!({"spec": {"replicas": 2}})).await;
    let stack = world.ready("a").await;
    assert!(!is_true(&stack, "Irreconcilable") && !is_true(&stack, "ReleaseFailed"));
    let conditions = stack["status"]["conditions"].as_array().expect("conditions");
    assert!(
        !conditions.iter().any(|condition| condition["type"] == "Valid"),
        "{stack}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chart_that_fails_says_where() {
    let mut world = World::new().await;
    world.start(&Settings::default());
    world.stack("a", "v1", json!({"fail": "out of order"})).await;
    let stack = world
        .until("Stack", "a", |stack| {
            says(stack, "ReleaseFailed", "True", "InstallError")
        })
        .await;
    assert_eq!(
        message(&stack, "Irreconcilable"),
        "execution error at (stack/templates/main.yaml:1:27): out of order"
    );
    world.edit("Stack", "a", json!({"spec": {"fail": ""}})).await;
    world.ready("a").await;

    world
        .edit(
            "Stack",
            "a",
            json!({"spec": {"fail": "again", "message": "never"}}),
        )
        .await;
    world
        .until("Stack", "a", |stack| {
            says(stack, "Irreconcilable", "True", "ErrorGettingReleaseState")
        })
        .await;
    let map = world.get("ConfigMap", "a-config").await.expect("it stays");
    assert_eq!(map["data"]["message"], "hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_forbidden_is_said_with_the_rule_that_is_missing() {
    let mut world = World::limited().await;
    world.start_limited(&Line::lasting());
    world.stack("a", "v1", json!({"policy": true})).await;
    let stack = world
        .until("Stack", "a", |stack| {
            says(stack, "ReleaseFailed", "True", "InstallError")
        })
        .await;
    let words = message(&stack, "ReleaseFailed");
    assert!(words.contains("is forbidden"), "{words}");
    assert!(
        words.contains(
            "{apiGroups: [\"networking.k8s.io\"], resources: [\"networkpolicies\"], verbs: [\"patch\"]}"
        ),
        "{words}"
    );
    assert!(words.contains("`baton bundle generate`"), "{words}");
    assert!(!is_true(&stack, "Deployed"));

    world.edit("Stack", "a", json!({"spec": {"policy": false}})).await;
    world.ready("a").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_of_others_are_not_touched() {
    let mut world = World::new().await;
    world
        .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a-config"}, "data": {"mine": "1"}}))
        .await;
    world.start(&Settings::default());
    world.stack("a", "v1", json!({})).await;
    let stack = world
        .until("Stack", "a", |stack| {
            says(stack, "ReleaseFailed", "True", "InstallError")
        })
        .await;
    let words = message(&stack, "ReleaseFailed");
    assert!(
        words.starts_with(
            "Unable to continue with install: ConfigMap \"a-config\" in namespace \"models\" exists and cannot be \
             imported into the current release: invalid ownership metadata; "
        ),
        "{words}"
    );
    let map = world.get("ConfigMap", "a-config").await.expect("there");
    assert_eq!(map["data"], json!({"mine": "1"}));
    assert_eq!(world.get("Deployment", "a-web").await, None);
    world.delete("ConfigMap", "a-config").await;
    world.ready("a").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_is_one_resource_s_alone() {
    let mut world = World::new().await;
    world.start(&Settings::default());
    world.stack("a", "v1", json!({})).await;
    world.ready("a").await;
    world
        .create(
            json!({"apiVersion": "example.com/v1", "kind": "Heap", "metadata": {"name": "a"},
            "spec": {"message": "other"}}),
        )
        .await;
    let heap = world
        .until("Heap", "a", |heap| {
            says(heap, "Irreconcilable", "True", "ErrorGettingReleaseState")
        })
        .await;
    assert_eq!(
        message(&heap, "Irreconcilable"),
        "duplicate release name: found existing release with name \"a\" for chart \"stack\"; give the resource another \
         name, or delete the one that has it"
    );
    let map = world.get("ConfigMap", "a-config").await.expect("there");
    assert_eq!(map["data"]["message"], "hello");
    // The other goes, and leaves what isn't its own.
    world.delete("Heap", "a").await;
    world.until_gone("Heap", "a").await;
    assert_eq!(world.history("a").await, ["1 deployed"]);
    assert!(world.get("ConfigMap", "a-config").await.is_some());
}
