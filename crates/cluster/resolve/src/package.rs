//! A package as one catalog has it: the little of its blobs that resolution looks at.

use catalog::objects::{Channel, Deprecation, Deprecations, Property};
use catalog::store::{Store, StoreError};
use gotemplate::format::quoted;
use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;
use version::{Range, VersionRelease};

/// Where the release of a bundle is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Releases {
    /// In the `release` of its `olm.package` property; in the version's build metadata where there is none.
    #[default]
    Stated,
    /// Only in the version's build metadata, as before releases had a field.
    InBuildMetadata,
}

/// A package of one catalog.
#[derive(Debug, Clone, Default)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its channels, in the order of the catalog.
    pub channels: Vec<PackageChannel>,
    /// Its bundles, in the order of the catalog.
    pub bundles: Vec<Bundle>,
    /// What of it should not be used any more; none where the catalog says nothing.
    pub deprecations: Option<PackageDeprecations>,
}

/// One version of a package.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// Its name.
    pub name: String,
    /// The bundle image.
    pub image: String,
    /// Its version, or what is wrong with it.
    pub version: Result<VersionRelease, String>,
    /// What it needs, and what it says of itself: every property but the ones that hold whole objects.
    pub properties: Vec<Property>,
}

/// A channel whose ranges are read.
#[derive(Debug, Clone)]
pub struct PackageChannel {
    /// Its name.
    pub name: String,
    /// Its entries.
    pub entries: Vec<Entry>,
}

/// An entry of a channel.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The bundle it stands for.
    pub name: String,
    /// The bundle that this one follows.
    pub replaces: String,
    /// Bundles that this one follows too.
    pub skips: Vec<String>,
    /// Versions that this one follows; a range that can't be read leads nowhere, as upstream has it.
    pub skip_range: Option<Range>,
}

/// The deprecations of a package, in the order of the catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageDeprecations(pub Vec<Deprecation>);

impl PackageDeprecations {
    /// Returns whether a bundle should not be used any more.
    pub fn name_bundle(&self, name: &str) -> bool {
        self.0
            .iter()
            .any(|entry| entry.reference.schema == "olm.bundle" && entry.reference.name == name)
    }
}

/// A package can't be read from a catalog.
#[derive(Debug, Error)]
pub enum PackageError {
    /// The store is damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An object of the package isn't what its schema says.
    #[error("error loading package {}: {schema} {}: {source}", quoted(.package), quoted(.name))]
    Object {
        /// The package.
        package: String,
        /// The schema of the object.
        schema: String,
        /// The object's name.
        name: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// The part of a bundle that counts here; the rest isn't even copied.
#[derive(Deserialize)]
struct ReadBundle<'a> {
    #[serde(default)]
    name: String,
    #[serde(default)]
    image: String,
    #[serde(default, borrow)]
    properties: Vec<ReadProperty<'a>>,
}

#[derive(Deserialize)]
struct ReadProperty<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct StatedVersion {
    #[serde(default)]
    version: String,
    release: Option<String>,
}

/// Properties that hold whole objects: megabytes that no decision looks at.
const HEAVY: [&str; 2] = ["olm.bundle.object", "olm.csv.metadata"];

impl Package {
    /// Reads a package from a store; none where the catalog hasn't got it.
    pub fn read(store: &Store, name: &str, releases: Releases) -> Result<Option<Self>, PackageError> {
        let Some(stored) = store.package(name) else {
            return Ok(None);
        };
        let mut package = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        for meta in stored.metas("") {
            package.add(meta.schema(), meta.name(), meta.blob()?, releases)?;
        }
        Ok(Some(package))
    }

    /// Adds an object of the package.
    pub fn add(
        &mut self,
        schema: &str,
        name: &str,
        blob: &[u8],
        releases: Releases,
    ) -> Result<(), PackageError> {
        match schema {
            "olm.channel" => {
                let channel: Channel = self.object(schema, name, blob)?;
                self.channels.push(channel.into());
            }
            "olm.bundle" => {
                let bundle = self.object(schema, name, blob)?;
                self.bundles.push(Bundle::new(bundle, releases));
            }
            // The first counts, as upstream has it.
            "olm.deprecations" if self.deprecations.is_none() => {
                let deprecations: Deprecations = self.object(schema, name, blob)?;
                self.deprecations = Some(PackageDeprecations(deprecations.entries.to_vec()));
            }
            _ => {}
        }
        Ok(())
    }

    fn object<'a, T: Deserialize<'a>>(
        &self,
        schema: &str,
        name: &str,
        blob: &'a [u8],
    ) -> Result<T, PackageError> {
        serde_json::from_slice(blob).map_err(|source| PackageError::Object {
            package: self.name.clone(),
            schema: schema.to_owned(),
            name: name.to_owned(),
            source,
        })
    }

    /// Returns the bundle called `name`.
    pub fn bundle(&self, name: &str) -> Option<&Bundle> {
        self.bundles.iter().find(|bundle| bundle.name == name)
    }

    /// Returns the names of the channels that have an entry for a bundle.
    pub fn channels_with<'a>(&'a self, bundle: &'a str) -> impl Iterator<Item = &'a str> {
        self.channels
            .iter()
            .filter(move |channel| channel.entry(bundle).is_some())
            .map(|channel| channel.name.as_str())
    }
}

impl PackageChannel {
    /// Returns the entry of a bundle.
    pub fn entry(&self, bundle: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == bundle)
    }
}

impl From<Channel> for PackageChannel {
    fn from(channel: Channel) -> Self {
        let entries = channel.entries.unwrap_or_default().into_iter();
        Self {
            name: channel.name,
            entries: entries
                .map(|entry| Entry {
                    skip_range: Some(entry.skip_range)
                        .filter(|text| !text.is_empty())
                        .and_then(|text| Range::parse(&text).ok()),
                    name: entry.name,
                    replaces: entry.replaces,
                    skips: entry.skips,
                })
                .collect(),
        }
    }
}

impl Bundle {
    fn new(read: ReadBundle<'_>, releases: Releases) -> Self {
        let stated = read
            .properties
            .iter()
            .find(|property| property.kind == "olm.package");
        let version = match stated {
            // Go reads null as a property without fields.
            Some(property) => stated_version(property.value.map_or("{}", RawValue::get), releases),
            None => Err(format!(
                "no package property found in bundle {}",
                quoted(&read.name)
            )),
        };
        let properties = read.properties.into_iter();
        Self {
            version,
            properties: properties
                .filter(|property| !HEAVY.contains(&property.kind.as_str()))
                .filter_map(|property| {
                    Some(Property {
                        value: property.value?.to_owned(),
                        kind: property.kind,
                    })
                })
                .collect(),
            name: read.name,
            image: read.image,
        }
    }
}

/// Reads the version and the release that an `olm.package` property states.
pub fn stated_version(property: &str, releases: Releases) -> Result<VersionRelease, String> {
    let stated: StatedVersion = serde_json::from_str(property)
        .map_err(|fault| format!("error unmarshalling package property: {fault}"))?;
    match stated.release {
        Some(release) if releases == Releases::Stated => {
            VersionRelease::from_fields(&stated.version, &release).map_err(|fault| fault.to_string())
        }
        _ => VersionRelease::from_build_metadata(&stated.version).map_err(|fault| fault.to_string()),
    }
}
