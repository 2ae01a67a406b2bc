//! A package of a catalog as a PackageManifest.

use apply::object::{at, text};
use catalog::grpc::messages::{Bundle, Deprecation, Package};
use resolve::classic::snapshot::Snapshot;
use serde_json::{Map, Value, json};

use super::API_VERSION;
use super::icon::Icon;
use crate::sources::content::Content;

/// What a package says it runs on where it doesn't say.
const DEFAULT_LABELS: [&str; 2] = ["operatorframework.io/arch.amd64", "operatorframework.io/os.linux"];

/// Returns the packages of a catalog as objects of a namespace.
pub(super) fn manifests(source: &Value, content: &Content, namespace: &str) -> Vec<Value> {
    let packages = content.packages.values();
    packages
        .filter_map(|package| manifest(source, content, package, namespace))
        .collect()
}

fn service_version(bundle: &Bundle) -> Value {
    serde_json::from_str(&bundle.csv_json).unwrap_or(Value::Null)
}

fn deprecation(deprecation: Option<&Deprecation>) -> Option<Value> {
    deprecation.map(|deprecation| json!({"message": deprecation.message}))
}

fn default_channel(package: &Package) -> &str {
    match (package.default_channel_name.as_str(), package.channels.as_slice()) {
        ("", [only]) => &only.name,
        (name, _) => name,
    }
}

fn manifest(source: &Value, content: &Content, package: &Package, namespace: &str) -> Option<Value> {
    let mut channels: Vec<_> = package.channels.iter().collect();
    channels.sort_by(|one, other| one.name.cmp(&other.name));
    let mut described = Vec::new();
    let mut of_default = Value::Null;
    for channel in channels {
        let head = content.heads.get(&(package.name.clone(), channel.name.clone()));
        let Some(head) = head else { continue };
        let version = service_version(head);
        if channel.name == default_channel(package) || of_default.is_null() {
            of_default.clone_from(&version);
        }
        let mut entry = json!({
            "name": channel.name,
            "currentCSV": channel.csv_name,
            "currentCSVDesc": description(&version, &head.version),
            "entries": entries(&content.snapshot, &package.name, &channel.name),
        });
        if let Some(deprecation) = deprecation(channel.deprecation.as_ref()) {
            entry["deprecation"] = deprecation;
        }
        described.push(entry);
    }
    if described.is_empty() {
        return None;
    }
    let provider = provider(&of_default);
    let name = |pointer: &str| text(source, pointer).to_owned();
    let mut status = json!({
        "catalogSource": name("/metadata/name"),
        "catalogSourceNamespace": name("/metadata/namespace"),
        "catalogSourceDisplayName": name("/spec/displayName"),
        "catalogSourcePublisher": name("/spec/publisher"),
        "provider": provider,
        "packageName": package.name,
        "defaultChannel": default_channel(package),
        "channels": described,
    });
    if let Some(deprecation) = deprecation(package.deprecation.as_ref()) {
        status["deprecation"] = deprecation;
    }
    Some(json!({
        "apiVersion": API_VERSION,
        "kind": "PackageManifest",
        "metadata": {
            "name": package.name,
            "namespace": namespace,
            "creationTimestamp": at(source, "/metadata/creationTimestamp"),
            "labels": labels(source, &of_default, &provider),
        },
        "spec": {},
        "status": status,
    }))
}

fn provider(version: &Value) -> Value {
    let mut provider = Map::new();
    for field in ["name", "url"] {
        let value = text(version, &format!("/spec/provider/{field}"));
        if !value.is_empty() {
            provider.insert(field.to_owned(), value.into());
        }
    }
    Value::Object(provider)
}

fn labels(source: &Value, version: &Value, provider: &Value) -> Value {
    let mut labels = Map::new();
    for object in [version, source] {
        let own = at(object, "/metadata/labels").and_then(Value::as_object);
        for (key, value) in own.into_iter().flatten() {
            labels.insert(key.clone(), value.clone());
        }
    }
    let says = |labels: &Map<String, Value>, part: &str| {
        labels
            .keys()
            .any(|key| key.starts_with(&format!("operatorframework.io/{part}.")))
    };
    for key in DEFAULT_LABELS {
        let part = if key.contains("/arch.") { "arch" } else { "os" };
        if !says(&labels, part) {
            labels.insert(key.to_owned(), "supported".into());
        }
    }
    labels.insert("catalog".to_owned(), text(source, "/metadata/name").into());
    labels.insert(
        "catalog-namespace".to_owned(),
        text(source, "/metadata/namespace").into(),
    );
    labels.insert("provider".to_owned(), text(provider, "/name").into());
    labels.insert("provider-url".to_owned(), text(provider, "/url").into());
    Value::Object(labels)
}

