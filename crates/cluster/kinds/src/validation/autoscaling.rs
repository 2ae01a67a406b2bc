//! `HorizontalPodAutoscalers` and `PodDisruptionBudgets`.

use schema::structural::name_rules::dns_label;
use serde_json::Value;

use super::reading::Reading;
use super::report::{Errors, Path};
use super::seen::Seen;
use super::syntax::path_segment;
use super::workloads::{not_above_all, number_or_percentage};
use super::{internal, metadata, resources, selectors};
use crate::quantity::Quantity;
use crate::tree::{Fields, Tree};

const SPEC: Path<'_> = Path::new("spec");
const GROUP: &str = "autoscaling";

/// The longest times that rules may look at, in seconds.
const LONGEST_PERIOD: i64 = 1800;
const LONGEST_WINDOW: i64 = 3600;

/// How the API version of what is scaled is checked.
#[derive(Clone, Copy)]
struct Versions {
    may_be_wrong: bool,
    may_have_no_group: bool,
}

/// Checks a `HorizontalPodAutoscaler`; `old` is the one that it replaces.
pub(super) fn autoscaler(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    match old {
        None => metadata::check(errors, GROUP, "HorizontalPodAutoscaler", object),
        Some(old) => metadata::check_update(errors, GROUP, object, old),
    }
    let spec = object.at("spec");
    let before = old.map(|old| old.at("spec"));
    let least = i64::from(before.is_none_or(|before| before.set_number("minReplicas") != Some(0)));
    let minimum = spec.set_number("minReplicas");
    if let Some(count) = minimum.filter(|count| *count < least) {
        errors.invalid(
            &SPEC.child("minReplicas"),
            count,
            format!("must be greater than or equal to {least}"),
        );
    }
    let maximum = spec.number("maxReplicas");
    let path = SPEC.child("maxReplicas");
    if maximum == 0 {
        errors.required(&path, "must be set and greater than 0");
    } else if maximum < 0 {
        errors.invalid(&path, maximum, "must be greater than or equal to 1");
    }
    if minimum.is_some_and(|minimum| maximum < minimum) {
        errors.invalid(&path, maximum, "must be greater than or equal to `minReplicas`");
    }
    let target = spec.at("scaleTargetRef");
    let is_known = before.is_some_and(|before| {
        let before = before.at("scaleTargetRef");
        before.text("apiVersion") == target.text("apiVersion") && before.text("kind") == target.text("kind")
    });
    let versions = Versions {
        may_be_wrong: is_known,
        may_have_no_group: target.text("kind") == "ReplicationController",
    };
    reference(errors, &SPEC.child("scaleTargetRef"), target, versions);
    metrics(errors, spec, before);
    for name in ["scaleUp", "scaleDown"] {
        if let Some(rules) = spec.at("behavior").part(name) {
            scaling_rules(errors, &SPEC.child("behavior").child(name), rules);
        }
    }
}

fn version_fault(reference: &Fields, versions: Versions) -> Option<String> {
    if versions.may_be_wrong {
        return None;
    }
    let text = reference.text("apiVersion");
    match text.matches('/').count() {
        1 if !text.starts_with('/') => return None,
        0 | 1 => {}
        _ => return Some(format!("unexpected GroupVersion string: {text}")),
    }
    (!versions.may_have_no_group).then(|| "apiVersion must specify API group".to_owned())
}

fn reference(errors: &mut Errors, path: &Path<'_>, reference: &Fields, versions: Versions) {
    for name in ["kind", "name"] {
        let text = reference.text(name);
        if text.is_empty() {
            errors.required(&path.child(name), "");
        } else {
            errors.faults(&path.child(name), text, path_segment(text));
        }
    }
    if let Some(fault) = version_fault(reference, versions) {
        errors.invalid(&path.child("apiVersion"), reference.text("apiVersion"), fault);
    }
}

const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];

fn metrics(errors: &mut Errors, spec: &Fields, before: Option<&Fields>) {
    let mut versions = Versions {
        may_be_wrong: false,
        may_have_no_group: true,
    };
    versions.may_be_wrong = before.is_some_and(|before| {
        before.items("metrics").any(|metric| {
            metric.text("type") == "Object"
                && version_fault(metric.at("object").at("describedObject"), versions).is_some()
        })
    });
    let list = SPEC.child("metrics");
    let mut can_rest = false;
    for (index, metric) in spec.numbered("metrics") {
        metric_source(errors, &list.index(index), metric, versions);
        can_rest |= matches!(metric.text("type"), "Object" | "External");
    }
    if spec.set_number("minReplicas") == Some(0) && !can_rest {
        errors.forbidden(
            &list,
            "must specify at least one Object or External metric to support scaling to zero replicas",
        );
    }
}

