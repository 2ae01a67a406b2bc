//! What can be done with a resource, path by path.

mod subresources;
mod watches;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::components::reference;
use super::{ServedResource, parameters};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// What the answers of built-in kinds are written in.
const ALL_FORMS: [&str; 3] = [
    "application/json",
    "application/vnd.kubernetes.protobuf",
    "application/yaml",
];
/// What the answers of custom resources are written in.
const CUSTOM_FORMS: [&str; 2] = ["application/json", "application/yaml"];
/// What lists and watches of built-in kinds are written in.
const STREAM_FORMS: [&str; 5] = [
    "application/json",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/yaml",
];
/// The built-in kinds whose deletion answers with the object instead of a status.
const ANSWERED_WITH_OBJECT: [(&str, &str); 16] = [
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("", "PodTemplate"),
    ("", "ResourceQuota"),
    ("", "Service"),
    ("", "ServiceAccount"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "ResourceClaim"),
    ("resource.k8s.io", "ResourceClaimTemplate"),
    ("resource.k8s.io", "ResourceSlice"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
];

/// The parts of an operation that differ.
struct Operation {
    method: &'static str,
    description: String,
    id: String,
    parameters: Vec<&'static str>,
    body: Option<Value>,
    answers: Vec<(&'static str, &'static str)>,
    content: Value,
    action: &'static str,
    kind: Value,
}

/// Returns the path that tells which resources a group and version has.
pub(super) fn discovery(api_version: &str, root: &str) -> (String, Value) {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let names = Names::of(group, version);
    let list = format!("{META}APIResourceList");
    let operation = json!({
        "tags": [names.tag],
        "description": "get available resources",
        "operationId": format!("get{}APIResources", names.prefix),
        "responses": {
            "200": { "description": "OK", "content": content(&ALL_FORMS, &reference(&list)) },
            "401": { "description": "Unauthorized" },
        },
    });
    (format!("{root}/"), json!({ "get": operation }))
}

/// Returns the description of a path that leads to others, such as `/apis/apps/`, with the definition of its answer.
pub(super) fn entrance(path: &str, id: &str, tag: &str, description: &str, answer: &str) -> (String, Value) {
    let operation = json!({
        "tags": [tag],
        "description": description,
        "operationId": id,
        "responses": {
            "200": { "description": "OK", "content": content(&ALL_FORMS, &reference(&format!("{META}{answer}"))) },
            "401": { "description": "Unauthorized" },
        },
    });
    (format!("/{path}/"), json!({ "get": operation }))
}

/// Returns how the operations of a whole group are named, and its tag.
pub(super) fn group_names(group: &str) -> (String, String) {
    let names = Names::of(group, "");
    let tag = names.tag.trim_end_matches('_').to_owned();
    (names.prefix, tag)
}

/// How operations of a group and version are named.
struct Names {
    /// Such as `AppsV1`.
    prefix: String,
    /// Such as `apps_v1`.
    tag: String,
}

impl Names {
    fn of(group: &str, version: &str) -> Self {
        let short = match group {
            "" => "core",
            group => group.strip_suffix(".k8s.io").unwrap_or(group),
        };
        let camel: String = short.split(['.', '-']).map(capitalized).collect();
        let mut letters = camel.chars();
        let first: String = letters
            .next()
            .map(|letter| letter.to_lowercase().collect())
            .unwrap_or_default();
        Self {
            prefix: format!("{camel}{}", capitalized(version)),
            tag: format!("{first}{}_{version}", letters.as_str()),
        }
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

fn content(forms: &[&str], schema: &Value) -> Value {
    Value::Object(
        forms
            .iter()
            .map(|form| ((*form).to_owned(), json!({ "schema": schema })))
            .collect(),
    )
}

/// Returns the paths of a resource and its subresources.
pub(super) fn paths(resource: &ServedResource, root: &str) -> BTreeMap<String, Value> {
    let describing = Describing {
        resource,
        names: Names::of(&resource.group, &resource.version),
    };
    let collection = if resource.namespaced {
        format!("{root}/namespaces/{{namespace}}/{}", resource.plural)
    } else {
        format!("{root}/{}", resource.plural)
    };
    let one = format!("{collection}/{{name}}");
    let mut paths = BTreeMap::new();
    let mut add = |path: String, operations: Vec<Operation>, has_name: bool| {
        if !operations.is_empty() {
            paths.insert(path, describing.path_item(operations, has_name));
        }
    };
    add(collection, describing.on_collection(), false);
    add(one.clone(), describing.on_one(), true);
    for subresource in &resource.subresources {
        add(
            format!("{one}/{subresource}"),
            describing.on_subresource(subresource, false),
            true,
        );
        if subresource == "proxy" {
            add(
                format!("{one}/proxy/{{path}}"),
                describing.on_subresource(subresource, true),
                true,
            );
        }
    }
    if resource.namespaced && describing.can("list") {
        let everywhere = describing.list("ForAllNamespaces", "");
        paths.insert(
            format!("{root}/{}", resource.plural),
            describing.cluster_path_item(vec![everywhere]),
        );
    }
    if resource.schema.is_none() && describing.can("watch") {
        paths.extend(describing.watches(root));
    }
    paths
}

struct Describing<'a> {
    resource: &'a ServedResource,
    names: Names,
}

impl Describing<'_> {
    fn can(&self, verb: &str) -> bool {
        self.resource.verbs.iter().any(|known| known == verb)
    }

    fn is_custom(&self) -> bool {
        self.resource.schema.is_some()
    }

    fn forms(&self) -> &'static [&'static str] {
        if self.is_custom() {
            &CUSTOM_FORMS
        } else {
            &ALL_FORMS
        }
    }

    fn scope(&self) -> &'static str {
        if self.resource.namespaced {
            "Namespaced"
        } else {
            ""
        }
    }

    fn own_kind(&self) -> Value {
        kind_value(&self.resource.group, &self.resource.version, &self.resource.kind)
    }

    /// Returns the body of a write.
    fn body(&self, component: &str) -> Value {
        let forms: &[&str] = if self.is_custom() { &CUSTOM_FORMS } else { &["*/*"] };
        json!({ "content": content(forms, &reference(component)), "required": true })
    }

    fn id(&self, verb: &str, scope: &str, rest: &str) -> String {
        format!("{verb}{}{scope}{}{rest}", self.names.prefix, self.resource.kind)
    }

    fn on_collection(&self) -> Vec<Operation> {
        let kind = &self.resource.kind;
        let component = self.resource.component();
        let mut operations = Vec::new();
        if self.can("list") {
            operations.push(self.list("", self.scope()));
        }
        if self.can("create") {
            operations.push(Operation {
                method: "post",
                description: format!("create {} {kind}", article(kind)),
                id: self.id("create", self.scope(), ""),
                parameters: parameters::WRITE.to_vec(),
                body: Some(self.body(&component)),
                answers: vec![("200", "OK"), ("201", "Created"), ("202", "Accepted")],
                content: content(self.forms(), &reference(&component)),
                action: "post",
                kind: self.own_kind(),
            });
        }
        if self.can("deletecollection") {
            let (parameters, body) = if self.is_custom() {
                (parameters::LIST.to_vec(), None)
            } else {
                (parameters::DELETE_COLLECTION.to_vec(), Some(self.delete_body()))
            };
            operations.push(Operation {
                method: "delete",
                description: format!("delete collection of {kind}"),
                id: self.id("delete", &format!("Collection{}", self.scope()), ""),
                parameters,
                body,
                answers: vec![("200", "OK")],
                content: content(self.forms(), &reference(&format!("{META}Status"))),
                action: "deletecollection",
                kind: self.own_kind(),
            });
        }
        operations
    }

    fn list(&self, everywhere: &str, scope: &str) -> Operation {
        let list = reference(&self.resource.list_component());
        let watches = self.can("watch") && !self.is_custom();
        let forms: &[&str] = if self.is_custom() {
            &CUSTOM_FORMS
        } else {
            &STREAM_FORMS
        };
        Operation {
            method: "get",
            description: format!(
                "list {}objects of kind {}",
                if watches { "or watch " } else { "" },
                self.resource.kind
            ),
            id: self.id("list", scope, everywhere),
            parameters: parameters::LIST.to_vec(),
            body: None,
            answers: vec![("200", "OK")],
            content: content(forms, &list),
            action: "list",
            kind: self.own_kind(),
        }
    }

    fn delete_body(&self) -> Value {
        let forms: &[&str] = if self.is_custom() { &CUSTOM_FORMS } else { &["*/*"] };
        json!({ "content": content(forms, &reference(&format!("{META}DeleteOptions"))) })
    }

    fn on_one(&self) -> Vec<Operation> {
        let kind = &self.resource.kind;
        let component = self.resource.component();
        let mut operations = Vec::new();
        if self.can("get") {
            operations.push(self.read(
                "",
                format!("read the specified {kind}"),
                &component,
                self.own_kind(),
            ));
        }
        if self.can("update") {
            let told = format!("replace the specified {kind}");
            operations.push(self.replace("", told, &component, self.own_kind()));
        }
        if self.can("patch") {
            let told = format!("partially update the specified {kind}");
            operations.push(self.patch("", told, &component, self.own_kind()));
        }
        if self.can("delete") {
            let own = ANSWERED_WITH_OBJECT.contains(&(self.resource.group.as_str(), kind.as_str()));
            let answer = if own && !self.is_custom() {
                component
            } else {
                format!("{META}Status")
            };
            operations.push(Operation {
                method: "delete",
                description: format!("delete {} {kind}", article(kind)),
                id: self.id("delete", self.scope(), ""),
                parameters: parameters::DELETE.to_vec(),
                body: Some(self.delete_body()),
                answers: vec![("200", "OK"), ("202", "Accepted")],
                content: content(self.forms(), &reference(&answer)),
                action: "delete",
                kind: self.own_kind(),
            });
        }
        operations
    }

    fn read(&self, rest: &str, description: String, component: &str, kind: Value) -> Operation {
        Operation {
            method: "get",
            description,
            id: self.id("read", self.scope(), rest),
            parameters: if self.is_custom() {
                vec!["resourceVersion"]
            } else {
                Vec::new()
            },
            body: None,
            answers: vec![("200", "OK")],
            content: content(self.forms(), &reference(component)),
            action: "get",
            kind,
        }
    }

    fn replace(&self, rest: &str, description: String, component: &str, kind: Value) -> Operation {
        Operation {
            method: "put",
            description,
            id: self.id("replace", self.scope(), rest),
            parameters: parameters::WRITE.to_vec(),
            body: Some(self.body(component)),
            answers: vec![("200", "OK"), ("201", "Created")],
            content: content(self.forms(), &reference(component)),
            action: "put",
            kind,
        }
    }

    fn patch(&self, rest: &str, description: String, component: &str, kind: Value) -> Operation {
        let mut forms = vec![
            "application/apply-patch+yaml",
            "application/json-patch+json",
            "application/merge-patch+json",
        ];
        let mut answers = vec![("200", "OK")];
        if !self.is_custom() {
            forms.push("application/strategic-merge-patch+json");
            answers.push(("201", "Created"));
        }
        let body =
            json!({ "content": content(&forms, &reference(&format!("{META}Patch"))), "required": true });
        Operation {
            method: "patch",
            description,
            id: self.id("patch", self.scope(), rest),
            parameters: parameters::PATCH.to_vec(),
            body: Some(body),
            answers,
            content: content(self.forms(), &reference(component)),
            action: "patch",
            kind,
        }
    }

    fn path_item(&self, operations: Vec<Operation>, has_name: bool) -> Value {
        let mut shared = Vec::new();
        if has_name {
            shared.push(parameters::path(
                "name",
                &format!("name of the {}", self.resource.kind),
            ));
        }
        if self.resource.namespaced {
            shared.push(parameters::path(
                "namespace",
                "object name and auth scope, such as for teams and projects",
            ));
        }
        self.assembled(operations, shared)
    }

    /// Returns the item of a path without a namespace.
    fn cluster_path_item(&self, operations: Vec<Operation>) -> Value {
        self.assembled(operations, Vec::new())
    }

    /// What all operations of a path take is told once for the path.
    fn assembled(&self, mut operations: Vec<Operation>, mut shared: Vec<Value>) -> Value {
        let is_connection = operations
            .first()
            .is_some_and(|operation| operation.action == "connect");
        if !is_connection {
            shared.push(parameters::query("pretty"));
        }
        let first: Vec<&'static str> = operations
            .first()
            .map(|operation| operation.parameters.clone())
            .unwrap_or_default();
        for name in first {
            if operations
                .iter()
                .all(|operation| operation.parameters.contains(&name))
            {
                shared.push(parameters::query(name));
                for operation in &mut operations {
                    operation.parameters.retain(|known| *known != name);
                }
            }
        }
        if operations
            .iter()
            .any(|operation| operation.id.ends_with("WithPath"))
        {
            shared.retain(|parameter| parameter["name"] != "path");
            shared.push(parameters::path("path", "path to the resource"));
            // The path is in the query too, where the rest of it is taken from.
            shared.push(parameters::query("path"));
        }
        shared.sort_by(|one, other| one["name"].as_str().cmp(&other["name"].as_str()));
        let mut item: Map<String, Value> = Map::new();
        for operation in operations {
            item.insert(operation.method.to_owned(), self.operation(operation));
        }
        item.insert("parameters".into(), Value::Array(shared));
        Value::Object(item)
    }

    fn operation(&self, operation: Operation) -> Value {
        let mut answers: Map<String, Value> = operation
            .answers
            .iter()
            .map(|(code, told)| {
                (
                    (*code).to_owned(),
                    json!({ "description": told, "content": operation.content }),
                )
            })
            .collect();
        answers.insert("401".into(), json!({ "description": "Unauthorized" }));
        let mut value = json!({
            "tags": [self.names.tag],
            "description": operation.description,
            "operationId": operation.id,
            "responses": answers,
            "x-kubernetes-action": operation.action,
            "x-kubernetes-group-version-kind": operation.kind,
        });
        if !operation.parameters.is_empty() {
            let parameters: Vec<Value> = operation
                .parameters
                .iter()
                .map(|name| parameters::query(name))
                .collect();
            value["parameters"] = Value::Array(parameters);
        }
        if let Some(body) = operation.body {
            value["requestBody"] = body;
        }
        value
    }
}

fn kind_value(group: &str, version: &str, kind: &str) -> Value {
    json!({ "group": group, "version": version, "kind": kind })
}

/// Returns `a` or `an`, as the real documents choose.
fn article(kind: &str) -> &'static str {
    if kind.starts_with(['A', 'E', 'I', 'O', 'U']) {
        "an"
    } else {
        "a"
    }
}
