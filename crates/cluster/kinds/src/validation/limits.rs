//! `LimitRanges` and `ResourceQuotas`.

use std::cell::LazyCell;
use std::collections::HashMap;

use schema::structural::name_rules::label_key;

use super::reading::Reading;
use super::report::{Errors, Path, listed};
use super::resources::{amount, container_name, is_quota_resource, name, quantity_text, quota_name};
use super::seen::Seen;
use super::{internal, metadata};
use crate::quantity::Quantity;
use crate::tree::{Fields, Tree};

const SPEC: Path<'_> = Path::new("spec");

/// An amount as it is written and as a number.
#[derive(Clone)]
struct Amount {
    text: String,
    number: Quantity,
}

fn amount_of(limit: &Fields, list: &str, resource: &str) -> Option<Amount> {
    let text = limit.at(list).get(resource).map(quantity_text)?;
    let number = Quantity::read(&text);
    Some(Amount { text, number })
}

/// Checks a `LimitRange`; `old` is the one that it replaces.
pub(super) fn range(errors: &mut Errors, object: &Fields, _old: Option<&Fields>) {
    metadata::check(errors, "", "LimitRange", object);
    let list = SPEC.child("limits");
    let mut seen: Seen<&str> = Seen::default();
    for (index, limit) in object.at("spec").numbered("limits") {
        let path = list.index(index);
        let kind = limit.text("type");
        let kind_path = path.child("type");
        let faults = label_key(kind);
        if faults.is_empty() {
            if !kind.contains('/') && !matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim") {
                errors.invalid(
                    &kind_path,
                    kind,
                    "must be a standard limit type or fully qualified",
                );
            }
        } else {
            errors.faults(&kind_path, kind, faults);
        }
        if seen.contains(&kind) {
            errors.duplicate(&kind_path, kind);
        }
        seen.push(kind);
        let keys = names(errors, &path, limit, kind);
        for resource in keys {
            relations(errors, &path, limit, kind, resource);
        }
    }
}

/// Checks the names of resources, and returns them sorted.
fn names<'a>(errors: &mut Errors, path: &Path<'_>, limit: &'a Fields, kind: &str) -> Vec<&'a str> {
    let mut keys: Vec<&str> = Vec::new();
    let mut each = |errors: &mut Errors, list: &str| {
        let own = path.child(list);
        for resource in limit.at(list).keys() {
            if matches!(kind, "Pod" | "Container") {
                container_name(errors, &own.key(resource), resource);
            } else {
                name(errors, &own.key(resource), resource);
            }
            keys.push(resource);
        }
    };
    each(errors, "max");
    each(errors, "min");
    if kind == "Pod" {
        for list in ["default", "defaultRequest"] {
            if !limit.is_zero(list) {
                errors.forbidden(&path.child(list), "may not be specified when `type` is 'Pod'");
            }
        }
    } else {
        each(errors, "default");
        each(errors, "defaultRequest");
    }
    if kind == "PersistentVolumeClaim"
        && !limit.at("min").contains_key("storage")
        && !limit.at("max").contains_key("storage")
    {
        errors.required(
            &path.child("limits"),
            "either minimum or maximum storage value is required, but neither was provided",
        );
    }
    each(errors, "maxLimitRequestRatio");
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn relations(errors: &mut Errors, path: &Path<'_>, limit: &Fields, kind: &str, resource: &str) {
    let least = amount_of(limit, "min", resource);
    let most = amount_of(limit, "max", resource);
    let has_defaults = kind != "Pod";
    let default = amount_of(limit, "default", resource).filter(|_| has_defaults);
    let request = amount_of(limit, "defaultRequest", resource).filter(|_| has_defaults);
    let ratio = amount_of(limit, "maxLimitRequestRatio", resource);
    let mut more =
        |list: &str, one: &Option<Amount>, other: &Option<Amount>, shown_first: bool, texts: (&str, &str)| {
            if let (Some(one), Some(other)) = (one, other)
                && one.number.is_more_than(other.number)
            {
                let shown = if shown_first { one } else { other };
                errors.invalid(
                    &path.child(list).key(resource),
                    &shown.text,
                    format!(
                        "{} {} is greater than {} {}",
                        texts.0, one.text, texts.1, other.text
                    ),
                );
            }
        };
    more("min", &least, &most, true, ("min value", "max value"));
    more(
        "defaultRequest",
        &least,
        &request,
        false,
        ("min value", "default request value"),
    );
    more(
        "defaultRequest",
        &request,
        &most,
        true,
        ("default request value", "max value"),
    );
    more(
        "defaultRequest",
        &request,
        &default,
        true,
        ("default request value", "default limit value"),
    );
    more("default", &least, &default, true, ("min value", "default value"));
    more("default", &default, &most, false, ("default value", "max value"));
    if let Some(ratio) = &ratio {
        let own = path.child("maxLimitRequestRatio");
        if Quantity::read("1").is_more_than(ratio.number) {
            errors.invalid(
                &own.key(resource),
                &ratio.text,
                format!("ratio {} is less than 1", ratio.text),
            );
        }
        if let (Some(least), Some(most)) = (&least, &most) {
            let number = |amount: &Amount| amount.number.thousandths() as f64;
            let largest = number(most) / number(least);
            if number(ratio) / 1000.0 > largest {
                errors.invalid(
                    &own.key(resource),
                    &ratio.text,
                    format!("ratio {} is greater than max/min = {largest:.6}", ratio.text),
                );
            }
        }
    }
    let is_overcommitted = (!resource.contains('/') || resource.contains("kubernetes.io/"))
        && !resource.starts_with("hugepages-");
    if let (Some(default), Some(request)) = (&default, &request)
        && !is_overcommitted
        && !default.number.is_same_number(request.number)
    {
        errors.invalid(
            &path.child("defaultRequest").key(resource),
            &request.text,
            format!(
                "default value {} must equal to defaultRequest value {} in {resource}",
                default.text, request.text
            ),
        );
    }
}

fn amounts(errors: &mut Errors, path: &Path<'_>, list: &Fields) {
    for (resource, value) in list {
        quota_name(errors, &path.key(resource), resource);
        amount(errors, &path.key(resource), resource, value);
    }
}

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];

