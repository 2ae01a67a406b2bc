//! An InstallPlan: approved, then executed step by step.
//!
//! ```text
//! "" ─► Planning (plans of users) ─► RequiresApproval ─► Installing ─┬─► Complete
//!                                                         ▲  │  retried for a minute, when forbidden for ever
//!                                                         └──┴─────────► Failed
//! ```
//!
//! [`decide`] wants one thing at a time, so that each step sees what the one before it made: roles are owned by the
//! ClusterServiceVersion, whose identity only the server knows. Before anything is written, every definition of custom
//! resources is checked against what is stored; upstream first creates the ClusterServiceVersion and then finds out.

mod conclusion;
mod definition_step;
mod execution;
mod object;
mod ownership;
mod progress;
mod refusal_text;
mod scope;
mod supported_kinds;

use apply::object::{ObjectId, at, text};
use classic::{Decision, Kind, ServiceAccount, World, Write};
use jiff::Timestamp;
use serde_json::Value;

pub use progress::{Outcome, Progress, Refusal, RefusalKind};
pub use scope::{GroupProblem, account};

use crate::approval;
use crate::conditions;
use crate::definition_upgrade::DefinitionUpgrade;
use crate::manifest::{Contents, Reference};
use crate::moment;
use crate::settings::Settings;

/// The condition that says whether everything of a plan is there.
pub const INSTALLED: &str = "Installed";

/// The phases of a plan.
pub mod phase {
    /// Nothing is known yet.
    pub const NONE: &str = "";
    /// What it takes is being found out. Upstream names this phase, but never sets it.
    pub const PLANNING: &str = "Planning";
    /// Somebody must agree.
    pub const REQUIRES_APPROVAL: &str = "RequiresApproval";
    /// Its steps are taken.
    pub const INSTALLING: &str = "Installing";
    /// All its steps were taken.
    pub const COMPLETE: &str = "Complete";
    /// It was given up.
    pub const FAILED: &str = "Failed";
}

/// Returns the ClusterServiceVersions that a plan names.
pub fn versions(plan: &Value) -> Vec<&str> {
    let names = plan
        .pointer("/spec/clusterServiceVersionNames")
        .and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A write of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// Which step, from 0.
    pub step: usize,
    /// What is written.
    pub write: Write,
    /// Whom it is written as; none for OLM itself.
    pub account: Option<ServiceAccount>,
}

/// What a plan wants next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Nothing but these writes, for now.
    Rest(Decision),
    /// A write. Its outcome goes to [`Progress::record`], and what the server returned into the World.
    Write(Box<Action>),
    /// An object that the World doesn't hold, or not in full: read it, put it into the World, and note it with
    /// [`Progress::looked`].
    Look(ObjectId),
    /// The manifests of a bundle, for [`Contents`]. Where they can't be had, [`Progress::fail`].
    Bundle(Reference),
    /// Every stored custom resource of some versions, to be judged by [`DefinitionUpgrade::check`]; the verdict goes to
    /// [`Progress::checked`].
    Check(Box<DefinitionUpgrade>),
}

/// Returns what a plan wants next.
pub fn decide(
    world: &World,
    namespace: &str,
    name: &str,
    progress: &Progress,
    contents: &dyn Contents,
    settings: &Settings,
    now: Timestamp,
) -> Next {
    let rest = || Next::Rest(Decision::default());
    let Some(plan) = world.get(Kind::InstallPlan, namespace, name) else {
        return rest();
    };
    let Some(status) = plan.get("status").filter(|status| has_content(status)) else {
        return rest();
    };
    if matches!(phase_of(status), phase::COMPLETE | phase::FAILED) {
        return rest();
    }
    let scoped = match scope::account(world, namespace) {
        Ok(account) => account,
        Err(problem) => return Next::Rest(conclusion::unscoped(plan, status.clone(), &problem, now)),
    };
    // A status may be as large as an object can be, so it is copied only where it is written.
    let working = || {
        let mut working = status.clone();
        let installed = conditions::get(&working, INSTALLED);
        if installed
            .is_some_and(|installed| conditions::field(installed, "reason") == conclusion::CHECK_FAILED)
        {
            conditions::remove(&mut working, &[INSTALLED]);
        }
        working
    };
    if let Some(account) = scoped
        && status.get("attenuatedServiceAccountRef") != Some(account)
    {
        let mut working = working();
        working["attenuatedServiceAccountRef"] = account.clone();
        return Next::Rest(conclusion::written(plan, working));
    }
    let run = |only| execution::Run {
        world,
        plan,
        progress,
        contents,
        settings,
        only,
        now,
    };
    match phase_of(status) {
        phase::REQUIRES_APPROVAL if at(plan, "/spec/approved") == Some(&Value::Bool(true)) => {
            let mut working = working();
            working["phase"] = Value::from(phase::INSTALLING);
            apply::object::as_map(&mut working).remove("message");
            Next::Rest(conclusion::written(plan, working))
        }
        phase::REQUIRES_APPROVAL => match approval::approved_alone(plan, contents) {
            approved if approved.is_empty() => Next::Rest(conclusion::written(plan, working())),
            approved => execution::advance(&run(Some(&approved)), working),
        },
        phase::INSTALLING => execution::advance(&run(None), || {
            let mut working = working();
            if text(&working, "/startTime").is_empty() {
                working["startTime"] = Value::from(moment::text(now));
            }
            working
        }),
        _ => rest(),
    }
}

/// Returns what is written when permissions in a namespace changed: plans that failed under a service account of their
/// own are tried again.
pub fn permissions_changed(world: &World, namespace: &str) -> Decision {
    let plans = world.in_namespace(Kind::InstallPlan, namespace);
    let failed = plans.filter(|plan| {
        text(plan, "/status/phase") == phase::FAILED
            && plan
                .pointer("/status/attenuatedServiceAccountRef")
                .is_some_and(Value::is_object)
    });
    let retried = failed.map(|plan| {
        let mut again = plan.as_ref().clone();
        again["status"]["phase"] = Value::from(phase::INSTALLING);
        Write::UpdateStatus(again)
    });
    Decision {
        writes: retried.collect(),
        ..Decision::default()
    }
}

/// Returns whether a status says what the plan does.
pub(crate) fn has_content(status: &Value) -> bool {
    let is_filled = |field: &str| {
        status
            .get(field)
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
    };
    is_filled("plan") || is_filled("bundleLookups")
}

pub(crate) fn phase_of(status: &Value) -> &str {
    conditions::field(status, "phase")
}
