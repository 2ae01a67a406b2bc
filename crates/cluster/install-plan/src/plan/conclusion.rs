//! What a run through a plan writes at its end.

use std::time::Duration;

use apply::object::{ObjectId, as_map, text};
use classic::{Decision, Kind, Notice, Write};
use jiff::Timestamp;
use serde_json::Value;

use super::execution::{Run, StepFailure};
use super::scope::GroupProblem;
use super::{INSTALLED, phase};
use crate::conditions::{self, condition, field};
use crate::moment;

/// The reason of [`INSTALLED`] when it isn't known whom the plan acts as.
pub(super) const CHECK_FAILED: &str = "InstallCheckFailed";

/// The reason of [`INSTALLED`] when a step failed.
const COMPONENT_FAILED: &str = "InstallComponentFailed";

/// How soon a plan that isn't finished is looked at again.
const RETRY: Duration = Duration::from_secs(5);

/// For how long what comes by itself is waited for without a word. Where there are several API servers, a definition may be served by
/// the last of them five seconds after the first.
const SOON: Duration = Duration::from_secs(10);

/// How soon it is looked for again at first.
const SOON_PAUSE: Duration = Duration::from_millis(100);

/// Returns the plan's new status, if it is one.
pub(super) fn written(plan: &Value, status: Value) -> Decision {
    let is_new = plan.get("status") != Some(&status);
    let mut changed = plan.clone();
    changed["status"] = status;
    Decision {
        writes: is_new
            .then_some(Write::UpdateStatus(changed))
            .into_iter()
            .collect(),
        ..Decision::default()
    }
}

/// Sets a condition; what it says since when stays while its status does.
fn set(status: &mut Value, mut wanted: Value, now: Timestamp) {
    let now = Value::from(moment::text(now));
    if let Some(existing) = conditions::get(status, field(&wanted, "type")) {
        if conditions::say_the_same(existing, &wanted) {
            return;
        }
        wanted["lastTransitionTime"] = now.clone();
        if field(existing, "status") == field(&wanted, "status")
            && let Some(since) = existing.get("lastTransitionTime")
        {
            wanted["lastTransitionTime"] = since.clone();
        }
    } else {
        wanted["lastTransitionTime"] = now.clone();
    }
    wanted["lastUpdateTime"] = now;
    conditions::set(status, wanted);
}

/// It isn't known whom the plan acts as.
pub(super) fn unscoped(plan: &Value, mut status: Value, problem: &GroupProblem, now: Timestamp) -> Decision {
    let wanted = condition(INSTALLED, "False", CHECK_FAILED, &problem.to_string());
    set(&mut status, wanted, now);
    Decision {
        look_again_after: Some(RETRY),
        ..written(plan, status)
    }
}

/// Every step was taken, or something waits for the server.
pub(super) fn finished(run: &Run<'_>, mut status: Value, waits: bool) -> Decision {
    let notices = warnings(run, &status);
    if waits {
        return Decision {
            look_again_after: Some(RETRY),
            notices,
            ..written(run.plan, status)
        };
    }
    // A plan of which only some operators were approved stays open for the others.
    let is_whole = run.only.is_none_or(|only| {
        let steps = status.get("plan").and_then(Value::as_array);
        let mut steps = steps.into_iter().flatten();
        steps.all(|step| only.contains(text(step, "/resolving")))
    });
    if is_whole {
        set(&mut status, condition(INSTALLED, "True", "", ""), run.now);
        status["phase"] = Value::from(phase::COMPLETE);
    }
    as_map(&mut status).remove("message");
    Decision {
        notices,
        ..written(run.plan, status)
    }
}

/// Something isn't there yet that comes by itself: it is looked for again, ever later, and missing it is a failure after a while.
pub(super) fn soon(run: &Run<'_>, status: Value, failure: &StepFailure) -> Decision {
    let lasted = moment::read(text(&status, "/startTime")).map(|started| since(started, run.now));
    match lasted.filter(|lasted| *lasted < SOON) {
        Some(lasted) => Decision {
            look_again_after: Some(SOON_PAUSE.max(lasted / 2)),
            ..written(run.plan, status)
        },
        None => failed(run, status, failure),
    }
}

fn since(started: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(started)).unwrap_or_default()
}

/// A step failed. It is tried again for a while, and for ever where only a permission is missing.
pub(super) fn failed(run: &Run<'_>, mut status: Value, failure: &StepFailure) -> Decision {
    let mut notices = warnings(run, &status);
    notices.extend(failure.notices.iter().cloned());
    let started = moment::read(text(&status, "/startTime")).unwrap_or(run.now);
    let lasted = since(started, run.now);
    let is_over = run.only.is_none() && !failure.is_forbidden && lasted >= run.settings.plan_patience;
    if is_over {
        let wanted = condition(INSTALLED, "False", COMPONENT_FAILED, &failure.message);
        set(&mut status, wanted, run.now);
        status["phase"] = Value::from(phase::FAILED);
        status["message"] = Value::from(failure.message.as_str());
    } else {
        status["message"] = Value::from(format!("retrying execution due to error: {}", failure.message));
    }
    Decision {
        notices,
        look_again_after: (!is_over).then_some(RETRY),
        ..written(run.plan, status)
    }
}

/// The events about what the server warned of.
fn warnings(run: &Run<'_>, status: &Value) -> Vec<Notice> {
    let step = |index: &usize| status.get("plan").and_then(|plan| plan.get(index));
    let noted = run.progress.warnings.iter();
    let told = noted.filter_map(|(index, warnings)| {
        let step = step(index)?;
        let resolving = text(step, "/resolving");
        let during = if resolving.is_empty() {
            "operator installation".to_owned()
        } else {
            format!("installation of operator {resolving:?}")
        };
        Some(Notice {
            about: about(run.plan),
            is_warning: true,
            reason: "AppliedWithWarnings".to_owned(),
            message: format!(
                "{} warning(s) generated during {during} ({} {:?}): {}",
                warnings.len(),
                text(step, "/resource/kind"),
                text(step, "/resource/name"),
                warnings.join(", ")
            ),
        })
    });
    told.collect()
}

/// The plan, as events name it.
pub(super) fn about(plan: &Value) -> ObjectId {
    ObjectId {
        api_version: Kind::InstallPlan.naming().api_version.to_owned(),
        kind: Kind::InstallPlan.naming().kind.to_owned(),
        ..ObjectId::of(plan)
    }
}
