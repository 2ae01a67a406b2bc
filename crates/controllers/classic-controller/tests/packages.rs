//! PackageManifest, asked as the API server asks it: discovery, lists, tables, one package, its picture, changes.

use std::sync::Arc;
use std::time::Duration;

use api::definitions::OLM_V0;
use axum::body::Body;
use catalog::grpc::serving::{ServeOptions, prepare};
use catalog::store::CurrentStore;
use classic_controller::controller::{Controller, Options};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use stage::Stage;
use tokio::net::TcpListener;
use tower::Service as _;

/// How long something may take that happens in milliseconds, on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(1);

const CATALOG: &str = r#"{"schema": "olm.package", "name": "demo", "defaultChannel": "stable", "icon": {"base64data": "PHN2Zy8+", "mediatype": "image/svg+xml"}}
{"schema": "olm.channel", "package": "demo", "name": "stable", "entries": [{"name": "demo.v1.0.0"}, {"name": "demo.v2.0.0", "replaces": "demo.v1.0.0"}]}
{"schema": "olm.channel", "package": "demo", "name": "beta", "entries": [{"name": "demo.v2.0.0"}]}
{"schema": "olm.bundle", "package": "demo", "name": "demo.v1.0.0", "image": "example.invalid/demo:v1", "properties": [{"type": "olm.package", "value": {"packageName": "demo", "version": "1.0.0"}}, {"type": "olm.csv.metadata", "value": {"displayName": "Demo", "provider": {"name": "Us"}}}]}
{"schema": "olm.bundle", "package": "demo", "name": "demo.v2.0.0", "image": "example.invalid/demo:v2", "properties": [{"type": "olm.package", "value": {"packageName": "demo", "version": "2.0.0"}}, {"type": "olm.csv.metadata", "value": {"displayName": "Demo", "provider": {"name": "Us"}}}]}
"#;

async fn create(client: &kube::Client, object: Value) {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (group, version) = text("/apiVersion")
        .split_once('/')
        .unwrap_or(("", text("/apiVersion")));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("/kind")));
    let api: Api<DynamicObject> = match text("/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let object: DynamicObject = serde_json::from_value(object.clone()).expect("an object");
    let made = async {
        while api.create(&PostParams::default(), &object).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, made).await.expect("made");
}

/// Serves the catalog; returns where.
async fn serve() -> (String, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("catalog.json"), CATALOG).expect("a catalog");
    let store = prepare(&ServeOptions {
        source: folder.path().to_owned(),
        ..ServeOptions::default()
    })
    .expect("a store");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let current = Arc::new(CurrentStore::new(store.store.clone()));
    tokio::spawn(async move {
        let _store = store;
        catalog::grpc::serve(current, listener, std::future::pending()).await
    });
    (address, folder)
}

async fn ask(router: &axum::Router, path: &str, headers: &[(&str, &str)]) -> (StatusCode, String) {
    let mut request = Request::builder().uri(format!("/apis/packages.operators.coreos.com{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::empty()).expect("a request");
    let answer = router.clone().call(request).await.expect("an answer");
    let status = answer.status();
    let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
    (status, String::from_utf8_lossy(&bytes).into_owned())
}

async fn json(router: &axum::Router, path: &str) -> Value {
    let (_, text) = ask(router, path, &[]).await;
    serde_json::from_str(&text).expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_of_a_catalog_are_seen_in_every_namespace() {
    let stage = Stage::in_memory(stage::Options::default())
        .await
        .expect("a stage");
    let client = kube::Client::new(stage.service(), "default");
    for definition in OLM_V0 {
        create(&client, definition.object()).await;
    }
    let (address, _folder) = serve().await;
    create(
        &client,
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "olm"}}),
    )
    .await;
    create(
        &client,
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
            "metadata": {"name": "cat", "namespace": "olm", "labels": {"tier": "gold"}},
            "spec": {"sourceType": "grpc", "address": address, "displayName": "Cat", "publisher": "Us"},
        }),
    )
    .await;
    let controller = Controller::new(Options::new(client.clone()));
    let router = controller.manifests().router();
    let running = tokio::spawn(async move { controller.run(std::future::pending()).await });
    let list = async {
        loop {
            let list = json(&router, "/v1/namespaces/default/packagemanifests").await;
            if list["items"].as_array().is_some_and(|items| !items.is_empty()) {
                return list;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let list = tokio::time::timeout(PATIENCE, list).await.expect("packages");
    let manifest = &list["items"][0];
    assert_eq!(
        manifest["metadata"]["namespace"], "default",
        "the namespace that asked"
    );
    assert_eq!(manifest["metadata"]["labels"]["tier"], "gold");
    assert_eq!(manifest["metadata"]["labels"]["catalog"], "cat");
    assert_eq!(manifest["status"]["defaultChannel"], "stable");
    assert_eq!(manifest["status"]["catalogSourceDisplayName"], "Cat");
    let names: Vec<&Value> = manifest["status"]["channels"]
        .as_array()
        .expect("channels")
        .iter()
        .map(|channel| &channel["name"])
        .collect();
    assert_eq!(names, ["beta", "stable"]);
    assert_eq!(manifest["status"]["channels"][1]["currentCSV"], "demo.v2.0.0");
    assert_eq!(
        manifest["status"]["channels"][1]["entries"],
        json!([{"name": "demo.v2.0.0", "version": "2.0.0"}, {"name": "demo.v1.0.0", "version": "1.0.0"}])
    );

    assert_eq!(
        json(&router, "/v1").await["resources"][0]["kind"],
        "PackageManifest"
    );
    assert_eq!(
        json(&router, "/v1/packagemanifests").await["items"][0]["metadata"]["namespace"],
        "olm"
    );
    let one = json(&router, "/v1/namespaces/default/packagemanifests/demo").await;
    assert_eq!(one["status"]["packageName"], "demo");
    let (status, text) = ask(&router, "/v1/namespaces/default/packagemanifests/none", &[]).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(
        text.contains("packagemanifests.packages.operators.coreos.com \\\"none\\\" not found"),
        "{text}"
    );
    for (selector, count) in [
        ("labelSelector=catalog%3Dcat", 1),
        ("labelSelector=catalog%3Dother", 0),
        ("fieldSelector=metadata.name%3Ddemo", 1),
    ] {
        let list = json(&router, &format!("/v1/packagemanifests?{selector}")).await;
        assert_eq!(list["items"].as_array().map(Vec::len), Some(count), "{selector}");
    }
    let accept = [(
        "accept",
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    )];
    let (_, table) = ask(&router, "/v1/packagemanifests", &accept).await;
    let table: Value = serde_json::from_str(&table).expect("JSON");
    assert_eq!(table["rows"][0]["cells"][1], "Cat");
    let (_, changes) = ask(&router, "/v1/packagemanifests?watch=true&timeoutSeconds=1", &[]).await;
    assert!(changes.starts_with("{\"object\":"), "{changes}");
    assert!(changes.contains("\"type\":\"ADDED\""), "{changes}");
    let icon = "/v1/namespaces/default/packagemanifests/demo/icon";
    assert_eq!(ask(&router, icon, &[]).await.0, StatusCode::OK);
    let known = [("if-none-match", "\"demo.stable.demo.v2.0.0\"")];
    assert_eq!(ask(&router, icon, &known).await.0, StatusCode::NOT_MODIFIED);
    running.abort();
}
