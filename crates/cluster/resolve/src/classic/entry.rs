//! An entry: one bundle in one channel of a catalog, or one operator that is installed, as the resolver sees it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use goyaml::typed::{GoType, decode};
use serde_json::Value;
use thiserror::Error;
use version::{Range, Version};

use super::api_set::{Api, ApiSet};
use super::facts::Facts;
use super::need::{Need, NeedError};
use super::property::{self, Property};
use crate::dependencies::GroupVersionKind;

/// The name that upstream gives to the installed operators of a namespace, as if they were a catalog.
pub const EXISTING: &str = "@existing";

/// Which catalog: the namespace and the name of its CatalogSource.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CatalogKey {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl CatalogKey {
    /// Returns the key of a catalog.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Returns the key of the installed operators of a namespace.
    pub fn existing(namespace: impl Into<String>) -> Self {
        Self::new(namespace, EXISTING)
    }

    /// Returns whether it stands for the installed operators of a namespace.
    pub fn is_existing(&self) -> bool {
        self.name == EXISTING && !self.namespace.is_empty()
    }

    /// Returns whether it names nothing, and so means every catalog.
    pub fn is_empty(&self) -> bool {
        self.name.is_empty() && self.namespace.is_empty()
    }
}

/// Writes `namespace/name`.
impl fmt::Display for CatalogKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// Why not to use a package, a channel or a bundle any more, in upstream's words for a Subscription's conditions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deprecations {
    /// Why not the package: `olm.package/<name>: <message>`.
    pub package: Option<String>,
    /// Why not the channel: `olm.channel/<name>: <message>`.
    pub channel: Option<String>,
    /// Why not the bundle: `olm.bundle/<name>: <message>`.
    pub bundle: Option<String>,
}

/// A bundle as a catalog's gRPC API lists it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegistryBundle {
    /// The name of its ClusterServiceVersion.
    pub csv_name: String,
    /// The package.
    pub package_name: String,
    /// The channel; a bundle in two channels is listed twice.
    pub channel_name: String,
    /// The ClusterServiceVersion as JSON, where the bundle comes without an image.
    pub csv_json: String,
    /// All its objects as JSON, where the bundle comes without an image.
    pub objects: Vec<String>,
    /// The bundle's image.
    pub bundle_path: String,
    /// APIs that it provides.
    pub provided_apis: Vec<Api>,
    /// APIs that it requires.
    pub required_apis: Vec<Api>,
    /// The version.
    pub version: String,
    /// The versions that it may follow.
    pub skip_range: String,
    /// What it needs, in the old form.
    pub dependencies: Vec<Property>,
    /// What it says of itself.
    pub properties: Vec<Property>,
    /// The name of the version before it.
    pub replaces: String,
    /// The names of versions that may be left out.
    pub skips: Vec<String>,
    /// Why not to use it any more.
    pub deprecation: Option<String>,
}

/// A package as a catalog's gRPC API describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegistryPackage {
    /// The name.
    pub name: String,
    /// The channel for whoever names none.
    pub default_channel: String,
    /// Why not to use it any more.
    pub deprecation: Option<String>,
    /// Why not to use some of its channels any more, by name.
    pub channel_deprecations: BTreeMap<String, String>,
}

/// A bundle whose dependencies, in the old form, can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "failed to translate legacy dependencies to properties: failed to unmarshal legacy '{kind}' dependency: {cause}"
)]
pub struct EntryError {
    /// The type of the dependency.
    pub kind: String,
    /// What is wrong with it.
    pub cause: String,
}

/// One bundle in one channel of a catalog, or one operator that is installed.
#[derive(Debug)]
pub struct Entry {
    /// The name of its ClusterServiceVersion.
    pub name: String,
    /// The package; empty for an installed operator whose package nobody knows.
    pub package: String,
    /// The channel; empty for an installed operator.
    pub channel: String,
    /// Where it comes from.
    pub catalog: CatalogKey,
    /// Whether the channel is the package's default.
    pub is_in_default_channel: bool,
    /// The version, where it has one.
    pub version: Option<Version>,
    /// The name of the version before it; empty if there is none.
    pub replaces: String,
    /// The names of versions that may be left out.
    pub skips: Vec<String>,
    /// The versions that it may follow.
    pub skip_range: Option<Range>,
    /// APIs that it provides.
    pub provided_apis: ApiSet,
    /// APIs that it requires.
    pub required_apis: ApiSet,
    /// The bundle's image; empty where the content is [`inline`](Self::inline), or it is installed.
    pub bundle_path: String,
    /// The bundle itself, where it comes without an image.
    pub inline: Option<Arc<RegistryBundle>>,
    /// Why not to use it any more.
    pub deprecations: Deprecations,
    properties: Vec<Property>,
    facts: Facts,
}

