//! File-based catalogs: which operators there are, in which channels, and what follows what.
//!
//! ```text
//! files ─ reading ─► Meta (canonical blobs) ─► Catalog (objects) ─┬─ validation ─► a tree of errors
//!                                               ▲                 ├─ writing ─► JSON, YAML, a file per package
//! bundle ─ rendering ─► olm.bundle ─ template ──┘                 ├─ graph ─► mermaid, SVG
//!                                                                 ├─ listing, diff, guard, prune, pinning
//!                                                                 └─ store (memory-mapped) ─► grpc
//! ```

pub mod canonical;
pub mod diff;
pub mod edges;
mod first_document;
pub mod graph;
pub mod grpc;
pub mod guard;
pub mod listing;
pub mod metadata;
pub mod nearest;
pub mod objects;
pub mod pinning;
pub mod prune;
pub mod reading;
pub mod rendering;
pub mod store;
pub mod template;
pub mod validation;
pub mod writing;
