//! When a Job has failed and when it has succeeded.

use schema::structural::name_rules::label_key;

use super::super::reading::Reading;
use super::super::report::{Errors, Path};
use super::super::seen::Seen;
use super::{indexes, shown_list, valid};
use crate::tree::{Fields, Tree};

/// The most rules of a policy, exit codes of a rule, and conditions of a rule.
const MOST_RULES: usize = 20;
const MOST_CODES: usize = 255;
const MOST_CONDITIONS: usize = 20;
/// The longest list of indexes.
const MOST_INDEX_BYTES: usize = 64 << 10;

const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];

/// Checks what happens when pods fail.
pub(super) fn failure(errors: &mut Errors, path: &Path<'_>, spec: &Fields) {
    let policy = spec.at("podFailurePolicy");
    let rules = path.child("rules");
    let count = policy.list("rules").len();
    if count > MOST_RULES {
        errors.too_many(&rules, count, MOST_RULES);
    }
    let pod = spec.at("template").at("spec");
    let names: Vec<&str> = pod
        .items("containers")
        .chain(pod.items("initContainers"))
        .map(|container| container.text("name"))
        .collect();
    for (index, rule) in policy.numbered("rules") {
        let path = rules.index(index);
        let action_path = path.child("action");
        match rule.text("action") {
            "" => errors.required(&action_path, valid(&ACTIONS)),
            "FailIndex" => {
                if !spec.has("backoffLimitPerIndex") {
                    errors.invalid(
                        &action_path,
                        "FailIndex",
                        "requires the backoffLimitPerIndex to be set",
                    );
                }
            }
            other => errors.one_of_if_set(&action_path, Some(other), &ACTIONS),
        }
        let has_codes = rule.has("onExitCodes");
        if has_codes {
            exit_codes(errors, &path.child("onExitCodes"), rule.at("onExitCodes"), &names);
        }
        let has_conditions = !rule.is_zero("onPodConditions");
        if has_conditions {
            conditions(errors, &path.child("onPodConditions"), rule);
        }
        if has_codes && has_conditions {
            errors.invalid_unshown(
                &path,
                "specifying both OnExitCodes and OnPodConditions is not supported",
            );
        }
        if !has_codes && !has_conditions {
            errors.invalid_unshown(
                &path,
                "specifying one of OnExitCodes and OnPodConditions is required",
            );
        }
    }
}

fn conditions(errors: &mut Errors, path: &Path<'_>, rule: &Fields) {
    const STATES: [&str; 3] = ["False", "True", "Unknown"];
    let count = rule.list("onPodConditions").len();
    if count > MOST_CONDITIONS {
        errors.too_many(path, count, MOST_CONDITIONS);
    }
    for (index, pattern) in rule.numbered("onPodConditions") {
        let path = path.index(index);
        let kind = pattern.text("type");
        errors.faults(&path.child("type"), kind, label_key(kind));
        match pattern.text("status") {
            "" => errors.required(&path.child("status"), valid(&STATES)),
            status => errors.one_of_if_set(&path.child("status"), Some(status), &STATES),
        }
    }
}

fn exit_codes(errors: &mut Errors, path: &Path<'_>, codes: &Fields, names: &[&str]) {
    const OPERATORS: [&str; 2] = ["In", "NotIn"];
    let operator = codes.text("operator");
    match operator {
        "" => errors.required(&path.child("operator"), valid(&OPERATORS)),
        other => errors.one_of_if_set(&path.child("operator"), Some(other), &OPERATORS),
    }
    if let Some(name) = codes.set_text("containerName")
        && !names.contains(&name)
    {
        errors.invalid(
            &path.child("containerName"),
            name,
            "must be one of the container or initContainer names in the pod template",
        );
    }
    let values = path.child("values");
    let count = codes.list("values").len();
    if count == 0 {
        errors.invalid(
            &values,
            shown_list(codes, "values"),
            "at least one value is required",
        );
    } else if count > MOST_CODES {
        errors.too_many(&values, count, MOST_CODES);
    }
    let mut seen: Seen<i64> = Seen::default();
    let mut last = i64::MIN;
    let mut is_ordered = true;
    for (index, code) in codes.list("values").iter().enumerate() {
        let code = code.as_i64().unwrap_or_default();
        let path = values.index(index);
        if operator == "In" && code == 0 {
            errors.invalid(&path, code, "must not be 0 for the In operator");
        }
        is_ordered &= last <= code;
        last = code;
        if seen.contains(&code) {
            errors.duplicate(&path, code);
        }
        seen.push(code);
    }
    if !is_ordered {
        errors.invalid(&values, shown_list(codes, "values"), "must be ordered");
    }
}

/// Checks when a Job has succeeded before all of its pods have.
pub(super) fn success(errors: &mut Errors, path: &Path<'_>, spec: &Fields) {
    let policy = spec.at("successPolicy");
    let rules = path.child("rules");
    let count = policy.list("rules").len();
    if count == 0 {
        errors.required(
            &rules,
            "at least one rules must be specified when the successPolicy is specified",
        );
    }
    if count > MOST_RULES {
        errors.too_many(&rules, count, MOST_RULES);
    }
    let completions = spec.number("completions");
    for (index, rule) in policy.numbered("rules") {
        let path = rules.index(index);
        let (wanted, text) = (
            rule.set_number("succeededCount"),
            rule.set_text("succeededIndexes"),
        );
        if wanted.is_none() && text.is_none() {
            errors.required(
                &path,
                "at least one of succeededCount or succeededIndexes must be specified",
            );
        }
        let mut total = 0;
        if let Some(text) = text {
            let path = path.child("succeededIndexes");
            if text.len() > MOST_INDEX_BYTES {
                errors.too_long(&path, MOST_INDEX_BYTES);
            }
            match indexes::count(text, completions) {
                Ok(count) => total = count,
                Err(fault) => {
                    errors.invalid(&path, text, format!("error parsing succeededIndexes: {fault}"));
                }
            }
        }
        if let Some(wanted) = wanted {
            let path = path.child("succeededCount");
            errors.not_negative(&path, wanted);
            if wanted > completions {
                errors.invalid(
                    &path,
                    wanted,
                    format!(
                        "must be less than or equal to {completions} (the number of specified completions)"
                    ),
                );
            }
            if text.is_some() && wanted > total {
                errors.invalid(
                    &path,
                    wanted,
                    format!(
                        "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes \
                         field)"
                    ),
                );
            }
        }
    }
}
