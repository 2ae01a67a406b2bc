//! How clients find out what is served.

use serde_json::{Value, json};

use crate::context::Context;
use crate::exchange::PatchKind;

cases![
    the_core_api_has_one_version,
    the_groups_are_listed_with_their_preferred_version,
    a_group_lists_its_versions,
    core_kinds_are_served,
    apps_kinds_are_served,
    batch_kinds_are_served,
    rbac_kinds_are_served,
    networking_kinds_are_served,
    policy_kinds_are_served,
    autoscaling_kinds_are_served,
    scheduling_kinds_are_served,
    storage_kinds_are_served,
    coordination_kinds_are_served,
    events_kinds_are_served,
    discovery_kinds_are_served,
    admissionregistration_kinds_are_served,
    apiregistration_kinds_are_served,
    apiextensions_kinds_are_served,
    authentication_kinds_are_served,
    authorization_kinds_are_served,
    discovery_comes_in_one_document,
    the_one_document_has_scale_under_its_resource,
    the_one_document_is_not_sent_twice,
    an_older_one_document_is_not_given_to_new_clients,
    a_custom_resource_is_discovered,
    a_group_vanishes_with_its_last_resource,
    the_root_lists_paths,
];

/// What Kubernetes 1.36 serves and everybody relies on: one line for each resource.
const SERVED: &str = include_str!("served.tsv");

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn words(cell: &str) -> Value {
    if cell == "-" {
        Value::Null
    } else {
        cell.split(',').collect::<Vec<_>>().into()
    }
}