fn metric_source(errors: &mut Errors, path: &Path<'_>, metric: &Fields, versions: Versions) {
    const KINDS: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];
    let kind = metric.text("type");
    let kind_path = path.child("type");
    if kind.is_empty() {
        errors.required(&kind_path, "must specify a metric source type");
    }
    errors.one_of_if_set(&kind_path, Some(kind), &KINDS);
    let present: Vec<&str> = SOURCES
        .iter()
        .map(|(_, name)| *name)
        .filter(|name| metric.has(name))
        .collect();
    if let Some(name) = present.first() {
        source(errors, &path.child(name), name, metric.at(name), versions);
    }
    let expected = SOURCES
        .iter()
        .find(|(known, _)| *known == kind)
        .map(|(_, name)| *name);
    match expected {
        Some(name) if !metric.has(name) => errors.required(
            &path.child(name),
            "must populate information for the given metric source",
        ),
        Some(_) => {}
        None => errors.not_supported(&kind_path, kind, &KINDS),
    }
    if present.len() != 1 {
        for name in present.iter().filter(|name| Some(**name) != expected) {
            errors.forbidden(&path.child(name), "must populate the given metric source only");
        }
    }
}

fn source(errors: &mut Errors, path: &Path<'_>, kind: &str, source: &Fields, versions: Versions) {
    let target = source.at("target");
    let target_path = path.child("target");
    let average = target_path.child("averageValue");
    if kind == "object" {
        reference(
            errors,
            &path.child("describedObject"),
            source.at("describedObject"),
            versions,
        );
    }
    match kind {
        "object" | "external" | "pods" => {
            let name = source.at("metric").text("name");
            let path = path.child("metric.name");
            if name.is_empty() {
                errors.required(&path, "must specify a metric name");
            } else {
                errors.faults(&path, name, path_segment(name));
            }
        }
        _ => {
            let name = source.text("name");
            if name.is_empty() {
                errors.required(&path.child("name"), "must specify a resource name");
            } else if kind == "containerResource" {
                resources::container_name(errors, &path.child("name"), name);
            }
            if kind == "containerResource" {
                let name = source.text("container");
                if name.is_empty() {
                    errors.required(&path.child("container"), "must specify a container");
                } else {
                    errors.faults(&path.child("container"), name, dns_label(name));
                }
            }
        }
    }
    metric_target(errors, &target_path, target);
    let (has_value, has_average) = (target.has("value"), target.has("averageValue"));
    match kind {
        "object" if !has_value && !has_average => {
            errors.required(&average, "must set either a target value or averageValue");
        }
        "external" if !has_value && !has_average => errors.required(
            &average,
            "must set either a target value for metric or a per-pod target",
        ),
        "external" if has_value && has_average => errors.forbidden(
            &target_path.child("value"),
            "may not set both a target value for metric and a per-pod target",
        ),
        "pods" if !has_average => {
            errors.required(&average, "must specify a positive target averageValue");
        }
        "resource" | "containerResource" => match (target.has("averageUtilization"), has_average) {
            (false, false) => errors.required(
                &target_path.child("averageUtilization"),
                "must set either a target raw value or a target utilization",
            ),
            (true, true) => errors.forbidden(
                &average,
                "may not set both a target raw value and a target utilization",
            ),
            _ => {}
        },
        _ => {}
    }
}

fn metric_target(errors: &mut Errors, path: &Path<'_>, target: &Fields) {
    let kind = target.text("type");
    if kind.is_empty() {
        errors.required(&path.child("type"), "must specify a metric target type");
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        errors.invalid(
            &path.child("type"),
            kind,
            "must be either Utilization, Value, or AverageValue",
        );
    }
    for name in ["value", "averageValue"] {
        if let Some(value) = target.set_value(name) {
            let text = resources::quantity_text(value);
            if !Quantity::read(&text).is_positive() {
                errors.invalid(&path.child(name), &text, "must be positive");
            }
        }
    }
    if let Some(percent) = target
        .set_number("averageUtilization")
        .filter(|percent| *percent < 1)
    {
        errors.invalid(
            &path.child("averageUtilization"),
            percent,
            "must be greater than 0",
        );
    }
}

