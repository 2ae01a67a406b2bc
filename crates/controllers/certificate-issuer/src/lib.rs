//! `Certificate`, `Issuer` and `ClusterIssuer` of cert-manager, where nobody runs cert-manager.
//!
//! OLM v1 asks cert-manager for the certificates of webhooks. On one machine there is none, so that what bundles ask for is served
//! here: issuers that sign by themselves and those that have an authority in a Secret. As soon as somebody brings cert-manager,
//! everything is left to it.
//!
//! ```text
//! definitions, Deployments ─ definitions::whose ─► Vacant: lay them │ Ours: serve │ Theirs: rest
//! Certificate ─ request ─► Request ─┐
//! Secret ─ keeping ─► Kept ─────────┼─ keeping::decide ─► Due ─ signing ─► Pair ─► Secret, Ready
//! Issuer ─ issuer ─► Standing ──────┘
//! Secret ─ injection ─► caBundle of webhooks, conversions and APIServices
//! ```
//!
//! - [`definitions`], [`request`], [`issuer`], [`keeping`], [`ready`], [`injection`], [`seen`]: decisions, without a client and
//!   without a clock
//! - [`signing`]: keys and certificates
//! - [`controller`]: what watches, looks at the clock and writes

mod acting;
pub mod controller;
pub mod definitions;
pub mod injection;
pub mod issuer;
pub mod keeping;
pub mod ready;
pub mod request;
pub mod seen;
pub mod signing;