fn scope_fits(scope: &str, resource: &str) -> bool {
    let computes = matches!(
        resource,
        "cpu" | "memory" | "limits.cpu" | "limits.memory" | "requests.cpu" | "requests.memory"
    );
    match scope {
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => resource == "pods" || computes,
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ => true,
    }
}

/// How many resources of a quota don't fit a scope, counted once for each scope.
struct Mismatches<'a> {
    spec: &'a Fields,
    counted: HashMap<&'a str, usize>,
}

impl<'a> Mismatches<'a> {
    fn of(spec: &'a Fields) -> Self {
        Self {
            spec,
            counted: HashMap::new(),
        }
    }

    fn count(&mut self, scope: &'a str) -> usize {
        let spec = self.spec;
        *self.counted.entry(scope).or_insert_with(|| {
            let resources = spec.at("hard").keys();
            // A scope that isn't known fits everything.
            if !SCOPES.contains(&scope) {
                return 0;
            }
            resources
                .filter(|resource| is_quota_resource(resource) && !scope_fits(scope, resource))
                .count()
        })
    }
}

fn conflicts(scopes: &[&str]) -> usize {
    [("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")]
        .iter()
        .filter(|(one, other)| scopes.contains(one) && scopes.contains(other))
        .count()
}

/// Checks a `ResourceQuota`; `old` is the one that it replaces.
pub(super) fn quota(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    match old {
        None => metadata::check(errors, "", "ResourceQuota", object),
        Some(old) => metadata::check_update(errors, "", object, old),
    }
    let spec = object.at("spec");
    amounts(errors, &SPEC.child("hard"), spec.at("hard"));
    let path = SPEC.child("scopes");
    let scopes: Vec<&str> = spec.texts("scopes").collect();
    let mut mismatches = Mismatches::of(spec);
    // All scopes are shown each time.
    let shown = LazyCell::new(|| listed(spec.get("scopes")));
    for scope in &scopes {
        if !SCOPES.contains(scope) {
            errors.invalid(&path, &*shown, "unsupported scope");
        }
        let rule = "unsupported scope applied to resource";
        errors.invalid_again(&path, &shown, rule, mismatches.count(scope));
    }
    for _ in 0..conflicts(&scopes) {
        errors.invalid(&path, &*shown, "conflicting scopes");
    }
    if spec.has("scopeSelector") {
        scope_selector(errors, spec);
    }
    match old {
        None => {
            let status = object.at("status");
            amounts(errors, &Path::new("status.hard"), status.at("hard"));
            amounts(errors, &Path::new("status.used"), status.at("used"));
        }
        Some(old) => {
            let mut now = scopes.clone();
            let mut then: Vec<&str> = old.at("spec").texts("scopes").collect();
            now.sort_unstable();
            now.dedup();
            then.sort_unstable();
            then.dedup();
            if now != then {
                errors.invalid(&path, &*shown, "field is immutable");
            }
        }
    }
}

fn scope_selector(errors: &mut Errors, spec: &Fields) {
    let path = SPEC.child("scopeSelector.matchExpressions");
    let selector = spec.at("scopeSelector");
    let mut scopes: Vec<&str> = Vec::new();
    let mut mismatches = Mismatches::of(spec);
    let shown = LazyCell::new(|| internal::shown("core.ScopeSelector", spec.get("scopeSelector")));
    for requirement in selector.items("matchExpressions") {
        let scope = requirement.text("scopeName");
        if !SCOPES.contains(&scope) {
            errors.invalid(&path.child("scopeName"), scope, "unsupported scope");
        }
        let rule = "unsupported scope applied to resource";
        errors.invalid_again(&path, &shown, rule, mismatches.count(scope));
        let operator = requirement.text("operator");
        let must_exist = matches!(
            scope,
            "BestEffort" | "NotBestEffort" | "Terminating" | "NotTerminating" | "CrossNamespacePodAffinity"
        );
        if must_exist && operator != "Exists" {
            errors.invalid(
                &path.child("operator"),
                operator,
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                 ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
                 ResourceQuotaScopeCrossNamespacePodAffinity",
            );
        }
        let values = path.child("values");
        match operator {
            "In" | "NotIn" => {
                if requirement.is_zero("values") {
                    errors.required(
                        &values,
                        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
                    );
                }
            }
            "Exists" | "DoesNotExist" => {
                if !requirement.is_zero("values") {
                    errors.invalid(
                        &values,
                        listed(requirement.get("values")),
                        "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
                    );
                }
            }
            other => errors.invalid(&path.child("operator"), other, "not a valid selector operator"),
        }
        scopes.push(scope);
    }
    for _ in 0..conflicts(&scopes) {
        errors.invalid(&path, listed(spec.get("scopes")), "conflicting scopes");
    }
}

/// Checks a status of a `ResourceQuota`.
pub(super) fn quota_status(errors: &mut Errors, new: &Fields, old: &Fields) {
    metadata::check_update(errors, "", new, old);
    let status = new.at("status");
    for list in ["hard", "used"] {
        amounts(errors, &Path::new("status").child(list), status.at(list));
    }
}
