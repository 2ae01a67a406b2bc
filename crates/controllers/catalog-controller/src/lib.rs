//! `ClusterCatalog`: from an image to content that is served.
//!
//! ```text
//! ClusterCatalog ─► controller, queue ─► reconcile (decides) ─► act ─┬─ fetch ─► contents ─► serve: all, metas, graphql
//!                                          poll, status              │            └─► handle, for the same process
//!                                                                    └─ status, finalizer, label ─► cluster
//! ```
//!
//! - [`reconcile`], [`poll`], [`status`]: decisions, without a client and without a clock
//! - [`controller`]: the loop around them; every replica runs it, one of them writes
//! - [`fetch`], [`pull_secrets`]: images and the credentials for them
//! - [`contents`]: what is served, in memory and on disk
//! - [`serve`], [`graphql`]: what is answered over HTTP
//! - [`handle`]: the same content without HTTP
//! - [`metrics`]: what is counted

mod act;
pub mod contents;
pub mod controller;
mod encoding;
pub mod fetch;
pub mod graphql;
pub mod handle;
pub mod metrics;
pub mod poll;
pub mod pull_secrets;
mod queue;
pub mod reconcile;
pub mod serve;
pub mod status;

pub use controller::{Controller, MovedImages, Options};
pub use fetch::Images;
pub use handle::Handle;
pub use serve::router;
