//! How pods are reached: Ingresses, `NetworkPolicies`, and the endpoints behind Services.

use schema::structural::name_rules::{dns_label, dns_subdomain, label_key, label_value};

use super::containers::protocol;
use super::reading::Reading;
use super::report::{Errors, Path, listed};
use super::seen::Seen;
use super::syntax::{self, Rule, address, path_segment, port_name, port_number, wildcard_domain};
use super::{metadata, selectors, services};
use crate::tree::{Fields, Tree};

const SPEC: Path<'_> = Path::new("spec");
const GROUP: &str = "networking.k8s.io";

/// Checks a `NetworkPolicy`; `old` is the one that it replaces.
pub(super) fn policy(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    match old {
        None => metadata::check(errors, GROUP, "NetworkPolicy", object),
        Some(old) => metadata::check_update(errors, GROUP, object, old),
    }
    let spec = object.at("spec");
    let mut known: Vec<&str> = Vec::new();
    let mut allows_values = false;
    if let Some(old) = old.map(|old| old.at("spec")) {
        let mut before = Errors::default();
        selectors::check(&mut before, &SPEC, old.part("podSelector"), false);
        allows_values = !before.is_empty();
        for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
            for block in old
                .items(rules)
                .flat_map(|rule| rule.items(peers))
                .map(|peer| peer.at("ipBlock"))
            {
                known.push(block.text("cidr"));
                known.extend(block.texts("except"));
            }
        }
    }
    selectors::check(
        errors,
        &SPEC.child("podSelector"),
        spec.part("podSelector"),
        allows_values,
    );
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        let list = SPEC.child(rules);
        for (index, rule) in spec.numbered(rules) {
            let path = list.index(index);
            let ports = path.child("ports");
            for (index, port) in rule.numbered("ports") {
                policy_port(errors, &ports.index(index), port);
            }
            let list = path.child(peers);
            for (index, peer) in rule.numbered(peers) {
                policy_peer(errors, &list.index(index), peer, &known, allows_values);
            }
        }
    }
    let path = SPEC.child("policyTypes");
    if spec.list("policyTypes").len() > 2 {
        errors.invalid(
            &path,
            listed(spec.get("policyTypes")),
            "may not specify more than two policyTypes",
        );
        return;
    }
    for (index, kind) in spec.texts("policyTypes").enumerate() {
        errors.one_of_if_set(&path.index(index), Some(kind), &["Ingress", "Egress"]);
    }
}

fn policy_port(errors: &mut Errors, path: &Path<'_>, port: &Fields) {
    errors.one_of_if_set(
        &path.child("protocol"),
        port.set_text("protocol"),
        &["TCP", "UDP", "SCTP"],
    );
    let end = port.set_number("endPort");
    let end_path = path.child("endPort");
    if !port.has("port") {
        if let Some(end) = end {
            errors.invalid(
                &end_path,
                end,
                "may not be specified when `port` is not specified",
            );
        }
        return;
    }
    let path = path.child("port");
    if let Some(name) = port.set_text("port") {
        if let Some(end) = end {
            errors.invalid(&end_path, end, "may not be specified when `port` is non-numeric");
        }
        errors.faults(&path, name, port_name(name));
        return;
    }
    let start = port.number("port");
    for fault in port_number(start) {
        errors.invalid(&path, start, fault);
    }
    if let Some(end) = end {
        if end < start {
            errors.invalid(&end_path, start, "must be greater than or equal to `port`");
        }
        for fault in port_number(end) {
            errors.invalid(&end_path, end, fault);
        }
    }
}

fn policy_peer(errors: &mut Errors, path: &Path<'_>, peer: &Fields, known: &[&str], allows_values: bool) {
    let mut count = 0;
    for name in ["podSelector", "namespaceSelector"] {
        if peer.has(name) {
            count += 1;
            selectors::check(errors, &path.child(name), peer.part(name), allows_values);
        }
    }
    if peer.has("ipBlock") {
        count += 1;
        block(errors, &path.child("ipBlock"), peer.at("ipBlock"), known);
    }
    if count == 0 {
        errors.required(path, "must specify a peer");
    } else if count > 1 && peer.has("ipBlock") {
        errors.forbidden(path, "may not specify both ipBlock and another peer");
    }
}

