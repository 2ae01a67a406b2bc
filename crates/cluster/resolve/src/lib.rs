//! What to install next, and why.
//!
//! ```text
//! Request (package, range, channels, installed) ─┐
//! Offer (a catalog's Package, its priority) … ───┼─ resolution ─► a bundle of a catalog, or upstream's reason
//!                                                └─ explanation ─► what became of each version, and by which rule
//! a bundle's properties ─ dependencies ─┬─ Inventory ─► what it needs and isn't there
//!                                       └─ plan ──────► what else to install, and in which order
//! installed ─ road ─► the steps to the end of a channel;  a text ─ search ─► packages
//! labels of catalogs ─ selection ─► the catalogs that are asked
//! OLM v0: catalogs, CSVs and Subscriptions of a namespace ─ classic ─► bundles to install, or why not
//! ```
//!
//! Nothing here has a client or a clock: the same question always has the same answer, for the controller, for
//! `baton plan` and for `baton explain`.

pub mod classic;
pub mod dependencies;
pub mod edges;
pub mod explanation;
pub mod package;
pub mod plan;
pub mod request;
pub mod resolution;
pub mod road;
pub mod search;
pub mod selection;
