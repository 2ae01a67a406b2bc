//! Where pods may run: affinity, tolerations, how they spread.

use std::collections::HashMap;

use schema::structural::name_rules::{dns_label, dns_subdomain, label_key, label_value};
use serde_json::Value;

use super::pods::Options;
use super::reading::{Reading, fields};
use super::report::{Errors, Path};
use super::seen::Seen;
use super::selectors;
use crate::tree::{Fields, Tree};

/// Checks the affinities of a pod.
pub(super) fn affinity(errors: &mut Errors, path: &Path<'_>, affinity: &Fields, options: &Options) {
    if let Some(nodes) = affinity.part("nodeAffinity") {
        let path = path.child("nodeAffinity");
        if nodes.has(REQUIRED) {
            node_selector(
                errors,
                &path.child(REQUIRED),
                nodes.at(REQUIRED),
                options.allows.node_values,
            );
        }
        let preferred = path.child(PREFERRED);
        for (index, term) in nodes.numbered(PREFERRED) {
            let path = preferred.index(index);
            weight(errors, &path, term);
            node_term(errors, &path.child("preference"), term.at("preference"), true);
        }
    }
    for name in ["podAffinity", "podAntiAffinity"] {
        let Some(pods) = affinity.part(name) else { continue };
        let path = path.child(name);
        let required = path.child(REQUIRED);
        for (index, term) in pods.numbered(REQUIRED) {
            pod_term(errors, &required.index(index), term, options);
        }
        let preferred = path.child(PREFERRED);
        for (index, weighted) in pods.numbered(PREFERRED) {
            let path = preferred.index(index);
            weight(errors, &path, weighted);
            let term = weighted.at("podAffinityTerm");
            pod_term(errors, &path.child("podAffinityTerm"), term, options);
        }
    }
}

/// Where terms are that must be met, and where those are that should be.
pub(super) const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

fn weight(errors: &mut Errors, path: &Path<'_>, term: &Fields) {
    let weight = term.number("weight");
    if !(1..=100).contains(&weight) {
        errors.invalid(&path.child("weight"), weight, "must be in the range 1-100");
    }
}

/// Checks a selector of nodes.
pub(super) fn node_selector(errors: &mut Errors, path: &Path<'_>, selector: &Fields, allows_values: bool) {
    let terms = path.child("nodeSelectorTerms");
    if selector.is_zero("nodeSelectorTerms") {
        errors.required(&terms, "must have at least one node selector term");
    }
    for (index, term) in selector.numbered("nodeSelectorTerms") {
        node_term(errors, &terms.index(index), term, allows_values);
    }
}

fn node_term(errors: &mut Errors, path: &Path<'_>, term: &Fields, allows_values: bool) {
    let expressions = path.child("matchExpressions");
    for (index, expression) in term.numbered("matchExpressions") {
        let path = expressions.index(index);
        let count = expression.list("values").len();
        let values = path.child("values");
        match expression.text("operator") {
            "In" | "NotIn" => {
                if count == 0 {
                    errors.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
                }
            }
            "Exists" | "DoesNotExist" => {
                if count > 0 {
                    errors.forbidden(
                        &values,
                        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                    );
                }
            }
            "Gt" | "Lt" => {
                if count != 1 {
                    errors.required(
                        &values,
                        "must be specified single value when `operator` is 'Lt' or 'Gt'",
                    );
                }
            }
            other => errors.invalid(&path.child("operator"), other, "not a valid selector operator"),
        }
        let key = expression.text("key");
        errors.faults(&path.child("key"), key, label_key(key));
        if !allows_values {
            for (index, value) in expression.texts("values").enumerate() {
                errors.faults(&values.index(index), value, label_value(value));
            }
        }
    }
    let conditions = path.child("matchFields");
    for (index, condition) in term.numbered("matchFields") {
        let path = conditions.index(index);
        let values = path.child("values");
        match condition.text("operator") {
            "In" | "NotIn" => {
                if condition.list("values").len() != 1 {
                    errors.required(
                        &values,
                        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
                    );
                }
            }
            other => errors.invalid(&path.child("operator"), other, "not a valid selector operator"),
        }
        let key = condition.text("key");
        if key == "metadata.name" {
            for (index, value) in condition.texts("values").enumerate() {
                errors.faults(&values.index(index), value, dns_subdomain(value));
            }
        } else {
            errors.invalid(&path.child("key"), key, "not a valid field selector key");
        }
    }
}

