//! How far a Subscription is, and what it waits for.

use apply::object::{at, text};
use serde_json::Value;

use crate::approval::waits;
use crate::plan::{phase, versions};

/// How far a Subscription is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The version that it asks for runs.
    Done(String),
    /// A plan waits for somebody's word.
    NeedsApproval {
        /// The plan.
        plan: String,
        /// What it would install.
        versions: Vec<String>,
    },
    /// It goes on by itself, after this.
    Underway(String),
    /// It doesn't go on before somebody changes something.
    Stopped(String),
}

impl Standing {
    /// Returns the standing in a few words, for a column.
    pub fn in_short(&self) -> String {
        match self {
            Self::Done(_) => "installed".to_owned(),
            Self::NeedsApproval { plan, .. } => format!("waits for approval of {plan}"),
            Self::Underway(why) => in_pieces(why),
            Self::Stopped(why) => format!("stopped: {}", in_pieces(why)),
        }
    }
}

/// Returns the first line of a text, where there are several: explanations have one for each bundle.
pub fn in_pieces(text: &str) -> String {
    match text.split_once('\n') {
        None => text.to_owned(),
        Some((first, _)) => format!("{} …", first.trim_end_matches([':', ' '])),
    }
}

/// Reasons of failed versions that don't change by themselves.
const FINAL: [&str; 8] = [
    "InstallComponentFailedNoRetry",
    "InvalidInstallModes",
    "InvalidInstallStrategy",
    "InvalidWebhookDescription",
    "NoOperatorGroup",
    "OwnerConflict",
    "TooManyOperatorGroups",
    "UnsupportedOperatorGroup",
];

/// Returns the name of the version that a Subscription goes to, or has.
pub fn current_version(subscription: &Value) -> &str {
    match text(subscription, "/status/currentCSV") {
        "" => text(subscription, "/status/installedCSV"),
        current => current,
    }
}

/// Returns the condition of an object that is true.
fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = at(object, "/status/conditions").and_then(Value::as_array)?;
    conditions
        .iter()
        .find(|one| text(one, "/type") == kind && text(one, "/status") == "True")
}

/// Returns how far a Subscription is, given the plan and the version that it is about.
pub fn standing(subscription: &Value, plan: Option<&Value>, version: Option<&Value>) -> Standing {
    let wanted = current_version(subscription);
    let installed = text(subscription, "/status/installedCSV");
    if let Some(failed) = condition(subscription, "BundleUnpackFailed") {
        return Standing::Stopped(format!("its bundle can't be had: {}", text(failed, "/message")));
    }
    let works = version.is_some_and(|version| text(version, "/status/phase") == "Succeeded");
    if let Some(plan) = plan
        && let Some(standing) = plan_standing(plan)
    {
        // Of a plan that several share, this one's part may have been approved alone.
        let is_about_others =
            matches!(standing, Standing::NeedsApproval { .. }) && works && installed == wanted;
        if !is_about_others {
            return standing;
        }
    }
    if let Some(failed) = condition(subscription, "ResolutionFailed") {
        let message = text(failed, "/message");
        return match text(failed, "/reason") {
            "ConstraintsNotSatisfiable" => Standing::Stopped(format!("nothing fits: {message}")),
            _ => Standing::Underway(format!("it can't be resolved yet: {message}")),
        };
    }
    if let Some(unpacking) = condition(subscription, "BundleUnpacking") {
        return match text(unpacking, "/message") {
            "" => Standing::Underway("its bundle is fetched".to_owned()),
            message => Standing::Underway(format!("its bundle is fetched: {message}")),
        };
    }
    if wanted.is_empty() {
        return Standing::Underway("waiting for the controller to resolve it".to_owned());
    }
    let Some(version) = version else {
        return Standing::Underway(format!("ClusterServiceVersion {wanted} isn't there yet"));
    };
    match (text(version, "/status/phase"), text(version, "/status/reason")) {
        ("Succeeded", _) if installed == wanted => Standing::Done(wanted.to_owned()),
        ("Succeeded", _) => Standing::Underway(format!("{wanted} works, and is noted in a moment")),
        ("Failed", reason) if FINAL.contains(&reason) => Standing::Stopped(format!(
            "{wanted} failed, {reason}: {}",
            text(version, "/status/message")
        )),
        ("", _) => Standing::Underway(format!("{wanted} isn't looked at yet")),
        (phase, _) => Standing::Underway(format!(
            "{wanted} is {phase}: {}",
            text(version, "/status/message")
        )),
    }
}

