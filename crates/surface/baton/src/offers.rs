//! What the catalogs of OLM v0 offer of a package: from the cluster's own list, or read here where it has none.

use std::collections::BTreeMap;

use apply::object::text;
use catalog::grpc::messages::Bundle;
use classic_controller::manifests::{GROUP, VERSION};
use classic_controller::sources::content::Content;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use serde::Serialize;
use serde_json::Value;

use crate::cluster::is_forbidden;
use crate::failure::Failure;
use crate::sources::SourceFlags;
use crate::subscriptions::{Subscriptions, place};
use crate::terminal::Terminal;

/// A package as one catalog offers it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Offer {
    /// The package.
    pub(crate) package: String,
    /// The CatalogSource.
    pub(crate) source: String,
    /// Its namespace.
    pub(crate) source_namespace: String,
    /// The channel for those who ask for none.
    pub(crate) default_channel: String,
    /// The channels, by name.
    pub(crate) channels: Vec<OfferedChannel>,
}

/// A channel of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfferedChannel {
    /// Its name.
    pub(crate) name: String,
    /// The ClusterServiceVersion at its end.
    pub(crate) head: String,
    /// The version of that.
    pub(crate) version: String,
    /// Which namespaces it can watch; none if that isn't known.
    pub(crate) install_modes: Option<Vec<String>>,
    /// All its ClusterServiceVersions by name, with their versions.
    pub(crate) entries: BTreeMap<String, String>,
}

impl Offer {
    /// The channel of a name, or the default one.
    pub(crate) fn channel(&self, name: Option<&str>) -> Option<&OfferedChannel> {
        let name = name.unwrap_or(&self.default_channel);
        self.channels.iter().find(|channel| channel.name == name)
    }

    /// The catalog, as `NAMESPACE/NAME`.
    pub(crate) fn catalog(&self) -> String {
        format!("{}/{}", self.source_namespace, self.source)
    }
}

/// What a namespace is offered of a package.
pub(crate) async fn of_package(
    flags: &SourceFlags,
    subscriptions: &Subscriptions,
    namespace: &str,
    package: &str,
    terminal: &mut Terminal,
) -> Result<Vec<Offer>, Failure> {
    if let Some(offers) = listed(subscriptions, namespace, Some(package)).await {
        return Ok(offers);
    }
    let sources = flags.list(subscriptions, namespace, true).await?;
    let mut offers = Vec::new();
    for read in flags.read(subscriptions, sources, terminal).await? {
        let (namespace, name) = place(&read.source);
        match &read.content {
            Ok(content) => offers.extend(from_content(&namespace, &name, content, package)),
            Err(cause) => terminal.remark(format!("catalog {namespace}/{name} is left out: {cause}")),
        }
    }
    Ok(offers)
}

/// What the cluster lists of a package, or of all; none where it doesn't serve packages.
pub(crate) async fn listed(
    subscriptions: &Subscriptions,
    namespace: &str,
    package: Option<&str>,
) -> Option<Vec<Offer>> {
    let kind = GroupVersionKind::gvk(GROUP, VERSION, "PackageManifest");
    let resource = ApiResource::from_gvk_with_plural(&kind, "packagemanifests");
    let client = subscriptions.client().clone();
    let manifests: Api<DynamicObject> = if namespace.is_empty() {
        Api::all_with(client, &resource)
    } else {
        Api::namespaced_with(client, namespace, &resource)
    };
    let parameters = match package {
        Some(package) => ListParams::default().fields(&format!("metadata.name={package}")),
        None => ListParams::default(),
    };
    let list = match manifests.list(&parameters).await {
        Ok(list) => list,
        Err(error) => {
            if is_forbidden(&error) {
                tracing::debug!(%error, "packages may not be listed");
            }
            return None;
        }
    };
    let manifests = list.items.iter().filter_map(|one| serde_json::to_value(one).ok());
    let mut offers: Vec<Offer> = manifests.map(|one| from_manifest(&one)).collect();
    // Not every server heeds the selector.
    offers.retain(|offer| package.is_none_or(|package| offer.package == package));
    Some(offers)
}

