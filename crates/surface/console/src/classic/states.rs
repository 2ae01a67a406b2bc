//! How things of OLM v0 are, each in a word or two.

use apply::object::{is_terminating, text};
use install_plan::approval::waits;
use install_plan::plan::phase;
use install_plan::standing::Standing;
use install_plan::steps::StepStatus;
use serde_json::Value;
use service_version::requirements::is_met;

use crate::marks::{Pill, Tone};

/// What stands where nobody has said anything yet.
const UNSEEN: &str = "Not looked at yet";

pub(super) fn of_standing(standing: &Standing) -> Pill {
    match standing {
        Standing::Done(_) => Pill::new(Tone::Good, "Installed"),
        Standing::NeedsApproval { .. } => Pill::new(Tone::Warning, "Waits for approval"),
        Standing::Underway(_) => Pill::new(Tone::Busy, "Under way"),
        Standing::Stopped(_) => Pill::new(Tone::Bad, "Stopped"),
    }
}

pub(super) fn of_plan(plan: &Value) -> Pill {
    match text(plan, "/status/phase") {
        _ if waits(plan) => Pill::new(Tone::Warning, "Waits for approval"),
        phase::REQUIRES_APPROVAL => Pill::new(Tone::Busy, "Approved"),
        phase::NONE => Pill::new(Tone::Idle, UNSEEN),
        phase::COMPLETE => Pill::new(Tone::Good, phase::COMPLETE),
        phase::FAILED => Pill::new(Tone::Bad, phase::FAILED),
        other => Pill::new(Tone::Busy, other),
    }
}

pub(super) fn of_step(step: &Value) -> Pill {
    match StepStatus::named(text(step, "/status")) {
        Some(status) if status.is_done() => Pill::new(Tone::Good, status.as_str()),
        Some(StepStatus::WaitingForApi) => Pill::new(Tone::Busy, StepStatus::WaitingForApi.as_str()),
        Some(StepStatus::UnsupportedResource) => {
            Pill::new(Tone::Bad, StepStatus::UnsupportedResource.as_str())
        }
        Some(status) => Pill::new(Tone::Idle, status.as_str()),
        None => Pill::new(Tone::Idle, "Unknown"),
    }
}

pub(super) fn of_version(version: &Value) -> Pill {
    if is_terminating(version) {
        return Pill::new(Tone::Busy, "Leaving");
    }
    of_phase(text(version, "/status/phase"))
}

pub(super) fn of_phase(phase: &str) -> Pill {
    let tone = match phase {
        "" => return Pill::new(Tone::Idle, UNSEEN),
        "Succeeded" => Tone::Good,
        "Failed" => Tone::Bad,
        "Pending" | "Unknown" => Tone::Warning,
        _ => Tone::Busy,
    };
    Pill::new(tone, phase)
}

pub(super) fn of_source(source: &Value) -> Pill {
    if is_terminating(source) {
        return Pill::new(Tone::Busy, "Leaving");
    }
    let state = text(source, "/status/connectionState/lastObservedState");
    let tone = match state {
        // What the catalog itself says is wrong comes before how the connection is.
        _ if !text(source, "/status/reason").is_empty() => {
            return Pill::new(Tone::Bad, text(source, "/status/reason"));
        }
        "" => return Pill::new(Tone::Idle, "Not connected yet"),
        "READY" => Tone::Good,
        "IDLE" | "CONNECTING" => Tone::Busy,
        _ => Tone::Bad,
    };
    Pill::new(tone, state)
}

pub(super) fn of_requirement(entry: &Value) -> Pill {
    let tone = if is_met(entry) { Tone::Good } else { Tone::Bad };
    match text(entry, "/status") {
        "" => Pill::new(Tone::Idle, UNSEEN),
        status => Pill::new(tone, status),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_is_told_by_its_phase_and_whether_somebody_agreed() {
        for (phase, approved, tone, word) in [
            ("", false, Tone::Idle, "Not looked at yet"),
            ("RequiresApproval", false, Tone::Warning, "Waits for approval"),
            ("RequiresApproval", true, Tone::Busy, "Approved"),
            ("Installing", true, Tone::Busy, "Installing"),
            ("Complete", true, Tone::Good, "Complete"),
            ("Failed", true, Tone::Bad, "Failed"),
        ] {
            let plan = json!({"spec": {"approved": approved}, "status": {"phase": phase}});
            assert_eq!(of_plan(&plan), Pill::new(tone, word));
        }
    }

    #[test]
    fn a_catalog_is_told_by_its_connection_unless_something_is_wrong_with_it() {
        let source = |reason: &str, state: &str| json!({"status": {"reason": reason, "connectionState": {"lastObservedState": state}}});
        for (reason, state, tone, word) in [
            ("", "", Tone::Idle, "Not connected yet"),
            ("", "READY", Tone::Good, "READY"),
            ("", "CONNECTING", Tone::Busy, "CONNECTING"),
            ("", "TRANSIENT_FAILURE", Tone::Bad, "TRANSIENT_FAILURE"),
            ("SpecInvalidError", "READY", Tone::Bad, "SpecInvalidError"),
        ] {
            assert_eq!(of_source(&source(reason, state)), Pill::new(tone, word));
        }
    }

    #[test]
    fn what_is_needed_is_good_news_only_where_it_is_there() {
        for (status, tone) in [
            ("Present", Tone::Good),
            ("Satisfied", Tone::Good),
            ("DeploymentFound", Tone::Good),
            ("NotPresent", Tone::Bad),
            ("PresentNotSatisfied", Tone::Bad),
            ("", Tone::Idle),
        ] {
            assert_eq!(of_requirement(&json!({"status": status})).tone, tone, "{status}");
        }
        assert_eq!(of_step(&json!({"status": "odd"})).tone, Tone::Idle);
        assert_eq!(of_phase("Replacing").tone, Tone::Busy);
    }
}
