//! A Subscription: what it asks for, and the conditions that say how it goes.

mod catalog_health;
mod deprecation;
pub(crate) mod plan_condition;

use apply::object::{annotation, text};
use classic::{Decision, Kind, World, Write};
use jiff::Timestamp;
use resolve::classic::entry::{CatalogKey, Deprecations};
use serde_json::{Value, json};

use crate::moment;
use crate::settings::Settings;

/// The condition that a catalog is missing or can't be used.
pub const CATALOG_SOURCES_UNHEALTHY: &str = "CatalogSourcesUnhealthy";

/// The condition that the plan of a Subscription is gone.
pub const INSTALL_PLAN_MISSING: &str = "InstallPlanMissing";

/// The condition that the plan of a Subscription isn't finished.
pub const INSTALL_PLAN_PENDING: &str = "InstallPlanPending";

/// The condition that the plan of a Subscription failed.
pub const INSTALL_PLAN_FAILED: &str = "InstallPlanFailed";

/// The condition that nothing could be resolved.
pub const RESOLUTION_FAILED: &str = "ResolutionFailed";

/// The condition that a bundle image is being pulled.
pub const BUNDLE_UNPACKING: &str = "BundleUnpacking";

/// The condition that a bundle image can't be used.
pub const BUNDLE_UNPACK_FAILED: &str = "BundleUnpackFailed";

/// The states of a Subscription.
pub mod state {
    /// Nothing is known yet.
    pub const NONE: &str = "";
    /// A newer version was found, and its bundle is being fetched. Upstream names this state, but never sets it.
    pub const UPGRADE_AVAILABLE: &str = "UpgradeAvailable";
    /// There is a plan, and it hasn't made the version yet.
    pub const UPGRADE_PENDING: &str = "UpgradePending";
    /// The version that was selected last exists.
    pub const AT_LATEST_KNOWN: &str = "AtLatestKnown";
    /// The plan failed, and the OperatorGroup lets a newer version follow a failed one.
    pub const UPGRADE_FAILED: &str = "UpgradeFailed";
}

/// A Subscription as its object says it.
#[derive(Debug, Clone, Copy)]
pub struct Subscription<'a>(pub &'a Value);

impl<'a> Subscription<'a> {
    /// Returns its name.
    pub fn name(&self) -> &'a str {
        text(self.0, "/metadata/name")
    }

    /// Returns its namespace.
    pub fn namespace(&self) -> &'a str {
        text(self.0, "/metadata/namespace")
    }

    /// Returns the package that it asks for.
    pub fn package(&self) -> &'a str {
        text(self.0, "/spec/name")
    }

    /// Returns the channel that it asks for; empty for the default.
    pub fn channel(&self) -> &'a str {
        text(self.0, "/spec/channel")
    }

    /// Returns the catalog that it asks for.
    pub fn source(&self) -> CatalogKey {
        CatalogKey::new(
            text(self.0, "/spec/sourceNamespace"),
            text(self.0, "/spec/source"),
        )
    }

    /// Returns the version that it starts with; empty for the newest.
    pub fn starting(&self) -> &'a str {
        text(self.0, "/spec/startingCSV")
    }

    /// Returns whether its plans wait for approval.
    pub fn is_manual(&self) -> bool {
        text(self.0, "/spec/installPlanApproval") == "Manual"
    }

    /// Returns the version that it leads to; empty for none.
    pub fn current(&self) -> &'a str {
        text(self.0, "/status/currentCSV")
    }

    /// Returns the version that is installed; empty for none.
    pub fn installed(&self) -> &'a str {
        text(self.0, "/status/installedCSV")
    }

    /// Returns its state, one of [`state`].
    pub fn state(&self) -> &'a str {
        text(self.0, "/status/state")
    }

    /// Returns the name of its plan; empty for none.
    pub fn plan(&self) -> &'a str {
        text(self.0, "/status/installPlanRef/name")
    }

    /// Returns whether it names a plan, in the new field or the old one.
    pub fn names_a_plan(&self) -> bool {
        let is_set = |pointer| self.0.pointer(pointer).is_some_and(Value::is_object);
        is_set("/status/installPlanRef") || is_set("/status/installplan")
    }

    /// Returns the generation of its plan.
    pub fn plan_generation(&self) -> i64 {
        self.0
            .pointer("/status/installPlanGeneration")
            .and_then(Value::as_i64)
            .unwrap_or_default()
    }

    /// Returns the plan that made it for a dependency.
    pub fn generated_by(&self) -> Option<&'a str> {
        annotation(self.0, classic::keys::GENERATED_BY)
    }

    /// Returns its status; null for none.
    pub fn status(&self) -> &'a Value {
        self.0.get("status").unwrap_or(&Value::Null)
    }
}

/// Returns the Subscription with another status, changed now.
pub(crate) fn with_status(subscription: &Value, mut status: Value, now: Timestamp) -> Value {
    status["lastUpdated"] = Value::from(moment::text(now));
    let mut changed = subscription.clone();
    changed["status"] = status;
    changed
}

/// Returns a status to change; an empty one where there is none.
pub(crate) fn status_of(subscription: &Value) -> Value {
    match subscription.get("status") {
        Some(status @ Value::Object(_)) => status.clone(),
        _ => json!({}),
    }
}

/// Returns what becomes of a Subscription, apart from what it leads to: the conditions about its plan, its catalogs and
/// what is deprecated.
///
/// `deprecations` are those of the catalog's entry for the installed version; none if there is no such entry, and then
/// what the Subscription says stays.
pub fn decide(
    world: &World,
    namespace: &str,
    name: &str,
    deprecations: Option<&Deprecations>,
    settings: &Settings,
    now: Timestamp,
) -> Decision {
    let Some(object) = world.get(Kind::Subscription, namespace, name) else {
        return Decision::default();
    };
    let subscription = Subscription(object);
    let mut status = status_of(object);
    plan_condition::update(world, subscription, &mut status, now);
    catalog_health::update(world, subscription, &mut status, settings, now);
    if let Some(deprecations) = deprecations {
        deprecation::update(subscription, &mut status, deprecations, now);
    }
    if status == status_of(object) {
        return Decision::default();
    }
    Decision {
        writes: vec![Write::UpdateStatus(with_status(object, status, now))],
        ..Decision::default()
    }
}
