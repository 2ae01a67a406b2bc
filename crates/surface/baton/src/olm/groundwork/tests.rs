use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, PostParams};
use serde_json::json;
use stage::Stage;

use super::*;

#[test]
fn a_newer_release_is_told_from_an_older_one() {
    for (release, own, expected) in [
        ("0.2.0", "0.1.0", true),
        ("0.10.0", "0.9.0", true),
        ("1.0.0", "1.0.0-rc.1", true),
        ("0.1.0", "0.1.0", false),
        ("0.1.0", "0.2.0", false),
        ("unknown", "0.1.0", false),
    ] {
        assert_eq!(is_newer(release, own), expected, "{release} {own}");
    }
}

async fn cluster() -> (Stage, Client) {
    let stage = Stage::start(stage::Options::default()).await.expect("a cluster");
    let client = Client::new(stage.service(), "default");
    (stage, client)
}

async fn read(client: &Client, name: &str) -> CustomResourceDefinition {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.get(name).await.expect("a definition")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_of_a_newer_release_are_left_as_they_are() {
    let (stage, client) = cluster().await;
    define(&client, &definitions::OLM_V1).await.expect("definitions");
    let name = definitions::OLM_V1[0].name;
    let written = read(&client, name).await;
    let release = |definition: &CustomResourceDefinition| {
        let annotations = definition.metadata.annotations.clone().unwrap_or_default();
        annotations.get(RELEASE).cloned()
    };
    assert_eq!(release(&written).as_deref(), Some(env!("CARGO_PKG_VERSION")));
    let newer = json!({"metadata": {"annotations": {RELEASE: "999.0.0"}}, "spec": {"names": {"shortNames": ["newer"]}}});
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let merge = Patch::Merge(&newer);
    definitions
        .patch(name, &PatchParams::default(), &merge)
        .await
        .expect("a newer one");
    define(&client, &definitions::OLM_V1).await.expect("definitions");
    let found = read(&client, name).await;
    assert_eq!(release(&found).as_deref(), Some("999.0.0"));
    assert_eq!(found.spec.names.short_names, Some(vec!["newer".to_owned()]));
    stage.stop().await;
}

/// A definition with two versions, of which one is stored.
fn things(stored: &str) -> Value {
    let version = |name: &str| {
        json!({"name": name, "served": true, "storage": name == stored,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"},
            "versions": [version("v1"), version("v1alpha1")]},
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_are_stored_in_the_version_of_a_newer_definition() {
    let (stage, client) = cluster().await;
    let name = "things.example.com";
    let kind = "CustomResourceDefinition";
    apply(&client, kind, name, &things("v1alpha1"))
        .await
        .expect("an old definition");
    wait_established(&client, name).await.expect("established");
    let old = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1alpha1", "Thing"));
    let objects: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &old);
    for number in 0..3 {
        let mut object = DynamicObject::new(&format!("thing-{number}"), &old);
        object.data = json!({"spec": {"number": number}});
        objects
            .create(&PostParams::default(), &object)
            .await
            .expect("a thing");
    }
    let versions = async || {
        let status = read(&client, name).await.status.unwrap_or_default();
        status.stored_versions.unwrap_or_default()
    };
    assert_eq!(versions().await, ["v1alpha1"]);
    apply(&client, kind, name, &things("v1"))
        .await
        .expect("a new definition");
    assert_eq!(versions().await, ["v1alpha1", "v1"]);
    wait_established(&client, name).await.expect("established");
    assert_eq!(versions().await, ["v1"]);
    let new = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Thing"));
    let objects: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &new);
    for number in 0..3 {
        let object = objects.get(&format!("thing-{number}")).await.expect("a thing");
        assert_eq!(object.data["spec"]["number"], number);
    }
    // Only where nothing lies in the store in the old version may it be taken out of the definition.
    let mut without = things("v1");
    without["spec"]["versions"]
        .as_array_mut()
        .expect("versions")
        .truncate(1);
    apply(&client, kind, name, &without)
        .await
        .expect("the old version can go");
    stage.stop().await;
}
