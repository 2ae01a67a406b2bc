//! What is seen of one extension, before anything is decided.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster_extension::{CatalogFilter, UpgradeConstraintPolicy};
use api::{ClusterExtension, ClusterObjectSet};
use jiff::Timestamp;
use resolve::dependencies::Inventory;
use resolve::package::Package;
use resolve::request::{Installed, Request, UpgradePolicy, VersionWish, VersionWishError};
use resolve::resolution::{BrokenCatalogs, Offer, OfferState};
use serde_json::Value;

use crate::standing::{Bundle, Standing};

/// What is seen of one extension.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The extension.
    pub extension: ClusterExtension,
    /// Its revisions, the oldest first.
    pub object_sets: Vec<Arc<ClusterObjectSet>>,
    /// The catalogs that its selector selects, in the order of their names; or why the selector can't be read.
    pub catalogs: Result<Vec<SeenCatalog>, String>,
    /// What is installed in the whole cluster, for bundles that need others.
    pub inventory: Inventory,
    /// What a catalog that can't be asked does to the others.
    pub broken_catalogs: BrokenCatalogs,
    /// The namespace that the Secrets of revisions go into.
    pub system_namespace: String,
    /// When it was seen.
    pub now: Timestamp,
}

/// A catalog, as far as the extension's package goes.
#[derive(Debug, Clone)]
pub struct SeenCatalog {
    /// Its name.
    pub name: String,
    /// Whose word counts more.
    pub priority: i32,
    /// What it says of the package.
    pub package: SeenPackage,
}

/// What a catalog says of a package.
#[derive(Debug, Clone)]
pub enum SeenPackage {
    /// The package, or that it isn't there.
    Read(Option<Arc<Package>>),
    /// The user took the catalog out of service.
    Disabled,
    /// The catalog can't be asked, and why.
    Broken(String),
}

impl Snapshot {
    /// Returns where the extension stands.
    pub fn standing(&self) -> Standing {
        Standing::of(&self.object_sets)
    }

    /// Returns which versions of which package are wanted.
    pub fn filter(&self) -> Option<&CatalogFilter> {
        self.extension.spec.source.catalog.as_ref()
    }

    /// Returns the annotations of the extension.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        self.extension.metadata.annotations.clone().unwrap_or_default()
    }

    /// Returns what is asked of the catalogs.
    pub fn request(&self, installed: Option<&Bundle>) -> Result<Request, VersionWishError> {
        request(&self.extension, installed)
    }

    /// Returns what the catalogs offer.
    pub fn offers(&self) -> Vec<Offer<'_>> {
        let catalogs = self.catalogs.as_deref().unwrap_or_default();
        let offers = catalogs.iter().map(|catalog| Offer {
            catalog: &catalog.name,
            priority: catalog.priority,
            state: match &catalog.package {
                SeenPackage::Read(package) => OfferState::Read(package.as_deref()),
                SeenPackage::Disabled => OfferState::Disabled,
                SeenPackage::Broken(cause) => OfferState::Broken(cause.clone()),
            },
        });
        offers.collect()
    }
}

/// Returns what an extension asks of the catalogs, where this bundle is installed.
///
/// # Errors
///
/// If the range of versions can't be read.
pub fn request(
    extension: &ClusterExtension,
    installed: Option<&Bundle>,
) -> Result<Request, VersionWishError> {
    let filter = extension.spec.source.catalog.clone().unwrap_or_default();
    Ok(Request {
        version: VersionWish::parse(&filter.version)?,
        package: filter.package_name,
        channels: filter.channels,
        policy: match filter.upgrade_constraint_policy {
            UpgradeConstraintPolicy::CatalogProvided => UpgradePolicy::CatalogProvided,
            UpgradeConstraintPolicy::SelfCertified => UpgradePolicy::SelfCertified,
        },
        installed: installed.map(|bundle| Installed {
            name: bundle.metadata.name.clone(),
            version: bundle.metadata.version.clone(),
            release: bundle.metadata.release.clone(),
        }),
    })
}

/// The content of a bundle, rendered for an extension.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Content {
    /// The bundle; what an image says of itself where it was named directly.
    pub bundle: Bundle,
    /// The objects that it is made of.
    pub objects: Vec<Value>,
    /// Its properties, as a JSON list.
    pub properties: Option<String>,
    /// Who signed its image, or that nobody had to; none where nobody knows any more.
    pub signature: Option<String>,
    /// The definitions that the cluster has of those among the objects; none where nothing of them would change.
    pub definitions: BTreeMap<String, Result<Value, String>>,
}

/// Why there is no content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoContent {
    /// The image can't be had.
    Pull(crate::failure::Failure),
    /// The image is there, but it can't be installed.
    Apply(crate::failure::Failure),
}
