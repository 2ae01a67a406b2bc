//! Packages, channels and bundles of a catalog as tables.

use std::collections::BTreeMap;

use bundle::cluster_service_version::ClusterServiceVersion;
use gotemplate::format::quoted;
use thiserror::Error;

use crate::nearest::did_you_mean;
use crate::objects::properties::{self, BUNDLE_OBJECT, BundleObject};
use crate::objects::{Bundle, Catalog, Channel, ChannelEntry, Package};
use crate::rendering::CSV_METADATA;
use crate::validation::{self, ValidationError};

/// Why a catalog cannot be listed.
#[derive(Debug, Error)]
pub enum ListError {
    /// Only valid catalogs are listed.
    #[error(transparent)]
    Invalid(#[from] ValidationError),
    /// The catalog does not have the package that was asked for.
    #[error("package {} not found", quoted(name))]
    UnknownPackage {
        /// The name that was asked for.
        name: String,
        /// The packages there are.
        known: Vec<String>,
    },
}

impl ListError {
    /// The question for what was probably meant.
    #[must_use]
    pub fn meant(&self) -> Option<String> {
        match self {
            Self::Invalid(_) => None,
            Self::UnknownPackage { name, known } => did_you_mean(name, known.iter().map(String::as_str)),
        }
    }
}

/// Where the names of packages are looked for that are shown to users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisplayNames {
    /// In whole manifests alone, as upstream's `opm alpha list` does: catalogs of today have none.
    OfManifests,
    /// In manifests, and in the `olm.csv.metadata` that catalogs have in place of them.
    OfMetadata,
}

/// Lists the packages with their default channel, and the name that the newest version of it shows to users.
pub fn packages(catalog: &Catalog, names: DisplayNames) -> Result<String, ListError> {
    validation::validate(catalog)?;
    let mut table = Table::new(["NAME", "DISPLAY NAME", "DEFAULT CHANNEL"]);
    for package in sorted_packages(catalog, None)? {
        let display_name = display_name(catalog, package, names).unwrap_or_default();
        table.row([&package.name, &display_name, &package.default_channel]);
    }
    Ok(table.finish())
}

/// Lists the channels of one package, or of all, with the newest version of each.
pub fn channels(catalog: &Catalog, package: Option<&str>) -> Result<String, ListError> {
    validation::validate(catalog)?;
    let mut table = Table::new(["PACKAGE", "CHANNEL", "HEAD"]);
    for package in sorted_packages(catalog, package)? {
        for channel in sorted_channels(catalog, package) {
            let head = match validation::head(channel.entries.iter().flatten()) {
                Ok(head) => head.name.clone(),
                Err(error) => format!("ERROR: {error}"),
            };
            table.row([&package.name, &channel.name, &head]);
        }
    }
    Ok(table.finish())
}

/// Lists the versions of one package, or of all, by channel.
pub fn bundles(catalog: &Catalog, package: Option<&str>) -> Result<String, ListError> {
    validation::validate(catalog)?;
    let mut table = Table::new([
        "PACKAGE",
        "CHANNEL",
        "BUNDLE",
        "REPLACES",
        "SKIPS",
        "SKIP RANGE",
        "IMAGE",
    ]);
    let images: BTreeMap<(&str, &str), &str> = catalog
        .bundles
        .iter()
        .map(|bundle| {
            (
                (bundle.package.as_str(), bundle.name.as_str()),
                bundle.image.as_str(),
            )
        })
        .collect();
    for package in sorted_packages(catalog, package)? {
        for channel in sorted_channels(catalog, package) {
            let mut entries: Vec<&ChannelEntry> = channel.entries.iter().flatten().collect();
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            for entry in entries {
                let image = images.get(&(package.name.as_str(), entry.name.as_str()));
                table.row([
                    &package.name,
                    &channel.name,
                    &entry.name,
                    &entry.replaces,
                    &entry.skips.join(","),
                    &entry.skip_range,
                    image.copied().unwrap_or_default(),
                ]);
            }
        }
    }
    Ok(table.finish())
}

