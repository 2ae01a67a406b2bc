//! How revisions hand over and let go.

use std::time::Duration;

use api::cluster_object_set::LifecycleState;
use api::keys;
use apply::engine::Next;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::world::{World, map, revision, waits_for};

#[tokio::test]
async fn a_newer_revision_takes_over_and_the_older_one_goes() {
    let world = World::new().await;
    world
        .make(&revision(
            "x",
            1,
            vec![("one", vec![map("a", "1"), map("old", "1")])],
        ))
        .await;
    world.reconcile("x-1").await;
    let uid = world.maps().get("a").await.expect("made").metadata.uid;
    world
        .make(&revision(
            "x",
            2,
            vec![("one", vec![map("a", "2"), map("new", "2")])],
        ))
        .await;
    world.reconcile("x-2").await;
    assert_eq!(world.value("a", "a").await.as_deref(), Some("2"));
    assert_eq!(
        world.maps().get("a").await.expect("there").metadata.uid,
        uid,
        "it is the same object"
    );
    assert_eq!(
        world.set("x-1").await.spec.lifecycle_state,
        LifecycleState::Archived
    );
    assert_eq!(world.said("x-2", "Progressing").await.1, "Succeeded");

    world.reconcile("x-1").await;
    assert_eq!(
        world.value("old", "a").await,
        None,
        "what the newer one doesn't have goes"
    );
    assert_eq!(world.value("a", "a").await.as_deref(), Some("2"));
    let set = world.set("x-1").await;
    assert_eq!(set.metadata.finalizers, None);
    assert_eq!(
        world.said("x-1", "Progressing").await,
        ("False".into(), "Archived".into(), "revision is archived".into())
    );
    assert_eq!(world.said("x-1", "Available").await.0, "Unknown");
    let owners = world
        .maps()
        .get("a")
        .await
        .expect("there")
        .metadata
        .owner_references
        .expect("owners");
    assert_eq!(
        owners.iter().map(|owner| owner.name.as_str()).collect::<Vec<_>>(),
        ["x-2"]
    );

    world.reconcile("x-2").await;
    world.reconcile("x-1").await;
    assert_eq!(world.value("a", "a").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn an_older_revision_leaves_objects_to_the_newer_one() {
    let world = World::new().await;
    let mut newer = revision("x", 2, vec![("one", vec![map("a", "2")])]);
    newer.spec.progression_probes = waits_for("never");
    world
        .make(&revision("x", 1, vec![("one", vec![map("a", "1")])]))
        .await;
    world.reconcile("x-1").await;
    world.make(&newer).await;
    world.reconcile("x-2").await;
    world.reconcile("x-1").await;
    assert_eq!(world.value("a", "a").await.as_deref(), Some("2"));
    assert_eq!(
        world.set("x-1").await.spec.lifecycle_state,
        LifecycleState::Active
    );
    assert_eq!(world.said("x-2", "Progressing").await.1, "RollingOut");
}

#[tokio::test]
async fn a_deleted_revision_lets_go_at_once() {
    let world = World::new().await;
    world
        .make(&revision("x", 1, vec![("one", vec![map("a", "1")])]))
        .await;
    world.reconcile("x-1").await;
    world
        .sets()
        .delete("x-1", &DeleteParams::default())
        .await
        .expect("deleted");
    world.reconcile("x-1").await;
    assert!(world.sets().get_opt("x-1").await.expect("asked").is_none());
    assert_eq!(world.reconcile("x-1").await, Next::default());
    assert_eq!(world.engine.watched_kinds(), 0);
}

#[tokio::test]
async fn what_is_to_survive_a_deletion_does() {
    let world = World::new().await;
    let mut set = revision("x", 1, vec![("one", vec![map("a", "1")])]);
    let annotations = set.metadata.annotations.get_or_insert_default();
    annotations.insert("baton-olm.dev/on-delete".into(), "orphan".into());
    world.make(&set).await;
    world.reconcile("x-1").await;
    world
        .sets()
        .delete("x-1", &DeleteParams::default())
        .await
        .expect("deleted");
    world.reconcile("x-1").await;
    assert!(world.sets().get_opt("x-1").await.expect("asked").is_none());
    let object = world.maps().get("a").await.expect("it survives");
    assert_eq!(object.metadata.owner_references.unwrap_or_default().len(), 0);
    assert!(
        !object
            .metadata
            .annotations
            .unwrap_or_default()
            .contains_key(keys::REVISION)
    );
}

#[tokio::test]
async fn phases_are_torn_down_from_the_last_to_the_first() {
    let world = World::new().await;
    world
        .make(&revision(
            "x",
            1,
            vec![("one", vec![map("a", "1")]), ("two", vec![map("b", "1")])],
        ))
        .await;
    world.reconcile("x-1").await;
    let patch = json!({"metadata": {"finalizers": ["example.com/held"]}});
    let maps = world.maps();
    maps.patch("b", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .expect("held");
    world.archive("x-1").await;
    let next = world.reconcile("x-1").await;
    assert_eq!(next.after, Some(Duration::from_secs(5)));
    assert_eq!(
        world.said("x-1", "Progressing").await.2,
        "removing revision resources that are not owned by another revision"
    );
    assert!(
        world.value("a", "a").await.is_some(),
        "the first phase waits for the second"
    );
    let patch = json!({"metadata": {"finalizers": null}});
    maps.patch("b", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .expect("let go");
    world.reconcile("x-1").await;
    assert_eq!(world.value("a", "a").await, None);
    assert_eq!(world.set("x-1").await.metadata.finalizers, None);
}
