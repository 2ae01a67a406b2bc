//! registry+v1 bundles: an operator's manifests and metadata, loaded, validated, generated and rendered.
//!
//! ```text
//! directory, image, layout, tar ─ files ─► BundleFiles ─┬─ validation ─► findings (operator-sdk's and opm's texts)
//!                                                       └─ registry ─► RegistryBundle ─ rendering ─► manifests for OLM v1
//! chart ─ generation ─► bundle directory, operator image
//! cluster_service_version: what is read of a ClusterServiceVersion, shared by all of them
//! ```

pub mod cluster_service_version;
pub mod files;
pub mod generation;
pub mod registry;
pub mod rendering;
pub mod supported_kinds;
pub mod validation;
