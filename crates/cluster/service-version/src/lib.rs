//! What a ClusterServiceVersion needs, how it is installed, and how far it came: the rules of OLM v0's olm-operator.
//!
//! Everything here is a pure function of a [`World`](classic::World) and of [`Circumstances`] (the time, and keys that
//! nobody can guess), and returns a [`Decision`](classic::Decision). A controller does this and nothing else:
//!
//! ```text
//! watch ─► World ─ concerns(&world, before, after) ─► queue of Concern ─ Concern::decide(&world, …) ─► Decision ─► writes
//! ```
//!
//! - [`concerns`] says what must be looked at after an object came, changed or went; [`Concern::all`] for the first look.
//! - [`Concern::decide`] decides about one of them. Each has its own function, too:
//!   [`decide`] (one step of a version), [`retry`], [`copies::decide`], [`operator_group::decide`],
//!   [`operator_group::decide_namespace`], [`operator_condition::decide`], [`operator::decide`],
//!   [`operator::adopt_subscription`], [`operator::adopt_version`], [`olm_config::decide`].
//! - A decision may have an `attempt`: writes that are made first, as the service account of the OperatorGroup if it
//!   names one. Where one of them fails, the rest of the decision is dropped, [`installation_failed`] is asked, and what
//!   it returns is done instead.
//! - A write that changes an object carries the `resourceVersion` that was seen; where it is refused as stale, looking
//!   again is right. No decision writes the same object twice.
//! - `trouble` is for the log; nothing has to be tried again because of it.
//! - Copies are kept in the world in short: [`copies::reduced`] makes them so.
//!
//! | part | what it knows |
//! |---|---|
//! | [`phases`] | the steps from phase to phase |
//! | [`groups`], [`membership`], [`install_modes`], [`provided_apis`] | what stands before every step |
//! | [`requirements`], [`authorization`] | what must be there before an installation |
//! | [`installation`], [`deployments`], [`overrides`], [`certificates`], [`api_services`], [`webhooks`] | what is installed |
//! | [`health`] | whether it works |
//! | [`api_roles`], [`target_permissions`] | who may use it, and where it may work |
//! | [`cleanup`] | what goes with it |

pub mod api_roles;
pub mod api_services;
pub mod authorization;
pub mod certificates;
pub mod cleanup;
pub mod concern;
pub mod copies;
pub mod deployments;
pub mod groups;
pub mod health;
pub mod install_modes;
pub mod installation;
pub mod membership;
pub mod olm_config;
pub mod operator;
pub mod operator_condition;
pub mod operator_group;
pub mod overrides;
pub mod ownership;
pub mod phases;
pub mod progress;
pub mod provided_apis;
pub mod replacement;
pub mod requirements;
pub mod target_permissions;
#[cfg(test)]
mod testing;
pub mod version;
pub mod webhooks;

use std::collections::BTreeSet;

use jiff::Timestamp;

pub use certificates::{Random, Secrets};
pub use concern::{Concern, Place, concerns};
pub use phases::{Urgency, decide, installation_failed, retry, urgency};
pub use version::ServiceVersion;

/// What a decision needs to know beside the cluster.
#[derive(Debug, Clone)]
pub struct Circumstances<'a> {
    /// The time.
    pub now: Timestamp,
    /// Where keys of certificates come from: [`Random`], outside of tests.
    pub secrets: &'a dyn Secrets,
    /// Namespaces that get copies even where these are switched off.
    pub protected_namespaces: BTreeSet<String>,
}
