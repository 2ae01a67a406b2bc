//! Catalogs as OLM v0 needs them: a bundle is called as its ClusterServiceVersion is.

use serde_json::{Value, json};

use crate::bundles::{Contents, definition_name};
use crate::images::Entry;

/// All that an operator can support.
const ALL_MODES: [&str; 4] = [
    "OwnNamespace",
    "SingleNamespace",
    "MultiNamespace",
    "AllNamespaces",
];

/// The name of the ClusterServiceVersion of a package.
pub(crate) fn service_version(package: &str, version: &str) -> String {
    format!("{package}.v{version}")
}

/// An operator with a definition, which can watch any namespaces.
pub(crate) fn operator() -> Contents {
    Contents::operator().with_install_modes(&ALL_MODES)
}

/// A chain of versions in the channel `stable`.
pub(crate) fn versions(all: &[&'static str]) -> Vec<Entry> {
    let mut before = None;
    let entry = |version: &&'static str| {
        let entry = Entry::new(version, "stable", operator());
        match before.replace(*version) {
            Some(before) => entry.replacing(before),
            None => entry,
        }
    };
    all.iter().map(entry).collect()
}

/// The name and kind of the definition that the operator of a scenario brings.
pub(crate) fn provided(id: &str) -> Value {
    let group = definition_name(id);
    let group = group.split_once('.').map_or("", |(_, group)| group);
    json!({"group": group, "version": "v1", "kind": "E2ETest"})
}

/// Calls bundles as their `ClusterServiceVersion`s are called, and says what they provide and how they are shown.
pub(crate) fn with_service_versions(id: &str, mut metas: Vec<Value>) -> Vec<Value> {
    for meta in &mut metas {
        let package = meta["package"].as_str().unwrap_or_default().to_owned();
        let renamed = |name: &Value| {
            let name = name.as_str().unwrap_or_default();
            let version = name.strip_prefix(&format!("{package}."));
            Value::from(version.map_or_else(|| name.to_owned(), |version| service_version(&package, version)))
        };
        if meta["schema"] == "olm.channel" {
            for entry in meta["entries"].as_array_mut().into_iter().flatten() {
                entry["name"] = renamed(&entry["name"]);
                if entry["replaces"].is_string() {
                    entry["replaces"] = renamed(&entry["replaces"]);
                }
            }
        }
        if meta["schema"] == "olm.bundle" {
            meta["name"] = renamed(&meta["name"]);
            let modes = ALL_MODES.map(|mode| json!({"type": mode, "supported": true}));
            let shown = json!({"displayName": format!("Operator {package}"), "description": "Tests what is installed.",
                "provider": {"name": "Scenarios"}, "installModes": modes});
            if let Some(properties) = meta["properties"].as_array_mut() {
                properties.push(json!({"type": "olm.gvk", "value": provided(id)}));
                properties.push(json!({"type": "olm.csv.metadata", "value": shown}));
            }
        }
    }
    metas
}

/// Adds a property to the bundles of a package.
pub(crate) fn with_property(metas: &mut [Value], package: &str, property: &Value) {
    for meta in metas {
        if meta["schema"] == "olm.bundle"
            && meta["package"] == package
            && let Some(properties) = meta["properties"].as_array_mut()
        {
            properties.push(property.clone());
        }
    }
}
