//! Services.

mod update;

use schema::structural::name_rules::{dns_label, dns_subdomain, label_key};
use serde_json::json;

use super::containers::protocol;
use super::reading::{Reading, nothing};
use super::report::{Errors, Path, listed};
use super::seen::Seen;
use super::syntax::{self, address, port_number};
use super::{internal, metadata, probes};
use crate::tree::{Fields, Tree};

pub(super) use update::{check as check_update, check_status, load_balancer_status};

const SPEC: Path<'_> = Path::new("spec");

/// The longest time for which a client stays with one pod, in seconds: a day.
const LONGEST_AFFINITY: i64 = 86_400;

fn is_headless(spec: &Fields) -> bool {
    let addresses = spec.list("clusterIPs");
    addresses.len() == 1 && addresses.first().is_some_and(|one| one == "None")
}

/// Checks a new Service.
pub(super) fn check(errors: &mut Errors, object: &Fields) {
    metadata::check(errors, "", "Service", object);
    whole(errors, object, None);
}

/// Checks a Service; `old` is the one that it replaces.
fn whole(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    const MODE: &str = "service.kubernetes.io/topology-mode";
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    let spec = object.at("spec");
    let old_spec = old.map_or(nothing(), |old| old.at("spec"));
    let notes = object.at("metadata").at("annotations");
    let notes_path = Path::new("metadata.annotations");
    if let (Some(hints), Some(mode)) = (notes.set_text(HINTS), notes.set_text(MODE))
        && hints != mode
    {
        errors.invalid(
            &notes_path.key(MODE),
            mode,
            format!("must match annotations[{HINTS}] when both are specified"),
        );
    }
    let kind = spec.text("type");
    let headless = is_headless(spec);
    if spec.is_zero("ports") && !headless && kind != "ExternalName" {
        errors.required(&SPEC.child("ports"), "");
    }
    match kind {
        "LoadBalancer" | "NodePort" if headless => errors.invalid(
            &SPEC.child("clusterIPs").index(0),
            "None",
            format!("may not be set to 'None' for {kind} services"),
        ),
        "ExternalName" => external_name(errors, spec),
        _ => {}
    }
    ports(errors, spec);
    syntax::labels(errors, &SPEC.child("selector"), spec.entries("selector"));
    affinity(errors, spec);
    cluster_addresses(errors, spec, old_spec);
    let addresses = SPEC.child("externalIPs");
    for (index, ip) in spec.texts("externalIPs").enumerate() {
        let path = addresses.index(index);
        if address::check(errors, &path, ip, old_spec.texts("externalIPs")) {
            address::check_endpoint(errors, &path, ip);
        }
    }
    errors.one_of(
        &SPEC.child("type"),
        kind,
        &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
    );
    port_conflicts(errors, spec, kind);
    source_ranges(errors, object, old);
    let allocates = spec.has("allocateLoadBalancerNodePorts");
    if allocates && kind != "LoadBalancer" {
        errors.forbidden(
            &SPEC.child("allocateLoadBalancerNodePorts"),
            "may only be used when `type` is 'LoadBalancer'",
        );
    }
    if kind == "LoadBalancer" && !allocates {
        errors.required(&Path::new("allocateLoadBalancerNodePorts"), "");
    }
    update::load_balancer_class(errors, spec, None);
    traffic(errors, spec);
}

fn external_name(errors: &mut Errors, spec: &Fields) {
    for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if !spec.is_zero(name) {
            errors.forbidden(&SPEC.child(name), "may not be set for ExternalName services");
        }
    }
    let name = spec.text("externalName");
    let name = name.strip_suffix('.').unwrap_or(name);
    let path = SPEC.child("externalName");
    if name.is_empty() {
        errors.required(&path, "");
    } else {
        errors.faults(&path, name, dns_subdomain(name));
    }
}

fn ports(errors: &mut Errors, spec: &Fields) {
    let ports = SPEC.child("ports");
    let is_one_of_many = spec.list("ports").len() > 1;
    let mut names: Seen<&str> = Seen::default();
    for (index, port) in spec.numbered("ports") {
        let path = ports.index(index);
        let name = port.text("name");
        if name.is_empty() {
            if is_one_of_many {
                errors.required(&path.child("name"), "");
            }
        } else {
            errors.faults(&path.child("name"), name, dns_label(name));
            if names.contains(&name) {
                errors.duplicate(&path.child("name"), name);
            } else {
                names.push(name);
            }
        }
        let number = port.number("port");
        for fault in port_number(number) {
            errors.invalid(&path.child("port"), number, fault);
        }
        protocol(errors, &path.child("protocol"), port.text("protocol"));
        probes::port(errors, &path.child("targetPort"), port, "targetPort");
        if let Some(name) = port.set_text("appProtocol") {
            errors.faults(&path.child("appProtocol"), name, label_key(name));
        }
    }
}

