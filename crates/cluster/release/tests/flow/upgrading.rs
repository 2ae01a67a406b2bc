//! Upgrading and rolling back.

use std::collections::BTreeSet;

use apply::object::ObjectId;
use release::Cause;
use release::history::Revision;
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn an_upgrade_writes_only_what_changed() {
    let world = World::new().await;
    world
        .install("soup", json!({"extra": true}))
        .await
        .expect("installed");
    world.meter.take();
    world
        .upgrade("soup", json!({"message": "changed"}))
        .await
        .expect("upgraded");
    assert_eq!(
        world.meter.take(),
        [
            "GET /api/v1/namespaces/apps/secrets",
            "GET /api/v1/namespaces/apps/secrets/sh.helm.release.v1.soup.v1",
            "POST /api/v1/namespaces/apps/secrets",
            "PATCH /api/v1/namespaces/apps/configmaps/soup-cm",
            // Who scales it keeps the number of replicas.
            "GET /apis/apps/v1/namespaces/apps/deployments/soup-web",
            "PATCH /apis/apps/v1/namespaces/apps/deployments/soup-web",
            "GET /api/v1/namespaces/apps/configmaps/soup-extra",
            "DELETE /api/v1/namespaces/apps/configmaps/soup-extra",
            "PUT /api/v1/namespaces/apps/secrets/sh.helm.release.v1.soup.v1",
            "PUT /api/v1/namespaces/apps/secrets/sh.helm.release.v1.soup.v2",
        ]
    );
    assert_eq!(
        world.history("soup").await,
        ["1 superseded: Install complete", "2 deployed: Upgrade complete"]
    );
    let map = world.get("v1", "ConfigMap", "soup-cm").await.expect("a map");
    assert_eq!(map["data"]["message"], "changed");
}

#[tokio::test]
async fn what_is_said_to_have_drifted_is_written_with_an_upgrade() {
    let world = World::new().await;
    world.install("soup", json!({})).await.expect("installed");
    world
        .edit(
            "v1",
            "ConfigMap",
            "soup-cm",
            json!({"data": {"message": "edited"}}),
        )
        .await;
    let standing = world.standing("soup").await;
    let prepared = world.prepare("soup", standing.next_version(), &json!({"replicas": 2}));
    let drifted = BTreeSet::from([ObjectId {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        namespace: "apps".to_owned(),
        name: "soup-cm".to_owned(),
    }]);
    let releases = world.releases("soup");
    let outcome = releases
        .upgrade(standing, prepared, &drifted)
        .await
        .expect("upgraded");
    assert_eq!(outcome.written.len(), 2);
    let map = world.get("v1", "ConfigMap", "soup-cm").await.expect("a map");
    assert_eq!(map["data"]["message"], "hello");
}

#[tokio::test]
async fn a_field_that_the_chart_drops_goes_away() {
    let world = World::new().await;
    world
        .install("soup", json!({"note": "x"}))
        .await
        .expect("installed");
    world
        .edit("v1", "ConfigMap", "soup-cm", json!({"data": {"other": "kept"}}))
        .await;
    world.upgrade("soup", json!({})).await.expect("upgraded");
    let map = world.get("v1", "ConfigMap", "soup-cm").await.expect("a map");
    assert_eq!(map["data"], json!({"message": "hello", "other": "kept"}));
}

#[tokio::test]
async fn an_object_in_the_way_stops_an_upgrade_before_anything_is_written() {
    let world = World::new().await;
    world.install("soup", json!({})).await.expect("installed");
    world
        .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "soup-extra"}}))
        .await;
    let failure = world
        .upgrade("soup", json!({"extra": true, "message": "changed"}))
        .await
        .expect_err("in the way");
    assert_eq!(failure.cause, Cause::Collision);
    assert!(failure.record.is_none());
    let start = "Unable to continue with update: ConfigMap \"soup-extra\" in namespace \"apps\" exists and cannot be imported";
    assert!(failure.message.starts_with(start), "{}", failure.message);
    assert_eq!(world.history("soup").await, ["1 deployed: Install complete"]);
}

