//! What keeps pods running: Deployments, `ReplicaSets`, `StatefulSets`, `DaemonSets`, and what is left of older kinds.

mod stateful;

use serde_json::Value;

use super::pods::{self, Options};
use super::reading::Reading;
use super::report::{Errors, Path, Raw, Shown};
use super::selectors::{self, Match};
use super::syntax::{PERCENTAGE_RULE, percentage};
use super::{internal, metadata};
use crate::tree::{Fields, Tree, same};

pub(super) use stateful::{
    check as check_stateful, check_status as check_stateful_status, check_update as update_stateful,
};

const SPEC: Path<'_> = Path::new("spec");
const STATUS: Path<'_> = Path::new("status");

const MISMATCH: &str = "`selector` does not match template `labels`";

/// Returns labels as errors show them: no labels are `null`.
pub(super) fn shown_labels(template: &Fields) -> Raw {
    let labels = template.at("metadata").get("labels");
    Raw(labels
        .filter(|labels| labels.as_object().is_some_and(|labels| !labels.is_empty()))
        .shown())
}

/// Checks a number or a percentage.
pub(super) fn number_or_percentage(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    match value {
        Value::String(text) => {
            if percentage(text).is_none() {
                errors.invalid(path, value, PERCENTAGE_RULE);
            }
        }
        number => errors.not_negative(path, number.as_i64().unwrap_or_default()),
    }
}

/// Returns the number of a number or a percentage.
pub(super) fn amount(value: Option<&Value>) -> i64 {
    match value {
        Some(Value::String(text)) => percentage(text).unwrap_or_else(|| text.parse().unwrap_or_default()),
        Some(number) => number.as_i64().unwrap_or_default(),
        None => 0,
    }
}

/// Checks that a percentage isn't more than everything.
pub(super) fn not_above_all(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    if let Value::String(text) = value
        && percentage(text).is_some_and(|number| number > 100)
    {
        errors.invalid(path, value, "must not be greater than 100%");
    }
}

/// Checks that a selector is there and says something.
fn selector(errors: &mut Errors, spec: &Fields, kind: &str) {
    let path = SPEC.child("selector");
    let Some(selector) = spec.part("selector") else {
        errors.required(&path, "");
        return;
    };
    selectors::check(errors, &path, Some(selector), false);
    if selector.is_zero("matchLabels") && selector.is_zero("matchExpressions") {
        errors.invalid(
            &path,
            spec.get("selector"),
            format!("empty selector is invalid for {kind}"),
        );
    }
}

/// Checks a template of pods that run forever and are chosen by a selector.
fn lasting_template(errors: &mut Errors, spec: &Fields, options: &Options, kind: &str) {
    let path = SPEC.child("template");
    let template = spec.at("template");
    match selectors::matches(spec.part("selector"), template.at("metadata").at("labels")) {
        Match::Unreadable => {
            errors.invalid(
                &SPEC.child("selector"),
                spec.get("selector"),
                "invalid label selector",
            );
            return;
        }
        Match::Fits(false) => {
            errors.invalid(&path.child("metadata.labels"), shown_labels(template), MISMATCH);
        }
        _ => {}
    }
    pods::template(errors, &path, template, options);
    lasting_pod(errors, &path.child("spec"), template.at("spec"), kind);
}

fn lasting_pod(errors: &mut Errors, path: &Path<'_>, pod: &Fields, kind: &str) {
    let policy = pod.text("restartPolicy");
    if policy != "Always" {
        errors.not_supported(&path.child("restartPolicy"), policy, &["Always"]);
    }
    if pod.has("activeDeadlineSeconds") {
        errors.forbidden(
            &path.child("activeDeadlineSeconds"),
            format!("activeDeadlineSeconds in {kind} is not Supported"),
        );
    }
}

fn numbers(errors: &mut Errors, path: &Path<'_>, fields: &Fields, names: &[&str]) {
    for name in names {
        errors.not_negative(&path.child(name), fields.number(name));
    }
}

/// Checks that a field is what it was.
pub(super) fn unchanged(errors: &mut Errors, path: &Path<'_>, new: &Fields, old: &Fields, name: &str) {
    if !new.is_same(old, name) {
        errors.invalid(&path.child(name), new.set_value(name), "field is immutable");
    }
}

fn template_options(old: Option<&Fields>) -> Options {
    old.map_or_else(Options::of_template, |old| {
        Options::of_changed_template(old.at("spec").at("template"))
    })
}

/// Checks a Deployment; `old` is the one that it replaces.
pub(super) fn deployment(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    match old {
        None => metadata::check(errors, "apps", "Deployment", object),
        Some(old) => metadata::check_update(errors, "apps", object, old),
    }
    let spec = object.at("spec");
    numbers(errors, &SPEC, spec, &["replicas"]);
    selector(errors, spec, "deployment");
    lasting_template(errors, spec, &template_options(old), "ReplicaSet");
    deployment_strategy(errors, spec);
    numbers(errors, &SPEC, spec, &["minReadySeconds", "revisionHistoryLimit"]);
    if let Some(seconds) = spec.set_number("progressDeadlineSeconds") {
        let path = SPEC.child("progressDeadlineSeconds");
        errors.not_negative(&path, seconds);
        if seconds <= spec.number("minReadySeconds") {
            errors.invalid(&path, seconds, "must be greater than minReadySeconds");
        }
    }
    if let Some(old) = old {
        unchanged(errors, &SPEC, spec, old.at("spec"), "selector");
    }
}

