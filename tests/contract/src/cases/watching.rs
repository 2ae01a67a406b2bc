//! Watches while things happen.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::answer::{revision, uid};
use crate::context::Context;
use crate::exchange::PatchKind;

cases![
    a_watcher_sees_each_change_once_and_in_order,
    a_deleted_object_is_shown_as_it_was_with_a_new_revision,
    two_watchers_see_the_same,
    a_watch_continues_where_another_ended,
    a_list_and_its_watch_rebuild_the_store,
    a_bookmark_ends_the_initial_events,
    a_selection_is_followed,
    a_watch_of_all_namespaces_sees_each,
    a_watch_of_custom_resources_works,
    a_watch_ends_with_its_definition,
    a_watch_of_tables_sends_rows,
    an_old_revision_is_gone,
    the_timeout_ends_a_watch,
    a_finalizer_s_removal_is_the_deletion,
];

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}})
}

async fn now(c: &Context, path: &str) -> String {
    revision(&c.get(path).await.expect(200).json()).to_owned()
}

async fn label(c: &Context, name: &str, value: &str) -> Value {
    let body = json!({"metadata": {"labels": {"step": value}}});
    c.patch(PatchKind::Merge, &format!("secrets/{name}"), &body)
        .await
        .expect(200)
        .json()
}

async fn a_watcher_sees_each_change_once_and_in_order(c: &Context) {
    c.namespace().await;
    let start = now(c, "secrets").await;
    let mut watch = c.get("secrets").query("resourceVersion", &start).watch().await;
    let made = c.make("secrets", secret("a")).await;
    let seen = watch.expect("ADDED", "a").await;
    assert_eq!(seen, made);
    for step in ["one", "two", "three"] {
        label(c, "a", step).await;
    }
    for step in ["one", "two", "three"] {
        assert_eq!(
            watch.expect("MODIFIED", "a").await["metadata"]["labels"]["step"],
            step
        );
    }
    c.delete("secrets/a").await.expect(200);
    watch.expect("DELETED", "a").await;
}

async fn a_deleted_object_is_shown_as_it_was_with_a_new_revision(c: &Context) {
    c.namespace().await;
    let made = c.make("secrets", secret("a")).await;
    let mut watch = c
        .get("secrets")
        .query("resourceVersion", revision(&made))
        .watch()
        .await;
    c.delete("secrets/a").await.expect(200);
    let gone = watch.expect("DELETED", "a").await;
    assert_eq!(uid(&gone), uid(&made));
    let (before, after): (u64, u64) = (
        revision(&made).parse().expect("a number"),
        revision(&gone).parse().expect("a number"),
    );
    assert!(after > before);
}

async fn two_watchers_see_the_same(c: &Context) {
    c.namespace().await;
    let start = now(c, "secrets").await;
    let mut one = c.get("secrets").query("resourceVersion", &start).watch().await;
    let mut two = c.get("secrets").query("resourceVersion", &start).watch().await;
    for name in ["a", "b", "c"] {
        c.make("secrets", secret(name)).await;
    }
    c.delete("secrets/b").await.expect(200);
    for _ in 0..4 {
        assert_eq!(one.next().await, two.next().await);
    }
}

async fn a_watch_continues_where_another_ended(c: &Context) {
    c.namespace().await;
    let start = now(c, "secrets").await;
    let mut first = c.get("secrets").query("resourceVersion", &start).watch().await;
    c.make("secrets", secret("a")).await;
    let seen = first.expect("ADDED", "a").await;
    drop(first);
    c.make("secrets", secret("b")).await;
    c.delete("secrets/a").await.expect(200);
    let mut second = c
        .get("secrets")
        .query("resourceVersion", revision(&seen))
        .watch()
        .await;
    second.expect("ADDED", "b").await;
    second.expect("DELETED", "a").await;
}