/// Reads a PackageManifest.
fn from_manifest(manifest: &Value) -> Offer {
    let channels = manifest.pointer("/status/channels").and_then(Value::as_array);
    let channels = channels.into_iter().flatten().map(|channel| {
        let entries = channel.get("entries").and_then(Value::as_array);
        let entries = entries.into_iter().flatten();
        OfferedChannel {
            name: text(channel, "/name").to_owned(),
            head: text(channel, "/currentCSV").to_owned(),
            version: text(channel, "/currentCSVDesc/version").to_owned(),
            install_modes: channel.pointer("/currentCSVDesc/installModes").and_then(modes),
            entries: entries
                .map(|entry| {
                    (
                        text(entry, "/name").to_owned(),
                        text(entry, "/version").to_owned(),
                    )
                })
                .collect(),
        }
    });
    Offer {
        package: text(manifest, "/metadata/name").to_owned(),
        source: text(manifest, "/status/catalogSource").to_owned(),
        source_namespace: text(manifest, "/status/catalogSourceNamespace").to_owned(),
        default_channel: text(manifest, "/status/defaultChannel").to_owned(),
        channels: channels.collect(),
    }
}

/// Reads what a catalog holds of a package.
fn from_content(namespace: &str, name: &str, content: &Content, package: &str) -> Option<Offer> {
    let found = content.snapshot.channels(package)?;
    let entries = content.snapshot.entries();
    let channels = found.iter().map(|(channel, members)| {
        let order = members.order.as_deref().unwrap_or_default();
        let head = order
            .first()
            .or(members.members.first())
            .map(|head| &entries[*head]);
        let version_of = |position: usize| {
            let version = entries[position].version.as_ref();
            version.map(ToString::to_string).unwrap_or_default()
        };
        let bundle: Option<&Bundle> = content.heads.get(&(package.to_owned(), channel.clone()));
        let described = bundle.and_then(|bundle| serde_json::from_str::<Value>(&bundle.csv_json).ok());
        OfferedChannel {
            name: channel.clone(),
            head: head.map(|head| head.name.clone()).unwrap_or_default(),
            version: head
                .and_then(|head| head.version.as_ref())
                .map(ToString::to_string)
                .unwrap_or_default(),
            install_modes: described
                .as_ref()
                .and_then(|described| described.pointer("/spec/installModes").and_then(modes)),
            entries: members
                .members
                .iter()
                .map(|member| (entries[*member].name.clone(), version_of(*member)))
                .collect(),
        }
    });
    let default = found.iter().find(|(_, channel)| channel.is_default);
    Some(Offer {
        package: package.to_owned(),
        source: name.to_owned(),
        source_namespace: namespace.to_owned(),
        default_channel: default.map(|(name, _)| name.clone()).unwrap_or_default(),
        channels: channels.collect(),
    })
}

/// The install modes that are supported.
fn modes(modes: &Value) -> Option<Vec<String>> {
    let modes = modes.as_array()?.iter();
    let supported = modes.filter(|mode| mode.get("supported") == Some(&Value::Bool(true)));
    Some(supported.map(|mode| text(mode, "/type").to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_package_manifest_says_what_a_catalog_offers() {
        let offer = from_manifest(&json!({
            "metadata": {"name": "web", "namespace": "ns"},
            "status": {
                "catalogSource": "models", "catalogSourceNamespace": "olm", "defaultChannel": "stable",
                "channels": [{
                    "name": "stable", "currentCSV": "web.v2",
                    "currentCSVDesc": {"version": "2.0.0", "installModes": [
                        {"type": "OwnNamespace", "supported": true}, {"type": "AllNamespaces", "supported": false},
                    ]},
                    "entries": [{"name": "web.v2", "version": "2.0.0"}, {"name": "web.v1", "version": "1.0.0"}],
                }],
            },
        }));
        assert_eq!(offer.catalog(), "olm/models");
        let channel = offer.channel(None).expect("the default channel");
        assert_eq!(
            (channel.head.as_str(), channel.version.as_str()),
            ("web.v2", "2.0.0")
        );
        assert_eq!(channel.install_modes, Some(vec!["OwnNamespace".to_owned()]));
        assert_eq!(channel.entries["web.v1"], "1.0.0");
        assert!(offer.channel(Some("fast")).is_none());
    }
}