async fn served(c: &Context, group_version: &str) {
    let path = if group_version == "v1" {
        "/api/v1".to_owned()
    } else {
        format!("/apis/{group_version}")
    };
    let list = c
        .get(&path)
        .await
        .expect(200)
        .has("/kind", "APIResourceList")
        .has("/groupVersion", group_version)
        .json();
    let rows = SERVED.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let mut count = 0;
    for row in rows.filter(|row| row[0] == group_version) {
        count += 1;
        let found = list["resources"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|resource| resource["name"] == row[1]);
        let found = found.unwrap_or_else(|| panic!("{} is not served in {group_version}", row[1]));
        let (kind, origin) = row[2].split_once('@').unwrap_or((row[2], ""));
        assert_eq!(found["kind"], kind, "{found}");
        if let Some((group, version)) = origin.split_once('/') {
            assert_eq!(found["version"], version, "{found}");
            assert_eq!(found["group"].as_str().unwrap_or_default(), group, "{found}");
        }
        assert_eq!(found["singularName"], row[3].trim_start_matches('-'), "{found}");
        assert_eq!(found["namespaced"], row[4] == "Namespaced", "{found}");
        let mut verbs: Vec<&str> = found["verbs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        verbs.sort_unstable();
        assert_eq!(Value::from(verbs), words(row[5]), "{found}");
        assert_eq!(
            found.get("shortNames").cloned().unwrap_or_default(),
            words(row[6]),
            "{found}"
        );
        assert_eq!(
            found.get("categories").cloned().unwrap_or_default(),
            words(row[7]),
            "{found}"
        );
    }
    assert!(count > 0, "no rows for {group_version}");
}

async fn the_core_api_has_one_version(c: &Context) {
    let answer = c
        .get("/api")
        .await
        .expect(200)
        .has("/kind", "APIVersions")
        .has("/versions", json!(["v1"]));
    assert_eq!(answer.header("Content-Type"), "application/json");
}

async fn the_groups_are_listed_with_their_preferred_version(c: &Context) {
    let list = c
        .get("/apis")
        .await
        .expect(200)
        .has("/kind", "APIGroupList")
        .has("/apiVersion", "v1")
        .json();
    let groups = list["groups"].as_array().expect("groups");
    // The order is the one in which kubectl prefers them.
    assert_eq!(groups[0]["name"], "apiregistration.k8s.io");
    assert_eq!(groups[1]["name"], "apps");
    let autoscaling = groups
        .iter()
        .find(|group| group["name"] == "autoscaling")
        .expect("autoscaling");
    assert_eq!(
        autoscaling["preferredVersion"],
        json!({"groupVersion": "autoscaling/v2", "version": "v2"})
    );
    assert_eq!(
        autoscaling["versions"][1],
        json!({"groupVersion": "autoscaling/v1", "version": "v1"})
    );
}

async fn a_group_lists_its_versions(c: &Context) {
    c.get("/apis/apps")
        .await
        .expect(200)
        .has("/kind", "APIGroup")
        .has("/name", "apps")
        .has(
            "/preferredVersion",
            json!({"groupVersion": "apps/v1", "version": "v1"}),
        );
    c.get("/apis/nothing.example.com").await.expect(404);
}

async fn core_kinds_are_served(c: &Context) {
    served(c, "v1").await;
}

async fn apps_kinds_are_served(c: &Context) {
    served(c, "apps/v1").await;
}

async fn batch_kinds_are_served(c: &Context) {
    served(c, "batch/v1").await;
}

async fn rbac_kinds_are_served(c: &Context) {
    served(c, "rbac.authorization.k8s.io/v1").await;
}

async fn networking_kinds_are_served(c: &Context) {
    served(c, "networking.k8s.io/v1").await;
}

async fn policy_kinds_are_served(c: &Context) {
    served(c, "policy/v1").await;
}

async fn autoscaling_kinds_are_served(c: &Context) {
    served(c, "autoscaling/v1").await;
    served(c, "autoscaling/v2").await;
}

async fn scheduling_kinds_are_served(c: &Context) {
    served(c, "scheduling.k8s.io/v1").await;
}

async fn storage_kinds_are_served(c: &Context) {
    served(c, "storage.k8s.io/v1").await;
}

async fn coordination_kinds_are_served(c: &Context) {
    served(c, "coordination.k8s.io/v1").await;
}

async fn events_kinds_are_served(c: &Context) {
    served(c, "events.k8s.io/v1").await;
}

async fn discovery_kinds_are_served(c: &Context) {
    served(c, "discovery.k8s.io/v1").await;
}

async fn admissionregistration_kinds_are_served(c: &Context) {
    served(c, "admissionregistration.k8s.io/v1").await;
}

async fn apiregistration_kinds_are_served(c: &Context) {
    served(c, "apiregistration.k8s.io/v1").await;
}

async fn apiextensions_kinds_are_served(c: &Context) {
    served(c, "apiextensions.k8s.io/v1").await;
}

async fn authentication_kinds_are_served(c: &Context) {
    served(c, "authentication.k8s.io/v1").await;
}

async fn authorization_kinds_are_served(c: &Context) {
    served(c, "authorization.k8s.io/v1").await;
}

async fn discovery_comes_in_one_document(c: &Context) {
    let answer = c.get("/api").accept(AGGREGATED).await.expect(200);
    assert_eq!(answer.header("Content-Type"), AGGREGATED);
    let core = answer
        .has("/kind", "APIGroupDiscoveryList")
        .has("/apiVersion", "apidiscovery.k8s.io/v2")
        .json();
    let version = &core["items"][0]["versions"][0];
    assert_eq!(version["version"], "v1");
    assert_eq!(version["freshness"], "Current");
    let pods = version["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|resource| resource["resource"] == "pods");
    let pods = pods.expect("pods");
    // An empty version stands for the one it is listed under.
    assert_eq!(
        pods["responseKind"],
        json!({"group": "", "version": "", "kind": "Pod"})
    );
    assert_eq!(pods["scope"], "Namespaced");
    assert_eq!(pods["singularResource"], "pod");
    assert_eq!(pods["shortNames"], json!(["po"]));
    assert_eq!(pods["categories"], json!(["all"]));
    let status = pods["subresources"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|part| part["subresource"] == "status");
    assert_eq!(
        status.expect("status")["verbs"],
        json!(["get", "patch", "update"])
    );
}

async fn the_one_document_has_scale_under_its_resource(c: &Context) {
    let groups = c.get("/apis").accept(AGGREGATED).await.expect(200).json();
    let apps = groups["items"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|group| group["metadata"]["name"] == "apps");
    let resources = apps.expect("apps")["versions"][0]["resources"].clone();
    let deployments = resources
        .as_array()
        .into_iter()
        .flatten()
        .find(|resource| resource["resource"] == "deployments");
    let parts = deployments.expect("deployments")["subresources"].clone();
    let scale = parts
        .as_array()
        .into_iter()
        .flatten()
        .find(|part| part["subresource"] == "scale")
        .expect("scale");
    assert_eq!(
        scale["responseKind"],
        json!({"group": "autoscaling", "version": "v1", "kind": "Scale"})
    );
}

async fn the_one_document_is_not_sent_twice(c: &Context) {
    // The core group doesn't change while other cases define resources.
    let answer = c.get("/api").accept(AGGREGATED).await.expect(200);
    let tag = answer.header("ETag").to_owned();
    assert!(
        tag.starts_with('"') && tag.ends_with('"') && tag.len() > 10,
        "{tag}"
    );
    let again = c
        .get("/api")
        .accept(AGGREGATED)
        .header("If-None-Match", &tag)
        .await
        .expect(304);
    assert!(again.body.is_empty());
    c.get("/api")
        .accept(AGGREGATED)
        .header("If-None-Match", "\"other\"")
        .await
        .expect(200);
}

async fn an_older_one_document_is_not_given_to_new_clients(c: &Context) {
    // What kubectl sends: the best first, and plain JSON last.
    let accept = format!(
        "{AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
    );
    let answer = c.get("/apis").accept(&accept).await.expect(200);
    assert_eq!(answer.header("Content-Type"), AGGREGATED);
    c.get("/apis")
        .accept("application/json")
        .await
        .expect(200)
        .has("/kind", "APIGroupList");
}

fn definition(c: &Context) -> Value {
    let group = format!("{}.example.com", c.id);
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")}, "spec": {"group": group, "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "shortNames": [c.id], "categories": ["all"]},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}},
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

