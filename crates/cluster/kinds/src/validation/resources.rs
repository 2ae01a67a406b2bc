//! Amounts of resources: which resources there are, and how much of them may be asked for.

use std::cell::LazyCell;
use std::collections::HashMap;

use schema::structural::name_rules::{dns_label, label_key};
use serde_json::Value;

use super::reading::Reading;
use super::report::{Errors, Path};
use super::seen::Seen;
use crate::quantity::Quantity;
use crate::tree::{Fields, Tree};

/// Resources that a quota can count but a container can't use.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

const COMPUTED: [&str; 9] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];

const HUGE_PAGES: &str = "hugepages-";

/// Returns whether a resource is pages of memory of one size.
pub(super) fn is_huge_pages(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

fn is_quota_huge_pages(name: &str) -> bool {
    is_huge_pages(name) || name.starts_with("requests.hugepages-")
}

/// Returns whether a quota knows a resource by a plain name.
pub(super) fn is_quota_resource(name: &str) -> bool {
    COUNTED.contains(&name)
        || COMPUTED.contains(&name)
        || name == "requests.storage"
        || is_quota_huge_pages(name)
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    !is_native(name) && !name.starts_with("requests.") && label_key(&format!("requests.{name}")).is_empty()
}

fn is_integer(name: &str) -> bool {
    COUNTED.contains(&name) || is_extended(name)
}

fn may_be_overcommitted(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

/// Checks the name of a resource.
pub(super) fn name(errors: &mut Errors, path: &Path<'_>, name: &str) -> bool {
    let faults = label_key(name);
    if !faults.is_empty() {
        errors.faults(path, name, faults);
        return false;
    }
    let is_known = name.contains('/')
        || COUNTED.contains(&name)
        || COMPUTED.contains(&name)
        || matches!(name, "storage" | "requests.storage")
        || is_quota_huge_pages(name);
    if !is_known {
        errors.invalid(path, name, "must be a standard resource type or fully qualified");
    }
    is_known
}

/// Checks the name of a resource of a container.
pub(super) fn container_name(errors: &mut Errors, path: &Path<'_>, resource: &str) {
    name(errors, path, resource);
    if !resource.contains('/') {
        let is_known = matches!(resource, "cpu" | "memory" | "ephemeral-storage") || is_huge_pages(resource);
        if !is_known {
            errors.invalid(path, resource, "must be a standard resource for containers");
        }
    } else if !is_native(resource) && !is_extended(resource) {
        errors.invalid(path, resource, "doesn't follow extended resource name standard");
    }
}

fn pod_name(errors: &mut Errors, path: &Path<'_>, resource: &str) {
    if name(errors, path, resource) && !matches!(resource, "cpu" | "memory") && !is_huge_pages(resource) {
        errors.not_supported(path, resource, &["cpu", HUGE_PAGES, "memory"]);
    }
}

/// Checks the name of a resource of a quota.
pub(super) fn quota_name(errors: &mut Errors, path: &Path<'_>, resource: &str) {
    name(errors, path, resource);
    if !resource.contains('/') && !is_quota_resource(resource) {
        errors.invalid(path, resource, "must be a standard resource for quota");
    }
}

/// Returns the text of a quantity, which may have been written as a number.
pub(super) fn quantity_text(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    bundle::rendering::quantity::canonical(&text).unwrap_or(text)
}

/// Checks an amount of a resource.
pub(super) fn amount(errors: &mut Errors, path: &Path<'_>, resource: &str, value: &Value) {
    let text = quantity_text(value);
    let quantity = Quantity::read(&text);
    if quantity.is_negative() {
        errors.invalid(path, &text, "must be greater than or equal to 0");
    }
    if is_integer(resource) && !quantity.is_whole() {
        errors.invalid(path, &text, "must be an integer");
    }
}

/// Who asks for resources.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    /// A container.
    Container,
    /// A pod as a whole.
    Pod,
}

/// Checks requests and limits; `claims` are the names of the pod's claims.
pub(super) fn requirements(
    errors: &mut Errors,
    path: &Path<'_>,
    asker: Asker,
    requirements: &Fields,
    claims: &[&str],
    may_have_odd_pages: bool,
) {
    let check_name = match asker {
        Asker::Container => container_name,
        Asker::Pod => pod_name,
    };
    let (mut has_pages, mut has_base) = (false, false);
    let limits = path.child("limits");
    let requests = path.child("requests");
    let mut each = |errors: &mut Errors, path: &Path<'_>, resource: &str, value: &Value| {
        check_name(errors, path, resource);
        amount(errors, path, resource, value);
        has_base |= matches!(resource, "cpu" | "memory");
    };
    let mut pages = |errors: &mut Errors, path: &Path<'_>, resource: &str, value: &Value| {
        if let Some(size) = resource.strip_prefix(HUGE_PAGES) {
            has_pages = true;
            let (text, size) = (quantity_text(value), Quantity::read(size));
            let fits = size.is_positive() && size.is_whole() && {
                let size = size.whole();
                size != 0 && Quantity::read(&text).whole() % size == 0
            };
            if !may_have_odd_pages && !fits {
                errors.invalid(
                    path,
                    &text,
                    format!("{text} is not positive integer multiple of {resource}"),
                );
            }
        }
    };
    for (resource, value) in requirements.at("limits") {
        each(errors, &limits.key(resource), resource, value);
        pages(errors, &limits.key(resource), resource, value);
    }
    for (resource, value) in requirements.at("requests") {
        each(errors, &requests.key(resource), resource, value);
        let text = quantity_text(value);
        match requirements.at("limits").get(resource) {
            Some(limit) => {
                let limit = quantity_text(limit);
                let (wanted, most) = (Quantity::read(&text), Quantity::read(&limit));
                if !wanted.is_same_number(most) && !may_be_overcommitted(resource) {
                    errors.invalid(
                        &requests,
                        &text,
                        format!("must be equal to {resource} limit of {limit}"),
                    );
                } else if wanted.is_more_than(most) {
                    errors.invalid(
                        &requests,
                        &text,
                        format!("must be less than or equal to {resource} limit of {limit}"),
                    );
                }
            }
            None if !may_be_overcommitted(resource) => {
                errors.required(&limits, "Limit must be set for non overcommitable resources");
            }
            None => {}
        }
        pages(errors, &requests.key(resource), resource, value);
    }
    if has_pages && !has_base {
        errors.forbidden(path, "HugePages require cpu or memory");
    }
    claim_names(errors, &path.child("claims"), requirements, claims);
}