fn block(errors: &mut Errors, path: &Path<'_>, block: &Fields, known: &[&str]) {
    let text = block.text("cidr");
    if text.is_empty() {
        errors.required(&path.child("cidr"), "");
        return;
    }
    address::check_range(errors, &path.child("cidr"), text, known.iter().copied());
    let Some(range) = address::Range::parse(text) else {
        return;
    };
    let list = path.child("except");
    for (index, text) in block.texts("except").enumerate() {
        let path = list.index(index);
        address::check_range(errors, &path, text, known.iter().copied());
        if let Some(part) = address::Range::parse(text)
            && !range.holds(&part)
        {
            errors.invalid(&path, text, "must be a strict subset of `cidr`");
        }
    }
}

/// Checks an Ingress; `old` is the one that it replaces.
pub(super) fn ingress(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    const NOTE: &str = "kubernetes.io/ingress.class";
    if let Some(old) = old {
        metadata::check_update(errors, GROUP, object, old);
    }
    metadata::check(errors, GROUP, "Ingress", object);
    let spec = object.at("spec");
    let before = old.map(|old| old.at("spec"));
    if spec.is_zero("rules") && !spec.has("defaultBackend") {
        errors.invalid(
            &SPEC,
            listed(spec.get("rules")),
            "either `defaultBackend` or `rules` must be specified",
        );
    }
    if spec.has("defaultBackend") {
        backend(errors, &SPEC.child("defaultBackend"), spec.at("defaultBackend"));
    }
    let allows_wildcards = before.is_some_and(|before| {
        before.items("rules").any(|rule| {
            let mut faults = Errors::default();
            rule_value(&mut faults, &SPEC, rule);
            rule.text("host").contains('*') && !faults.is_empty()
        })
    });
    let rules = SPEC.child("rules");
    for (index, rule) in spec.numbered("rules") {
        let path = rules.index(index);
        let host = rule.text("host");
        let has_wildcard = host.contains('*');
        if !host.is_empty() {
            if address::parse(host).is_some() {
                errors.invalid(&path.child("host"), host, "must be a DNS name, not an IP address");
            }
            let faults = if has_wildcard {
                wildcard_domain(host)
            } else {
                dns_subdomain(host)
            };
            errors.faults(&path.child("host"), host, faults);
        }
        if !has_wildcard || !allows_wildcards {
            rule_value(errors, &path, rule);
        }
    }
    let secret_faults = |name: &str| {
        if name.is_empty() {
            Vec::new()
        } else {
            dns_subdomain(name)
        }
    };
    let allows_secrets = before.is_some_and(|before| {
        before
            .items("tls")
            .any(|tls| !secret_faults(tls.text("secretName")).is_empty())
    });
    let list = SPEC.child("tls");
    for (index, tls) in spec.numbered("tls") {
        let path = list.index(index);
        let hosts = path.child("hosts");
        for (index, host) in tls.texts("hosts").enumerate() {
            let faults = if host.contains('*') {
                wildcard_domain(host)
            } else {
                dns_subdomain(host)
            };
            errors.faults(&hosts.index(index), host, faults);
        }
        if !allows_secrets {
            let name = tls.text("secretName");
            errors.faults(&path.child("secretName"), name, secret_faults(name));
        }
    }
    if let Some(class) = spec.set_text("ingressClassName") {
        errors.faults(&SPEC.child("ingressClassName"), class, dns_subdomain(class));
        if old.is_none()
            && let Some(noted) = object.at("metadata").at("annotations").set_text(NOTE)
            && noted != class
        {
            errors.invalid(
                &Path::new("annotations").child(NOTE),
                noted,
                "must match `ingressClassName` when both are specified",
            );
        }
    }
}

