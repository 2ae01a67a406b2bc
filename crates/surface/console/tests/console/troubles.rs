//! Custom resources that somebody must look at, on the first page.

use axum::body::Body;
use futures_util::StreamExt as _;
use helm_operator::roster;
use http::Method;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::world::{World, apply};

fn shop(name: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1alpha1", "kind": "Shop",
        "metadata": {"name": name, "namespace": "shop"}, "spec": {},
    })
}

async fn say(world: &World, name: &str, conditions: Value) {
    world.shop(&shop(name)).await;
    let status = json!({"status": {"conditions": conditions}});
    let patched = world
        .shops()
        .patch_status(name, &PatchParams::default(), &Patch::Merge(&status))
        .await;
    patched.expect("a status");
}

fn condition(kind: &str, status: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_that_was_refused_from_the_beginning_needs_somebody() {
    let world = World::empty().await;
    // There is no release and no event: only the operator's Lease tells that it looks after shops.
    let watches = json!([{"group": "example.com", "kind": "Shop", "chart": "shop", "version": "1.0.0"}]);
    apply(&world.client, json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "baton-helm-operator-1", "namespace": "shop", "labels": {roster::LABEL: "true"},
            "annotations": {roster::ANNOTATION: watches.to_string()}},
        "spec": {"holderIdentity": "one"},
    }))
    .await;
    say(
        &world,
        "books",
        json!([condition(
            "Irreconcilable",
            "True",
            "nodeSelector: Invalid value: <a b!>"
        )]),
    )
    .await;
    say(&world, "fine", json!([condition("Deployed", "True", "")])).await;
    say(
        &world,
        "stray",
        json!([condition("Selected", "False", "no operator picks v9")]),
    )
    .await;
    let page = world.visit("/").await.text;
    for text in [
        "Needs somebody",
        "href=\"/resources/example.com/v1alpha1/Shop/shop/books\"",
        "Shop <strong>shop/books</strong>",
        "Irreconcilable</span>",
        "nodeSelector: Invalid value: &#60;a b!&#62;",
        "Shop <strong>shop/stray</strong>",
        "no operator picks v9",
        "2 need somebody",
    ] {
        assert!(page.contains(text), "no {text:?} in {page}");
    }
    assert!(!page.contains("shop/fine"), "{page}");

    // And the page is told when one of them changes, which no release and no event tells.
    let follow = world.opened(Method::GET, "/changes?about=troubles");
    let follow = follow.body(Body::empty()).expect("a request");
    let response = world.router.clone().oneshot(follow).await.expect("an answer");
    let mut told = response.into_body().into_data_stream();
    // What a watch lists first is no news, so something is changed until it is told.
    let changing = async {
        for number in 0.. {
            say(
                &world,
                "fine",
                json!([condition("Irreconcilable", "True", &number.to_string())]),
            )
            .await;
        }
    };
    tokio::select! {
        news = told.next() => assert!(news.is_some_and(|news| news.is_ok()), "the stream ended"),
        () = changing => {}
    }
}
