//! A catalog in a ConfigMap: packages, ClusterServiceVersions and definitions as lists of YAML.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use apply::object::{at, text};
use bundle::cluster_service_version::ClusterServiceVersion;
use catalog::grpc::messages::{Bundle, Channel, GroupVersionKind, Package, Property};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::wait::{self, await_condition};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::SourceName;
use super::content::{Content, ContentError};

/// What the data of a ConfigMap says.
#[derive(Debug, Default)]
struct Parts {
    bundles: Vec<Bundle>,
    packages: BTreeMap<String, Package>,
}

/// Reads the catalog of a ConfigMap.
///
/// # Errors
///
/// If it isn't there, or is none.
pub async fn read(client: &Client, source: &SourceName, name: &str) -> Result<Content, ContentError> {
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), &source.namespace);
    let found = config_maps
        .get(name)
        .await
        .map_err(|fault| ContentError::Store(format!("failed to get catalog config map {name}: {fault}")))?;
    let Parts { bundles, packages } = parse(&found.data.unwrap_or_default())?;
    let mut heads = BTreeMap::new();
    for (name, package) in &packages {
        for channel in &package.channels {
            let is_head =
                |bundle: &&Bundle| bundle.package_name == *name && bundle.csv_name == channel.csv_name;
            if let Some(head) = bundles.iter().find(is_head) {
                heads.insert((name.clone(), channel.name.clone()), head.clone());
            }
        }
    }
    Ok(Content::new(source, bundles, packages, heads))
}

/// Calls `there` each time that there is a ConfigMap where there was none before, for as long as it can be watched.
///
/// # Errors
///
/// If the cluster can't be asked.
pub async fn comes_and_goes(
    client: &Client,
    source: &SourceName,
    name: &str,
    there: impl Fn(),
) -> Result<Infallible, wait::Error> {
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), &source.namespace);
    loop {
        await_condition(config_maps.clone(), name, |found: Option<&ConfigMap>| {
            found.is_some()
        })
        .await?;
        there();
        await_condition(config_maps.clone(), name, |found: Option<&ConfigMap>| {
            found.is_none()
        })
        .await?;
    }
}

fn list(data: &BTreeMap<String, String>, key: &str) -> Result<Vec<Value>, ContentError> {
    let Some(text) = data.get(key) else {
        return Ok(Vec::new());
    };
    let value = goyaml::to_value(text.as_bytes())
        .map_err(|fault| ContentError::Store(format!("error loading {key}: {fault}")))?;
    match value {
        Value::Array(items) => Ok(items),
        Value::Null => Ok(Vec::new()),
        _ => Err(ContentError::Store(format!("error loading {key}: it is no list"))),
    }
}

/// Reads the catalog that the data of a ConfigMap is.
fn parse(data: &BTreeMap<String, String>) -> Result<Parts, ContentError> {
    let definitions = list(data, "customResourceDefinitions")?;
    let versions = list(data, "clusterServiceVersions")?;
    let by_name: BTreeMap<&str, &Value> = versions
        .iter()
        .map(|version| (text(version, "/metadata/name"), version))
        .collect();
    let mut content = Parts::default();
    for package in list(data, "packages")? {
        let name = text(&package, "/packageName").to_owned();
        let channels = package.get("channels").and_then(Value::as_array);
        let mut message = Package {
            name: name.clone(),
            default_channel_name: text(&package, "/defaultChannel").to_owned(),
            ..Package::default()
        };
        for channel in channels.into_iter().flatten() {
            let (channel_name, head) = (text(channel, "/name"), text(channel, "/currentCSV"));
            message.channels.push(Channel {
                name: channel_name.to_owned(),
                csv_name: head.to_owned(),
                deprecation: None,
            });
            // From the head along what each replaces, each once.
            let mut seen = BTreeSet::new();
            let mut next = Some(head);
            while let Some(current) = next.take() {
                let Some(version) = by_name.get(current).filter(|_| seen.insert(current)) else {
                    break;
                };
                content
                    .bundles
                    .push(entry(&name, channel_name, version, &definitions)?);
                next = Some(text(version, "/spec/replaces")).filter(|replaced| !replaced.is_empty());
            }
        }
        if message.default_channel_name.is_empty() && message.channels.len() == 1 {
            message.default_channel_name.clone_from(&message.channels[0].name);
        }
        content.packages.insert(name, message);
    }
    Ok(content)
}