fn scaling_rules(errors: &mut Errors, path: &Path<'_>, rules: &Fields) {
    if let Some(seconds) = rules.set_number("stabilizationWindowSeconds") {
        let path = path.child("stabilizationWindowSeconds");
        if seconds < 0 {
            errors.invalid(&path, seconds, "must be greater than or equal to zero");
        }
        if seconds > LONGEST_WINDOW {
            errors.invalid(
                &path,
                seconds,
                format!("must be less than or equal to {LONGEST_WINDOW}"),
            );
        }
    }
    errors.one_of_if_set(
        &path.child("selectPolicy"),
        rules.set_text("selectPolicy"),
        &["Disabled", "Max", "Min"],
    );
    let list = path.child("policies");
    if rules.is_zero("policies") {
        errors.required(&list, "must specify at least one Policy");
    }
    for (index, policy) in rules.numbered("policies") {
        let path = list.index(index);
        errors.one_of_if_set(
            &path.child("type"),
            Some(policy.text("type")),
            &["Percent", "Pods"],
        );
        errors.positive(&path.child("value"), policy.number("value"));
        let seconds = policy.number("periodSeconds");
        errors.positive(&path.child("periodSeconds"), seconds);
        if seconds > LONGEST_PERIOD {
            errors.invalid(
                &path.child("periodSeconds"),
                seconds,
                format!("must be less than or equal to {LONGEST_PERIOD}"),
            );
        }
    }
    if let Some(tolerance) = rules.set_value("tolerance") {
        resources::not_negative(errors, &path.child("tolerance"), tolerance);
    }
}

/// Checks a status of a `HorizontalPodAutoscaler`.
pub(super) fn autoscaler_status(errors: &mut Errors, new: &Fields, old: &Fields) {
    metadata::check_update(errors, GROUP, new, old);
    for name in ["currentReplicas", "desiredReplicas"] {
        errors.not_negative(&Path::new("status").child(name), new.at("status").number(name));
    }
}

/// Checks a `PodDisruptionBudget`; `old` is the one that it replaces.
pub(super) fn budget(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    let spec = object.at("spec");
    if spec.has("minAvailable") && spec.has("maxUnavailable") {
        errors.invalid(
            &SPEC,
            internal::shown("policy.PodDisruptionBudgetSpec", object.get("spec")),
            "minAvailable and maxUnavailable cannot be both set",
        );
    }
    for name in ["minAvailable", "maxUnavailable"] {
        if let Some(value) = spec.set_value(name) {
            number_or_percentage(errors, &SPEC.child(name), value);
            not_above_all(errors, &SPEC.child(name), value);
        }
    }
    let allows_values = old.is_some_and(|old| selectors::has_wrong_values(old.at("spec").part("selector")));
    selectors::check(
        errors,
        &SPEC.child("selector"),
        spec.part("selector"),
        allows_values,
    );
    errors.one_of_if_set(
        &SPEC.child("unhealthyPodEvictionPolicy"),
        spec.set_text("unhealthyPodEvictionPolicy"),
        &["AlwaysAllow", "IfHealthyBudget"],
    );
}

/// Checks a status of a `PodDisruptionBudget`.
pub(super) fn budget_status(errors: &mut Errors, new: &Fields, _old: &Fields) {
    let path = Path::new("status");
    let status = new.at("status");
    conditions(errors, &path.child("conditions"), status);
    for name in [
        "disruptionsAllowed",
        "currentHealthy",
        "desiredHealthy",
        "expectedPods",
    ] {
        errors.not_negative(&path.child(name), status.number(name));
    }
}

/// Checks conditions of the kind that all newer kinds have.
pub(super) fn conditions(errors: &mut Errors, path: &Path<'_>, status: &Fields) {
    let mut seen: Seen<&str> = Seen::default();
    for (index, condition) in status.numbered("conditions") {
        let path = path.index(index);
        let kind = condition.text("type");
        if seen.contains(&kind) {
            errors.duplicate(&path.child("type"), kind);
        }
        seen.push(kind);
        if kind.is_empty() {
            errors.required(&path.child("type"), "must be set");
        } else {
            let faults = schema::structural::name_rules::label_key(kind);
            errors.faults(&path.child("type"), kind, faults);
        }
        if condition.is_zero("status") {
            errors.required(&path.child("status"), "must be set");
        } else {
            errors.one_of_if_set(
                &path.child("status"),
                Some(condition.text("status")),
                &["False", "True", "Unknown"],
            );
        }
        let generation = condition.number("observedGeneration");
        errors.not_negative(&path.child("observedGeneration"), generation);
        if !matches!(condition.get("lastTransitionTime"), Some(Value::String(_))) {
            errors.required(&path.child("lastTransitionTime"), "must be set");
        }
        if condition.is_zero("reason") {
            errors.required(&path.child("reason"), "must be set");
        }
    }
}