fn deployment_strategy(errors: &mut Errors, spec: &Fields) {
    let path = SPEC.child("strategy");
    let strategy = spec.at("strategy");
    let rolling_path = path.child("rollingUpdate");
    match strategy.text("type") {
        "Recreate" => {
            if strategy.has("rollingUpdate") {
                errors.forbidden(
                    &rolling_path,
                    "may not be specified when strategy `type` is 'Recreate'",
                );
            }
        }
        "RollingUpdate" => {
            if !strategy.has("rollingUpdate") {
                errors.required(&rolling_path, "this should be defaulted and never be nil");
                return;
            }
            let rolling = strategy.at("rollingUpdate");
            for name in ["maxUnavailable", "maxSurge"] {
                if let Some(value) = rolling.set_value(name) {
                    number_or_percentage(errors, &rolling_path.child(name), value);
                }
            }
            let unavailable = rolling.set_value("maxUnavailable");
            let path = rolling_path.child("maxUnavailable");
            if amount(unavailable) == 0 && amount(rolling.set_value("maxSurge")) == 0 {
                errors.invalid(
                    &path,
                    Raw(unavailable.map_or_else(|| "0".to_owned(), |value| value.shown())),
                    "may not be 0 when `maxSurge` is 0",
                );
            }
            if let Some(value) = unavailable {
                not_above_all(errors, &path, value);
            }
        }
        _ => errors.not_supported(
            &path,
            internal::shown("apps.DeploymentStrategy", spec.get("strategy")),
            &["Recreate", "RollingUpdate"],
        ),
    }
}

/// Checks numbers of a status that count replicas: none may be more than there are.
fn counts(errors: &mut Errors, status: &Fields, counts: &[&str]) {
    let all = status.number("replicas");
    for name in counts {
        let count = status.number(name);
        if count > all {
            errors.invalid(
                &STATUS.child(name),
                count,
                "cannot be greater than status.replicas",
            );
        }
    }
}

fn available(errors: &mut Errors, status: &Fields, what: &str) {
    let count = status.number("availableReplicas");
    if count > status.number("readyReplicas") {
        errors.invalid(
            &STATUS.child("availableReplicas"),
            count,
            format!("cannot be greater than {what}"),
        );
    }
}

fn collisions(errors: &mut Errors, status: &Fields, old: &Fields) {
    let before = old.set_number("collisionCount");
    let now = status.set_number("collisionCount");
    if before.is_some_and(|before| now.is_none_or(|now| now < before)) {
        errors.invalid(
            &STATUS.child("collisionCount"),
            now.unwrap_or_default(),
            "cannot be decremented",
        );
    }
}

/// Checks a status of a Deployment.
pub(super) fn deployment_status(errors: &mut Errors, new: &Fields, old: &Fields) {
    metadata::check_update(errors, "apps", new, old);
    let status = new.at("status");
    numbers(
        errors,
        &STATUS,
        status,
        &[
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
        ],
    );
    counts(
        errors,
        status,
        &["updatedReplicas", "readyReplicas", "availableReplicas"],
    );
    available(errors, status, "readyReplicas");
    collisions(errors, status, old.at("status"));
}

/// Checks a `ReplicaSet`; `old` is the one that it replaces.
pub(super) fn replica_set(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    match old {
        None => metadata::check(errors, "apps", "ReplicaSet", object),
        Some(old) => metadata::check_update(errors, "apps", object, old),
    }
    let spec = object.at("spec");
    numbers(errors, &SPEC, spec, &["replicas", "minReadySeconds"]);
    // Upstream calls it a deployment here too.
    selector(errors, spec, "deployment");
    lasting_template(errors, spec, &template_options(old), "ReplicaSet");
    if let Some(old) = old {
        unchanged(errors, &SPEC, spec, old.at("spec"), "selector");
    }
}

/// Checks a status of a `ReplicaSet` or a `ReplicationController`.
pub(super) fn replicas_status(errors: &mut Errors, group: &str, new: &Fields, old: &Fields) {
    metadata::check_update(errors, group, new, old);
    let status = new.at("status");
    numbers(
        errors,
        &STATUS,
        status,
        &[
            "replicas",
            "fullyLabeledReplicas",
            "readyReplicas",
            "availableReplicas",
            "observedGeneration",
            "terminatingReplicas",
        ],
    );
    counts(
        errors,
        status,
        &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
    );
    available(errors, status, "readyReplicas");
}

