//! Many writers at once: nothing is lost, and one wins.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::answer::revision;
use crate::context::Context;
use crate::exchange::PatchKind;

cases![
    of_many_creations_one_wins,
    of_many_updates_from_one_revision_one_wins,
    patches_without_a_revision_all_succeed,
    appliers_of_different_fields_all_succeed,
    generated_names_are_all_different,
    revisions_only_grow,
    a_deletion_happens_once,
];

const WRITERS: usize = 12;

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {}})
}

async fn of_many_creations_one_wins(c: &Context) {
    c.namespace().await;
    let body = config_map("a");
    let answers = join_all((0..WRITERS).map(|_| async { c.post("configmaps", &body).await.status })).await;
    assert_eq!(
        answers.iter().filter(|status| **status == 201).count(),
        1,
        "{answers:?}"
    );
    assert_eq!(
        answers.iter().filter(|status| **status == 409).count(),
        WRITERS - 1,
        "{answers:?}"
    );
}

async fn of_many_updates_from_one_revision_one_wins(c: &Context) {
    c.namespace().await;
    let made = c.make("configmaps", config_map("a")).await;
    let answers = join_all((0..WRITERS).map(|number| {
        let mut body = made.clone();
        body["data"] = json!({"writer": number.to_string()});
        async move { c.put("configmaps/a", &body).await.status }
    }))
    .await;
    assert_eq!(
        answers.iter().filter(|status| **status == 200).count(),
        1,
        "{answers:?}"
    );
    assert_eq!(
        answers.iter().filter(|status| **status == 409).count(),
        WRITERS - 1,
        "{answers:?}"
    );
}

async fn patches_without_a_revision_all_succeed(c: &Context) {
    c.namespace().await;
    c.make("configmaps", config_map("a")).await;
    // The server tries a patch again a few times when another write came between.
    join_all((0..4).map(|number| async move {
        let body = json!({"data": {format!("k{number}"): "v"}});
        c.patch(PatchKind::Merge, "configmaps/a", &body).await.expect(200);
    }))
    .await;
    let data = c.get("configmaps/a").await.json()["data"].clone();
    assert_eq!(data, json!({"k0": "v", "k1": "v", "k2": "v", "k3": "v"}));
}

async fn appliers_of_different_fields_all_succeed(c: &Context) {
    c.namespace().await;
    c.make("configmaps", config_map("a")).await;
    join_all((0..4).map(|number| async move {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "data": {format!("k{number}"): "v"}});
        c.patch(PatchKind::Apply, "configmaps/a", &body)
            .query("fieldManager", &format!("manager-{number}"))
            .await
            .expect(200);
    }))
    .await;
    let object = c.get("configmaps/a").await.json();
    assert_eq!(
        object["data"],
        json!({"k0": "v", "k1": "v", "k2": "v", "k3": "v"})
    );
    let managers: BTreeSet<&str> = object["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|entry| entry["operation"] == "Apply")
        .filter_map(|entry| entry["manager"].as_str())
        .collect();
    assert_eq!(managers.len(), 4, "{object}");
}

async fn generated_names_are_all_different(c: &Context) {
    c.namespace().await;
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"}});
    let names = join_all((0..WRITERS).map(|_| async {
        let made = c.post("configmaps", &body).await.expect(201).json();
        made["metadata"]["name"].as_str().unwrap_or_default().to_owned()
    }))
    .await;
    assert!(
        names.iter().all(|name| name.len() == 7 && name.starts_with("g-")),
        "{names:?}"
    );
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), WRITERS);
}

async fn revisions_only_grow(c: &Context) {
    c.namespace().await;
    let mut last = 0;
    let mut check = |object: &Value| {
        let number: u64 = revision(object).parse().expect("a number");
        assert!(number > last, "{number} after {last}");
        last = number;
    };
    check(&c.make("configmaps", config_map("a")).await);
    check(&c.make("configmaps", config_map("b")).await);
    check(
        &c.patch(PatchKind::Merge, "configmaps/a", &json!({"data": {"k": "v"}}))
            .await
            .expect(200)
            .json(),
    );
    check(
        &c.make(
            "secrets",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}),
        )
        .await,
    );
    let everything = c.get("configmaps").await.expect(200).json();
    let number: u64 = revision(&everything).parse().expect("a number");
    assert!(number >= last, "a list is as new as the last write");
}

async fn a_deletion_happens_once(c: &Context) {
    c.namespace().await;
    c.make("configmaps", config_map("a")).await;
    let answers = join_all((0..WRITERS).map(|_| async { c.delete("configmaps/a").await.status })).await;
    assert_eq!(
        answers.iter().filter(|status| **status == 200).count(),
        1,
        "{answers:?}"
    );
    assert!(
        answers.iter().all(|status| matches!(status, 200 | 404 | 409)),
        "{answers:?}"
    );
}
