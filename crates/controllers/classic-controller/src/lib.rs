//! OLM v0 in a cluster: its eight kinds kept true, and PackageManifest.
//!
//! ```text
//! watches, own writes ─► Picture ─ concerns ─► queue ─► a look: decide (install-plan, service-version) ─► writes, events
//!                                                        ▲
//! CatalogSources ─► sources (gRPC, images, ConfigMaps) ──┤
//! bundle images ──► bundles ─────────────────────────────┘
//! ```
//!
//! - [`controller`]: the queue, the workers, and what they share; `looking`: one look at one thing
//! - [`picture`], [`pruning`], [`watching`], [`discovery`]: what is known of the cluster, and how it is kept
//! - [`concerns`]: what is looked at again after a change
//! - [`writing`], [`announcing`]: what is done, and what is told
//! - [`sources`], [`bundles`]: catalogs and bundle images, read by this process without a pod
//! - [`manifests`]: what catalogs offer, as an API of the cluster
//! - [`metrics`]: how it goes

pub mod announcing;
pub mod bundles;
mod bustle;
pub mod concerns;
pub mod controller;
pub mod discovery;
mod looking;
pub mod manifests;
pub mod metrics;
pub mod picture;
pub mod pruning;
pub mod sources;
pub mod watching;
pub mod writing;
