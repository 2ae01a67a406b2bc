//! What others change is changed back.

use release::documents;
use release::drift::{Fingerprint, fingerprint};
use release::writing::Written;
use serde_json::{Value, json};

use crate::world::{MANAGER, World};

fn fingerprint_of(object: &Value) -> Fingerprint {
    let entries: Vec<_> =
        serde_json::from_value(object["metadata"]["managedFields"].clone()).expect("entries");
    fingerprint(&entries, MANAGER)
}

#[tokio::test]
async fn what_others_change_is_named_and_changed_back() {
    let world = World::new().await;
    let outcome = world.install("soup", json!({})).await.expect("installed");
    let documents = documents::read(&outcome.record.release.manifest).expect("documents");
    let releases = world.releases("soup");
    let quiet = releases.repair(&documents, None).await.expect("looked at");
    assert!(quiet.changes.is_empty(), "{:?}", quiet.changes);
    assert_eq!((quiet.written.len(), quiet.sound.len()), (0, 4));

    world
        .edit(
            "v1",
            "ConfigMap",
            "soup-cm",
            json!({"data": {"message": "x", "more": "y"}}),
        )
        .await;
    world
        .edit(
            "apps/v1",
            "Deployment",
            "soup-web",
            json!({"spec": {"replicas": 3}}),
        )
        .await;
    world.delete("v1", "Service", "soup-svc").await;
    let previewed = releases.preview(&documents).await.expect("looked at");
    world.meter.take();
    let repaired = releases.repair(&documents, None).await.expect("repaired");
    assert_eq!(previewed, repaired.changes);
    let told: Vec<String> = repaired.changes.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    ~ ConfigMap.v1 apps/soup-cm
        data.message: "x" -> "hello"
    + Service.v1 apps/soup-svc
    ~ Deployment.apps/v1 apps/soup-web
        spec.replicas: 3 -> 1
    "#);
    let map = world.get("v1", "ConfigMap", "soup-cm").await.expect("a map");
    assert_eq!(
        map["data"],
        json!({"message": "hello", "more": "y"}),
        "what others added stays"
    );
    world.meter.take();
    let again = releases.repair(&documents, None).await.expect("looked at");
    assert!(again.changes.is_empty());
    let writes = world
        .meter
        .take()
        .into_iter()
        .filter(|request| !request.starts_with("GET"));
    assert_eq!(writes.count(), 0, "nothing is written twice");
}

#[tokio::test]
async fn the_fields_that_are_ours_tell_of_changes_without_being_read() {
    let world = World::new().await;
    let outcome = world.install("soup", json!({})).await.expect("installed");
    let ours = |kind: &str| -> Fingerprint {
        let mut written = outcome.written.iter();
        written
            .find(|written: &&Written| written.id.kind == kind)
            .expect("written")
            .fingerprint
    };
    let live = world.get("v1", "ConfigMap", "soup-cm").await.expect("a map");
    assert_eq!(fingerprint_of(&live), ours("ConfigMap"));
    world
        .edit("v1", "ConfigMap", "soup-cm", json!({"data": {"more": "y"}}))
        .await;
    let live = world.get("v1", "ConfigMap", "soup-cm").await.expect("a map");
    assert_eq!(fingerprint_of(&live), ours("ConfigMap"), "nothing of ours");
    world
        .edit("v1", "ConfigMap", "soup-cm", json!({"data": {"message": "x"}}))
        .await;
    let live = world.get("v1", "ConfigMap", "soup-cm").await.expect("a map");
    assert_ne!(fingerprint_of(&live), ours("ConfigMap"));
    let documents = documents::read(&outcome.record.release.manifest).expect("documents");
    let repaired = world
        .releases("soup")
        .repair(&documents, None)
        .await
        .expect("repaired");
    assert_eq!(repaired.written.len(), 1);
    assert_eq!(repaired.written[0].fingerprint, ours("ConfigMap"), "ours again");
}
