//! kube-rs on a stage in this process: no socket, no TLS.

use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::json;
use stage::{Options, Stage};

async fn client() -> (Stage, kube::Client) {
    let stage = Stage::in_memory(Options::default())
        .await
        .expect("a stage in memory starts");
    let client = kube::Client::new(stage.service(), "default");
    (stage, client)
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name, "labels": {"app": "x"}}, "data": {"a": value}}))
        .expect("a config map")
}

#[tokio::test]
async fn an_object_is_made_read_changed_listed_and_deleted() {
    let (_stage, client) = client().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let made = maps
        .create(&PostParams::default(), &config_map("one", "1"))
        .await
        .expect("created");
    assert!(made.metadata.uid.is_some() && made.metadata.resource_version.is_some());
    let again = maps
        .create(&PostParams::default(), &config_map("one", "1"))
        .await
        .expect_err("it is there");
    assert!(
        again.to_string().contains("configmaps \"one\" already exists"),
        "{again}"
    );

    let patch = json!({"data": {"b": "2"}});
    let patched = maps
        .patch("one", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .expect("patched");
    assert_eq!(patched.data.expect("data").len(), 2);
    let same = maps
        .patch("one", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .expect("patched");
    assert_eq!(
        same.metadata.resource_version, patched.metadata.resource_version,
        "nothing changed"
    );

    let listed = maps
        .list(&ListParams::default().labels("app in (x, y)"))
        .await
        .expect("listed");
    assert_eq!(listed.items.len(), 1);
    maps.delete("one", &DeleteParams::default())
        .await
        .expect("deleted");
    assert!(maps.get_opt("one").await.expect("asked").is_none());
}

#[tokio::test]
async fn an_apply_owns_its_fields_and_meets_conflicts() {
    let (_stage, client) = client().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let apply = |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}, "data": {"a": value}});
    let first = PatchParams::apply("first");
    maps.patch("two", &first, &Patch::Apply(apply("1")))
        .await
        .expect("applied");
    let second = PatchParams::apply("second");
    let refused = maps
        .patch("two", &second, &Patch::Apply(apply("2")))
        .await
        .expect_err("first owns it");
    assert!(
        refused
            .to_string()
            .contains("Apply failed with 1 conflict: conflict with \"first\": .data.a"),
        "{refused}"
    );
    let forced = maps
        .patch("two", &second.force(), &Patch::Apply(apply("2")))
        .await
        .expect("forced");
    assert_eq!(forced.data.expect("data")["a"], "2");
}

#[tokio::test]
async fn a_watcher_sees_what_is_there_and_what_comes() {
    let (_stage, client) = client().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.create(&PostParams::default(), &config_map("before", "1"))
        .await
        .expect("created");
    let mut seen = Box::pin(watcher(maps.clone(), watcher::Config::default()).applied_objects());
    let before = seen.try_next().await.expect("no failure").expect("an object");
    assert_eq!(before.metadata.name.as_deref(), Some("before"));
    maps.create(&PostParams::default(), &config_map("after", "1"))
        .await
        .expect("created");
    loop {
        let next = tokio::time::timeout(Duration::from_secs(10), seen.next())
            .await
            .expect("in time");
        let next = next.expect("an event").expect("no failure");
        if next.metadata.name.as_deref() == Some("after") {
            break;
        }
    }
}

#[tokio::test]
async fn a_definition_is_established_and_its_kind_is_served() {
    let (_stage, client) = client().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "required": ["size"], "properties": {
                        "size": {"type": "integer", "maximum": 5},
                        "colour": {"type": "string", "default": "red"},
                    }},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }}},
            }],
        },
    });
    let definition = serde_json::from_value(definition).expect("a definition");
    definitions
        .create(&PostParams::default(), &definition)
        .await
        .expect("created");
    let established = kube::runtime::conditions::is_crd_established();
    let waiting = kube::runtime::wait::await_condition(definitions, "widgets.example.com", established);
    tokio::time::timeout(Duration::from_secs(10), waiting)
        .await
        .expect("in time")
        .expect("established");

    let kind = ApiResource {
        group: "example.com".into(),
        version: "v1".into(),
        api_version: "example.com/v1".into(),
        kind: "Widget".into(),
        plural: "widgets".into(),
    };
    let widgets: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &kind);
    let widget = |size: i64| {
        serde_json::from_value::<DynamicObject>(json!({
            "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
            "spec": {"size": size, "unknown": 1}, "status": {"phase": "x"},
        }))
        .expect("a widget")
    };
    let made = widgets
        .create(&PostParams::default(), &widget(3))
        .await
        .expect("created");
    assert_eq!(
        made.data["spec"],
        json!({"size": 3, "colour": "red"}),
        "pruned and defaulted"
    );
    assert!(made.data.get("status").is_none(), "the status is written apart");
    let refused = widgets
        .patch(
            "w",
            &PatchParams::default(),
            &Patch::Merge(json!({"spec": {"size": 9}})),
        )
        .await
        .expect_err("too large");
    assert!(
        refused
            .to_string()
            .contains("spec.size in body should be less than or equal to 5"),
        "{refused}"
    );
    let namespaces: Api<Namespace> = Api::all(client);
    assert!(namespaces.get_opt("default").await.expect("asked").is_some());
}