impl Entry {
    /// Returns an entry that has only a name and properties.
    pub fn new(name: impl Into<String>, properties: Vec<Property>) -> Self {
        Self {
            name: name.into(),
            package: String::new(),
            channel: String::new(),
            catalog: CatalogKey::default(),
            is_in_default_channel: false,
            version: None,
            replaces: String::new(),
            skips: Vec::new(),
            skip_range: None,
            provided_apis: ApiSet::default(),
            required_apis: ApiSet::default(),
            bundle_path: String::new(),
            inline: None,
            deprecations: Deprecations::default(),
            facts: Facts::read(&properties),
            properties,
        }
    }

    /// Returns the entry of a catalog's bundle, with only what the bundle says.
    pub fn from_bundle(
        catalog: &CatalogKey,
        bundle: RegistryBundle,
        default_channel: &str,
    ) -> Result<Self, EntryError> {
        let (entry, properties) = Self::without_properties(catalog, bundle, default_channel)?;
        Ok(entry.with_properties(properties))
    }

    /// Returns the entry of a catalog's bundle as it is used: it has a package, knows what is deprecated, and its APIs
    /// have no plural names.
    pub fn from_registry(
        catalog: &CatalogKey,
        bundle: RegistryBundle,
        package: &RegistryPackage,
    ) -> Result<Self, EntryError> {
        let described = |kind: &str, name: &str, message: &String| format!("olm.{kind}/{name}: {message}");
        let channel_deprecation = package.channel_deprecations.get(&bundle.channel_name);
        let deprecations = Deprecations {
            package: package
                .deprecation
                .as_ref()
                .map(|message| described("package", &package.name, message)),
            channel: channel_deprecation.map(|message| described("channel", &bundle.channel_name, message)),
            bundle: bundle
                .deprecation
                .as_ref()
                .map(|message| described("bundle", &bundle.csv_name, message)),
        };
        let of_package = property::package(&bundle.package_name, &bundle.version);
        let (mut entry, mut properties) =
            Self::without_properties(catalog, bundle, &package.default_channel)?;
        if !properties
            .iter()
            .any(|property| property.kind == property::PACKAGE)
        {
            properties.push(of_package);
        }
        entry.deprecations = deprecations;
        entry.provided_apis = entry.provided_apis.without_plurals();
        entry.required_apis = entry.required_apis.without_plurals();
        Ok(entry.with_properties(properties))
    }

    fn without_properties(
        catalog: &CatalogKey,
        bundle: RegistryBundle,
        default_channel: &str,
    ) -> Result<(Self, Vec<Property>), EntryError> {
        let provided_apis: ApiSet = bundle.provided_apis.iter().cloned().collect();
        let required_apis: ApiSet = bundle.required_apis.iter().cloned().collect();
        let mut properties = match bundle.properties.as_slice() {
            [] => property::provided(&provided_apis),
            properties => properties.to_vec(),
        };
        if bundle.dependencies.is_empty() {
            properties.extend(property::required(&required_apis));
        } else {
            for dependency in &bundle.dependencies {
                properties.extend(required(dependency)?);
            }
        }
        let entry = Self {
            name: bundle.csv_name.clone(),
            package: bundle.package_name.clone(),
            channel: bundle.channel_name.clone(),
            catalog: catalog.clone(),
            is_in_default_channel: bundle.channel_name == default_channel,
            version: Version::parse_tolerant(&bundle.version).ok(),
            replaces: bundle.replaces.clone(),
            skips: bundle.skips.clone(),
            skip_range: Range::parse(&bundle.skip_range).ok(),
            provided_apis,
            required_apis,
            bundle_path: bundle.bundle_path.clone(),
            inline: bundle.bundle_path.is_empty().then(|| Arc::new(bundle)),
            deprecations: Deprecations::default(),
            properties: Vec::new(),
            facts: Facts::read(&[]),
        };
        Ok((entry, properties))
    }