/// What a version says of itself, without its picture: that is asked for by itself.
fn description(version: &Value, number: &str) -> Value {
    let mut description = Map::new();
    let mut put = |name: &str, value: Option<&Value>| {
        let is_empty = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if let Some(value) = value.filter(|value| !is_empty(value)) {
            description.insert(name.to_owned(), value.clone());
        }
    };
    for field in [
        "displayName",
        "keywords",
        "links",
        "maintainers",
        "maturity",
        "description",
        "installModes",
        "minKubeVersion",
    ] {
        put(field, at(version, &format!("/spec/{field}")));
    }
    put("annotations", at(version, "/metadata/annotations"));
    put("nativeApis", at(version, "/spec/nativeAPIs"));
    let images = at(version, "/spec/relatedImages").and_then(Value::as_array);
    let images: Vec<&Value> = images
        .into_iter()
        .flatten()
        .filter_map(|image| image.get("image"))
        .collect();
    put("relatedImages", Some(&json!(images)));
    put("version", Some(&json!(number)));
    description.insert("provider".to_owned(), provider(version));
    for field in ["customresourcedefinitions", "apiservicedefinitions"] {
        let value = at(version, &format!("/spec/{field}")).cloned();
        description.insert(field.to_owned(), value.unwrap_or_else(|| json!({})));
    }
    Value::Object(description)
}

/// The versions of a channel, the newest first.
fn entries(snapshot: &Snapshot, package: &str, channel: &str) -> Vec<Value> {
    let positions = snapshot.of_package(package).iter();
    let mut found: Vec<_> = positions
        .filter_map(|position| snapshot.entries().get(*position))
        .filter(|entry| entry.package == package && entry.channel == channel && !entry.is_deprecated())
        .collect();
    found.sort_by(|one, other| other.version.cmp(&one.version).then(one.name.cmp(&other.name)));
    let entries = found.into_iter().map(|entry| {
        let mut value = json!({"name": entry.name});
        if let Some(version) = &entry.version {
            value["version"] = version.to_string().into();
        }
        if let Some(message) = &entry.deprecations.bundle {
            let message = message
                .split_once(": ")
                .map_or(message.as_str(), |(_, message)| message);
            value["deprecation"] = json!({"message": message});
        }
        value
    });
    entries.collect()
}

/// Returns the picture of a package.
pub(super) fn icon(content: &Content, name: &str) -> Option<Icon> {
    let package = content.packages.get(name)?;
    let channel = default_channel(package);
    let head = content.heads.get(&(name.to_owned(), channel.to_owned()))?;
    let version = service_version(head);
    let tag = format!("{name}.{channel}.{}", head.csv_name);
    Some(Icon::new(
        text(&version, "/spec/icon/0/mediatype"),
        text(&version, "/spec/icon/0/base64data"),
        tag,
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use catalog::grpc::messages::{Channel, Property};

    use super::*;
    use crate::sources::SourceName;

    #[test]
    fn a_package_shows_its_channels_and_their_versions_newest_first() {
        let bundle = |name: &str, version: &str, replaces: &str| {
            Bundle {
            csv_name: name.to_owned(),
            package_name: "p".to_owned(),
            channel_name: "stable".to_owned(),
            version: version.to_owned(),
            replaces: replaces.to_owned(),
            bundle_path: "example.com/p".to_owned(),
            csv_json: json!({
                "metadata": {"name": name, "annotations": {"a": "b"}},
                "spec": {"displayName": "P", "provider": {"name": "Us"}, "icon": [{"base64data": "AAAA", "mediatype": "image/png"}]},
            })
            .to_string(),
            properties: vec![Property {
                r#type: "olm.package".to_owned(),
                value: json!({"packageName": "p", "version": version}).to_string(),
            }],
            ..Bundle::default()
        }
        };
        let package = Package {
            name: "p".to_owned(),
            channels: vec![Channel {
                name: "stable".to_owned(),
                csv_name: "p.v10".to_owned(),
                deprecation: None,
            }],
            default_channel_name: "stable".to_owned(),
            deprecation: None,
        };
        let head = bundle("p.v10", "10.0.0", "p.v9");
        let name = SourceName {
            namespace: "olm".to_owned(),
            name: "c".to_owned(),
        };
        let content = Content::new(
            &name,
            vec![bundle("p.v9", "9.0.0", ""), head.clone()],
            BTreeMap::from([("p".to_owned(), package)]),
            BTreeMap::from([(("p".to_owned(), "stable".to_owned()), head)]),
        );
        let source = json!({"metadata": {"name": "c", "namespace": "olm"}, "spec": {"displayName": "C"}});
        let found = manifests(&source, &content, "mine");
        let [manifest] = found.as_slice() else {
            panic!("one package: {found:?}");
        };
        assert_eq!(manifest["metadata"]["namespace"], "mine");
        assert_eq!(manifest["metadata"]["labels"]["provider"], "Us");
        let channel = &manifest["status"]["channels"][0];
        assert_eq!(channel["currentCSVDesc"]["displayName"], "P");
        assert_eq!(channel["currentCSVDesc"].get("icon"), None);
        assert_eq!(
            channel["entries"],
            json!([{"name": "p.v10", "version": "10.0.0"}, {"name": "p.v9", "version": "9.0.0"}])
        );
        let icon = icon(&content, "p").expect("a picture");
        assert_eq!(
            (icon.media_type.as_str(), icon.tag.as_str()),
            ("image/png", "p.stable.p.v10")
        );
    }
}
