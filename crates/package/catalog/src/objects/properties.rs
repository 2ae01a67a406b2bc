//! What properties of known types say.

use std::collections::BTreeMap;

use bundle::cluster_service_version::{
    ApiServiceDefinitions, CustomResourceDefinitions, GroupVersionKind, InstallMode, Link, Maintainer,
};
use gotemplate::format::quoted;
use goyaml::go_struct;
use goyaml::typed::{self, Bytes, GoType};

use super::Property;

/// `olm.package`: which version of which package a bundle is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageProperty {
    /// The package.
    pub package_name: String,
    /// The version, as it is written.
    pub version: String,
    /// The release, which orders builds of the same version; usually empty.
    pub release: String,
}
go_struct!(PackageProperty, "property.Package", {
    "packageName" => package_name, "version" => version, "release" => release,
});

#[derive(Default)]
struct PackageRequired {
    package_name: String,
    version_range: String,
}
go_struct!(PackageRequired, "property.PackageRequired", {
    "packageName" => package_name, "versionRange" => version_range,
});

#[derive(Default)]
struct ProvidedKind {
    group: String,
    kind: String,
    version: String,
}
go_struct!(ProvidedKind, "property.GVK", { "group" => group, "kind" => kind, "version" => version });

#[derive(Default)]
struct RequiredKind {
    group: String,
    kind: String,
    version: String,
}
go_struct!(RequiredKind, "property.GVKRequired", { "group" => group, "kind" => kind, "version" => version });

#[derive(Default)]
pub(crate) struct BundleObject {
    pub(crate) data: Bytes,
}
go_struct!(BundleObject, "property.BundleObject", { "data" => data });

#[derive(Default)]
struct ChannelProperty {
    channel_name: String,
    priority: i64,
}
go_struct!(ChannelProperty, "property.Channel", { "channelName" => channel_name, "priority" => priority as "int" });

/// The fields of `olm.csv.metadata`, to tell whether a value fits them.
#[derive(Default)]
struct MetadataShape {
    annotations: BTreeMap<String, String>,
    api_service_definitions: ApiServiceDefinitions,
    custom_resource_definitions: CustomResourceDefinitions,
    description: String,
    display_name: String,
    install_modes: Vec<InstallMode>,
    keywords: Vec<String>,
    labels: BTreeMap<String, String>,
    links: Vec<Link>,
    maintainers: Vec<Maintainer>,
    maturity: String,
    minimum_kubernetes_version: String,
    native_apis: Vec<GroupVersionKind>,
    provider: Link,
}
go_struct!(MetadataShape, "property.CSVMetadata", {
    "annotations" => annotations,
    "apiServiceDefinitions" => api_service_definitions,
    "crdDescriptions" => custom_resource_definitions,
    "description" => description,
    "displayName" => display_name,
    "installModes" => install_modes,
    "keywords" => keywords,
    "labels" => labels,
    "links" => links,
    "maintainers" => maintainers,
    "maturity" => maturity,
    "minKubeVersion" => minimum_kubernetes_version,
    "nativeAPIs" => native_apis,
    "provider" => provider,
});

/// The type of the property that says which version a bundle is.
pub(crate) const PACKAGE: &str = "olm.package";
/// The type of properties that hold a manifest.
pub(crate) const BUNDLE_OBJECT: &str = "olm.bundle.object";

/// Returns whether a value in well-formed JSON certainly fits what its property's type asks for.
pub(crate) fn certainly_fits(kind: &str, value: &[u8]) -> bool {
    match kind {
        PACKAGE => typed::fits::<PackageProperty>(value),
        "olm.package.required" => typed::fits::<PackageRequired>(value),
        "olm.gvk" => typed::fits::<ProvidedKind>(value),
        "olm.gvk.required" => typed::fits::<RequiredKind>(value),
        BUNDLE_OBJECT => typed::fits::<BundleObject>(value),
        "olm.csv.metadata" => typed::fits::<MetadataShape>(value),
        "olm.channel" => typed::fits::<ChannelProperty>(value),
        _ => true,
    }
}

/// Checks every property, and returns those that say which version the bundle is; the error is upstream's.
pub(crate) fn parse(properties: &[Property]) -> Result<Vec<PackageProperty>, String> {
    let mut packages = Vec::new();
    for (index, property) in properties.iter().enumerate() {
        let kind = property.kind.as_str();
        let failed = |error: String| format!("parse property[{index}] of type {}: {error}", quoted(kind));
        if !property.has_value() {
            return Err(failed(crate::reading::EMPTY_JSON.to_owned()));
        }
        let value = property.value.get().as_bytes();
        if kind == PACKAGE {
            packages.push(decode(value).map_err(failed)?);
        } else if !certainly_fits(kind, value) {
            match kind {
                "olm.package.required" => check::<PackageRequired>(value),
                "olm.gvk" => check::<ProvidedKind>(value),
                "olm.gvk.required" => check::<RequiredKind>(value),
                BUNDLE_OBJECT => check::<BundleObject>(value),
                "olm.csv.metadata" => check::<MetadataShape>(value),
                "olm.channel" => check::<ChannelProperty>(value),
                _ => Ok(()),
            }
            .map_err(failed)?;
        }
    }
    Ok(packages)
}

/// Reads a value as a Go type.
pub(crate) fn decode<T: GoType>(value: &[u8]) -> Result<T, String> {
    goyaml::json::to_value(value, goyaml::ReadOptions::default())
        .and_then(|value| typed::decode(&value))
        .map_err(|error| error.to_string())
}

fn check<T: GoType>(value: &[u8]) -> Result<(), String> {
    decode::<T>(value).map(drop)
}
