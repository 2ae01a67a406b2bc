//! What goes wrong around catalogs, and what is served all the same.

use std::time::Duration;

use axum::body::Body;
use image::digest::Digest;
use kube::api::DeleteParams;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::world::{FIRST, PATIENCE, SECOND, World, eventually, files_in, get, has, is_settled, message};

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_serves_at_once_and_a_poll_without_news_writes_nothing() {
    let mut world = World::new().await;
    let digest = world.push("latest", FIRST, true).await;
    let running = world.run("data", true);
    world
        .create("operators", &world.reference("latest"), Some(1))
        .await;
    let before = world.wait_served("operators", &digest).await;
    drop(running);

    // The registry is gone, and the content is there all the same.
    world.stop_registry().await;
    let running = world.run("data", false);
    assert_eq!(get(&running.handle, "operators").await.0, 200);
    drop(running);
    world.start_registry().await;

    let running = world.run("data", true);
    let polled = |text: &str| {
        text.lines()
            .any(|line| line.contains("result=\"requeue_after\"} ") && !line.ends_with(" 0"))
    };
    eventually("a poll", async || polled(&running.handle.metrics().text())).await;
    let after = world.catalogs().get("operators").await.expect("the catalog");
    assert_eq!(after.metadata.resource_version, before.metadata.resource_version);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_replica_serves_and_only_one_writes() {
    let world = World::new().await;
    let first = world.push("latest", FIRST, true).await;
    let leader = world.run("one", true);
    let follower = world.run("two", false);
    world.create("operators", &world.reference("latest"), None).await;
    let catalog = world.wait_served("operators", &first).await;
    let reference = catalog.resolved_reference().expect("a reference").to_owned();
    tokio::time::timeout(PATIENCE, follower.handle.wait_for("operators", &reference))
        .await
        .expect("the follower has the content");
    assert_eq!(
        get(&follower.handle, "operators").await,
        get(&leader.handle, "operators").await
    );

    // The other takes over, and goes on where this one stopped.
    drop(leader);
    let second = world.push("latest", SECOND, true).await;
    follower.leads.send(true).expect("it runs");
    world.touch("operators", 1).await;
    world.wait_served("operators", &second).await;
    assert!(get(&follower.handle, "operators").await.1.contains("second"));
    follower.leads.send(false).expect("it runs");
    world
        .catalogs()
        .delete("operators", &DeleteParams::default())
        .await
        .expect("deleted");
    eventually("the follower to withdraw", async || {
        get(&follower.handle, "operators").await.0 == 404
    })
    .await;
    let waiting = world
        .catalogs()
        .get("operators")
        .await
        .expect("the leader isn't there to let it go");
    assert!(waiting.metadata.deletion_timestamp.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_is_gone_is_asked_until_it_is_back() {
    let mut world = World::new().await;
    let digest = world.push("latest", FIRST, true).await;
    world.stop_registry().await;
    let _running = world.run("data", true);
    world.create("operators", &world.reference("latest"), None).await;
    let catalog = world
        .wait("operators", "the registry to be missed", |catalog| {
            has(catalog, "Progressing", "True", "Retrying")
        })
        .await;
    let text = message(&catalog);
    assert!(
        text.starts_with("source catalog content: cannot reach registry "),
        "{text}"
    );
    world.start_registry().await;
    world.wait_served("operators", &digest).await;
}

/// A registry that says one thing and does another: the tag has a digest that no content has.
async fn lying_registry() -> (String, JoinHandle<()>) {
    let document = "{\"schemaVersion\":2}";
    let digest = Digest::of(b"something else");
    let router = axum::Router::new().fallback(move |request: axum::extract::Request| async move {
        let is_manifest = request.uri().path().contains("/manifests/");
        let body = if is_manifest { document } else { "{}" };
        axum::response::Response::builder()
            .header("content-type", "application/vnd.oci.image.manifest.v1+json")
            .header("docker-content-digest", digest.to_string())
            .body(Body::from(body))
            .expect("an answer")
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
    let address = listener.local_addr().expect("an address").to_string();
    let serving = tokio::spawn(async move {
        axum::serve(listener, router).await.expect("it serves");
    });
    (address, serving)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_lies_changes_nothing_that_is_served() {
    let world = World::new().await;
    let digest = world.push("latest", FIRST, true).await;
    let running = world.run("data", true);
    world.create("operators", &world.reference("latest"), None).await;
    world.wait_served("operators", &digest).await;
    let (liar, serving) = lying_registry().await;
    let reference = format!("{liar}/team/catalog:latest");
    world
        .patch(
            "operators",
            json!({"spec": {"source": {"image": {"ref": reference}}}}),
        )
        .await;
    let catalog = world
        .wait("operators", "the lie to be noticed", |catalog| {
            is_settled(catalog) && has(catalog, "Progressing", "True", "Retrying")
        })
        .await;
    let text = message(&catalog);
    assert!(
        text.contains("sent something else than") && text.contains("still serving"),
        "{text}"
    );
    assert!(has(&catalog, "Serving", "True", "Available"));
    assert!(get(&running.handle, "operators").await.1.contains("first"));
    serving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_says_nothing_holds_up_nobody_else() {
    let world = World::new().await;
    let digest = world.push("latest", FIRST, true).await;
    let _running = world.run("data", true);
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
    let address = silent.local_addr().expect("an address");
    for number in 0..8 {
        world
            .create(
                &format!("silent{number}"),
                &format!("{address}/team/catalog:latest"),
                None,
            )
            .await;
    }
    world
        .wait("silent7", "the controller to be at work", |catalog| {
            catalog
                .metadata
                .finalizers
                .as_ref()
                .is_some_and(|found| !found.is_empty())
        })
        .await;
    world.create("operators", &world.reference("latest"), None).await;
    world.wait_served("operators", &digest).await;

    // Whoever changes their mind needn't wait for the registry either.
    world
        .catalogs()
        .delete("silent0", &DeleteParams::default())
        .await
        .expect("deleted");
    eventually("the catalog to go", async || {
        world
            .catalogs()
            .get_opt("silent0")
            .await
            .expect("asked")
            .is_none()
    })
    .await;
    let reference = world.reference("latest");
    world
        .patch(
            "silent1",
            json!({"spec": {"source": {"image": {"ref": reference}}}}),
        )
        .await;
    world.wait_served("silent1", &digest).await;
    drop(silent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_store_is_fetched_again() {
    let mut world = World::new().await;
    let digest = world.push("latest", FIRST, true).await;
    let running = world.run("data", true);
    world.create("operators", &world.reference("latest"), None).await;
    world.wait_served("operators", &digest).await;
    drop(running);
    let path = world
        .data("data/stores")
        .join(format!("{}.catalog", digest.hex()));
    let mut bytes = std::fs::read(&path).expect("the store");
    let at = bytes
        .windows(5)
        .position(|window| window == b"first")
        .expect("the content");
    bytes[at] = b'F';
    std::fs::remove_file(&path).expect("removed");
    std::fs::write(&path, bytes).expect("written");

    // It can't be fetched yet, so that the damage is there to be seen.
    world.stop_registry().await;
    let running = world.run("data", true);
    assert_eq!(get(&running.handle, "operators").await.0, 500);
    world.start_registry().await;
    eventually("the content to be whole again", async || {
        get(&running.handle, "operators").await
            == (
                200,
                "{\"name\":\"first\",\"schema\":\"olm.package\"}\n".to_owned(),
            )
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_of_catalogs_that_are_gone_is_collected() {
    let world = World::new().await;
    let digest = world.push("latest", FIRST, true).await;
    let running = world.run("data", true);
    world.create("operators", &world.reference("latest"), None).await;
    world.create("same", &world.reference("latest"), None).await;
    world.wait_served("operators", &digest).await;
    world.wait_served("same", &digest).await;
    assert_eq!(
        files_in(&world.data("data/stores")).len(),
        1,
        "one image has one store"
    );
    drop(running);
    // It goes while nobody looks, and without waiting for anybody.
    world
        .patch("operators", json!({"metadata": {"finalizers": null}}))
        .await;
    world
        .catalogs()
        .delete("operators", &DeleteParams::default())
        .await
        .expect("deleted");
    let running = world.run("data", true);
    eventually("the garbage to be collected", async || {
        get(&running.handle, "operators").await.0 == 404
    })
    .await;
    assert_eq!(files_in(&world.data("data/served")), ["same.json"]);
    assert_eq!(get(&running.handle, "same").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_is_killed_at_any_moment_goes_on_where_it_was() {
    let world = World::new().await;
    world.push("latest", FIRST, true).await;
    world.create("operators", &world.reference("latest"), None).await;
    let mut digest = None;
    for round in 0..12 {
        let content = format!("schema: olm.package\nname: package{round}\n");
        digest = Some(world.push("latest", &content, true).await);
        world.touch("operators", round).await;
        let running = world.run("data", true);
        tokio::time::sleep(Duration::from_millis(7 * u64::from(round.unsigned_abs()))).await;
        drop(running);
    }
    let digest = digest.expect("an image");
    let running = world.run("data", true);
    world.wait_served("operators", &digest).await;
    assert!(get(&running.handle, "operators").await.1.contains("package11"));
    // What a killed controller left behind goes with the next collection at the latest, which every start begins with.
    drop(running);
    let _running = world.run("data", true);
    let store = format!("{}.catalog", digest.hex());
    eventually("what was left behind to go", async || {
        files_in(&world.data("data/stores")) == [store.as_str()]
            && files_in(&world.data("data/unpacking")) == [""; 0]
    })
    .await;
}
