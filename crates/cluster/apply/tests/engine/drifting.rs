//! What happens when objects change.

use std::sync::atomic::Ordering;
use std::time::Duration;

use apply::phases::phases_of;
use futures_util::StreamExt as _;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::world::{World, map, operator, revision};

#[tokio::test]
async fn drift_is_seen_and_repaired() {
    let world = World::new().await;
    world
        .make(&revision("x", 1, vec![("one", vec![map("a", "1")])]))
        .await;
    let mut drift = Box::pin(world.engine.drift());
    world.reconcile("x-1").await;
    assert_eq!(world.engine.watched_kinds(), 1);
    let patch = json!({"data": {"a": "changed", "more": "kept"}, "metadata": {"labels": {"mine": "yes"}}});
    world
        .maps()
        .patch("a", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .expect("changed");
    while world.value("a", "a").await.as_deref() != Some("1") {
        repair(&world, &mut drift).await;
    }
    assert_eq!(
        world.value("a", "more").await.as_deref(),
        Some("kept"),
        "another's field survives"
    );
    let labels = world
        .maps()
        .get("a")
        .await
        .expect("there")
        .metadata
        .labels
        .expect("labels");
    assert_eq!(labels["mine"], "yes");

    world
        .maps()
        .delete("a", &DeleteParams::default())
        .await
        .expect("deleted");
    while world.value("a", "a").await.is_none() {
        repair(&world, &mut drift).await;
    }
}

/// Waits until something is heard of the revision, and looks at it then.
async fn repair(world: &World, drift: &mut (impl futures_util::Stream<Item = String> + Unpin)) {
    let told = tokio::time::timeout(Duration::from_mins(1), drift.next()).await;
    assert_eq!(told.expect("in time").as_deref(), Some("x-1"));
    world.reconcile("x-1").await;
}

#[tokio::test]
async fn what_a_revision_writes_itself_is_no_news() {
    let world = World::new().await;
    world
        .make(&revision(
            "x",
            1,
            vec![("one", vec![map("a", "1"), map("b", "1")])],
        ))
        .await;
    let mut drift = Box::pin(world.engine.drift());
    world.reconcile("x-1").await;
    // A change by another comes after everything that the revision wrote.
    let patch = json!({"metadata": {"labels": {"mine": "yes"}}});
    let maps = world.maps();
    maps.patch("b", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .expect("changed");
    // And another one, which has to be undone: once it is, all that was before it has been told.
    let patch = json!({"data": {"a": "changed"}});
    maps.patch("a", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .expect("changed");
    let mut told = 0;
    while world.value("a", "a").await.as_deref() != Some("1") {
        repair(&world, &mut drift).await;
        told += 1;
    }
    assert!((1..=3).contains(&told), "told {told} times");
}

#[tokio::test]
async fn what_is_as_it_should_be_is_not_written_again() {
    let world = World::new().await;
    let mut set = revision("x", 1, Vec::new());
    set.spec.phases = phases_of(operator());
    world.make(&set).await;
    world.reconcile("x-1").await;
    assert_eq!(world.said("x-1", "Progressing").await.1, "Succeeded");
    // Another engine knows nothing, and must find that nothing is to be done.
    let (engine, meter) = world.metered(usize::MAX);
    engine.reconcile("x-1").await.expect("reconciled");
    assert_eq!(meter.writes.load(Ordering::SeqCst), 0);
    // Once it has seen everything, and its watches run, it need not look again.
    let mut reads = usize::MAX;
    for _ in 0..50 {
        let before = meter.reads.load(Ordering::SeqCst);
        engine.reconcile("x-1").await.expect("reconciled");
        reads = meter.reads.load(Ordering::SeqCst) - before;
        if reads <= 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(
        reads <= 2,
        "{reads} reads: one of the revision, one of its siblings"
    );
    // What changes is seen all the same.
    world
        .maps()
        .delete("a", &DeleteParams::default())
        .await
        .expect("deleted");
    let mut is_back = false;
    for _ in 0..50 {
        engine.reconcile("x-1").await.expect("reconciled");
        is_back = world.value("a", "a").await.is_some();
        if is_back {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(is_back);
}