    /// Returns the entry with other properties.
    pub fn with_properties(mut self, properties: Vec<Property>) -> Self {
        self.facts = Facts::read(&properties);
        self.properties = properties;
        self
    }

    /// Returns what it says of itself.
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// Returns how solver and messages call it: `catalog/namespace/channel/name`.
    pub fn identifier(&self) -> String {
        let CatalogKey { namespace, name } = &self.catalog;
        format!("{name}/{namespace}/{}/{}", self.channel, self.name)
    }

    /// Returns what it needs of other operators; or the first property of those that can't be read.
    pub fn needs(&self) -> Result<&[Need], &NeedError> {
        self.facts.needs.as_deref()
    }

    /// Returns the kinds that its properties say it provides.
    pub fn kinds(&self) -> &[GroupVersionKind] {
        &self.facts.kinds
    }

    /// Returns the packages that its properties say it is of.
    pub fn packages(&self) -> impl Iterator<Item = &str> {
        self.facts.packages.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the labels that its properties give it.
    pub fn labels(&self) -> &[String] {
        &self.facts.labels
    }

    /// Returns whether a property forbids to install it.
    pub fn is_deprecated(&self) -> bool {
        self.facts.is_deprecated
    }

    /// Returns whether it is of a package, by its properties or by its catalog.
    pub fn is_of_package(&self, package: &str) -> bool {
        self.package == package || self.packages().any(|name| name == package)
    }

    /// Returns whether its version is in a range, by its properties or by its catalog.
    pub fn has_version_in(&self, range: &Range) -> bool {
        let of_properties = self
            .facts
            .packages
            .iter()
            .filter_map(|(_, version)| version.as_ref());
        of_properties
            .chain(&self.version)
            .any(|version| range.matches(version))
    }

    /// Returns whether its properties say that it provides a kind.
    pub fn provides(&self, kind: &GroupVersionKind) -> bool {
        self.facts.kinds.contains(kind)
    }

    /// Returns whether its properties give it a label.
    pub fn carries_label(&self, label: &str) -> bool {
        self.facts.labels.iter().any(|carried| carried == label)
    }

    /// Returns whether it may follow an installed operator: by its replaces, its skips or its range.
    pub fn may_follow(&self, installed: &Self) -> bool {
        self.replaces == installed.name
            || self.skips.contains(&installed.name)
            || match (&self.skip_range, &installed.version) {
                (Some(range), Some(version)) => range.matches(version),
                _ => false,
            }
    }

    pub(super) fn properties_as_json(&self) -> &Value {
        self.facts.as_json(&self.properties)
    }
}

#[derive(Debug, Default)]
struct KindDependency {
    group: String,
    version: String,
    kind: String,
}
goyaml::go_struct!(KindDependency, "resolver.gvk", { "group" => group, "version" => version, "kind" => kind });

#[derive(Debug, Default)]
struct PackageDependency {
    name: String,
    range: String,
}
goyaml::go_struct!(PackageDependency, "struct", { "packageName" => name, "version" => range });

/// Returns the property for a dependency in the old form; one of an unknown type asks for nothing.
fn required(dependency: &Property) -> Result<Option<Property>, EntryError> {
    let required = |kind: &str, value: String| Ok(Some(Property::new(kind, value)));
    match dependency.kind.as_str() {
        "olm.gvk" => {
            let read: KindDependency = read(dependency)?;
            let value = property::required_kind(&read.group, &read.version, &read.kind);
            required(property::KIND_REQUIRED, value)
        }
        "olm.package" => {
            let read: PackageDependency = read(dependency)?;
            let value = property::required_package(&read.name, &read.range);
            required(property::PACKAGE_REQUIRED, value)
        }
        "olm.label" => required(property::LABEL_REQUIRED, dependency.value.clone()),
        "olm.constraint" => required(property::CONSTRAINT, dependency.value.clone()),
        _ => Ok(None),
    }
}

fn read<T: GoType>(dependency: &Property) -> Result<T, EntryError> {
    let fault = |cause: String| EntryError {
        kind: dependency.kind.clone(),
        cause,
    };
    let json: Value = serde_json::from_str(&dependency.value).map_err(|error| fault(error.to_string()))?;
    decode(&json).map_err(|error| fault(error.to_string()))
}