async fn a_list_and_its_watch_rebuild_the_store(c: &Context) {
    c.namespace().await;
    for number in 0..5 {
        c.make("secrets", secret(&format!("s{number}"))).await;
    }
    let list = c.get("secrets").await.expect(200).json();
    let mut store: BTreeMap<String, String> = BTreeMap::new();
    for item in list["items"].as_array().into_iter().flatten() {
        store.insert(
            item["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            revision(item).to_owned(),
        );
    }
    for number in 0..5 {
        match number % 3 {
            0 => drop(c.delete(&format!("secrets/s{number}")).await.expect(200)),
            1 => drop(label(c, &format!("s{number}"), "x").await),
            _ => drop(c.make("secrets", secret(&format!("n{number}"))).await),
        }
    }
    c.make("secrets", secret("zz-last")).await;
    let mut watch = c
        .get("secrets")
        .query("resourceVersion", revision(&list))
        .watch()
        .await;
    loop {
        let event = watch.next().await;
        let object = &event["object"];
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str() {
            Some("DELETED") => drop(store.remove(&name)),
            Some("ADDED" | "MODIFIED") => drop(store.insert(name.clone(), revision(object).to_owned())),
            _ => panic!("an unexpected event: {event}"),
        }
        if name == "zz-last" {
            break;
        }
    }
    let after = c.get("secrets").await.expect(200).json();
    let wanted: BTreeMap<String, String> = after["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| {
            (
                item["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
                revision(item).to_owned(),
            )
        })
        .collect();
    assert_eq!(store, wanted);
}

async fn a_bookmark_ends_the_initial_events(c: &Context) {
    c.namespace().await;
    c.make("secrets", secret("b")).await;
    c.make("secrets", secret("a")).await;
    let mut watch = c
        .get("secrets")
        .query("sendInitialEvents", "true")
        .query("resourceVersionMatch", "NotOlderThan")
        .query("allowWatchBookmarks", "true")
        .watch()
        .await;
    watch.expect("ADDED", "a").await;
    watch.expect("ADDED", "b").await;
    let mark = watch.bookmark().await;
    assert_eq!(mark["kind"], "Secret");
    assert_eq!(
        mark["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert!(revision(&mark).parse::<u64>().is_ok(), "{mark}");
    c.make("secrets", secret("c")).await;
    watch.expect("ADDED", "c").await;
}

async fn a_selection_is_followed(c: &Context) {
    c.namespace().await;
    let start = now(c, "secrets").await;
    let mut watch = c
        .get("secrets")
        .query("resourceVersion", &start)
        .query("labelSelector", "step=in")
        .watch()
        .await;
    c.make("secrets", secret("a")).await;
    label(c, "a", "in").await;
    let inside = label(c, "a", "out").await;
    label(c, "a", "in").await;
    c.delete("secrets/a").await.expect(200);
    watch.expect("ADDED", "a").await;
    let left = watch.expect("DELETED", "a").await;
    // What left is shown as it was when it was last inside, with the revision of the change.
    assert_eq!(left["metadata"]["labels"]["step"], "in");
    assert_eq!(revision(&left), revision(&inside));
    watch.expect("ADDED", "a").await;
    watch.expect("DELETED", "a").await;
}

async fn a_watch_of_all_namespaces_sees_each(c: &Context) {
    c.namespace().await;
    let selector = format!("case={}", c.id);
    let start = now(c, "/apis/coordination.k8s.io/v1/leases").await;
    let mut watch = c
        .get("/apis/coordination.k8s.io/v1/leases")
        .query("resourceVersion", &start)
        .query("labelSelector", &selector)
        .watch()
        .await;
    for namespace in ["default", c.id.as_str()] {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": c.id, "labels": {"case": c.id}}});
        c.post(
            &format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"),
            &lease,
        )
        .await
        .expect(201);
        assert_eq!(
            watch.expect("ADDED", &c.id).await["metadata"]["namespace"],
            namespace
        );
    }
}

async fn define(c: &Context) -> String {
    c.namespace().await;
    let group = format!("{}.example.com", c.id);
    c.define(&json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")}, "spec": {"group": group, "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"}, "versions": [{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}))
        .await;
    group
}

async fn a_watch_of_custom_resources_works(c: &Context) {
    let group = define(c).await;
    let path = format!("{group}/v1:things");
    // Without a revision: a server may keep events only from a moment after the definition on.
    let mut watch = c.get(&path).watch().await;
    let thing = json!({"apiVersion": format!("{group}/v1"), "kind": "Thing", "metadata": {"name": "a"}});
    let made = c.make(&path, thing).await;
    assert_eq!(watch.expect("ADDED", "a").await, made);
    c.delete(&format!("{path}/a")).await.expect(200);
    watch.expect("DELETED", "a").await;
}

async fn a_watch_ends_with_its_definition(c: &Context) {
    let group = define(c).await;
    let path = format!("{group}/v1:things");
    // Without a revision: a server may keep events only from a moment after the definition on.
    let mut watch = c.get(&path).watch().await;
    c.delete(&format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}"
    ))
    .await
    .expect(200);
    watch.end().await;
}

async fn a_watch_of_tables_sends_rows(c: &Context) {
    c.namespace().await;
    let start = now(c, "secrets").await;
    let mut watch = c
        .get("secrets")
        .as_table()
        .query("resourceVersion", &start)
        .watch()
        .await;
    c.make("secrets", secret("a")).await;
    label(c, "a", "one").await;
    let first = watch.next().await;
    assert_eq!(first["type"], "ADDED");
    assert_eq!(first["object"]["kind"], "Table");
    assert_eq!(first["object"]["rows"][0]["cells"][0], "a");
    assert_eq!(
        first["object"]["rows"][0]["object"]["kind"],
        "PartialObjectMetadata"
    );
    assert_eq!(first["object"]["columnDefinitions"][0]["name"], "Name");
    let second = watch.next().await;
    assert_eq!(second["type"], "MODIFIED");
    assert_eq!(second["object"]["columnDefinitions"], Value::Null);
}

async fn an_old_revision_is_gone(c: &Context) {
    let group = define(c).await;
    let path = format!("{group}/v1:things");
    // A server may say that it is not ready to be watched yet.
    let watch = format!("{path}?watch=true&resourceVersion=1&timeoutSeconds=1");
    let answer = c.until_answer(&watch, |answer| answer.status == 200).await;
    let backend = c.differs("a real server remembers a custom resource's events from its definition on, stage from the first write on");
    if !backend.is_real() && answer.body.is_empty() {
        return;
    }
    let event = answer.json();
    assert_eq!(event["type"], "ERROR", "{event}");
    assert_eq!(event["object"]["kind"], "Status");
    assert_eq!(event["object"]["code"], 410);
    assert_eq!(event["object"]["reason"], "Expired");
    let message = event["object"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("too old resource version: 1 ("), "{message}");
}

async fn the_timeout_ends_a_watch(c: &Context) {
    c.namespace().await;
    let start = now(c, "secrets").await;
    let mut watch = c
        .get("secrets")
        .query("resourceVersion", &start)
        .query("timeoutSeconds", "1")
        .watch()
        .await;
    watch.end().await;
}

async fn a_finalizer_s_removal_is_the_deletion(c: &Context) {
    c.namespace().await;
    let mut body = secret("a");
    body["metadata"]["finalizers"] = json!(["example.com/wait"]);
    let made = c.make("secrets", body).await;
    let mut watch = c
        .get("secrets")
        .query("resourceVersion", revision(&made))
        .watch()
        .await;
    c.delete("secrets/a").await.expect(200);
    assert!(watch.expect("MODIFIED", "a").await["metadata"]["deletionTimestamp"].is_string());
    c.patch(
        PatchKind::Merge,
        "secrets/a",
        &json!({"metadata": {"finalizers": null}}),
    )
    .await
    .expect(200);
    let gone = watch.expect("DELETED", "a").await;
    // The last event shows the object as it was before the write that ended it.
    assert_eq!(gone["metadata"]["finalizers"], json!(["example.com/wait"]));
}