async fn a_custom_resource_is_discovered(c: &Context) {
    c.define(&definition(c)).await;
    let group = format!("{}.example.com", c.id);
    let list = c
        .until(&format!("/apis/{group}/v1"), |list| {
            list["kind"] == "APIResourceList"
        })
        .await;
    let names: Vec<&str> = list["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| row["name"].as_str())
        .collect();
    assert_eq!(names, ["things", "things/status", "things/scale"]);
    assert_eq!(list["resources"][0]["shortNames"], json!([c.id]));
    let verbs = json!([
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "create",
        "update",
        "watch"
    ]);
    assert_eq!(list["resources"][0]["verbs"], verbs);
    let everything = c
        .until_answer("/apis", |answer| {
            answer.json_or_null()["groups"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|found| found["name"] == group)
        })
        .await;
    assert_eq!(everything.status, 200);
    c.until(&format!("/apis/{group}"), |found| {
        found["preferredVersion"]["version"] == "v1"
    })
    .await;
}

async fn a_group_vanishes_with_its_last_resource(c: &Context) {
    let mut definition = definition(c);
    c.define(&definition).await;
    let group = format!("{}.example.com", c.id);
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}");
    definition["spec"]["versions"][0]["served"] = json!(false);
    c.patch(PatchKind::Merge, &path, &json!({"spec": definition["spec"]}))
        .await
        .expect(200);
    c.until_gone(&format!("/apis/{group}/v1")).await;
    c.until_gone(&format!("/apis/{group}/v1/things")).await;
    c.delete(&path).await.expect(200);
    c.until_gone(&path).await;
    c.until_gone(&format!("/apis/{group}")).await;
}

async fn the_root_lists_paths(c: &Context) {
    let paths = c.get("/").await.expect(200).json()["paths"].clone();
    let has = |path: &str| paths.as_array().into_iter().flatten().any(|found| found == path);
    for path in [
        "/api",
        "/api/v1",
        "/apis",
        "/apis/apps/v1",
        "/healthz",
        "/openapi/v3",
        "/version",
    ] {
        assert!(has(path), "{path} is not in {paths}");
    }
}