fn rule_value(errors: &mut Errors, path: &Path<'_>, rule: &Fields) {
    if !rule.has("http") {
        return;
    }
    let http = rule.at("http");
    let list = path.child("http.paths");
    if http.is_zero("paths") {
        errors.required(&list, "");
    }
    for (index, entry) in http.numbered("paths") {
        let own = list.index(index);
        let path = own.child("path");
        let text = entry.text("path");
        match entry.set_text("pathType") {
            None => {
                errors.required(&own.child("pathType"), "pathType must be specified");
                continue;
            }
            Some("Exact" | "Prefix") => {
                if !text.starts_with('/') {
                    errors.invalid(&path, text, "must be an absolute path");
                }
                for part in ["//", "/./", "/../", "%2f", "%2F"] {
                    if text.contains(part) {
                        errors.invalid(&path, text, format!("must not contain '{part}'"));
                    }
                }
                for end in ["/..", "/."] {
                    if text.ends_with(end) {
                        errors.invalid(&path, text, format!("cannot end with '{end}'"));
                    }
                }
            }
            Some("ImplementationSpecific") => {
                if !text.is_empty() && !text.starts_with('/') {
                    errors.invalid(&path, text, "must be an absolute path");
                }
            }
            Some(other) => errors.not_supported(
                &own.child("pathType"),
                other,
                &["Exact", "ImplementationSpecific", "Prefix"],
            ),
        }
        backend(errors, &own.child("backend"), entry.at("backend"));
    }
}

fn backend(errors: &mut Errors, path: &Path<'_>, backend: &Fields) {
    match (backend.has("resource"), backend.has("service")) {
        (true, true) => errors.invalid(path, "", "cannot set both resource and service backends"),
        (true, false) => reference(errors, &path.child("resource"), backend.at("resource")),
        (false, true) => {
            let service = backend.at("service");
            let name = service.text("name");
            if name.is_empty() {
                errors.required(&path.child("service.name"), "");
            } else {
                errors.faults(&path.child("service.name"), name, dns_label(name));
            }
            let port = service.at("port");
            let (name, number) = (port.text("name"), port.number("number"));
            if !name.is_empty() && number != 0 {
                errors.invalid(path, "", "cannot set both port name & port number");
            } else if !name.is_empty() {
                errors.faults(&path.child("service.port.name"), name, port_name(name));
            } else if number != 0 {
                for fault in port_number(number) {
                    errors.invalid(&path.child("service.port.number"), number, fault);
                }
            } else {
                errors.required(path, "port name or number is required");
            }
        }
        (false, false) => errors.invalid(path, "", "resource or service backend is required"),
    }
}

fn reference(errors: &mut Errors, path: &Path<'_>, reference: &Fields) {
    if let Some(group) = reference.set_text("apiGroup") {
        errors.faults(&path.child("apiGroup"), group, dns_subdomain(group));
    }
    for name in ["kind", "name"] {
        let text = reference.text(name);
        if text.is_empty() {
            errors.required(&path.child(name), "");
        } else {
            errors.faults(&path.child(name), text, path_segment(text));
        }
    }
}

/// Checks a status of an Ingress.
pub(super) fn ingress_status(errors: &mut Errors, new: &Fields, old: &Fields) {
    metadata::check_update(errors, GROUP, new, old);
    services::load_balancer_status(
        errors,
        &Path::new("status.loadBalancer"),
        new.at("status").at("loadBalancer"),
        old.at("status").at("loadBalancer"),
        false,
    );
}