/// Checks a `ReplicationController`; `old` is the one that it replaces.
pub(super) fn replication_controller(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    match old {
        None => metadata::check(errors, "", "ReplicationController", object),
        Some(old) => metadata::check_update(errors, "", object, old),
    }
    let spec = object.at("spec");
    numbers(errors, &SPEC, spec, &["minReadySeconds"]);
    if spec.is_zero("selector") {
        errors.required(&SPEC.child("selector"), "");
    }
    match spec.set_number("replicas") {
        None => errors.required(&SPEC.child("replicas"), ""),
        Some(replicas) => errors.not_negative(&SPEC.child("replicas"), replicas),
    }
    let path = SPEC.child("template");
    let template = spec.at("template");
    if spec.has("template") {
        let labels = template.at("metadata").at("labels");
        let fits = spec
            .at("selector")
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value));
        if !fits {
            errors.invalid(&path.child("metadata.labels"), shown_labels(template), MISMATCH);
        }
        pods::template(errors, &path, template, &template_options(old));
        lasting_pod(
            errors,
            &path.child("spec"),
            template.at("spec"),
            "ReplicationController",
        );
    } else {
        errors.required(&path, "");
    }
}

/// Checks a `DaemonSet`; `old` is the one that it replaces.
pub(super) fn daemon_set(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    let spec = object.at("spec");
    match old {
        None => metadata::check(errors, "apps", "DaemonSet", object),
        Some(old) => {
            metadata::check_update(errors, "apps", object, old);
            unchanged(errors, &SPEC, spec, old.at("spec"), "selector");
        }
    }
    let template = spec.at("template");
    selectors::check(errors, &SPEC.child("selector"), spec.part("selector"), false);
    if let Match::Fits(false) =
        selectors::matches(spec.part("selector"), template.at("metadata").at("labels"))
    {
        errors.invalid(
            &SPEC.child("template.metadata.labels"),
            shown_labels(template),
            MISMATCH,
        );
    }
    if let Some(selector) = spec.part("selector")
        && selector.is_zero("matchLabels")
        && selector.is_zero("matchExpressions")
    {
        errors.invalid(
            &SPEC.child("selector"),
            spec.get("selector"),
            "empty selector is invalid for daemonset",
        );
    }
    let path = SPEC.child("template");
    pods::template(errors, &path, template, &template_options(old));
    lasting_pod(errors, &path.child("spec"), template.at("spec"), "DaemonSet");
    numbers(errors, &SPEC, spec, &["minReadySeconds"]);
    daemon_strategy(errors, spec);
    numbers(errors, &SPEC, spec, &["revisionHistoryLimit"]);
}

fn daemon_strategy(errors: &mut Errors, spec: &Fields) {
    let path = SPEC.child("updateStrategy");
    let strategy = spec.at("updateStrategy");
    match strategy.text("type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            let path = path.child("rollingUpdate");
            if !strategy.has("rollingUpdate") {
                errors.required(&path, "");
                return;
            }
            let rolling = strategy.at("rollingUpdate");
            for check in [number_or_percentage, not_above_all] {
                for name in ["maxUnavailable", "maxSurge"] {
                    if let Some(value) = rolling.set_value(name) {
                        check(errors, &path.child(name), value);
                    }
                }
            }
            let surge = rolling.set_value("maxSurge");
            match (
                amount(rolling.set_value("maxUnavailable")) != 0,
                amount(surge) != 0,
            ) {
                (true, true) => errors.invalid(
                    &path.child("maxSurge"),
                    surge,
                    "may not be set when maxUnavailable is non-zero",
                ),
                (false, false) => {
                    errors.required(&path.child("maxUnavailable"), "cannot be 0 when maxSurge is 0");
                }
                _ => {}
            }
        }
        _ => errors.not_supported(
            &path,
            internal::shown("apps.DaemonSetUpdateStrategy", spec.get("updateStrategy")),
            &["RollingUpdate", "OnDelete"],
        ),
    }
}

/// Checks a status of a `DaemonSet`.
pub(super) fn daemon_set_status(errors: &mut Errors, new: &Fields, old: &Fields) {
    metadata::check_update(errors, "apps", new, old);
    let status = new.at("status");
    numbers(
        errors,
        &STATUS,
        status,
        &[
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ],
    );
    collisions(errors, status, old.at("status"));
}

/// Checks a `ControllerRevision`; `old` is the one that it replaces.
pub(super) fn controller_revision(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    if let Some(old) = old {
        metadata::check_update(errors, "apps", object, old);
    }
    metadata::check(errors, "apps", "ControllerRevision", object);
    errors.not_negative(&Path::new("revision"), object.number("revision"));
    let path = Path::new("data");
    match (old, object.set_value("data")) {
        (None, None) => errors.required(&path, "data is mandatory"),
        (None, Some(Value::Object(_))) => {}
        (None, Some(_)) => errors.required(&path, "data must be a valid JSON object"),
        (Some(old), data) => {
            if !same(data, old.get("data")) {
                errors.invalid(&path, data, "field is immutable");
            }
        }
    }
}

/// Checks a `PodTemplate`; `old` is the one that it replaces.
pub(super) fn pod_template(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    match old {
        None => metadata::check(errors, "", "PodTemplate", object),
        Some(old) => metadata::check_update(errors, "", object, old),
    }
    let options = old.map_or_else(Options::of_template, |old| {
        Options::of_changed_template(old.at("template"))
    });
    pods::template(errors, &Path::new("template"), object.at("template"), &options);
}