fn port_conflicts(errors: &mut Errors, spec: &Fields, kind: &str) {
    let ports = SPEC.child("ports");
    if kind == "ClusterIP" {
        for (index, port) in spec.numbered("ports") {
            if port.number("nodePort") != 0 {
                errors.forbidden(
                    &ports.index(index).child("nodePort"),
                    "may not be used when `type` is 'ClusterIP'",
                );
            }
        }
    }
    let mut seen: Seen<(&str, i64)> = Seen::default();
    for (index, port) in spec.numbered("ports") {
        let number = port.number("nodePort");
        let key = (port.text("protocol"), number);
        if number == 0 {
            continue;
        }
        if seen.contains(&key) {
            errors.duplicate(&ports.index(index).child("nodePort"), number);
        }
        seen.push(key);
    }
    let mut seen: Seen<(&str, i64)> = Seen::default();
    for (index, port) in spec.numbered("ports") {
        let key = (port.text("protocol"), port.number("port"));
        if seen.contains(&key) {
            let shown = json!({"protocol": key.0, "port": key.1});
            errors.duplicate(
                &ports.index(index),
                internal::shown("core.ServicePort", Some(&shown)),
            );
        }
        seen.push(key);
    }
}

fn affinity(errors: &mut Errors, spec: &Fields) {
    let kind = spec.text("sessionAffinity");
    errors.one_of(&SPEC.child("sessionAffinity"), kind, &["ClientIP", "None"]);
    let path = SPEC.child("sessionAffinityConfig");
    let config = spec.at("sessionAffinityConfig");
    match kind {
        "ClientIP" => {
            const RULE: &str = "when session affinity type is ClientIP";
            let seconds_path = path.child("clientIP.timeoutSeconds");
            if !spec.has("sessionAffinityConfig") {
                errors.required(&path, RULE);
            } else if !config.has("clientIP") {
                errors.required(&path.child("clientIP"), RULE);
            } else if let Some(seconds) = config.at("clientIP").set_number("timeoutSeconds") {
                if !(1..=LONGEST_AFFINITY).contains(&seconds) {
                    errors.invalid(
                        &seconds_path,
                        seconds,
                        format!("must be greater than 0 and less than {LONGEST_AFFINITY}"),
                    );
                }
            } else {
                errors.required(&seconds_path, RULE);
            }
        }
        "None" if spec.has("sessionAffinityConfig") => {
            errors.forbidden(&path, "must not be set when session affinity is None");
        }
        _ => {}
    }
}

fn cluster_addresses(errors: &mut Errors, spec: &Fields, old: &Fields) {
    if spec.text("type") == "ExternalName" {
        return;
    }
    let path = SPEC.child("clusterIPs");
    let (first, all) = (spec.text("clusterIP"), spec.list("clusterIPs"));
    let shown = || listed(spec.get("clusterIPs"));
    if first.is_empty() {
        if !all.is_empty() {
            errors.invalid(&path, shown(), "must be empty when `clusterIP` is not specified");
        }
    } else if all.is_empty() {
        errors.required(&path, "");
    } else if all.first().is_none_or(|one| one != first) {
        errors.invalid(&path, shown(), "first value must match `clusterIP`");
    }
    let families = SPEC.child("ipFamilies");
    let mut seen: Seen<&str> = Seen::default();
    for (index, family) in spec.texts("ipFamilies").enumerate() {
        errors.one_of_if_set(&families.index(index), Some(family), &["IPv4", "IPv6"]);
        if seen.contains(&family) {
            errors.duplicate(&families.index(index), family);
        }
        seen.push(family);
    }
    errors.one_of_if_set(
        &SPEC.child("ipFamilyPolicy"),
        spec.set_text("ipFamilyPolicy"),
        &["PreferDualStack", "RequireDualStack", "SingleStack"],
    );
    let mut has_wrong = false;
    for (index, ip) in spec.texts("clusterIPs").enumerate() {
        if index == 0 && ip == "None" {
            if all.len() > 1 {
                has_wrong = true;
                errors.invalid(&path, shown(), "'None' must be the first and only value");
            }
            continue;
        }
        has_wrong |= !address::check(errors, &path.index(index), ip, old.texts("clusterIPs"));
    }
    if all.len() > 2 {
        errors.invalid(&path, shown(), "may only hold up to 2 values");
    }
    if has_wrong {
        return;
    }
    if all.len() > 1 && address::is_dual_stack(spec.texts("clusterIPs")) != Some(true) {
        errors.invalid(
            &path,
            shown(),
            "may specify no more than one IP for each IP family",
        );
    }
    if is_headless(spec) {
        return;
    }
    for (index, (ip, family)) in spec.texts("clusterIPs").zip(spec.texts("ipFamilies")).enumerate() {
        let is_six = address::parse(ip).is_some_and(address::is_six);
        let expected = match family {
            "IPv4" if is_six => "IPv4",
            "IPv6" if !is_six => "IPv6",
            _ => continue,
        };
        errors.invalid(
            &path.index(index),
            ip,
            format!("expected an {expected} value as indicated by `ipFamilies[{index}]`"),
        );
    }
}

