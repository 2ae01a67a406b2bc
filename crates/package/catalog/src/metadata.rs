//! `olm.csv.metadata`: what users are shown of a `ClusterServiceVersion`, in place of all objects of its bundle.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bundle::cluster_service_version::{
    ApiServiceDefinitions, ApiServiceDescription, ClusterServiceVersion, CustomResourceDefinitions,
    CustomResourceDescription, GroupVersionKind, InstallMode, KIND, Link, Maintainer,
};
use goyaml::ReadOptions;
use goyaml::json::Escape;
use serde::Serialize;
use serde_json::Value;

use crate::objects::{Bundle, Catalog, Property, raw};
use crate::rendering::{BUNDLE_OBJECT, CSV_METADATA};

/// How far a catalog's objects are brought up to date; each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum MigrationLevel {
    /// Objects stay as they are.
    #[default]
    None,
    /// `olm.bundle.object` becomes `olm.csv.metadata`.
    BundleObjectToCsvMetadata,
    /// All that there is.
    All,
}

/// A migration level that there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown migration level {}", gotemplate::format::quoted(.0))]
pub struct UnknownLevel(pub String);

impl std::str::FromStr for MigrationLevel {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        match text {
            "none" => Ok(Self::None),
            "bundle-object-to-csv-metadata" => Ok(Self::BundleObjectToCsvMetadata),
            "all" => Ok(Self::All),
            _ => Err(UnknownLevel(text.to_owned())),
        }
    }
}

/// How much of a `ClusterServiceVersion` goes into `olm.csv.metadata`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metadata {
    /// All that opm puts there.
    #[default]
    Full,
    /// The same, but of every API only what it is and what it is called.
    ///
    /// Descriptors and resources, which nobody shows from a catalog, are more than half of a large one.
    Minified,
}

/// A `ClusterServiceVersion` does not fit its type, so it has no metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct MigrationError {
    /// The bundle.
    pub bundle: String,
    /// Which field, and why; in Go's words.
    pub cause: String,
}

/// The property's value, in the order in which it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CsvMetadata<'v> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: &'v BTreeMap<String, String>,
    api_service_definitions: &'v ApiServiceDefinitions,
    crd_descriptions: &'v CustomResourceDefinitions,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'v str,
    #[serde(skip_serializing_if = "str::is_empty")]
    display_name: &'v str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    install_modes: &'v [InstallMode],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    keywords: &'v [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: &'v BTreeMap<String, String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    links: &'v [Link],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    maintainers: &'v [Maintainer],
    #[serde(skip_serializing_if = "str::is_empty")]
    maturity: &'v str,
    #[serde(skip_serializing_if = "str::is_empty")]
    min_kube_version: &'v str,
    #[serde(rename = "nativeAPIs", skip_serializing_if = "<[_]>::is_empty")]
    native_apis: &'v [GroupVersionKind],
    provider: &'v Link,
}

/// The `olm.csv.metadata` property of a `ClusterServiceVersion`.
#[must_use]
pub fn of_version(version: &ClusterServiceVersion, metadata: Metadata) -> Property {
    let specification = &version.spec;
    let minified;
    let (services, resources) = match metadata {
        Metadata::Full => (
            &specification.api_service_definitions,
            &specification.custom_resource_definitions,
        ),
        Metadata::Minified => {
            minified = (
                minified_services(&specification.api_service_definitions),
                minified_resources(&specification.custom_resource_definitions),
            );
            (&minified.0, &minified.1)
        }
    };
    let value = CsvMetadata {
        annotations: &version.metadata.annotations,
        api_service_definitions: services,
        crd_descriptions: resources,
        description: &specification.description,
        display_name: &specification.display_name,
        install_modes: &specification.install_modes,
        keywords: &specification.keywords,
        labels: &version.metadata.labels,
        links: &specification.links,
        maintainers: &specification.maintainers,
        maturity: &specification.maturity,
        min_kube_version: &specification.minimum_kubernetes_version,
        native_apis: &specification.native_apis,
        provider: &specification.provider,
    };
    let text = goyaml::json::to_string(&value, Escape::None).ok();
    Property {
        kind: CSV_METADATA.to_owned(),
        value: raw(text.unwrap_or_default()),
    }
}

fn minified_resources(definitions: &CustomResourceDefinitions) -> CustomResourceDefinitions {
    let minify = |list: &[CustomResourceDescription]| {
        list.iter()
            .map(|description| CustomResourceDescription {
                name: description.name.clone(),
                version: description.version.clone(),
                kind: description.kind.clone(),
                display_name: description.display_name.clone(),
                description: description.description.clone(),
                ..CustomResourceDescription::default()
            })
            .collect()
    };
    CustomResourceDefinitions {
        owned: minify(&definitions.owned),
        required: minify(&definitions.required),
    }
}

