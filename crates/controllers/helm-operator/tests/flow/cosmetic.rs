//! Pods whose labels name nothing but the version of the chart.

use std::collections::BTreeMap;

use futures_util::StreamExt as _;
use release::{Cluster, Records, ReleaseId};
use serde_json::{Value, json};

use crate::line::Line;
use crate::world::{NAMESPACE, Settings, World, says};

const DEFER: &str = "  cosmetic: defer\n";

/// What a record says where pods were left alone.
const KEPT: &str =
    "Upgrade complete; pods of Deployment a-web keep helm.sh/chart until something else of them changes";

fn operator(version: &'static str, more: &'static str) -> Settings {
    Settings {
        version,
        more,
        ..Settings::default()
    }
}

/// A Stack of the first version, with an annotation if it has a wish.
async fn installed(world: &mut World, more: &'static str, wish: Option<&str>) {
    world.start(&operator("1.0.0", more));
    let annotations: BTreeMap<&str, &str> = wish
        .map(|wish| ("baton-olm.dev/cosmetic", wish))
        .into_iter()
        .collect();
    world
        .create(json!({
            "apiVersion": "example.com/v1", "kind": "Stack",
            "metadata": {"name": "a", "annotations": annotations}, "spec": {"labelled": true},
        }))
        .await;
    world.ready("a").await;
}

/// Waits until a revision is deployed, and returns what its record says.
async fn released(world: &World, revision: i64) -> String {
    let secret = format!("sh.helm.release.v1.a.v{revision}");
    world
        .until("Secret", &secret, |secret| {
            secret["metadata"]["labels"]["status"] == "deployed"
        })
        .await;
    world.ready("a").await;
    let cluster = Cluster::new(world.client.clone(), "tests");
    let records = Records::new(&cluster, &ReleaseId::new(NAMESPACE, "a"));
    let record = records.read(revision).await.expect("records").expect("a record");
    record.release.info.description
}

/// The Deployment's own label, and the template of its pods as text.
async fn deployment(world: &World) -> (Value, String) {
    let deployment = world.get("Deployment", "a-web").await.expect("there");
    let label = deployment["metadata"]["labels"]["helm.sh/chart"].clone();
    (label, deployment["spec"]["template"].to_string())
}

