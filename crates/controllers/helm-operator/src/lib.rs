//! The Helm operator: `watches.yaml` names kinds and charts; each custom resource becomes a release of its chart.
//!
//! ```text
//! watches.yaml ─ watches ─► blueprint (chart, parsed once)
//! resource ─ routing: is it mine? ─ values ─ preparing (render, keep random values, mark, stamp) ─► what is wanted
//! records, resource, drift ─ deciding ─► step ─ reconciling (release's actions) ─► cluster
//! objects ─ dependents (drift, readiness) ─► look again;  status, events ◄─ what became of it
//! ```
//!
//! It knows nothing of how a release is installed: that is the crate `release`.

pub mod awaited;
pub mod backoff;
pub mod blueprint;
pub mod controller;
pub mod deciding;
pub mod decoration;
pub mod dependents;
pub mod discovery;
pub mod drift_report;
pub mod invalid_fields;
pub mod keeping;
pub mod metrics;
pub mod overrides;
pub mod packed;
pub mod preparing;
pub mod randomness;
pub mod readiness;
pub mod reconciling;
pub mod replica;
pub mod resource;
pub mod restarts;
pub mod roster;
pub mod routing;
pub mod status;
pub mod values;
pub mod watches;
pub mod world;
mod writing;