fn entry(
    package: &str,
    channel: &str,
    object: &Value,
    definitions: &[Value],
) -> Result<Bundle, ContentError> {
    let name = text(object, "/metadata/name");
    let invalid =
        |fault: &dyn std::fmt::Display| ContentError::Store(format!("error loading {name}: {fault}"));
    let version = ClusterServiceVersion::decode(object).map_err(|fault| invalid(&fault))?;
    let owned = at(object, "/spec/customresourcedefinitions/owned");
    let required = at(object, "/spec/customresourcedefinitions/required");
    let names: BTreeSet<&str> = items(owned).map(|item| text(item, "/name")).collect();
    let mut objects = vec![object.clone()];
    let of_bundle = definitions
        .iter()
        .filter(|definition| names.contains(text(definition, "/metadata/name")));
    objects.extend(of_bundle.cloned());
    let apis = |value: Option<&Value>| items(value).filter_map(api).collect::<Vec<_>>();
    let mut provided = apis(owned);
    provided.extend(items(at(object, "/spec/apiservicedefinitions/owned")).filter_map(served_api));
    let mut needed = apis(required);
    needed.extend(items(at(object, "/spec/apiservicedefinitions/required")).filter_map(served_api));
    let number = text(object, "/spec/version");
    let mut properties = vec![Property {
        r#type: "olm.package".to_owned(),
        value: json!({"packageName": package, "version": number}).to_string(),
    }];
    properties.extend(provided.iter().map(|api| Property {
        r#type: "olm.gvk".to_owned(),
        value: json!({"group": api.group, "kind": api.kind, "version": api.version}).to_string(),
    }));
    properties.extend(needed.iter().map(|api| Property {
        r#type: "olm.gvk.required".to_owned(),
        value: json!({"group": api.group, "kind": api.kind, "version": api.version}).to_string(),
    }));
    Ok(Bundle {
        csv_name: name.to_owned(),
        package_name: package.to_owned(),
        channel_name: channel.to_owned(),
        csv_json: object.to_string(),
        object: objects.iter().map(ToString::to_string).collect(),
        provided_apis: provided,
        required_apis: needed,
        version: number.to_owned(),
        skip_range: version.skip_range().to_owned(),
        properties,
        replaces: text(object, "/spec/replaces").to_owned(),
        skips: items(at(object, "/spec/skips"))
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        ..Bundle::default()
    })
}

fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Reads the API of a custom resource, which is named `<plural>.<group>`.
fn api(item: &Value) -> Option<GroupVersionKind> {
    let (plural, group) = text(item, "/name").split_once('.')?;
    Some(GroupVersionKind {
        group: group.to_owned(),
        version: text(item, "/version").to_owned(),
        kind: text(item, "/kind").to_owned(),
        plural: plural.to_owned(),
    })
}

/// Reads the API of an extension server.
fn served_api(item: &Value) -> Option<GroupVersionKind> {
    Some(GroupVersionKind {
        group: text(item, "/group").to_owned(),
        version: text(item, "/version").to_owned(),
        kind: text(item, "/kind").to_owned(),
        plural: text(item, "/name").to_owned(),
    })
    .filter(|api| !api.kind.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_walked_from_its_head_and_a_circle_ends() {
        let version = |name: &str, replaces: &str| {
            json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
                "metadata": {"name": name},
                "spec": {
                    "displayName": name, "version": "1.0.0", "replaces": replaces, "install": {"strategy": "deployment"},
                    "customresourcedefinitions": {"owned": [{"name": "as.g", "version": "v1", "kind": "A"}]},
                },
            })
        };
        let data = BTreeMap::from([
            (
                "packages".to_owned(),
                "- packageName: p\n  channels:\n  - name: stable\n    currentCSV: b\n".to_owned(),
            ),
            (
                "clusterServiceVersions".to_owned(),
                json!([version("a", "b"), version("b", "a")]).to_string(),
            ),
            (
                "customResourceDefinitions".to_owned(),
                json!([{"kind": "CustomResourceDefinition", "metadata": {"name": "as.g"}}]).to_string(),
            ),
        ]);
        let content = parse(&data).expect("a catalog");
        let names: Vec<&str> = content
            .bundles
            .iter()
            .map(|bundle| bundle.csv_name.as_str())
            .collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!(
            content.bundles[0].object.len(),
            2,
            "the version and its definition"
        );
        assert_eq!(content.packages["p"].default_channel_name, "stable");
        assert!(parse(&BTreeMap::from([("packages".to_owned(), "{".to_owned())])).is_err());
    }
}
