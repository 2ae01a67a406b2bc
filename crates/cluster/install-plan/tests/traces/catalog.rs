//! Catalogs of the traces, as their gRPC server lists them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use resolve::classic::entry::{CatalogKey, RegistryBundle, RegistryPackage};
use resolve::classic::property::Property;
use resolve::classic::snapshot::Snapshot;
use serde_json::Value;

use crate::files::{list, text, yaml};

/// Reads the catalog of a folder.
pub(crate) fn read(key: &CatalogKey, folder: &Path) -> Arc<Snapshot> {
    let documents = yaml(&folder.join("catalog.yaml"));
    let of_schema = |schema: &'static str| {
        documents
            .iter()
            .filter(move |document| text(document, "/schema") == schema)
    };
    let mut packages: BTreeMap<String, RegistryPackage> = of_schema("olm.package")
        .map(|package| {
            let name = text(package, "/name").to_owned();
            let described = RegistryPackage {
                name: name.clone(),
                default_channel: text(package, "/defaultChannel").to_owned(),
                ..RegistryPackage::default()
            };
            (name, described)
        })
        .collect();
    let mut deprecated_bundles = BTreeMap::new();
    for deprecations in of_schema("olm.deprecations") {
        let Some(package) = packages.get_mut(text(deprecations, "/package")) else {
            continue;
        };
        for entry in list(deprecations, "/entries") {
            let name = text(entry, "/reference/name").to_owned();
            let message = text(entry, "/message").to_owned();
            match text(entry, "/reference/schema") {
                "olm.package" => package.deprecation = Some(message),
                "olm.channel" => drop(package.channel_deprecations.insert(name, message)),
                _ => drop(deprecated_bundles.insert(name, message)),
            }
        }
    }
    let mut bundles = Vec::new();
    for channel in of_schema("olm.channel") {
        for entry in list(channel, "/entries") {
            let name = text(entry, "/name");
            let bundle = of_schema("olm.bundle").find(|bundle| text(bundle, "/name") == name);
            if let Some(bundle) = bundle {
                let mut listed = listed(bundle, entry, text(channel, "/name"));
                listed.deprecation = deprecated_bundles.get(name).cloned();
                bundles.push(listed);
            }
        }
    }
    let (snapshot, left_out) = Snapshot::from_registry(key, bundles, &packages);
    assert_eq!(left_out, Vec::<String>::new());
    Arc::new(snapshot)
}

fn listed(bundle: &Value, entry: &Value, channel: &str) -> RegistryBundle {
    let properties = list(bundle, "/properties");
    let is_object = |property: &&Value| text(property, "/type") == "olm.bundle.object";
    let objects: Vec<String> = properties
        .iter()
        .filter(is_object)
        .map(|object| {
            let bytes = STANDARD.decode(text(object, "/value/data")).expect("base64");
            String::from_utf8(bytes).expect("text")
        })
        .collect();
    let service_version = objects
        .iter()
        .find(|object| object.contains("\"kind\":\"ClusterServiceVersion\""))
        .cloned();
    let others = properties.iter().filter(|property| !is_object(property));
    let version = properties
        .iter()
        .find(|property| text(property, "/type") == "olm.package")
        .map_or("", |package| text(package, "/value/version"));
    RegistryBundle {
        csv_name: text(bundle, "/name").to_owned(),
        package_name: text(bundle, "/package").to_owned(),
        channel_name: channel.to_owned(),
        csv_json: service_version.unwrap_or_default(),
        objects,
        bundle_path: text(bundle, "/image").to_owned(),
        version: version.to_owned(),
        skip_range: text(entry, "/skipRange").to_owned(),
        properties: others
            .map(|property| Property::new(text(property, "/type"), property["value"].to_string()))
            .collect(),
        replaces: text(entry, "/replaces").to_owned(),
        skips: list(entry, "/skips")
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        ..RegistryBundle::default()
    }
}