/// Checks an `IngressClass`; `old` is the one that it replaces.
pub(super) fn ingress_class(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    /// The longest name of a controller.
    const MOST_BYTES: usize = 250;
    let spec = object.at("spec");
    let path = SPEC.child("controller");
    let controller = spec.text("controller");
    if let Some(old) = old {
        metadata::check_update(errors, GROUP, object, old);
        if old.at("spec").text("controller") != controller {
            errors.invalid(&path, controller, "field is immutable");
        }
    }
    metadata::check(errors, GROUP, "IngressClass", object);
    if controller.len() > MOST_BYTES {
        errors.too_long(&path, MOST_BYTES);
    }
    syntax::domain_with_path(errors, &path, controller);
    if !spec.has("parameters") {
        return;
    }
    let path = SPEC.child("parameters");
    let parameters = spec.at("parameters");
    reference(errors, &path, parameters);
    let namespace = parameters.set_text("namespace");
    let namespace_path = path.child("namespace");
    match parameters.set_text("scope") {
        None => errors.required(&path.child("scope"), ""),
        Some("Namespace") => match namespace {
            None => errors.required(&namespace_path, "`parameters.scope` is set to 'Namespace'"),
            Some(name) => errors.faults(&namespace_path, name, dns_label(name)),
        },
        Some("Cluster") => {
            if namespace.is_some() {
                errors.forbidden(&namespace_path, "`parameters.scope` is set to 'Cluster'");
            }
        }
        Some(other) => errors.not_supported(&path.child("scope"), other, &["Cluster", "Namespace"]),
    }
}

/// Checks Endpoints; `old` are those that they replace.
pub(super) fn endpoints(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    if let Some(old) = old {
        metadata::check_update(errors, "", object, old);
    }
    metadata::check(errors, "", "Endpoints", object);
    if old.is_some_and(|old| object.is_same(old, "subsets")) {
        return;
    }
    let subsets = Path::new("subsets");
    for (index, subset) in object.numbered("subsets") {
        let path = subsets.index(index);
        if subset.is_zero("addresses") && subset.is_zero("notReadyAddresses") {
            errors.required(&path, "must specify `addresses` or `notReadyAddresses`");
        }
        for name in ["addresses", "notReadyAddresses"] {
            let list = path.child(name);
            for (index, one) in subset.numbered(name) {
                let path = list.index(index);
                let ip = one.text("ip");
                address::check(errors, &path.child("ip"), ip, std::iter::empty());
                let host = one.text("hostname");
                if !host.is_empty() {
                    errors.faults(&path.child("hostname"), host, dns_label(host));
                }
                if let Some(node) = one.set_text("nodeName") {
                    errors.faults(&path.child("nodeName"), node, dns_subdomain(node));
                }
                address::check_endpoint(errors, &path.child("ip"), ip);
            }
        }
        let list = path.child("ports");
        let is_one_of_many = subset.list("ports").len() > 1;
        for (index, port) in subset.numbered("ports") {
            let path = list.index(index);
            let name = port.text("name");
            if name.is_empty() {
                if is_one_of_many {
                    errors.required(&path.child("name"), "");
                }
            } else {
                errors.faults(&path.child("name"), name, dns_label(name));
            }
            let number = port.number("port");
            for fault in port_number(number) {
                errors.invalid(&path.child("port"), number, fault);
            }
            protocol(errors, &path.child("protocol"), port.text("protocol"));
            if let Some(name) = port.set_text("appProtocol") {
                errors.faults(&path.child("appProtocol"), name, label_key(name));
            }
        }
    }
}

/// Checks an `EndpointSlice`; `old` is the one that it replaces.
pub(super) fn slice(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    metadata::check(errors, "discovery.k8s.io", "EndpointSlice", object);
    let kind = object.text("addressType");
    errors.one_of(&Path::new("addressType"), kind, &["FQDN", "IPv4", "IPv6"]);
    slice_ports(errors, object);
    if !old.is_some_and(|old| object.is_same(old, "endpoints")) {
        slice_endpoints(errors, object, kind);
    }
    if old.is_some_and(|old| old.text("addressType") != kind) {
        errors.invalid(&Path::new("addressType"), kind, "field is immutable");
    }
}

