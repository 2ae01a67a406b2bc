//! The dependency resolver of OLM v0: what a namespace's Subscriptions lead to.
//!
//! ```text
//! registry bundles ─ entry ─► snapshot (indexed, kept) ─┐
//! CSVs of the namespace ─ existing ─────────────────────┼─ Request ─ variables ─ solver ─► Resolution
//! Subscriptions ────────────────────────────────────────┘                          └─ explanation ─► why not
//! ```
//!
//! Upstream resolves a namespace as a whole: one bad catalog or Subscription stops every other. Here what has nothing to
//! do with each other is resolved apart, unless [`Isolation::Namespace`](request::Isolation) asks for upstream's way.
//! The words of an unsatisfiable resolution are upstream's; [`explanation`] says beside them what a person needs.

pub mod api_set;
pub mod channel;
pub mod dependents;
pub mod entry;
pub mod existing;
pub mod explanation;
mod facts;
pub mod need;
pub mod property;
pub mod request;
pub mod resolution;
pub mod snapshot;
pub mod solver;
mod variables;

pub use api_set::{Api, ApiSet};
pub use entry::{CatalogKey, Deprecations, Entry, RegistryBundle, RegistryPackage};
pub use existing::{Existing, ExistingVersion, UpgradeStrategy};
pub use explanation::Explanation;
pub use property::Property;
pub use request::{Catalog, Isolation, Request, Subscription};
pub use resolution::{Cause, Failure, FailureKind, Install, Resolution, resolve};
pub use snapshot::Snapshot;
