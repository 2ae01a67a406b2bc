//! What is kept of an object: what pages show, and nothing that only fills memory.

use classic::{Kind, keys};
use install_plan::approval::{APPROVED, reduced};
use serde_json::Value;

/// What of an object's metadata is kept.
const METADATA: [&str; 9] = [
    "annotations",
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "labels",
    "name",
    "namespace",
    "resourceVersion",
    "uid",
];

/// What of a version's spec is kept; icons, descriptions and examples are most of it otherwise.
const VERSION: [&str; 11] = [
    "apiservicedefinitions",
    "customresourcedefinitions",
    "displayName",
    "install",
    "installModes",
    "minKubeVersion",
    "nativeAPIs",
    "provider",
    "replaces",
    "version",
    "webhookdefinitions",
];

/// What of an API that a version provides or needs is kept.
const API: [&str; 6] = [
    "name",
    "group",
    "version",
    "kind",
    "displayName",
    "deploymentName",
];

/// Returns what is kept of an object.
pub(crate) fn pruned(kind: Kind, mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata") {
        keep(metadata, &METADATA);
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|key, _| {
                key.starts_with("olm.") || [keys::PROPERTIES, APPROVED].contains(&key.as_str())
            });
        }
    }
    match kind {
        Kind::InstallPlan => return reduced(object),
        Kind::ClusterServiceVersion => prune_version(&mut object),
        _ => {}
    }
    object
}

fn prune_version(object: &mut Value) {
    let Some(spec) = object.get_mut("spec") else {
        return;
    };
    keep(spec, &VERSION);
    for list in [
        "/customresourcedefinitions/owned",
        "/customresourcedefinitions/required",
        "/apiservicedefinitions/owned",
        "/apiservicedefinitions/required",
    ] {
        keep_each(spec, list, &API);
    }
    keep_each(
        spec,
        "/webhookdefinitions",
        &["generateName", "type", "deploymentName"],
    );
    if let Some(install) = spec.pointer_mut("/install/spec") {
        keep(install, &["deployments"]);
        keep_each(install, "/deployments", &["name"]);
    }
}

fn keep(object: &mut Value, names: &[&str]) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| names.contains(&name.as_str()));
    }
}

fn keep_each(object: &mut Value, list: &str, names: &[&str]) {
    let list = object.pointer_mut(list).and_then(Value::as_array_mut);
    for one in list.into_iter().flatten() {
        keep(one, names);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_version_is_kept_what_pages_show() {
        let long = "x".repeat(10_000);
        let version = json!({
            "kind": "ClusterServiceVersion",
            "metadata": {"name": "web.v1", "managedFields": [1], "annotations": {
                "alm-examples": long, "olm.targetNamespaces": "a", keys::PROPERTIES: "{}",
            }},
            "spec": {
                "icon": [long], "description": long, "version": "1.0.0",
                "customresourcedefinitions": {"owned": [{"name": "webs.g", "kind": "Web", "version": "v1", "specDescriptors": [long]}]},
                "install": {"strategy": "deployment", "spec": {
                    "deployments": [{"name": "web", "spec": {"template": long}}], "permissions": [long],
                }},
            },
            "status": {"phase": "Succeeded"},
        });
        assert_eq!(
            pruned(Kind::ClusterServiceVersion, version),
            json!({
                "kind": "ClusterServiceVersion",
                "metadata": {"name": "web.v1", "annotations": {"olm.targetNamespaces": "a", keys::PROPERTIES: "{}"}},
                "spec": {
                    "version": "1.0.0",
                    "customresourcedefinitions": {"owned": [{"name": "webs.g", "kind": "Web", "version": "v1"}]},
                    "install": {"strategy": "deployment", "spec": {"deployments": [{"name": "web"}]}},
                },
                "status": {"phase": "Succeeded"},
            })
        );
    }

    #[test]
    fn what_has_another_form_than_it_should_is_no_trouble() {
        for odd in [
            json!({"spec": [], "metadata": "m"}),
            json!("text"),
            json!({"spec": {"install": 1}}),
        ] {
            for kind in super::super::picture::SHOWN {
                pruned(kind, odd.clone());
            }
        }
    }
}