fn sorted_packages<'a>(catalog: &'a Catalog, only: Option<&str>) -> Result<Vec<&'a Package>, ListError> {
    let only = only.filter(|name| !name.is_empty());
    let mut packages: Vec<&Package> = catalog
        .packages
        .iter()
        .filter(|package| only.is_none_or(|only| package.name == only))
        .collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    match only {
        Some(only) if packages.is_empty() => Err(ListError::UnknownPackage {
            name: only.to_owned(),
            known: catalog
                .packages
                .iter()
                .map(|package| package.name.clone())
                .collect(),
        }),
        _ => Ok(packages),
    }
}

fn sorted_channels<'a>(catalog: &'a Catalog, package: &Package) -> Vec<&'a Channel> {
    let mut channels: Vec<&Channel> = catalog
        .channels
        .iter()
        .filter(|channel| channel.package == package.name)
        .collect();
    channels.sort_by(|a, b| a.name.cmp(&b.name));
    channels
}

/// The name shown to users, which the `ClusterServiceVersion` of the default channel's head tells, or what the catalog has of it.
fn display_name(catalog: &Catalog, package: &Package, names: DisplayNames) -> Option<String> {
    let is_default =
        |channel: &&Channel| channel.package == package.name && channel.name == package.default_channel;
    let channel = catalog.channels.iter().find(is_default)?;
    let head = validation::head(channel.entries.iter().flatten()).ok()?;
    let is_head = |bundle: &&Bundle| bundle.package == package.name && bundle.name == head.name;
    let bundle = catalog.bundles.iter().find(is_head)?;
    let of_manifest = display_name_of_manifest(bundle);
    match names {
        DisplayNames::OfManifests => of_manifest,
        DisplayNames::OfMetadata => of_manifest.or_else(|| display_name_of_metadata(bundle)),
    }
}

fn display_name_of_metadata(bundle: &Bundle) -> Option<String> {
    let metadata = bundle
        .properties
        .iter()
        .find(|property| property.kind == CSV_METADATA)?;
    let metadata: serde_json::Value = serde_json::from_str(metadata.value.get()).ok()?;
    metadata.get("displayName")?.as_str().map(str::to_owned)
}

fn display_name_of_manifest(bundle: &Bundle) -> Option<String> {
    let mut manifests = bundle
        .properties
        .iter()
        .filter(|property| property.kind == BUNDLE_OBJECT)
        .filter_map(|property| {
            let object: BundleObject = properties::decode(property.value.get().as_bytes()).ok()?;
            goyaml::to_value(object.data.0.as_deref().unwrap_or_default()).ok()
        });
    let manifest = manifests.find(|manifest| {
        manifest.get("kind").and_then(serde_json::Value::as_str) == Some("ClusterServiceVersion")
    })?;
    let version: ClusterServiceVersion = goyaml::typed::decode(&manifest).ok()?;
    Some(version.spec.display_name)
}

/// Text in columns, two spaces apart, as wide as the widest cell; the last column is as it is.
struct Table<const COLUMNS: usize> {
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    fn new(headings: [&str; COLUMNS]) -> Self {
        Self {
            rows: vec![headings.map(str::to_owned)],
        }
    }

    fn row(&mut self, cells: [&str; COLUMNS]) {
        self.rows.push(cells.map(str::to_owned));
    }

    fn finish(self) -> String {
        const GAP: usize = 2;
        let mut widths = [0; COLUMNS];
        for row in &self.rows {
            for (cell, width) in row.iter().zip(&mut widths) {
                *width = cell.chars().count().max(*width);
            }
        }
        let mut text = String::new();
        for row in &self.rows {
            for (index, (cell, width)) in row.iter().zip(widths).enumerate() {
                text.push_str(cell);
                if index + 1 < COLUMNS {
                    let padding = width + GAP - cell.chars().count();
                    text.extend(std::iter::repeat_n(' ', padding));
                }
            }
            text.push('\n');
        }
        text
    }
}
