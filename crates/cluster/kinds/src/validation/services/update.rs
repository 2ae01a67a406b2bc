//! What may change in a Service that is there already.

use schema::structural::name_rules::{dns_subdomain, label_key};

use super::super::metadata;
use super::super::reading::Reading;
use super::super::report::{Errors, Path, listed};
use super::super::syntax::address;
use super::{SPEC, is_headless, needs_health_check, whole};
use crate::tree::{Fields, Tree};

/// Checks an update of a Service.
pub(in super::super) fn check(errors: &mut Errors, new: &Fields, old: &Fields) {
    metadata::check_update(errors, "", new, old);
    let (spec, before) = (new.at("spec"), old.at("spec"));
    cluster_addresses(errors, spec, before);
    families(errors, spec, before);
    load_balancer_class(errors, spec, Some(before));
    if needs_health_check(before)
        && needs_health_check(spec)
        && spec.number("healthCheckNodePort") != before.number("healthCheckNodePort")
    {
        errors.forbidden(&SPEC.child("healthCheckNodePort"), "field is immutable");
    }
    whole(errors, new, Some(old));
}

fn is_external(spec: &Fields) -> bool {
    spec.text("type") == "ExternalName"
}

fn cluster_addresses(errors: &mut Errors, spec: &Fields, before: &Fields) {
    if is_external(spec) || is_external(before) || (is_headless(spec) && is_headless(before)) {
        return;
    }
    let path = SPEC.child("clusterIPs");
    let (now, then) = (spec.list("clusterIPs"), before.list("clusterIPs"));
    let shown = || listed(spec.get("clusterIPs"));
    if now.len() == then.len() {
        for (index, (now, then)) in now.iter().zip(then).enumerate() {
            if now != then {
                errors.invalid(&path.index(index), shown(), "may not change once set");
            }
        }
        return;
    }
    if now.is_empty() {
        errors.invalid(&path.index(0), shown(), "primary clusterIP can not be unset");
    }
    if let (Some(now), Some(then)) = (now.first(), then.first())
        && now != then
    {
        errors.invalid(&path.index(0), shown(), "may not change once set");
    }
    if then.len() > now.len() && now.len() == 1 {
        single_stack(errors, spec, "clusterIP");
    }
}

fn single_stack(errors: &mut Errors, spec: &Fields, what: &str) {
    if spec.text("ipFamilyPolicy") != "SingleStack" {
        errors.invalid(
            &SPEC.child("ipFamilyPolicy"),
            spec.set_value("ipFamilyPolicy"),
            format!("must be set to 'SingleStack' when releasing the secondary {what}"),
        );
    }
}

fn families(errors: &mut Errors, spec: &Fields, before: &Fields) {
    if is_external(spec) || is_external(before) || is_headless(spec) || is_headless(before) {
        return;
    }
    let families = SPEC.child("ipFamilies");
    let path = families.index(0);
    let (now, then) = (spec.list("ipFamilies"), before.list("ipFamilies"));
    if now.len() == then.len() {
        for _ in now.iter().zip(then).filter(|(now, then)| now != then) {
            errors.invalid(&path, listed(spec.get("ipFamilies")), "may not change once set");
        }
        return;
    }
    if then.len() > now.len() && spec.is_zero("clusterIPs") {
        errors.invalid(
            &path,
            listed(spec.get("ipFamilies")),
            "primary ipFamily can not be unset",
        );
    }
    if let (Some(now), Some(then)) = (now.first(), then.first())
        && now != then
    {
        // Upstream shows the addresses here.
        errors.invalid(&path, listed(spec.get("clusterIPs")), "may not change once set");
    }
    if then.len() > now.len() && now.len() == 1 {
        single_stack(errors, spec, "ipFamily");
    }
}

/// Checks which load balancer a Service has; `before` is the old specification.
pub(super) fn load_balancer_class(errors: &mut Errors, spec: &Fields, before: Option<&Fields>) {
    let path = SPEC.child("loadBalancerClass");
    let class = spec.set_text("loadBalancerClass");
    let is_balanced = spec.text("type") == "LoadBalancer";
    if let Some(before) = before
        && is_balanced
        && before.text("type") == "LoadBalancer"
        && before.set_text("loadBalancerClass") != class
    {
        errors.invalid(
            &path,
            spec.set_value("loadBalancerClass"),
            "may not change once set",
        );
    }
    match class {
        Some(class) if is_balanced => errors.faults(&path, class, label_key(class)),
        Some(_) => errors.forbidden(&path, "may only be used when `type` is 'LoadBalancer'"),
        None => {}
    }
}

/// Checks an update of a Service's status.
pub(in super::super) fn check_status(errors: &mut Errors, new: &Fields, old: &Fields) {
    metadata::check_update(errors, "", new, old);
    let (status, before) = (new.at("status"), old.at("status"));
    let balancer = status.at("loadBalancer");
    let path = Path::new("status.loadBalancer");
    if new.at("spec").text("type") != "LoadBalancer" && !balancer.is_zero("ingress") {
        errors.forbidden(
            &path.child("ingress"),
            "may only be used when `spec.type` is 'LoadBalancer'",
        );
        return;
    }
    load_balancer_status(errors, &path, balancer, before.at("loadBalancer"), true);
}

/// Checks the addresses of a load balancer.
pub(in super::super) fn load_balancer_status(
    errors: &mut Errors,
    path: &Path<'_>,
    status: &Fields,
    before: &Fields,
    has_modes: bool,
) {
    let entries = path.child("ingress");
    for (index, entry) in status.numbered("ingress") {
        let path = entries.index(index);
        let (ip, name) = (entry.text("ip"), entry.text("hostname"));
        if !ip.is_empty() {
            let known = before.items("ingress").map(|entry| entry.text("ip"));
            address::check(errors, &path.child("ip"), ip, known);
        }
        if has_modes {
            let mode = entry.set_text("ipMode");
            let path = path.child("ipMode");
            match mode {
                None if !ip.is_empty() => errors.required(&path, "must be specified when `ip` is set"),
                Some(mode) if ip.is_empty() => {
                    errors.forbidden(&path, "may not be specified when `ip` is not set");
                    let _ = mode;
                }
                mode => errors.one_of_if_set(&path, mode, &["Proxy", "VIP"]),
            }
        }
        if !name.is_empty() {
            errors.faults(&path.child("hostname"), name, dns_subdomain(name));
            if address::parse(name).is_some() {
                errors.invalid(
                    &path.child("hostname"),
                    name,
                    "must be a DNS name, not an IP address",
                );
            }
        }
    }
}