#[tokio::test]
async fn a_rollback_releases_an_earlier_revision_again() {
    let world = World::new().await;
    world.install("soup", json!({})).await.expect("installed");
    world
        .upgrade("soup", json!({"message": "two", "extra": true}))
        .await
        .expect("upgraded");
    let standing = world.standing("soup").await;
    let outcome = world
        .releases("soup")
        .rollback(standing, None)
        .await
        .expect("back");
    assert_eq!(outcome.record.release.version, 3);
    assert_eq!(
        world.history("soup").await,
        [
            "1 superseded: Install complete",
            "2 superseded: Upgrade complete",
            "3 deployed: Rollback to 1",
        ]
    );
    let map = world.get("v1", "ConfigMap", "soup-cm").await.expect("a map");
    assert_eq!(map["data"], json!({"message": "hello"}));
    assert!(world.get("v1", "ConfigMap", "soup-extra").await.is_none());
    let standing = world.standing("soup").await;
    let failure = world
        .releases("soup")
        .rollback(standing, Some(9))
        .await
        .expect_err("no such revision");
    assert_eq!(failure.message, "release has no 9 version");
}

#[tokio::test]
async fn a_remark_stands_behind_helms_words_but_in_nobody_elses() {
    let world = World::new().await;
    world.install("soup", json!({})).await.expect("installed");
    for description in [None, Some("by hand".to_owned())] {
        let standing = world.standing("soup").await;
        let message = json!({"message": standing.next_version().to_string()});
        let prepared = world.prepare("soup", standing.next_version(), &message);
        let options = release::Options {
            description,
            remark: Some("not all of it".to_owned()),
            ..release::Options::default()
        };
        let releases = world.releases_with("soup", options);
        let upgraded = releases.upgrade(standing, prepared, &BTreeSet::new()).await;
        upgraded.expect("upgraded");
    }
    assert_eq!(
        world.history("soup").await,
        [
            "1 superseded: Install complete",
            "2 superseded: Upgrade complete; not all of it",
            "3 deployed: by hand",
        ]
    );
}

#[tokio::test]
async fn a_history_has_its_limit() {
    let world = World::new().await;
    world.install("soup", json!({})).await.expect("installed");
    for round in 2..=13 {
        world
            .upgrade("soup", json!({"message": format!("{round}")}))
            .await
            .expect("upgraded");
    }
    let records = world.releases("soup");
    let history = records.records().history().await.expect("a history");
    let versions: Vec<i64> = history
        .revisions()
        .iter()
        .map(|revision: &Revision| revision.version)
        .collect();
    assert_eq!(versions, (4..=13).collect::<Vec<i64>>());
}

#[tokio::test]
async fn two_writers_do_not_overwrite_each_other() {
    let world = World::new().await;
    world.install("soup", json!({})).await.expect("installed");
    let releases = world.releases("soup");
    let (mut one, mut other) = (
        world.standing("soup").await.last,
        world.standing("soup").await.last,
    );
    one.release.info.description = "one".to_owned();
    other.release.info.description = "other".to_owned();
    releases.records().update(&mut one).await.expect("the first one");
    let refused = releases.records().update(&mut other).await.expect_err("too late");
    assert_eq!(
        refused.to_string(),
        "Secret \"sh.helm.release.v1.soup.v1\" of the release was changed by another program meanwhile"
    );
    assert_eq!(world.history("soup").await, ["1 deployed: one"]);
}

#[tokio::test]
async fn changes_that_can_only_be_made_as_a_whole_are_made() {
    let world = World::new().await;
    world.install("soup", json!({})).await.expect("installed");
    world
        .upgrade("soup", json!({"strategy": "Recreate"}))
        .await
        .expect("upgraded");
    let deployment = world
        .get("apps/v1", "Deployment", "soup-web")
        .await
        .expect("there");
    assert_eq!(deployment["spec"]["strategy"], json!({"type": "Recreate"}));
    // One name twice: nothing that can be applied, but Helm 3 takes it.
    world
        .upgrade("soup", json!({"twice": true}))
        .await
        .expect("upgraded");
    world
        .upgrade("soup", json!({"message": "three"}))
        .await
        .expect("upgraded");
    let deployment = world
        .get("apps/v1", "Deployment", "soup-web")
        .await
        .expect("there");
    let environment = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(environment, &json!([{"name": "MESSAGE", "value": "three"}]));
    world
        .install("stew", json!({"twice": true}))
        .await
        .expect("installed");
    assert_eq!(world.objects("stew").await.len(), 4);
}
