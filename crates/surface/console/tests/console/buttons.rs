//! What the buttons do, and how pages learn of changes.

use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt as _;
use http::Method;
use tower::ServiceExt as _;

use crate::world::{World, annotation};

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_is_paused_approved_and_taken_back() {
    let world = World::empty().await;
    world.fill().await;
    let paused = world.press("/extensions/web/pause", &[]).await;
    assert_eq!(
        (paused.status, paused.leads_to(&world)),
        (303, "/extensions/web?done=paused")
    );
    world
        .extension("web", |extension| {
            annotation(extension, "baton-olm.dev/pause").is_some()
        })
        .await;
    world.page_with("/extensions/web", "Resume</button>").await;
    assert!(
        world
            .visit("/extensions/web?done=paused")
            .await
            .text
            .contains("stays at its version until")
    );
    assert!(
        !world
            .visit("/extensions/web?done=%3Cb%3E")
            .await
            .text
            .contains("class=\"notice\"")
    );
    assert_eq!(world.press("/extensions/web/resume", &[]).await.status, 303);
    world
        .extension("web", |extension| {
            annotation(extension, "baton-olm.dev/pause").is_none()
        })
        .await;

    let plan = world
        .page_with("/extensions/web/plan", "Approve 1.2.0")
        .await
        .text;
    assert!(
        plan.contains("data.version") && plan.contains("1.0.0") && plan.contains("1.2.0"),
        "{plan}"
    );
    assert_eq!(
        world.press("/extensions/web/approve", &[]).await.status,
        400,
        "which version?"
    );
    let approved = world
        .press("/extensions/web/approve", &[("version", "1.2.0")])
        .await;
    assert_eq!(approved.status, 303, "{}", approved.text);
    let installed = |version: &'static str| {
        move |extension: &api::ClusterExtension| {
            let install = extension.status.install.as_ref();
            install.is_some_and(|install| install.bundle.version == version)
        }
    };
    world.extension("web", installed("1.2.0")).await;

    let back = world
        .page_with("/extensions/web/rollback", "Go back to 1.0.0")
        .await
        .text;
    assert!(back.contains("is pinned to 1.0.0 then"), "{back}");
    let never = world.press("/extensions/web/go-back", &[("to", "9.9.9")]).await;
    assert_eq!(never.status, 409);
    assert!(never.text.contains("never had version 9.9.9"), "{}", never.text);
    assert_eq!(
        world
            .press("/extensions/web/go-back", &[("to", "1.0.0")])
            .await
            .status,
        303
    );
    let pinned = world.extension("web", |extension| {
        let filter = extension.spec.source.catalog.as_ref();
        filter.is_some_and(|filter| filter.version == "1.0.0")
    });
    pinned.await;
    let missing = world.press("/extensions/none/pause", &[]).await;
    assert_eq!(missing.status, 404, "{}", missing.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_told_when_something_of_its_own_changes() {
    let world = World::empty().await;
    world.visit("/").await;
    let request = world
        .opened(Method::GET, "/changes?about=catalogs/one")
        .body(Body::empty())
        .expect("a request");
    let response = world.router.clone().oneshot(request).await.expect("an answer");
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut stream = response.into_body().into_data_stream();
    for name in ["other", "one"] {
        crate::world::apply(&world.client, serde_json::json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": {"name": name},
            "spec": {"source": {"type": "Image", "image": {"ref": "registry.example.com/a:latest"}}},
        }))
        .await;
    }
    let told = tokio::time::timeout(Duration::from_mins(1), stream.next())
        .await
        .expect("in time");
    let told = told.expect("an event").expect("bytes");
    assert_eq!(
        String::from_utf8_lossy(&told),
        "event: changed\ndata: changed\n\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn so_many_pages_follow_the_cluster_and_no_more() {
    let world = World::empty().await;
    let follow = || async {
        let request = world
            .opened(Method::GET, "/changes?about=events")
            .body(Body::empty())
            .expect("a request");
        world.router.clone().oneshot(request).await.expect("an answer")
    };
    let mut followers = Vec::new();
    for _ in 0..64 {
        let response = follow().await;
        assert_eq!(response.status(), 200);
        followers.push(response);
    }
    assert_eq!(follow().await.status(), 503);
    followers.pop();
    assert_eq!(follow().await.status(), 200, "whoever goes makes room");
}