fn minified_services(definitions: &ApiServiceDefinitions) -> ApiServiceDefinitions {
    let minify = |list: &[ApiServiceDescription]| {
        list.iter()
            .map(|description| ApiServiceDescription {
                name: description.name.clone(),
                group: description.group.clone(),
                version: description.version.clone(),
                kind: description.kind.clone(),
                display_name: description.display_name.clone(),
                description: description.description.clone(),
                ..ApiServiceDescription::default()
            })
            .collect()
    };
    ApiServiceDefinitions {
        owned: minify(&definitions.owned),
        required: minify(&definitions.required),
    }
}

/// Replaces a bundle's objects by the metadata of `version`, its `ClusterServiceVersion`.
///
/// A bundle without an image is left as it is, because its objects are needed to install it; and so is one that has
/// metadata already.
///
/// # Errors
///
/// When the `ClusterServiceVersion` does not fit its type; the bundle is unchanged then.
pub fn migrate_bundle(
    bundle: &mut Bundle,
    version: &Value,
    metadata: Metadata,
) -> Result<(), MigrationError> {
    if bundle.image.is_empty() {
        return Ok(());
    }
    let version = ClusterServiceVersion::decode(version).map_err(|error| MigrationError {
        bundle: bundle.name.clone(),
        cause: error.to_string(),
    })?;
    if bundle
        .properties
        .iter()
        .any(|property| property.kind == CSV_METADATA)
    {
        return Ok(());
    }
    bundle
        .properties
        .retain(|property| property.kind != BUNDLE_OBJECT);
    bundle.properties.push(of_version(&version, metadata));
    Ok(())
}

/// Brings every bundle of a catalog to a migration level.
///
/// # Errors
///
/// When a bundle's `ClusterServiceVersion` does not fit its type; bundles before it are migrated then.
pub fn migrate(
    catalog: &mut Catalog,
    level: MigrationLevel,
    metadata: Metadata,
) -> Result<(), MigrationError> {
    if level < MigrationLevel::BundleObjectToCsvMetadata {
        return Ok(());
    }
    for bundle in &mut catalog.bundles {
        if bundle.image.is_empty() {
            continue;
        }
        if let Some(version) = version_of(bundle) {
            migrate_bundle(bundle, &version, metadata)?;
        }
    }
    Ok(())
}

/// The `ClusterServiceVersion` among a bundle's objects; the last if there are several, as for opm.
#[must_use]
pub fn version_of(bundle: &Bundle) -> Option<Value> {
    #[derive(serde::Deserialize)]
    struct Object {
        data: String,
    }
    bundle
        .properties
        .iter()
        .rev()
        .filter(|property| property.kind == BUNDLE_OBJECT)
        .find_map(|property| {
            let object: Object = serde_json::from_str(property.value.get()).ok()?;
            let text = STANDARD.decode(object.data).ok()?;
            let value = goyaml::json::to_value(&text, ReadOptions::default()).ok()?;
            (value.get("kind").and_then(Value::as_str) == Some(KIND)).then_some(value)
        })
}

/// Reduces the metadata that a catalog's bundles have already to what is [shown](Metadata::Minified).
///
/// Metadata that can't be read is left as it is.
pub fn minify(catalog: &mut Catalog) {
    const KEPT: [&str; 6] = ["name", "group", "version", "kind", "displayName", "description"];
    for property in catalog
        .bundles
        .iter_mut()
        .flat_map(|bundle| &mut bundle.properties)
    {
        if property.kind != CSV_METADATA {
            continue;
        }
        let Ok(Value::Object(mut fields)) =
            goyaml::json::to_value(property.value.get().as_bytes(), ReadOptions::default())
        else {
            continue;
        };
        for group in ["apiServiceDefinitions", "crdDescriptions"] {
            let lists = fields.get_mut(group).and_then(Value::as_object_mut);
            for list in lists.into_iter().flat_map(serde_json::Map::values_mut) {
                for description in list.as_array_mut().into_iter().flatten() {
                    if let Some(description) = description.as_object_mut() {
                        description.retain(|key, _| KEPT.contains(&key.as_str()));
                    }
                }
            }
        }
        let text = goyaml::json::to_string(&fields, Escape::None).ok();
        if let Some(text) = text {
            property.value = raw(text);
        }
    }
}
