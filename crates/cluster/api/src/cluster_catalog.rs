//! `ClusterCatalog`: a catalog image that is fetched, kept and served.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::kind::cluster_kind;

cluster_kind! {
    /// A catalog of operators.
    ClusterCatalog, "clustercatalogs", ClusterCatalogSpec, ClusterCatalogStatus
}

/// Where a catalog comes from and how it is used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCatalogSpec {
    /// Where the content comes from.
    pub source: CatalogSource,
    /// Whose word counts when several catalogs can serve a request.
    #[serde(default)]
    pub priority: i32,
    /// Whether the catalog is used at all.
    #[serde(default)]
    pub availability_mode: AvailabilityMode,
}

/// Whether a catalog is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AvailabilityMode {
    /// It is.
    #[default]
    Available,
    /// It is not, as if it were deleted.
    Unavailable,
}

/// A source of content.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CatalogSource {
    /// The kind of source; `Image` is the only one that definitions let through.
    #[serde(rename = "type")]
    pub kind: String,
    /// The image that holds the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageSource>,
}

/// An image that is looked up, perhaps regularly.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageSource {
    /// The image, with a tag or a digest.
    #[serde(rename = "ref")]
    pub reference: String,
    /// How often to look whether the tag moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_interval_minutes: Option<u32>,
}

/// What became of a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCatalogStatus {
    /// `Serving` and `Progressing`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The exact content that is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_source: Option<ResolvedSource>,
    /// Where the content is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urls: Option<CatalogUrls>,
    /// When the content that is served was unpacked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_unpacked: Option<Timestamp>,
}

/// A source that can't change any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedSource {
    /// The kind of source.
    #[serde(rename = "type")]
    pub kind: String,
    /// The image that is served.
    pub image: ResolvedImage,
}

/// An image by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedImage {
    /// The image with its digest.
    #[serde(rename = "ref")]
    pub reference: String,
}

/// Where content is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogUrls {
    /// The address below which the endpoints are.
    pub base: String,
}

impl ClusterCatalog {
    /// Returns the reference that is served, with its digest.
    pub fn resolved_reference(&self) -> Option<&str> {
        let resolved = self.status.resolved_source.as_ref()?;
        Some(resolved.image.reference.as_str())
    }
}
