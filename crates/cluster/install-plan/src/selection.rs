//! What a resolution selected: bundles of catalogs, with what each of them takes the place of.

use std::sync::Arc;

use resolve::classic::entry::{CatalogKey, Entry, RegistryBundle};
use resolve::classic::property::Property;
use serde_json::Value;
use thiserror::Error;

use crate::manifest;

/// The manifests of one bundle.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Content {
    /// The ClusterServiceVersion as it stands in the bundle.
    pub service_version: Value,
    /// Every object in the order of the bundle; the ClusterServiceVersion may be among them.
    pub objects: Vec<Value>,
    /// What the catalog says of the bundle; empty where the bundle came from an image.
    pub properties: Vec<Property>,
}

impl Content {
    /// Reads the manifests of a bundle as a catalog sends them.
    pub fn of_registry(bundle: &RegistryBundle) -> Result<Self, goyaml::Error> {
        let objects = bundle.objects.iter().map(|object| manifest::parse(object));
        Ok(Self {
            service_version: manifest::parse(&bundle.csv_json)?,
            objects: objects.collect::<Result<_, _>>()?,
            properties: bundle.properties.clone(),
        })
    }
}

/// A bundle in a catalog whose text can't be read.
#[derive(Debug, Error)]
#[error("cannot read bundle {name} of catalog {catalog}: {source}")]
pub struct UnreadableBundle {
    /// The bundle.
    pub name: String,
    /// The catalog.
    pub catalog: CatalogKey,
    /// What is wrong with it.
    pub source: goyaml::Error,
}

/// Where the manifests of a selected bundle are.
#[derive(Debug, Clone, PartialEq)]
pub enum Location {
    /// In the catalog.
    Inline(Arc<Content>),
    /// In an image.
    Image(String),
}

/// A bundle that shall be installed.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected {
    /// The name of its ClusterServiceVersion.
    pub name: String,
    /// The package.
    pub package: String,
    /// The channel that it was found in.
    pub channel: String,
    /// The catalog that it was found in.
    pub source: CatalogKey,
    /// The installed ClusterServiceVersion that it takes the place of; empty for none.
    pub replaces: String,
    /// What the bundle says of itself.
    pub properties: Vec<Property>,
    /// Where its manifests are.
    pub location: Location,
}

impl Selected {
    /// Returns the image that its manifests are in; none where they are in the catalog.
    pub fn image(&self) -> Option<&str> {
        match &self.location {
            Location::Image(path) => Some(path),
            Location::Inline(_) => None,
        }
    }

    /// Takes an entry of a catalog, to take the place of `replaces`.
    pub fn of_entry(entry: &Entry, replaces: &str) -> Result<Self, UnreadableBundle> {
        let (properties, location) = match &entry.inline {
            // Upstream writes what the catalog says of a bundle that it holds, and what it derived from it otherwise.
            Some(bundle) => {
                let content = Content::of_registry(bundle).map_err(|source| UnreadableBundle {
                    name: entry.name.clone(),
                    catalog: entry.catalog.clone(),
                    source,
                })?;
                (bundle.properties.clone(), Location::Inline(Arc::new(content)))
            }
            None => (
                entry.properties().to_vec(),
                Location::Image(entry.bundle_path.clone()),
            ),
        };
        Ok(Self {
            name: entry.name.clone(),
            package: entry.package.clone(),
            channel: entry.channel.clone(),
            source: entry.catalog.clone(),
            replaces: replaces.to_owned(),
            properties,
            location,
        })
    }
}
