use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::comparison::{component_differences, path_differences};
use super::{ServedResource, document, document_value, index, ingredients};

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const ALL_VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("JSON")
}

fn deployments() -> ServedResource {
    ServedResource {
        group: "apps".into(),
        version: "v1".into(),
        plural: "deployments".into(),
        singular: "deployment".into(),
        kind: "Deployment".into(),
        list_kind: "DeploymentList".into(),
        namespaced: true,
        verbs: strings(&ALL_VERBS),
        subresources: strings(&["scale", "status"]),
        schema: None,
        ..ServedResource::default()
    }
}

fn widgets() -> ServedResource {
    ServedResource {
        group: "strict.example.com".into(),
        version: "v1".into(),
        plural: "widgets".into(),
        singular: "widget".into(),
        kind: "Widget".into(),
        list_kind: "WidgetList".into(),
        namespaced: true,
        verbs: strings(&ALL_VERBS),
        subresources: strings(&["scale", "status"]),
        schema: Some(Arc::new(json!({
            "type": "object",
            "description": "A widget.",
            "properties": {
                "spec": { "type": "object", "properties": {
                    "port": { "x-kubernetes-int-or-string": true },
                    "embedded": { "type": "object", "x-kubernetes-embedded-resource": true },
                } },
            },
        }))),
        selectable_fields: strings(&[".spec.color"]),
    }
}

#[test]
fn the_index_leads_to_the_documents() {
    let index: Value =
        serde_json::from_slice(&index([("apis/apps/v1", "AB"), ("api/v1", "CD")])).expect("JSON");
    assert_eq!(
        index,
        json!({ "paths": {
            "api/v1": { "serverRelativeURL": "/openapi/v3/api/v1?hash=CD" },
            "apis/apps/v1": { "serverRelativeURL": "/openapi/v3/apis/apps/v1?hash=AB" },
        } })
    );
}

#[test]
fn a_document_has_the_schemas_that_its_operations_reach_and_no_others() {
    let document = document_value("apps/v1", &[deployments()]);
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    assert!(schemas.contains_key("io.k8s.api.core.v1.Container"));
    assert!(schemas.contains_key("io.k8s.api.autoscaling.v1.Scale"));
    assert!(!schemas.contains_key("io.k8s.api.apps.v1.StatefulSet"));
    assert_eq!(
        schemas["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"]["x-kubernetes-group-version-kind"],
        json!([
            { "group": "", "kind": "DeleteOptions", "version": "v1" },
            { "group": "apps", "kind": "DeleteOptions", "version": "v1" },
        ])
    );
    assert_eq!(
        schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["minReadySeconds"],
        json!({
            "description": "Minimum number of seconds for which a newly created pod should be ready without any of its \
                container crashing, for it to be considered available. Defaults to 0 (pod will be considered available as \
                soon as it is ready)",
            "format": "int32",
            "type": "integer",
        })
    );
}

#[test]
fn the_operations_of_a_built_in_kind_are_told_path_by_path() {
    let document = document_value("apps/v1", &[deployments()]);
    let told: BTreeMap<&String, BTreeMap<&String, String>> = document["paths"]
        .as_object()
        .expect("paths")
        .iter()
        .map(|(path, item)| {
            let operations = item.as_object().expect("an item").iter();
            (
                path,
                operations
                    .map(|(method, operation)| (method, summary(operation)))
                    .collect(),
            )
        })
        .collect();
    insta::assert_snapshot!(pretty(&told));
}

/// An operation on one line, or the names of parameters.
fn summary(operation: &Value) -> String {
    let names = |parameters: &Value| -> String {
        let parameters = parameters.as_array().map(Vec::as_slice).unwrap_or_default();
        parameters
            .iter()
            .filter_map(|parameter| parameter["name"].as_str())
            .collect::<Vec<_>>()
            .join(" ")
    };
    if operation.is_array() {
        return names(operation);
    }
    let kind = &operation["x-kubernetes-group-version-kind"];
    format!(
        "{} ({} {} {}) takes {}",
        operation["operationId"].as_str().unwrap_or_default(),
        operation["x-kubernetes-action"].as_str().unwrap_or_default(),
        kind["group"].as_str().unwrap_or_default(),
        kind["kind"].as_str().unwrap_or_default(),
        names(&operation["parameters"]),
    )
}

