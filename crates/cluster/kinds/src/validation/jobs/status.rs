//! The status of a Job.

use super::super::reading::Reading;
use super::super::report::{Errors, Path};
use super::super::seen::Seen;
use super::super::{internal, metadata};
use super::{indexes, is_indexed};
use crate::tree::{Fields, Tree, same};

const STATUS: Path<'_> = Path::new("status");

fn is(status: &Fields, condition: &str) -> bool {
    status
        .items("conditions")
        .any(|one| one.text("type") == condition && one.text("status") == "True")
}

fn is_finished(status: &Fields) -> bool {
    is(status, "Complete") || is(status, "Failed")
}

/// What changed, which decides what is checked.
struct Changes<'a> {
    now: &'a Fields,
    then: &'a Fields,
}

impl Changes<'_> {
    fn of(&self, name: &str) -> bool {
        !same(self.now.get(name), self.then.get(name))
    }

    fn condition(&self, name: &str) -> bool {
        is(self.now, name) != is(self.then, name)
    }

    fn finish(&self) -> bool {
        is_finished(self.now) != is_finished(self.then)
    }
}

/// Checks an update of a Job's status.
pub(in super::super) fn check(errors: &mut Errors, new: &Fields, old: &Fields) {
    metadata::check_update(errors, "batch", new, old);
    let (now, then, spec) = (new.at("status"), old.at("status"), new.at("spec"));
    let changes = Changes { now, then };
    for name in ["active", "succeeded", "failed", "ready", "terminating"] {
        errors.not_negative(&STATUS.child(name), now.number(name));
    }
    uncounted(errors, now);
    conditions(errors, &changes);
    finished(errors, spec, &changes);
    index_lists(errors, spec, &changes);
    if changes.finish() || changes.of("terminating") {
        let count = now.number("terminating");
        if count > 0 && is_finished(now) {
            errors.invalid(
                &STATUS.child("terminating"),
                count,
                "terminating>0 is invalid for finished job",
            );
        }
    }
    if (changes.of("ready") || changes.of("active")) && now.number("ready") > now.number("active") {
        errors.invalid(
            &STATUS.child("ready"),
            now.number("ready"),
            "cannot set more ready pods than active",
        );
    }
    let path = STATUS.child("conditions");
    let is_met = is(now, "SuccessCriteriaMet");
    for other in ["Failed", "FailureTarget"] {
        if is_met && is(now, other) {
            errors.invalid_unshown(
                &path,
                format!("cannot set SuccessCriteriaMet=True and {other}=true conditions"),
            );
        }
    }
    if spec.has("successPolicy") && !is_met && is(now, "Complete") {
        errors.invalid_unshown(
            &path,
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
        );
    }
    moves(errors, spec, &changes);
}

fn uncounted(errors: &mut Errors, now: &Fields) {
    let path = STATUS.child("uncountedTerminatedPods");
    let mut seen: Seen<&str> = Seen::default();
    for list in ["succeeded", "failed"] {
        let path = path.child(list);
        for (index, id) in now.at("uncountedTerminatedPods").texts(list).enumerate() {
            if id.is_empty() {
                errors.invalid(&path.index(index), id, "must not be empty");
            } else if seen.contains(&id) {
                errors.duplicate(&path.index(index), id);
            } else {
                seen.push(id);
            }
        }
    }
}

fn conditions(errors: &mut Errors, changes: &Changes<'_>) {
    let now = changes.now;
    let path = STATUS.child("conditions");
    let is_complete = is(now, "Complete");
    let completion = now.set_value("completionTime");
    let completion_path = STATUS.child("completionTime");
    for other in ["Failed", "FailureTarget"] {
        if (changes.condition("Complete") || changes.condition(other)) && is_complete && is(now, other) {
            errors.invalid_unshown(
                &path,
                format!("cannot set Complete=True and {other}=true conditions"),
            );
        }
    }
    if changes.condition("Complete") || changes.of("completionTime") {
        match completion {
            Some(time) if !is_complete => errors.invalid(
                &completion_path,
                time,
                "cannot set completionTime when there is no Complete=True condition",
            ),
            None if is_complete => {
                errors.required(&completion_path, "completionTime is required for Complete jobs");
            }
            _ => {}
        }
    }
    if (changes.of("startTime") || changes.of("completionTime"))
        && let (Some(start), Some(end)) = (now.set_text("startTime"), now.set_text("completionTime"))
        && let (Ok(started), Ok(ended)) = (start.parse::<jiff::Timestamp>(), end.parse::<jiff::Timestamp>())
        && ended < started
    {
        errors.invalid(&completion_path, end, "must be equal to or after `startTime`");
    }
    if (changes.condition("Failed") || changes.of("failedIndexes"))
        && is(now, "Failed")
        && !is(now, "FailureTarget")
    {
        errors.invalid_unshown(
            &path,
            "cannot set Failed=True condition without the FailureTarget=true condition",
        );
    }
    if (changes.condition("Complete") || changes.condition("SuccessCriteriaMet"))
        && is_complete
        && !is(now, "SuccessCriteriaMet")
    {
        errors.invalid_unshown(
            &path,
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        );
    }
}