fn claim_names(errors: &mut Errors, path: &Path<'_>, requirements: &Fields, claims: &[&str]) {
    let mut seen: Seen<String> = Seen::default();
    // How many requests of each claim were seen.
    let mut requests: HashMap<&str, usize> = HashMap::new();
    let known: Seen<&str> = claims.iter().copied().collect();
    let rule = LazyCell::new(|| {
        let rule = "must be one of the names in pod.spec.resourceClaims";
        if claims.is_empty() {
            return format!("{rule} which is empty");
        }
        let mut sorted = claims.to_vec();
        sorted.sort_unstable();
        format!("{rule}: {}", sorted.join(", "))
    });
    for (index, claim) in requirements.numbered("claims") {
        let path = path.index(index);
        let (name, request) = (claim.text("name"), claim.text("request"));
        if name.is_empty() {
            errors.required(&path, "");
            continue;
        }
        if seen.contains(&name.to_owned()) {
            errors.duplicate(&path, name);
        } else {
            let mut key = name.to_owned();
            if !request.is_empty() {
                errors.faults(&path.child("request"), request, dns_label(request));
                key = format!("{name}/{request}");
            }
            if seen.contains(&key) {
                errors.duplicate(&path, &key);
            } else if request.is_empty() {
                for _ in 0..requests.get(name).copied().unwrap_or_default() {
                    errors.duplicate(&path, name);
                }
            }
            if !request.is_empty() {
                *requests.entry(name).or_default() += 1;
            }
            seen.push(key);
        }
        if !known.contains(&name) {
            errors.not_found(&path, name, rule.as_str());
        }
    }
}

/// Checks that an amount isn't below 0.
pub(super) fn not_negative(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    let text = quantity_text(value);
    if Quantity::read(&text).is_negative() {
        errors.invalid(path, &text, "must be greater than or equal to 0");
    }
}

/// Checks that an amount is above 0.
pub(super) fn positive(errors: &mut Errors, path: &Path<'_>, value: &Value) -> bool {
    let text = quantity_text(value);
    let is_right = Quantity::read(&text).is_positive();
    if !is_right {
        errors.invalid(path, &text, "must be greater than zero");
    }
    is_right
}