fn source_ranges(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    const NOTE: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
    const RULE: &str = "may only be used when `type` is 'LoadBalancer'";
    let spec = object.at("spec");
    let is_balanced = spec.text("type") == "LoadBalancer";
    let notes = object.at("metadata").at("annotations");
    if !spec.is_zero("loadBalancerSourceRanges") {
        let path = SPEC.child("LoadBalancerSourceRanges");
        if !is_balanced {
            errors.forbidden(&path, RULE);
        }
        for (index, range) in spec.texts("loadBalancerSourceRanges").enumerate() {
            let known = old
                .map_or(nothing(), |old| old.at("spec"))
                .texts("loadBalancerSourceRanges")
                .map(str::trim);
            address::check_range(errors, &path.index(index), range.trim(), known);
        }
    } else if let Some(value) = notes.set_text(NOTE) {
        let notes_path = Path::new("metadata.annotations");
        let path = notes_path.key(NOTE);
        if !is_balanced {
            errors.forbidden(&path, RULE);
        }
        let is_known =
            old.is_some_and(|old| old.at("metadata").at("annotations").set_text(NOTE) == Some(value));
        if !is_known && !value.trim().is_empty() {
            for range in value.trim().split(',') {
                address::check_range(errors, &path, range.trim(), std::iter::empty());
            }
        }
    }
}

/// Returns whether a Service can be reached from outside.
fn is_reachable(spec: &Fields) -> bool {
    matches!(spec.text("type"), "LoadBalancer" | "NodePort")
        || (spec.text("type") == "ClusterIP" && !spec.is_zero("externalIPs"))
}

fn needs_health_check(spec: &Fields) -> bool {
    spec.text("type") == "LoadBalancer" && spec.text("externalTrafficPolicy") == "Local"
}

fn traffic(errors: &mut Errors, spec: &Fields) {
    let policy = spec.text("externalTrafficPolicy");
    let path = SPEC.child("externalTrafficPolicy");
    if is_reachable(spec) {
        errors.one_of(&path, policy, &["Cluster", "Local"]);
    } else if !policy.is_empty() {
        errors.invalid(
            &path,
            policy,
            "may only be set for externally-accessible services",
        );
    }
    let port = spec.number("healthCheckNodePort");
    let path = SPEC.child("healthCheckNodePort");
    if !needs_health_check(spec) {
        if port != 0 {
            errors.invalid(
                &path,
                port,
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
            );
        }
    } else if port != 0 {
        // A port that is missing is allocated behind this check.
        for fault in port_number(port) {
            errors.invalid(&path, port, fault);
        }
    }
    let internal = spec.set_text("internalTrafficPolicy");
    let path = SPEC.child("internalTrafficPolicy");
    if internal.is_none() && matches!(spec.text("type"), "NodePort" | "LoadBalancer" | "ClusterIP") {
        errors.required(&path, "");
    }
    errors.one_of_if_set(&path, internal, &["Cluster", "Local"]);
    errors.one_of_if_set(
        &SPEC.child("trafficDistribution"),
        spec.set_text("trafficDistribution"),
        &["PreferClose", "PreferSameZone", "PreferSameNode"],
    );
}
