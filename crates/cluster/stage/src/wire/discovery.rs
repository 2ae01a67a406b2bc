//! What is served, for clients that want to know.

use kinds::Subresource;
use serde_json::{Map, Value, json};

use super::negotiation::Shape;
use crate::resource::{Group, Resource, Served, api_version};

/// Returns `/api`.
pub fn core_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// Returns `/apis`.
pub fn groups(served: &Served) -> Value {
    let groups: Vec<Value> = served
        .groups
        .iter()
        .filter(|group| !group.name.is_empty())
        .map(group_value)
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// Returns `/apis/<group>`.
pub fn group(group: &Group) -> Value {
    let mut value = group_value(group);
    value["kind"] = "APIGroup".into();
    value["apiVersion"] = "v1".into();
    value
}

fn group_value(group: &Group) -> Value {
    let version =
        |version: &str| json!({"groupVersion": api_version(&group.name, version), "version": version});
    let versions: Vec<Value> = group.versions.iter().map(|(name, _)| version(name)).collect();
    let preferred = versions.first().cloned().unwrap_or_default();
    json!({"name": &*group.name, "versions": versions, "preferredVersion": preferred})
}

/// Returns `/apis/<group>/<version>`.
pub fn resources(group: &Group, version: &str) -> Option<Value> {
    let (_, resources) = group.versions.iter().find(|(name, _)| &**name == version)?;
    let mut listed = Vec::new();
    for resource in resources.values() {
        listed.push(resource_value(resource));
        for below in &resource.subresources {
            listed.push(subresource_value(resource, below));
        }
    }
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version(&group.name, version),
        "resources": listed,
    }))
}

fn resource_value(resource: &Resource) -> Value {
    let mut value = Map::new();
    value.insert("name".into(), json!(&*resource.plural));
    value.insert("singularName".into(), json!(&*resource.singular));
    value.insert("namespaced".into(), json!(resource.namespaced));
    value.insert("kind".into(), json!(&*resource.kind));
    value.insert("verbs".into(), json!(resource.verbs));
    if !resource.short_names.is_empty() {
        value.insert("shortNames".into(), json!(resource.short_names));
    }
    if !resource.categories.is_empty() {
        value.insert("categories".into(), json!(resource.categories));
    }
    if resource.verbs.len() > 2 {
        value.insert("storageVersionHash".into(), json!(storage_version_hash(resource)));
    }
    Value::Object(value)
}

/// Returns what tells clients that the stored version has changed: the same for all versions of a resource.
fn storage_version_hash(resource: &Resource) -> String {
    use base64::Engine as _;
    let text = format!("{}/{}", resource.storage_api_version, resource.kind);
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
    base64::engine::general_purpose::STANDARD.encode(&digest.as_ref()[..8])
}

fn subresource_value(resource: &Resource, below: &Subresource) -> Value {
    let mut value = Map::new();
    value.insert(
        "name".into(),
        json!(format!("{}/{}", resource.plural, below.name)),
    );
    value.insert("singularName".into(), json!(""));
    value.insert("namespaced".into(), json!(resource.namespaced));
    if below.group.is_empty() && below.version.is_empty() {
        let kind = if below.kind.is_empty() {
            &resource.kind
        } else {
            below.kind
        };
        value.insert("kind".into(), json!(kind));
    } else {
        value.insert("group".into(), json!(below.group));
        value.insert("version".into(), json!(below.version));
        value.insert("kind".into(), json!(below.kind));
    }
    value.insert("verbs".into(), json!(below.verbs));
    Value::Object(value)
}

/// Returns all groups and their resources at once; the core alone for `/api`.
pub fn aggregated(served: &Served, core: bool, shape: &Shape) -> Value {
    let version = match shape {
        Shape::Discovery(version) => version.as_str(),
        _ => "v2",
    };
    let items: Vec<Value> = served
        .groups
        .iter()
        .filter(|group| group.name.is_empty() == core)
        .map(aggregated_group)
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"), "metadata": {},
        "items": items,
    })
}

fn aggregated_group(group: &Group) -> Value {
    let mut metadata = Map::new();
    if !group.name.is_empty() {
        metadata.insert("name".into(), json!(&*group.name));
    }
    metadata.insert("creationTimestamp".into(), Value::Null);
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|(version, resources)| {
            let resources: Vec<Value> = resources
                .values()
                .map(|resource| aggregated_resource(resource))
                .collect();
            json!({"version": &**version, "resources": resources, "freshness": "Current"})
        })
        .collect();
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_resource(resource: &Resource) -> Value {
    // Built-in resources leave the group and version of their own kind out; custom ones name them.
    let own = |kind: &str| match resource.custom() {
        Some(_) => json!({"group": &*resource.group, "version": &*resource.version, "kind": kind}),
        None => json!({"group": "", "version": "", "kind": kind}),
    };
    let mut value = Map::new();
    value.insert("resource".into(), json!(&*resource.plural));
    value.insert("responseKind".into(), own(&resource.kind));
    value.insert(
        "scope".into(),
        json!(if resource.namespaced {
            "Namespaced"
        } else {
            "Cluster"
        }),
    );
    value.insert("singularResource".into(), json!(&*resource.singular));
    value.insert("verbs".into(), json!(resource.verbs));
    if !resource.short_names.is_empty() {
        value.insert("shortNames".into(), json!(resource.short_names));
    }
    if !resource.categories.is_empty() {
        value.insert("categories".into(), json!(resource.categories));
    }
    if !resource.subresources.is_empty() {
        let below: Vec<Value> = resource
            .subresources
            .iter()
            .map(|below| {
                let kind = if below.group.is_empty() && below.version.is_empty() {
                    own(if below.kind.is_empty() {
                        &resource.kind
                    } else {
                        below.kind
                    })
                } else {
                    json!({"group": below.group, "version": below.version, "kind": below.kind})
                };
                json!({"subresource": below.name, "responseKind": kind, "verbs": below.verbs})
            })
            .collect();
        value.insert("subresources".into(), below.into());
    }
    Value::Object(value)
}