/// Which pods there are, and in which state of its spec the Deployment is.
async fn pods(world: &World) -> (Vec<String>, Value) {
    let deployment = world
        .until("Deployment", "a-web", |deployment| {
            let generation = &deployment["metadata"]["generation"];
            deployment["status"]["observedGeneration"] == *generation
        })
        .await;
    let listed = world.list("Pod").await;
    let mut pods: Vec<String> = listed
        .iter()
        .map(|pod| pod["metadata"]["uid"].to_string())
        .collect();
    pods.sort();
    (pods, deployment["metadata"]["generation"].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_alone_starts_no_pods_anew_where_that_is_asked_for() {
    for (more, wish, is_kept) in [
        ("", None, false),
        (DEFER, None, true),
        (DEFER, Some("apply"), false),
        ("", Some("defer"), true),
        ("", Some("perhaps"), false),
    ] {
        let mut world = World::new().await;
        installed(&mut world, more, wish).await;
        let (label, template) = deployment(&world).await;
        assert_eq!(label, "stack-1.0.0");
        let before = pods(&world).await;
        assert_eq!(before.0.len(), 1);

        world.stop("operator").await;
        world.start(&operator("1.1.0", more));
        let description = released(&world, 2).await;
        let (label, after) = deployment(&world).await;
        assert_eq!(label, "stack-1.1.0", "{more:?} {wish:?}");
        assert_eq!(after == template, is_kept, "{more:?} {wish:?}");
        assert_eq!(pods(&world).await == before, is_kept, "{more:?} {wish:?}");
        let expected = if is_kept { KEPT } else { "Upgrade complete" };
        assert_eq!(description, expected, "{more:?} {wish:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn labels_stay_over_versions_and_restarts_until_something_real_changes() {
    let mut world = World::new().await;
    installed(&mut world, DEFER, None).await;
    let (_, template) = deployment(&world).await;
    let before = pods(&world).await;
    for (version, revision) in [("1.1.0", 2), ("1.2.0", 3)] {
        world.stop("operator").await;
        world.start(&operator(version, DEFER));
        assert_eq!(released(&world, revision).await, KEPT);
        // Rendered once more, it is the same release.
        world.stop("operator").await;
        let line = Line::lasting();
        let service = world.stage.as_ref().expect("a stage").service();
        world.start_with(&operator(version, DEFER), line.to(service, None));
        World::rest(&line).await;
        let last = world.history("a").await.pop();
        assert_eq!(last, Some(format!("{revision} deployed")));
        let label = json!(format!("stack-{version}"));
        assert_eq!(deployment(&world).await, (label, template.clone()));
    }
    assert_eq!(pods(&world).await, before);

    // What changes beside the pods leaves them alone; what changes of them brings the label along.
    world
        .edit("Stack", "a", json!({"spec": {"message": "second"}}))
        .await;
    assert_eq!(released(&world, 4).await, KEPT);
    assert_eq!(pods(&world).await, before);
    world
        .edit("Stack", "a", json!({"spec": {"image": "nginx:1.28"}}))
        .await;
    assert_eq!(released(&world, 5).await, "Upgrade complete");
    let (_, after) = deployment(&world).await;
    assert!(
        after.contains("nginx:1.28") && after.contains("stack-1.2.0") && !after.contains("stack-1.0.0"),
        "{after}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_wants_the_labels_gets_them_at_once() {
    let mut world = World::new().await;
    installed(&mut world, DEFER, None).await;
    world.stop("operator").await;
    world.start(&operator("1.1.0", DEFER));
    assert_eq!(released(&world, 2).await, KEPT);
    let wish = json!({"metadata": {"annotations": {"baton-olm.dev/cosmetic": "apply"}}});
    world.edit("Stack", "a", wish).await;
    assert_eq!(released(&world, 3).await, "Upgrade complete");
    let (_, template) = deployment(&world).await;
    assert!(template.contains("stack-1.1.0"), "{template}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_that_was_rolled_back_is_not_what_pods_run() {
    let mut world = World::new().await;
    installed(&mut world, DEFER, None).await;
    let (_, template) = deployment(&world).await;
    world.stop("operator").await;
    let refused = json!({"spec": {"replicas": -1, "image": "nginx:1.28"}});
    world.edit("Stack", "a", refused).await;
    world.start(&operator("1.1.0", DEFER));
    world
        .until("Stack", "a", |stack| {
            says(stack, "ReleaseFailed", "True", "UpgradeError")
        })
        .await;
    let mended = json!({"spec": {"replicas": null, "image": null}});
    world.edit("Stack", "a", mended).await;
    let label = json!("stack-1.1.0");
    world
        .until("Deployment", "a-web", |deployment| {
            deployment["metadata"]["labels"]["helm.sh/chart"] == label
        })
        .await;
    world.ready("a").await;
    assert_eq!(deployment(&world).await, (label, template));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_that_is_killed_in_between_leaves_pods_alone_too() {
    let lives = (1..=8).map(live);
    let killed: Vec<bool> = futures_util::stream::iter(lives).buffered(4).collect().await;
    assert!(killed.contains(&true), "nothing was killed");
}

/// Hands a Stack over to an operator that is killed at the n-th write; returns whether it was.
async fn live(writes: i64) -> bool {
    let mut world = World::new().await;
    installed(&mut world, DEFER, None).await;
    let (_, template) = deployment(&world).await;
    let before = pods(&world).await;
    world.stop("operator").await;
    let line = Line::of(writes);
    let service = world.stage.as_ref().expect("a stage").service();
    world.start_with(&operator("1.1.0", DEFER), line.to(service, None));
    let is_killed = tokio::select! {
        _ = released(&world, 2) => false,
        () = line.dead() => true,
    };
    if is_killed {
        world.kill("operator").await;
        world.start(&operator("1.1.0", DEFER));
    }
    assert_eq!(released(&world, 2).await, KEPT, "killed at write {writes}");
    assert_eq!(world.history("a").await, ["1 superseded", "2 deployed"]);
    let label = json!("stack-1.1.0");
    assert_eq!(
        deployment(&world).await,
        (label, template),
        "killed at write {writes}"
    );
    assert_eq!(pods(&world).await, before, "killed at write {writes}");
    is_killed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_cut_off_and_goes_on_with_the_next_version_starts_pods_anew_once() {
    let lives = (1..=8).map(overtaken);
    let killed: Vec<bool> = futures_util::stream::iter(lives).buffered(4).collect().await;
    assert!(killed.contains(&true), "nothing was killed");
}

/// Changes an image with a version that is killed at the n-th write, and goes on with the next one; returns whether it was.
async fn overtaken(writes: i64) -> bool {
    let mut world = World::new().await;
    installed(&mut world, DEFER, None).await;
    let (_, generation) = pods(&world).await;
    assert_eq!(generation, 1);
    world.stop("operator").await;
    world
        .edit("Stack", "a", json!({"spec": {"image": "nginx:1.28"}}))
        .await;
    let line = Line::of(writes);
    let service = world.stage.as_ref().expect("a stage").service();
    world.start_with(&operator("1.1.0", DEFER), line.to(service, None));
    let is_killed = tokio::select! {
        _ = released(&world, 2) => false,
        () = line.dead() => true,
    };
    world.kill("operator").await;
    world.start(&operator("1.2.0", DEFER));
    world
        .until("Deployment", "a-web", |deployment| {
            deployment["metadata"]["labels"]["helm.sh/chart"] == "stack-1.2.0"
        })
        .await;
    world.ready("a").await;
    let (_, template) = deployment(&world).await;
    assert!(
        template.contains("nginx:1.28"),
        "killed at write {writes}: {template}"
    );
    let (_, generation) = pods(&world).await;
    assert_eq!(generation, 2, "killed at write {writes}: {template}");
    is_killed
}
