//! `ClusterExtension` and `ClusterObjectSet`: from a package to what runs, and kept so.
//!
//! ```text
//! index, catalogs ─ observe ─► Snapshot ─ choosing ─► Choice (which bundle, or what it waits for)
//!                                         bundles ──► Content (its objects)
//!                              deciding ─► Plan (revisions, status, notices) ─ acting ─► the cluster
//! a ClusterObjectSet ─► apply's engine
//! ```
//!
//! - [`snapshot`], [`choosing`], [`deciding`]: what is seen and what is decided, without a client and without a clock
//! - [`settings`], [`window`]: what annotations ask for
//! - [`standing`], [`revisions`], [`status`], [`preflight`]: what decisions are made of
//! - [`catalogs`], [`packages`], [`bundles`], [`observing`], [`acting`], [`departure`], [`adoption`]: the world outside
//! - `agreement`: objects that a bundle wants twice
//! - [`tree`], [`planning`], [`explaining`], [`wishes`]: the same for people, who look and ask
//! - [`controller`], [`index`], [`metrics`]: what keeps it going

pub mod acting;
pub mod adoption;
mod agreement;
pub mod bundles;
pub mod catalogs;
pub mod choosing;
pub mod controller;
pub mod deciding;
pub mod departure;
pub mod explaining;
pub mod failure;
pub mod index;
pub mod metrics;
pub mod notice;
pub mod observing;
pub mod packages;
pub mod planning;
pub mod preflight;
pub mod reconciling;
pub mod revisions;
pub mod settings;
pub mod snapshot;
pub mod standing;
pub mod status;
pub mod tree;
pub mod window;
pub mod wishes;