#[test]
fn a_custom_resource_has_its_own_schemas_and_operations() {
    let document = document_value("strict.example.com/v1", &[widgets()]);
    let own: BTreeMap<&String, &Value> = document["components"]["schemas"]
        .as_object()
        .expect("schemas")
        .iter()
        .filter(|(name, _)| name.starts_with("com.example"))
        .collect();
    insta::assert_snapshot!("custom_schemas", pretty(&own));
    insta::assert_snapshot!(
        "custom_operation",
        pretty(
            &document["paths"]["/apis/strict.example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
        )
    );
}

#[test]
fn what_determines_a_document_differs_when_the_document_does() {
    let mut changed = widgets();
    changed.schema = Some(Arc::new(json!({ "type": "object" })));
    assert_ne!(ingredients("g/v1", &[widgets()]), ingredients("g/v1", &[changed]));
    assert_eq!(
        ingredients("g/v1", &[widgets()]),
        ingredients("g/v1", &[widgets()])
    );
    assert_eq!(
        document("apps/v1", &[deployments()]),
        document("apps/v1", &[deployments()])
    );
}

/// Reads a list of resources as discovery tells it.
fn discovered(list: &Value) -> Vec<ServedResource> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let api_version = text(list, "groupVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let all = list["resources"].as_array().cloned().unwrap_or_default();
    let mut resources = Vec::new();
    for entry in all.iter().filter(|entry| !text(entry, "name").contains('/')) {
        let plural = text(entry, "name");
        let subresources = all.iter().filter_map(|other| {
            text(other, "name")
                .strip_prefix(&format!("{plural}/"))
                .map(str::to_owned)
        });
        let verbs = entry["verbs"].as_array().cloned().unwrap_or_default();
        resources.push(ServedResource {
            group: group.to_owned(),
            version: version.to_owned(),
            singular: text(entry, "singularName"),
            kind: text(entry, "kind"),
            list_kind: format!("{}List", text(entry, "kind")),
            namespaced: entry["namespaced"] == true,
            verbs: verbs
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            subresources: subresources.collect(),
            plural,
            schema: None,
            ..ServedResource::default()
        });
    }
    resources
}

/// Reads the resource of a version from its definition.
fn defined(definition: &Value, version: &Value) -> ServedResource {
    let text = |pointer: &str| {
        definition
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let subresources = version["subresources"].as_object().cloned().unwrap_or_default();
    ServedResource {
        group: text("/spec/group"),
        version: version["name"].as_str().unwrap_or_default().to_owned(),
        plural: text("/spec/names/plural"),
        singular: text("/spec/names/singular"),
        kind: text("/spec/names/kind"),
        list_kind: text("/spec/names/listKind"),
        namespaced: text("/spec/scope") == "Namespaced",
        verbs: strings(&ALL_VERBS),
        subresources: subresources.keys().cloned().collect(),
        schema: Some(Arc::new(version["schema"]["openAPIV3Schema"].clone())),
        selectable_fields: version["selectableFields"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|field| field["jsonPath"].as_str().map(str::to_owned))
            .collect(),
    }
}

#[test]
#[ignore = "needs a real server's documents: a folder in REAL_DOCUMENTS with <name>.json from /openapi/v3/<name> and \
            <name>.resources.json from /<name>, where / in a name is written __, and *.definition.json of custom \
            resources"]
fn every_document_agrees_with_a_real_servers() {
    let folder = std::env::var("REAL_DOCUMENTS").expect("REAL_DOCUMENTS");
    let read = |name: &str| -> Value {
        let text = std::fs::read_to_string(Path::new(&folder).join(name)).expect(name);
        serde_json::from_str(&text).expect(name)
    };
    let mut differences = Vec::new();
    let mut check = |name: &str, ours: &Value, theirs: &Value| {
        let found = component_differences(ours, theirs)
            .into_iter()
            .chain(path_differences(ours, theirs));
        differences.extend(found.map(|line| format!("{name}: {line}")));
    };
    for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        if let Some(name) = file.strip_suffix(".resources.json") {
            let list = read(&file);
            let api_version = list["groupVersion"].as_str().expect("a version");
            check(
                name,
                &document_value(api_version, &discovered(&list)),
                &read(&format!("{name}.json")),
            );
        } else if file.ends_with(".definition.json") {
            let definition = read(&file);
            for version in definition["spec"]["versions"].as_array().expect("versions") {
                let resource = defined(&definition, version);
                let api_version = format!("{}/{}", resource.group, resource.version);
                let theirs = read(&format!("apis__{}.json", api_version.replace('/', "__")));
                check(&api_version, &document_value(&api_version, &[resource]), &theirs);
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