/// Returns what a plan makes of a Subscription that points to it; none if it is carried out.
fn plan_standing(plan: &Value) -> Option<Standing> {
    let name = text(plan, "/metadata/name");
    match text(plan, "/status/phase") {
        _ if waits(plan) => Some(Standing::NeedsApproval {
            plan: name.to_owned(),
            versions: versions(plan).into_iter().map(str::to_owned).collect(),
        }),
        phase::COMPLETE => None,
        phase::FAILED => Some(Standing::Stopped(format!(
            "InstallPlan {name} failed: {}",
            plan_message(plan)
        ))),
        phase => {
            let message = plan_message(plan);
            let phase = if phase.is_empty() {
                "not looked at yet"
            } else {
                phase
            };
            let colon = if message.is_empty() { "" } else { ": " };
            Some(Standing::Underway(format!(
                "InstallPlan {name} is {phase}{colon}{message}"
            )))
        }
    }
}

/// Returns what a plan says of itself.
pub fn plan_message(plan: &Value) -> String {
    let conditions = at(plan, "/status/conditions").and_then(Value::as_array);
    let said = conditions
        .into_iter()
        .flatten()
        .map(|condition| text(condition, "/message"))
        .find(|message| !message.is_empty());
    said.unwrap_or_else(|| text(plan, "/status/message")).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_subscription_tells_what_it_waits_for() {
        let subscription = |installed: &str, current: &str, conditions: Value| {
            json!({
                "metadata": {"name": "web", "namespace": "ns"},
                "status": {"installedCSV": installed, "currentCSV": current, "conditions": conditions},
            })
        };
        let failed = |reason: &str| json!([{"type": "ResolutionFailed", "status": "True", "reason": reason, "message": "because"}]);
        let plan = |phase: &str, approved: bool| {
            json!({
                "metadata": {"name": "install-1"},
                "spec": {"clusterServiceVersionNames": ["web.v2"], "approved": approved},
                "status": {"phase": phase, "conditions": [{"type": "Installed", "message": "told"}]},
            })
        };
        let version = |phase: &str, reason: &str| {
            json!({
                "metadata": {"name": "web.v2"},
                "status": {"phase": phase, "reason": reason, "message": "said"},
            })
        };
        let underway = |text: &str| Standing::Underway(text.to_owned());
        let stopped = |text: &str| Standing::Stopped(text.to_owned());
        for (subscription, plan, version, expected) in [
            (
                subscription("", "", json!([])),
                None,
                None,
                underway("waiting for the controller to resolve it"),
            ),
            (
                subscription("", "", failed("ConstraintsNotSatisfiable")),
                None,
                None,
                stopped("nothing fits: because"),
            ),
            (
                subscription("", "", failed("ErrorPreventedResolution")),
                None,
                None,
                underway("it can't be resolved yet: because"),
            ),
            (
                subscription("web.v1", "web.v2", json!([])),
                Some(plan("RequiresApproval", false)),
                None,
                Standing::NeedsApproval {
                    plan: "install-1".to_owned(),
                    versions: vec!["web.v2".to_owned()],
                },
            ),
            (
                subscription("web.v2", "web.v2", json!([])),
                Some(plan("RequiresApproval", false)),
                Some(version("Succeeded", "InstallSucceeded")),
                Standing::Done("web.v2".to_owned()),
            ),
            (
                subscription("web.v1", "web.v2", json!([])),
                Some(plan("RequiresApproval", true)),
                None,
                underway("InstallPlan install-1 is RequiresApproval: told"),
            ),
            (
                subscription("web.v1", "web.v2", json!([])),
                Some(plan("Failed", true)),
                None,
                stopped("InstallPlan install-1 failed: told"),
            ),
            (
                subscription("web.v1", "web.v2", json!([])),
                Some(plan("Complete", true)),
                None,
                underway("ClusterServiceVersion web.v2 isn't there yet"),
            ),
            (
                subscription("web.v2", "web.v2", json!([])),
                Some(plan("Complete", true)),
                Some(version("Installing", "InstallWaiting")),
                underway("web.v2 is Installing: said"),
            ),
            (
                subscription("web.v2", "web.v2", json!([])),
                Some(plan("Complete", true)),
                Some(version("Failed", "ComponentUnhealthy")),
                underway("web.v2 is Failed: said"),
            ),
            (
                subscription("web.v2", "web.v2", json!([])),
                Some(plan("Complete", true)),
                Some(version("Failed", "UnsupportedOperatorGroup")),
                stopped("web.v2 failed, UnsupportedOperatorGroup: said"),
            ),
            (
                subscription("web.v2", "web.v2", json!([])),
                Some(plan("Complete", true)),
                Some(version("Succeeded", "InstallSucceeded")),
                Standing::Done("web.v2".to_owned()),
            ),
        ] {
            let found = standing(&subscription, plan.as_ref(), version.as_ref());
            assert_eq!(found, expected, "{subscription} {plan:?} {version:?}");
        }
    }

    #[test]
    fn a_text_of_several_lines_is_cut_in_a_column() {
        assert_eq!(in_pieces("one"), "one");
        assert_eq!(in_pieces("one:\n- two"), "one …");
    }
}