fn finished(errors: &mut Errors, spec: &Fields, changes: &Changes<'_>) {
    let now = changes.now;
    if !is_finished(now) {
        return;
    }
    let active = now.number("active");
    if (changes.finish() || changes.of("active")) && active > 0 {
        errors.invalid(
            &STATUS.child("active"),
            active,
            "active>0 is invalid for finished job",
        );
    }
    let is_paused = spec.flag("suspend") && spec.set_number("completions") == Some(0);
    if (changes.finish() || changes.of("startTime")) && !is_paused && !now.has("startTime") {
        errors.required(
            &STATUS.child("startTime"),
            "startTime is required for finished job",
        );
    }
    let uncounted = now.at("uncountedTerminatedPods");
    if (changes.finish() || changes.of("uncountedTerminatedPods"))
        && !(uncounted.is_zero("failed") && uncounted.is_zero("succeeded"))
    {
        errors.invalid(
            &STATUS.child("uncountedTerminatedPods"),
            internal::shown(
                "batch.UncountedTerminatedPods",
                now.get("uncountedTerminatedPods"),
            ),
            "must be empty for finished job",
        );
    }
}

fn index_lists(errors: &mut Errors, spec: &Fields, changes: &Changes<'_>) {
    let now = changes.now;
    let completions = spec.set_number("completions");
    let completed = now.text("completedIndexes");
    let failed = now.set_text("failedIndexes");
    let (completed_path, failed_path) = (STATUS.child("completedIndexes"), STATUS.child("failedIndexes"));
    let (completed_changed, failed_changed) = (changes.of("completedIndexes"), changes.of("failedIndexes"));
    let has_limit = spec.has("backoffLimitPerIndex");
    if completed_changed
        && let Some(completions) = completions
        && let Err(fault) = indexes::count(completed, completions)
    {
        errors.invalid(
            &completed_path,
            completed,
            format!("error parsing completedIndexes: {fault}"),
        );
    }
    if failed_changed
        && has_limit
        && let (Some(completions), Some(failed)) = (completions, failed)
        && let Err(fault) = indexes::count(failed, completions)
    {
        errors.invalid(
            &failed_path,
            failed,
            format!("error parsing failedIndexes: {fault}"),
        );
    }
    if completed_changed && !completed.is_empty() && !is_indexed(spec) {
        errors.invalid(
            &completed_path,
            completed,
            "cannot set non-empty completedIndexes when non-indexed completion mode",
        );
    }
    if let Some(failed) = failed {
        if failed_changed && !has_limit {
            errors.invalid(
                &failed_path,
                failed,
                "cannot set non-null failedIndexes when backoffLimitPerIndex is null",
            );
        }
        if (failed_changed || completed_changed)
            && let Some(index) = completions.and_then(|all| indexes::overlap(completed, failed, all))
        {
            errors.invalid(
                &failed_path,
                failed,
                format!("failedIndexes and completedIndexes overlap at index: {index}"),
            );
        }
    }
}

/// Checks what may not go back.
fn moves(errors: &mut Errors, spec: &Fields, changes: &Changes<'_>) {
    let (now, then) = (changes.now, changes.then);
    let path = STATUS.child("conditions");
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if is(then, kind) && !is(now, kind) {
            errors.invalid_unshown(
                &path,
                format!("cannot disable the terminal {kind}=True condition"),
            );
        }
    }
    let may_lose_successes = is_indexed(spec) && spec.get("completions") == spec.get("parallelism");
    for (name, is_checked) in [("failed", true), ("succeeded", !may_lose_successes)] {
        let count = now.number(name);
        if is_checked && count < then.number(name) {
            errors.invalid(
                &STATUS.child(name),
                count,
                format!("cannot decrease the {name} counter"),
            );
        }
    }
    if let (Some(end), Some(before)) = (now.set_value("completionTime"), then.set_value("completionTime"))
        && end != before
    {
        errors.invalid(&STATUS.child("completionTime"), end, "field is immutable");
    }
    let resumes = is(then, "Suspended")
        && now
            .items("conditions")
            .any(|one| one.text("type") == "Suspended" && one.text("status") == "False");
    if changes.of("startTime") && !resumes && then.has("startTime") && !spec.flag("suspend") {
        errors.invalid(
            &STATUS.child("startTime"),
            now.set_value("startTime"),
            "field is immutable for unsuspended job once set",
        );
    }
    if is(then, "SuccessCriteriaMet") && !is(now, "SuccessCriteriaMet") {
        errors.invalid_unshown(&path, "cannot disable the SuccessCriteriaMet=True condition");
    }
    if is(then, "Complete") && !is(then, "SuccessCriteriaMet") && is(now, "SuccessCriteriaMet") {
        errors.invalid_unshown(
            &path,
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
        );
    }
}