/// Returns whether terms that must be met have values that can't be a label's.
pub(super) fn has_wrong_node_values(required: &Fields) -> bool {
    required.items("nodeSelectorTerms").any(|term| {
        term.items("matchExpressions")
            .flat_map(|expression| expression.texts("values"))
            .any(|value| !label_value(value).is_empty())
    })
}

fn pod_term(errors: &mut Errors, path: &Path<'_>, term: &Fields, options: &Options) {
    for name in ["labelSelector", "namespaceSelector"] {
        selectors::check(
            errors,
            &path.child(name),
            term.part(name),
            options.allows.selector_values,
        );
    }
    for name in term.texts("namespaces") {
        errors.faults(&path.child("namespace"), name, dns_label(name));
    }
    label_keys(errors, path, term);
    let key = term.text("topologyKey");
    if key.is_empty() {
        errors.required(&path.child("topologyKey"), "can not be empty");
    }
    errors.faults(&path.child("topologyKey"), key, label_key(key));
}

/// Checks keys whose values are taken from the pod itself.
fn label_keys(errors: &mut Errors, path: &Path<'_>, term: &Fields) {
    for name in ["matchLabelKeys", "mismatchLabelKeys"] {
        let own = path.child(name);
        if term.is_zero(name) {
            continue;
        }
        if !term.has("labelSelector") {
            errors.forbidden(&own, "must not be specified when labelSelector is not set");
            continue;
        }
        for (index, key) in term.texts(name).enumerate() {
            errors.faults(&own.index(index), key, label_key(key));
        }
    }
    if let Some(selector) = term.part("labelSelector") {
        let mut known: Seen<&str> = selector.entries("matchLabels").map(|(key, _)| key).collect();
        // A key that is listed twice counts where it is last.
        let listed: HashMap<&str, usize> = term.texts("matchLabelKeys").zip(0..).collect();
        for expression in selector.items("matchExpressions") {
            let key = expression.text("key");
            if let Some(index) = listed.get(key)
                && known.contains(&key)
            {
                errors.invalid(
                    &path.index(*index),
                    key,
                    "exists in both matchLabelKeys and labelSelector",
                );
            }
            known.push(key);
        }
    }
    let own = path.child("matchLabelKeys");
    let other: Seen<&str> = term.texts("mismatchLabelKeys").collect();
    for (index, key) in term.texts("matchLabelKeys").enumerate() {
        if other.contains(&key) {
            errors.invalid(
                &own.index(index),
                key,
                "exists in both matchLabelKeys and mismatchLabelKeys",
            );
        }
    }
}

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Checks what a taint does; a toleration may leave it open.
pub(super) fn effect(errors: &mut Errors, path: &Path<'_>, effect: &str, may_be_empty: bool) {
    if effect.is_empty() && !may_be_empty {
        errors.required(path, "");
    } else if !EFFECTS.contains(&effect) {
        errors.not_supported(path, effect, &EFFECTS);
    }
}

/// Checks which taints a pod tolerates.
pub(super) fn tolerations(errors: &mut Errors, path: &Path<'_>, tolerations: &[serde_json::Value]) {
    for (index, toleration) in tolerations.iter().map(fields).enumerate() {
        let path = path.index(index);
        let (key, operator) = (toleration.text("key"), toleration.text("operator"));
        let (value, taint_effect) = (toleration.text("value"), toleration.text("effect"));
        let operator_path = path.child("operator");
        if key.is_empty() {
            if operator != "Exists" {
                errors.invalid(
                    &operator_path,
                    operator,
                    "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
                );
            }
        } else {
            errors.faults(&path.child("key"), key, label_key(key));
        }
        if toleration.has("tolerationSeconds") && taint_effect != "NoExecute" {
            errors.invalid(
                &path.child("effect"),
                taint_effect,
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            );
        }
        match operator {
            "Equal" | "" => {
                let faults = label_value(value);
                if !faults.is_empty() {
                    errors.invalid(&operator_path, value, faults.join(";"));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    errors.invalid(
                        &operator_path,
                        value,
                        "value must be empty when `operator` is 'Exists'",
                    );
                }
            }
            "Lt" | "Gt" => errors.not_supported(&operator_path, operator, &["Equal", "Exists", "Lt", "Gt"]),
            other => errors.not_supported(&operator_path, other, &["Equal", "Exists"]),
        }
        if !taint_effect.is_empty() {
            effect(errors, &path.child("effect"), taint_effect, true);
        }
    }
}