fn slice_ports(errors: &mut Errors, object: &Fields) {
    /// The most ports of a slice.
    const MOST: usize = 20_000;
    let list = Path::new("ports");
    let count = object.list("ports").len();
    if count > MOST {
        errors.too_many(&list, count, MOST);
        return;
    }
    let mut names: Seen<&str> = Seen::default();
    for (index, port) in object.numbered("ports") {
        let path = list.index(index);
        let name = port.text("name");
        if !name.is_empty() {
            errors.faults(&path.child("name"), name, dns_label(name));
        }
        if names.contains(&name) {
            errors.duplicate(&path.child("name"), name);
        } else {
            names.push(name);
        }
        match port.set_text("protocol") {
            None => errors.required(&path.child("protocol"), ""),
            kind => errors.one_of_if_set(&path.child("protocol"), kind, &["SCTP", "TCP", "UDP"]),
        }
        if let Some(name) = port.set_text("appProtocol") {
            errors.faults(&path.child("appProtocol"), name, label_key(name));
        }
    }
}

fn slice_endpoints(errors: &mut Errors, object: &Fields, kind: &str) {
    /// The most endpoints of a slice, addresses of one, and labels of one.
    const MOST: (usize, usize, usize) = (1_000, 100, 16);
    let list = Path::new("endpoints");
    let count = object.list("endpoints").len();
    if count > MOST.0 {
        errors.too_many(&list, count, MOST.0);
        return;
    }
    for (index, endpoint) in object.numbered("endpoints") {
        let path = list.index(index);
        let addresses = path.child("addresses");
        let count = endpoint.list("addresses").len();
        if count == 0 {
            errors.required(&addresses, "must contain at least 1 address");
        } else if count > MOST.1 {
            errors.too_many(&addresses, count, MOST.1);
        }
        for (index, text) in endpoint.texts("addresses").enumerate() {
            let path = addresses.index(index);
            let is_six = address::parse(text).is_some_and(address::is_six);
            match kind {
                "IPv4" | "IPv6" => {
                    let is_right = if kind == "IPv4" {
                        address::check(errors, &path, text, std::iter::empty())
                    } else {
                        address::check_strictly(errors, &path, text)
                    };
                    if is_right && is_six != (kind == "IPv6") {
                        errors.invalid(&addresses, text, format!("must be an {kind} address"));
                    }
                    if is_right {
                        address::check_endpoint(errors, &path, text);
                    }
                }
                "FQDN" => syntax::host_name(errors, &path, text),
                _ => {}
            }
        }
        if let Some(node) = endpoint.set_text("nodeName") {
            errors.faults(&path.child("nodeName"), node, dns_subdomain(node));
        }
        let topology = path.child("deprecatedTopology");
        let count = endpoint.at("deprecatedTopology").len();
        if count > MOST.2 {
            errors.too_many(&topology, count, MOST.2);
        }
        syntax::labels(errors, &topology, endpoint.entries("deprecatedTopology"));
        if let Some(host) = endpoint.set_text("hostname") {
            errors.faults(&path.child("hostname"), host, dns_label(host));
        }
        if endpoint.has("hints") {
            hints(errors, &path.child("hints"), endpoint.at("hints"));
        }
    }
}

fn hints(errors: &mut Errors, path: &Path<'_>, hints: &Fields) {
    /// The most zones or nodes that an endpoint is meant for.
    const MOST: usize = 8;
    let rules: [(&str, Rule); 2] = [("forZones", label_value), ("forNodes", dns_subdomain)];
    for (name, rule) in rules {
        let list = path.child(name);
        let count = hints.list(name).len();
        if count > MOST {
            errors.too_many(&list, count, MOST);
            return;
        }
        let mut seen: Seen<&str> = Seen::default();
        for (index, hint) in hints.numbered(name) {
            let own = list.index(index);
            let path = own.child("name");
            let name = hint.text("name");
            if seen.contains(&name) {
                errors.duplicate(&path, name);
            } else {
                seen.push(name);
            }
            errors.faults(&path, name, rule(name));
        }
    }
}
