//! The documents that describe the API, which kubectl validates and explains by.

use serde_json::{Value, json};

use crate::context::Context;
use crate::exchange::PatchKind;

cases![
    the_index_names_a_document_for_each_group_version,
    a_document_comes_by_its_hash,
    a_document_is_not_sent_twice,
    an_unknown_document_is_not_found,
    documents_say_how_lists_merge,
    documents_name_the_kinds_of_their_schemas,
    documents_have_the_operations_with_field_validation,
    a_custom_resource_has_a_document,
    a_document_changes_with_its_definition,
];

async fn document(c: &Context, path: &str) -> Value {
    c.get(&format!("/openapi/v3/{path}")).await.expect(200).json()
}

async fn the_index_names_a_document_for_each_group_version(c: &Context) {
    let index = c.get("/openapi/v3").await.expect(200).json();
    for path in [
        "api/v1",
        "apis/apps/v1",
        "apis/batch/v1",
        "apis/apiextensions.k8s.io/v1",
        "apis/autoscaling/v2",
    ] {
        let url = index["paths"][path]["serverRelativeURL"]
            .as_str()
            .unwrap_or_default();
        assert!(
            url.starts_with(&format!("/openapi/v3/{path}?hash=")),
            "{path}: {url}"
        );
    }
}

async fn a_document_comes_by_its_hash(c: &Context) {
    let index = c.get("/openapi/v3").await.expect(200).json();
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"]
        .as_str()
        .expect("a path")
        .to_owned();
    let answer = c
        .get(&url)
        .await
        .expect(200)
        .has("/openapi", "3.0.0")
        .has("/info/title", "Kubernetes");
    assert!(
        answer.header("Cache-Control").contains("immutable"),
        "{}",
        answer.header("Cache-Control")
    );
    let moved = c.get("/openapi/v3/apis/apps/v1?hash=OTHER").await.expect(301);
    assert_eq!(moved.header("Location"), url);
}

async fn a_document_is_not_sent_twice(c: &Context) {
    let answer = c.get("/openapi/v3/apis/apps/v1").await.expect(200);
    let tag = answer.header("ETag").to_owned();
    assert!(tag.len() > 10, "{tag}");
    c.get("/openapi/v3/apis/apps/v1")
        .header("If-None-Match", &tag)
        .await
        .expect(304);
}

async fn an_unknown_document_is_not_found(c: &Context) {
    c.get("/openapi/v3/apis/nothing.example.com/v1").await.expect(404);
}

async fn documents_say_how_lists_merge(c: &Context) {
    let core = document(c, "api/v1").await;
    let properties = &core["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"];
    let containers = &properties["containers"];
    assert_eq!(containers["x-kubernetes-list-type"], "map");
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
    assert_eq!(containers["x-kubernetes-patch-strategy"], "merge");
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    assert_eq!(properties["nodeSelector"]["x-kubernetes-map-type"], "atomic");
    let ports = &core["components"]["schemas"]["io.k8s.api.core.v1.ServiceSpec"]["properties"]["ports"];
    assert_eq!(ports["x-kubernetes-list-map-keys"], json!(["port", "protocol"]));
}

async fn documents_name_the_kinds_of_their_schemas(c: &Context) {
    let apps = document(c, "apis/apps/v1").await;
    let deployment = &apps["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"];
    assert_eq!(
        deployment["x-kubernetes-group-version-kind"],
        json!([{"group": "apps", "kind": "Deployment", "version": "v1"}])
    );
    assert_eq!(deployment["type"], "object");
    let spec = &deployment["properties"]["spec"];
    assert_eq!(
        spec["allOf"],
        json!([{"$ref": "#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec"}])
    );
    let required = &apps["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentSpec"]["required"];
    assert_eq!(*required, json!(["selector", "template"]));
}

async fn documents_have_the_operations_with_field_validation(c: &Context) {
    let apps = document(c, "apis/apps/v1").await;
    let one = &apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"];
    assert_eq!(one["patch"]["x-kubernetes-action"], "patch");
    assert_eq!(
        one["patch"]["x-kubernetes-group-version-kind"],
        json!({"group": "apps", "kind": "Deployment", "version": "v1"})
    );
    let has = |operation: &str, name: &str| {
        one[operation]["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|parameter| parameter["name"] == name)
    };
    assert!(
        has("patch", "fieldValidation") && has("patch", "force") && has("put", "fieldValidation"),
        "{one}"
    );
    let accepted = one["patch"]["requestBody"]["content"]
        .as_object()
        .expect("bodies");
    assert!(
        accepted.contains_key("application/apply-patch+yaml"),
        "{accepted:?}"
    );
}

async fn define(c: &Context) -> String {
    let group = format!("{}.example.com", c.id);
    c.define(&json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")}, "spec": {"group": group, "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"}, "versions": [{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "description": "A thing.", "properties": {"spec": {"type": "object",
            "properties": {"list": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}}}}}]}}))
        .await;
    group
}

async fn a_custom_resource_has_a_document(c: &Context) {
    let group = define(c).await;
    let document = c
        .until(&format!("/openapi/v3/apis/{group}/v1"), |document| {
            document["openapi"] == "3.0.0"
        })
        .await;
    let mut reversed: Vec<&str> = group.split('.').collect();
    reversed.reverse();
    let thing = &document["components"]["schemas"][format!("{}.v1.Thing", reversed.join("."))];
    assert_eq!(thing["description"], "A thing.");
    assert_eq!(
        thing["x-kubernetes-group-version-kind"],
        json!([{"group": group, "kind": "Thing", "version": "v1"}])
    );
    assert_eq!(
        thing["properties"]["spec"]["properties"]["list"]["x-kubernetes-list-type"],
        "set"
    );
    assert_eq!(
        thing["properties"]["metadata"]["allOf"],
        json!([{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}])
    );
    assert!(thing["properties"]["apiVersion"]["description"].is_string());
    c.until("/openapi/v3", |index| {
        !index["paths"][format!("apis/{group}/v1")].is_null()
    })
    .await;
}

async fn a_document_changes_with_its_definition(c: &Context) {
    let group = define(c).await;
    let index_path = format!("apis/{group}/v1");
    c.until("/openapi/v3", |index| !index["paths"][&index_path].is_null())
        .await;
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}");
    let changed = json!([{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/description", "value": "Another thing."}]);
    c.patch(PatchKind::Json, &path, &changed).await.expect(200);
    let document = format!("/openapi/v3/{index_path}");
    c.until_answer(&document, |answer| answer.text().contains("Another thing."))
        .await;
    c.delete(&path).await.expect(200);
    c.until("/openapi/v3", |index| index["paths"][&index_path].is_null())
        .await;
}