/// Checks how pods are spread over the cluster.
pub(super) fn spread(errors: &mut Errors, path: &Path<'_>, spec: &Fields, options: &Options) {
    let constraints = spec.list("topologySpreadConstraints");
    let place = |constraint: &'_ Value| {
        let constraint = fields(constraint);
        (
            constraint.text("topologyKey").to_owned(),
            constraint.text("whenUnsatisfiable").to_owned(),
        )
    };
    let last: HashMap<(String, String), usize> = constraints.iter().map(place).zip(0..).collect();
    for (index, constraint) in constraints.iter().map(fields).enumerate() {
        let path = path.index(index);
        errors.positive(&path.child("maxSkew"), constraint.number("maxSkew"));
        let key = constraint.text("topologyKey");
        if key.is_empty() {
            errors.required(&path.child("topologyKey"), "can not be empty");
        }
        let action = constraint.text("whenUnsatisfiable");
        errors.one_of_if_set(
            &path.child("whenUnsatisfiable"),
            Some(action),
            &["DoNotSchedule", "ScheduleAnyway"],
        );
        let is_repeated = last.get(&(key.to_owned(), action.to_owned())) > Some(&index);
        if is_repeated {
            errors.duplicate(
                &path.child("{topologyKey, whenUnsatisfiable}"),
                &format!("{{{key}, {action}}}"),
            );
        }
        if let Some(domains) = constraint.set_number("minDomains") {
            let path = path.child("minDomains");
            errors.positive(&path, domains);
            if action != "DoNotSchedule" {
                errors.invalid(
                    &path,
                    domains,
                    format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"),
                );
            }
        }
        for name in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            errors.one_of_if_set(&path.child(name), constraint.set_text(name), &["Honor", "Ignore"]);
        }
        if options.allows.spread_keys {
            old_spread_keys(errors, &path.child("matchLabelKeys"), constraint);
        } else {
            label_keys(errors, &path, constraint);
        }
        if !options.allows.spread_selectors {
            selectors::check(
                errors,
                &path.child("labelSelector"),
                constraint.part("labelSelector"),
                false,
            );
        }
    }
}

/// Checks keys as they were checked before they were written into the selector.
fn old_spread_keys(errors: &mut Errors, path: &Path<'_>, constraint: &Fields) {
    if constraint.is_zero("matchLabelKeys") {
        return;
    }
    if !constraint.has("labelSelector") {
        errors.forbidden(path, "must not be specified when labelSelector is not set");
    }
    let selector = constraint.at("labelSelector");
    let listed: Seen<&str> = selector
        .items("matchExpressions")
        .map(|one| one.text("key"))
        .collect();
    for (index, key) in constraint.texts("matchLabelKeys").enumerate() {
        errors.faults(&path.index(index), key, label_key(key));
        let is_known = selector.at("matchLabels").contains_key(key) || listed.contains(&key);
        if is_known {
            errors.invalid(
                &path.index(index),
                key,
                "exists in both matchLabelKeys and labelSelector",
            );
        }
    }
}

/// Returns whether the constraints have keys or selectors that would be refused today.
pub(super) fn spread_tolerance(spec: &Fields) -> (bool, bool) {
    let (mut keys, mut selector) = (Errors::default(), Errors::default());
    let path = Path::new("spec");
    for constraint in spec.items("topologySpreadConstraints") {
        label_keys(&mut keys, &path, constraint);
        selectors::check(&mut selector, &path, constraint.part("labelSelector"), false);
    }
    (!keys.is_empty(), !selector.is_empty())
}

/// Returns whether selectors of affinities have values that can't be a label's.
pub(super) fn has_wrong_affinity_values(affinity: &Fields) -> bool {
    ["podAffinity", "podAntiAffinity"].iter().any(|name| {
        let pods = affinity.at(name);
        let required = pods.items(REQUIRED);
        let preferred = pods
            .items(PREFERRED)
            .map(|weighted| weighted.at("podAffinityTerm"));
        required.chain(preferred).any(|term| {
            selectors::has_wrong_values(term.part("labelSelector"))
                || selectors::has_wrong_values(term.part("namespaceSelector"))
        })
    })
}
