//! How revisions are brought about.

use std::collections::BTreeMap;
use std::time::Duration;

use api::keys;
use apply::diff::What;
use apply::engine::Next;
use apply::phases::phases_of;
use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, ListParams};
use serde_json::json;

use crate::world::{World, map, revision, waits_for};

#[tokio::test]
async fn a_revision_is_rolled_out_and_says_so() {
    let world = World::new().await;
    world
        .make(&revision(
            "x",
            1,
            vec![
                ("one", vec![map("a", "1"), map("b", "1")]),
                ("two", vec![map("c", "1")]),
            ],
        ))
        .await;
    assert_eq!(world.reconcile("x-1").await, Next::default());
    let set = world.set("x-1").await;
    assert_eq!(
        set.metadata.finalizers.as_deref(),
        Some(&[keys::TEARDOWN.to_owned()][..])
    );
    assert_eq!(set.status.observed_phases.len(), 2);
    let progressing = world.said("x-1", "Progressing").await;
    assert_eq!(
        progressing,
        (
            "True".into(),
            "Succeeded".into(),
            "Revision 1.0.0 has rolled out.".into()
        )
    );
    assert_eq!(world.said("x-1", "Available").await.1, "ProbesSucceeded");
    assert_eq!(world.said("x-1", "Succeeded").await.0, "True");
    let made = world.maps().get("a").await.expect("made");
    let labels = made.metadata.labels.expect("labels");
    assert_eq!(labels[keys::OWNER_NAME], "x");
    assert_eq!(labels["app.kubernetes.io/managed-by"], "olm.operatorframework.io");
    assert_eq!(
        made.metadata.annotations.expect("annotations")[keys::REVISION],
        "1"
    );
    let owners = made.metadata.owner_references.expect("owners");
    assert_eq!(
        (owners[0].name.as_str(), owners[0].controller),
        ("x-1", Some(true))
    );
    let managers = made.metadata.managed_fields.expect("managers");
    assert_eq!(managers.len(), 1);
    assert_eq!(managers[0].operation.as_deref(), Some("Apply"));
}

#[tokio::test]
async fn a_second_look_changes_nothing() {
    let world = World::new().await;
    world
        .make(&revision("x", 1, vec![("one", vec![map("a", "1")])]))
        .await;
    world.reconcile("x-1").await;
    let (set, object) = (world.set("x-1").await, world.maps().get("a").await.expect("made"));
    world.reconcile("x-1").await;
    assert_eq!(
        world.set("x-1").await.metadata.resource_version,
        set.metadata.resource_version
    );
    let again = world.maps().get("a").await.expect("made");
    assert_eq!(again.metadata.resource_version, object.metadata.resource_version);
}

#[tokio::test]
async fn the_next_phase_waits_for_the_probes() {
    let world = World::new().await;
    let mut set = revision(
        "x",
        1,
        vec![("one", vec![map("a", "1")]), ("two", vec![map("b", "2")])],
    );
    set.spec.progression_probes = waits_for("2");
    set.spec.progress_deadline_minutes = Some(10);
    world.make(&set).await;
    let next = world.reconcile("x-1").await;
    assert!(
        next.after.is_some_and(|after| after > Duration::from_secs(590)),
        "{next:?}"
    );
    assert_eq!(
        world.said("x-1", "Available").await,
        (
            "False".into(),
            "ProbeFailure".into(),
            "Object ConfigMap.v1 app/a: value at key \"data.a\" != \"2\"; expected: \"2\" got: \"1\"".into()
        )
    );
    assert_eq!(world.said("x-1", "Progressing").await.1, "RollingOut");
    assert_eq!(world.value("b", "a").await, None);
}

#[tokio::test]
async fn an_object_whose_kind_comes_with_an_earlier_phase_is_made() {
    let world = World::new().await;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
    });
    let widget =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "size": 3});
    let mut set = revision("x", 1, vec![("crds", vec![definition]), ("deploy", vec![widget])]);
    set.spec.progression_probes = apply::probes::default_probes();
    world.make(&set).await;
    let mut drift = Box::pin(world.engine.drift());
    for _ in 0..20 {
        world.reconcile("x-1").await;
        if world.said("x-1", "Progressing").await.1 == "Succeeded" {
            return;
        }
        let _ = tokio::time::timeout(Duration::from_secs(2), drift.next()).await;
    }
    panic!("{:?}", world.said("x-1", "Progressing").await);
}

#[tokio::test]
async fn a_field_that_is_no_longer_wanted_goes() {
    let world = World::new().await;
    let mut first = map("a", "1");
    first["data"]["b"] = json!("1");
    world.make(&revision("x", 1, vec![("one", vec![first])])).await;
    world.reconcile("x-1").await;
    assert!(world.value("a", "b").await.is_some());
    world
        .make(&revision("x", 2, vec![("one", vec![map("a", "1")])]))
        .await;
    world.reconcile("x-2").await;
    assert_eq!(world.value("a", "b").await, None);
}

#[tokio::test]
async fn a_preview_changes_nothing_and_says_what_would() {
    let world = World::new().await;
    world
        .make(&revision(
            "x",
            1,
            vec![("one", vec![map("a", "1"), map("old", "1"), map("same", "1")])],
        ))
        .await;
    world.reconcile("x-1").await;
    let next = revision(
        "x",
        2,
        vec![("one", vec![map("a", "2"), map("new", "2"), map("same", "1")])],
    );
    let before = world.maps().list(&ListParams::default()).await.expect("listed");
    let changes = world.engine.preview(&next).await.expect("previewed");
    let after = world.maps().list(&ListParams::default()).await.expect("listed");
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version);
    let what: BTreeMap<&str, &What> = changes
        .iter()
        .map(|change| (change.id.name.as_str(), &change.what))
        .collect();
    assert_eq!(what["a"], &What::Update);
    assert_eq!(what["new"], &What::Create);
    assert_eq!(what["old"], &What::Delete);
    let change = changes
        .iter()
        .find(|change| change.id.name == "a")
        .expect("a change");
    assert!(change.to_string().contains("data.a: \"1\" -> \"2\""), "{change}");
}

#[tokio::test]
async fn many_objects_are_brought_about() {
    let world = World::new().await;
    let maps = (0..120).map(|index| map(&format!("m{index:03}"), "1"));
    let accounts = (0..10).map(|index| {
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": format!("s{index}"), "namespace": "app"}})
    });
    let mut set = revision("x", 1, Vec::new());
    set.spec.phases = phases_of(maps.chain(accounts));
    world.make(&set).await;
    world.reconcile("x-1").await;
    assert_eq!(world.said("x-1", "Progressing").await.1, "Succeeded");
    let listed = world
        .maps()
        .list(&ListParams::default().labels(keys::OWNER_NAME))
        .await;
    assert_eq!(listed.expect("listed").items.len(), 120);
    let accounts: Api<ServiceAccount> = Api::namespaced(world.client.clone(), "app");
    let listed = accounts
        .list(&ListParams::default().labels(keys::OWNER_NAME))
        .await;
    assert_eq!(listed.expect("listed").items.len(), 10);
    assert_eq!(world.engine.watched_kinds(), 2);
}
