//! A bundle as the `olm.bundle` object of a catalog, exactly as `opm render` makes it.
//!
//! ```text
//! manifests/ ─ manifests ─► objects ─┬─ interfaces ─► what is provided and required
//!                                    └─ raw_version ─► name, version, release, related images
//! metadata/ ─ metadata_files ─► package, dependencies, properties
//! all of it ─ properties ─► the sorted properties of the olm.bundle
//! ```
//!
//! opm reads a `ClusterServiceVersion` twice: piece by piece for this, and as a whole only when it is migrated (see
//! [`metadata`]). So a bundle may render although its `ClusterServiceVersion` does not fit its type.

mod interfaces;
mod manifests;
mod metadata_files;
mod object_text;
mod properties;
mod raw_version;

use bundle::files::BundleFiles;
use serde_json::Value;

use crate::metadata::{self, Metadata, MigrationError};
use crate::objects::{Bundle, Catalog, Icon, Property, RelatedImage};
use raw_version::RawVersion;

pub(crate) use properties::{BUNDLE_OBJECT, CSV_METADATA};

/// A bundle was rendered: its `olm.bundle`, and the `ClusterServiceVersion` that it was made from.
#[derive(Debug, Clone)]
pub struct RenderedBundle {
    /// The object for the catalog.
    ///
    /// Its package is empty when the bundle's annotations name none; such an object belongs to no package, and
    /// writing a catalog leaves it out.
    pub bundle: Bundle,
    version: Value,
}

/// Why a bundle has no `olm.bundle`; the texts are opm's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// `manifests` or `metadata` is not there.
    #[error("open .: no such file or directory")]
    NoDirectory,
    /// No file of `manifests` holds an object.
    #[error("no bundle objects found")]
    NoObjects,
    /// No object is a `ClusterServiceVersion`.
    #[error("no csv in bundle")]
    NoClusterServiceVersion,
    /// No file of `metadata` holds the bundle's annotations.
    #[error("Could not find annotations file")]
    NoAnnotations,
    /// An object is not what its kind says.
    #[error("{0}")]
    Object(String),
    /// The `ClusterServiceVersion` owns a custom resource that the bundle does not define.
    #[error("error checking provided apis in bundle {name}: {cause}")]
    ProvidedInterfaces {
        /// The bundle's name.
        name: String,
        /// What is missing, and what was found.
        cause: String,
    },
    /// What the bundle is and provides can't be told.
    #[error("failed to derive properties: {0}")]
    DerivedProperties(String),
    /// A property or dependency is not what its type says.
    #[error("get properties for bundle {}: {cause}", gotemplate::format::quoted(.name))]
    Properties {
        /// The bundle's name.
        name: String,
        /// Which property, and why.
        cause: String,
    },
    /// The images of the `ClusterServiceVersion` can't be told.
    #[error("get related images for bundle {}: {cause}", gotemplate::format::quoted(.name))]
    RelatedImages {
        /// The bundle's name.
        name: String,
        /// Which field, and why.
        cause: String,
    },
}

/// Renders a bundle for a catalog in which it stands as `image`, which may be empty.
///
/// # Errors
///
/// When opm would not render it either; see [`RenderError`].
pub fn render(files: &BundleFiles, image: &str) -> Result<RenderedBundle, RenderError> {
    let objects = manifests::read(files)?;
    let object: Option<Value> = objects
        .iter()
        .find(|object| object.kind == bundle::cluster_service_version::KIND)
        .map(|object| serde_json::from_str(&object.text))
        .transpose()
        .map_err(|error| RenderError::Object(error.to_string()))?;
    let Some(object) = object else {
        interfaces::defined(&objects).map_err(RenderError::Object)?;
        return Err(RenderError::NoClusterServiceVersion);
    };
    let version = RawVersion::read(&object).map_err(RenderError::Object)?;
    let defined = interfaces::defined(&objects).map_err(RenderError::Object)?;
    let name = version.metadata.name.clone();
    let provided =
        interfaces::provided(&version, defined).map_err(|cause| RenderError::ProvidedInterfaces {
            name: name.clone(),
            cause,
        })?;

    let metadata = metadata_files::read(files)?;
    let derived =
        properties::derive(&version, &metadata, &provided).map_err(RenderError::DerivedProperties)?;
    let package = metadata.annotations.package.clone();
    let properties = properties::all(&version, metadata, derived, &provided, &objects).map_err(|cause| {
        RenderError::Properties {
            name: name.clone(),
            cause,
        }
    })?;
    let related_images = version
        .related_images(image)
        .map_err(|cause| RenderError::RelatedImages {
            name: name.clone(),
            cause,
        })?;
    Ok(RenderedBundle {
        bundle: Bundle {
            name,
            package,
            image: image.to_owned(),
            properties,
            related_images,
        },
        version: object,
    })
}

impl RenderedBundle {
    /// The `ClusterServiceVersion` as it stands in the bundle.
    #[must_use]
    pub fn cluster_service_version(&self) -> &Value {
        &self.version
    }

    /// What the bundle says its package is for; empty if it does not say.
    #[must_use]
    pub fn description(&self) -> String {
        RawVersion::read(&self.version)
            .and_then(|version| version.text("description"))
            .unwrap_or_default()
    }

    /// The first picture of the bundle, if its pictures can be read.
    #[must_use]
    pub fn icon(&self) -> Option<Icon> {
        RawVersion::read(&self.version).ok()?.first_icon()
    }

    /// Replaces the bundle's objects by `olm.csv.metadata`, unless the bundle has no image or has metadata already.
    ///
    /// # Errors
    ///
    /// When the `ClusterServiceVersion` does not fit its type; the bundle is unchanged then.
    pub fn migrate(&mut self, metadata: Metadata) -> Result<(), MigrationError> {
        metadata::migrate_bundle(&mut self.bundle, &self.version, metadata)
    }
}

/// Puts what bundles of a catalog say into the order in which opm renders it: what is large comes last, and images are in
/// the order of their names.
pub fn arrange(catalog: &mut Catalog) {
    for bundle in &mut catalog.bundles {
        bundle
            .properties
            .sort_by_key(|property| matches!(property.kind.as_str(), BUNDLE_OBJECT | CSV_METADATA));
        bundle
            .related_images
            .sort_by(|one, other| one.image.cmp(&other.image));
    }
}

/// A property whose value is still text, so that it can be compared as opm does: byte by byte.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextProperty {
    pub(crate) kind: String,
    /// The JSON as it was written; empty where there was none.
    pub(crate) value: String,
}

impl TextProperty {
    fn of(kind: &str, value: &impl serde::Serialize) -> Self {
        Self {
            kind: kind.to_owned(),
            value: json(value, goyaml::json::Escape::None),
        }
    }

    fn into_property(self) -> Property {
        if self.value.is_empty() {
            return Property {
                kind: self.kind,
                ..Property::default()
            };
        }
        Property {
            kind: self.kind,
            value: crate::objects::raw(self.value),
        }
    }
}

/// Writes data that holds no NaN, so that writing can't fail.
fn json(value: &impl serde::Serialize, escape: goyaml::json::Escape) -> String {
    goyaml::json::to_string(value, escape).unwrap_or_else(|_| "null".to_owned())
}

/// Images in the order of opm's output.
fn sort_images(images: &mut [RelatedImage]) {
    images.sort_by(|one, other| one.image.cmp(&other.image));
}
