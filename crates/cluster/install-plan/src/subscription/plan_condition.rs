//! What a Subscription says of its plan: missing, pending or failed.

use classic::{Kind, World};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{INSTALL_PLAN_FAILED, INSTALL_PLAN_MISSING, INSTALL_PLAN_PENDING, Subscription, state};
use crate::bundle_lookup::PENDING;
use crate::conditions::{self, condition, field};
use crate::moment;
use crate::plan::INSTALLED;
use crate::reference;

/// Brings the conditions about the plan up to date. A plan that is gone before it was finished is forgotten, so that the
/// namespace is resolved again.
pub(super) fn update(world: &World, subscription: Subscription<'_>, status: &mut Value, now: Timestamp) {
    let name = subscription.plan();
    if name.is_empty() {
        return;
    }
    let plan = world.get(Kind::InstallPlan, subscription.namespace(), name);
    let wanted = match plan {
        Some(plan) => of_plan(plan.get("status").unwrap_or(&Value::Null)),
        None if subscription.state() == state::UPGRADE_PENDING => {
            forget_plan(status);
            None
        }
        None => Some(condition(
            INSTALL_PLAN_MISSING,
            "True",
            "ReferencedInstallPlanNotFound",
            "",
        )),
    };
    let wanted_type = wanted.as_ref().map(|wanted| field(wanted, "type").to_owned());
    let all = [INSTALL_PLAN_MISSING, INSTALL_PLAN_PENDING, INSTALL_PLAN_FAILED];
    let others: Vec<&str> = all
        .into_iter()
        .filter(|name| Some(*name) != wanted_type.as_deref())
        .collect();
    conditions::remove(status, &others);
    if let Some(mut wanted) = wanted {
        let existing = conditions::get(status, field(&wanted, "type"));
        if !existing.is_some_and(|existing| conditions::say_the_same(existing, &wanted)) {
            wanted["lastTransitionTime"] = Value::from(moment::text(now));
            conditions::set(status, wanted);
        }
    }
}

/// Takes everything out of a status that a plan put there.
pub(crate) fn forget_plan(status: &mut Value) {
    if let Some(fields) = status.as_object_mut() {
        for name in ["installPlanRef", "installplan", "currentCSV", "state"] {
            fields.remove(name);
        }
    }
}

/// Points a status to a plan.
pub(crate) fn refer_to_plan(status: &mut Value, plan: &Value) {
    let reference = reference::to_object(Kind::InstallPlan, plan);
    status["installplan"] = json!({
        "apiVersion": reference["apiVersion"],
        "kind": reference["kind"],
        "name": reference.get("name").cloned().unwrap_or_else(|| json!("")),
        "uuid": reference.get("uid").cloned().unwrap_or_else(|| json!("")),
    });
    status["installPlanRef"] = reference;
}

fn of_plan(status: &Value) -> Option<Value> {
    let pending = |reason: &str| Some(condition(INSTALL_PLAN_PENDING, "True", reason, &message(status)));
    match field(status, "phase") {
        "" => pending("InstallPlanNotYetReconciled"),
        phase @ ("Planning" | "Installing" | "RequiresApproval") => pending(phase),
        "Failed" => {
            let installed = conditions::get(status, INSTALLED);
            let reason = installed
                .filter(|installed| field(installed, "status") == "False")
                .map_or("InstallPlanFailed", |installed| field(installed, "reason"));
            Some(condition(INSTALL_PLAN_FAILED, "True", reason, &message(status)))
        }
        _ => None,
    }
}

/// What a plan says of itself: why it isn't installed, or what it waits for.
fn message(status: &Value) -> String {
    let installed = conditions::get(status, INSTALLED)
        .filter(|installed| field(installed, "status") != "Unknown")
        .map_or("", |installed| field(installed, "message"));
    if !installed.is_empty() {
        return installed.to_owned();
    }
    let lookups = status.get("bundleLookups").and_then(Value::as_array);
    let pending = lookups.into_iter().flatten().filter_map(|lookup| {
        let message = field(conditions::get(lookup, PENDING)?, "message");
        (!message.is_empty()).then(|| format!("{message}."))
    });
    pending.collect::<Vec<_>>().join(" ")
}
