//! The rows of what leads to pods: Services, Ingresses and the like.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cells::{Cells, at, first_three, items_at, number_at, or, text_at};

fn texts<'a>(value: &'a Value, path: &str) -> Vec<&'a str> {
    items_at(value, path).iter().filter_map(Value::as_str).collect()
}

/// Returns the addresses of a load balancer, each once.
fn load_balancer(object: &Value) -> String {
    let addresses: BTreeSet<&str> = items_at(object, "status.loadBalancer.ingress")
        .iter()
        .map(|ingress| or(text_at(ingress, "ip"), text_at(ingress, "hostname")))
        .filter(|address| !address.is_empty())
        .collect();
    addresses.into_iter().collect::<Vec<_>>().join(",")
}

fn external_address(service: &Value) -> String {
    let external = texts(service, "spec.externalIPs").join(",");
    match text_at(service, "spec.type") {
        "ClusterIP" | "NodePort" => or(&external, "<none>").to_owned(),
        "LoadBalancer" => {
            let balanced = load_balancer(service);
            match (balanced.is_empty(), external.is_empty()) {
                (true, true) => "<pending>".to_owned(),
                (false, false) => format!("{balanced},{external}"),
                _ => balanced + &external,
            }
        }
        "ExternalName" => text_at(service, "spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

pub(super) fn service(cells: &Cells<'_>) -> Vec<Value> {
    let service = cells.object();
    let ports: Vec<String> = items_at(service, "spec.ports")
        .iter()
        .map(|port| {
            let (number, protocol) = (number_at(port, "port"), text_at(port, "protocol"));
            match number_at(port, "nodePort") {
                node_port if node_port > 0 => format!("{number}:{node_port}/{protocol}"),
                _ => format!("{number}/{protocol}"),
            }
        })
        .collect();
    let cluster_address = texts(service, "spec.clusterIPs").first().copied();
    vec![
        cells.name(),
        cells.text("spec.type"),
        // Objects of an older server have the one address only.
        cluster_address
            .unwrap_or_else(|| or(text_at(service, "spec.clusterIP"), "<none>"))
            .into(),
        external_address(service).into(),
        or(&ports.join(","), "<none>").into(),
        cells.age(),
        cells.labels("spec.selector"),
    ]
}

pub(super) fn endpoints(cells: &Cells<'_>) -> Vec<Value> {
    let subsets = items_at(cells.object(), "subsets");
    let mut found: Vec<String> = Vec::new();
    for subset in subsets {
        let addresses = || {
            items_at(subset, "addresses")
                .iter()
                .map(|address| text_at(address, "ip"))
        };
        let ports = items_at(subset, "ports");
        if ports.is_empty() {
            found.extend(addresses().map(str::to_owned));
        }
        for port in ports {
            let number = number_at(port, "port");
            found.extend(addresses().map(|address| {
                if address.contains(':') {
                    format!("[{address}]:{number}")
                } else {
                    format!("{address}:{number}")
                }
            }));
        }
    }
    let none = if subsets.is_empty() { "<none>" } else { "" };
    vec![cells.name(), first_three(&found, none).into(), cells.age()]
}

pub(super) fn endpoint_slice(cells: &Cells<'_>) -> Vec<Value> {
    let slice = cells.object();
    let ports: Vec<String> = items_at(slice, "ports")
        .iter()
        .map(|port| match at(port, "port").and_then(Value::as_i64) {
            Some(number) => number.to_string(),
            None => at(port, "name").and_then(Value::as_str).unwrap_or("*").to_owned(),
        })
        .collect();
    let addresses: Vec<String> = items_at(slice, "endpoints")
        .iter()
        .flat_map(|endpoint| texts(endpoint, "addresses"))
        .map(str::to_owned)
        .collect();
    vec![
        cells.name(),
        cells.text("addressType"),
        first_three(&ports, "<unset>").into(),
        first_three(&addresses, "<unset>").into(),
        cells.age(),
    ]
}

/// Returns the first three hosts of an Ingress, and how many more rules there are after the one that comes next.
fn hosts(ingress: &Value) -> String {
    const SHOWN: usize = 3;
    let rules = items_at(ingress, "spec.rules");
    let mut shown: Vec<&str> = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= shown.len() == SHOWN;
        let host = text_at(rule, "host");
        if !more && !host.is_empty() {
            shown.push(host);
        }
    }
    if shown.is_empty() {
        return "*".to_owned();
    }
    let text = shown.join(",");
    if more {
        format!("{text} + {} more...", rules.len().saturating_sub(SHOWN))
    } else {
        text
    }
}

pub(super) fn ingress(cells: &Cells<'_>) -> Vec<Value> {
    let ingress = cells.object();
    let ports = if items_at(ingress, "spec.tls").is_empty() {
        "80"
    } else {
        "80, 443"
    };
    vec![
        cells.name(),
        at(ingress, "spec.ingressClassName").map_or("<none>".into(), Value::clone),
        hosts(ingress).into(),
        load_balancer(ingress).into(),
        ports.into(),
        cells.age(),
    ]
}

pub(super) fn ingress_class(cells: &Cells<'_>) -> Vec<Value> {
    let class = cells.object();
    let annotations = at(class, "metadata.annotations");
    let is_default = annotations
        .and_then(|annotations| annotations.get("ingressclass.kubernetes.io/is-default-class"))
        .and_then(Value::as_str)
        == Some("true");
    let name = text_at(class, "metadata.name");
    let parameters = at(class, "spec.parameters").map_or("<none>".to_owned(), |parameters| {
        let kind = text_at(parameters, "kind");
        let group = at(parameters, "apiGroup")
            .and_then(Value::as_str)
            .map(|group| format!(".{group}"));
        format!(
            "{kind}{}/{}",
            group.unwrap_or_default(),
            text_at(parameters, "name")
        )
    });
    vec![
        if is_default {
            format!("{name} (default)").into()
        } else {
            name.into()
        },
        cells.text("spec.controller"),
        parameters.into(),
        cells.age(),
    ]
}

pub(super) fn network_policy(cells: &Cells<'_>) -> Vec<Value> {
    vec![cells.name(), cells.selector("spec.podSelector"), cells.age()]
}

pub(super) fn ip_address(cells: &Cells<'_>) -> Vec<Value> {
    let parent = at(cells.object(), "spec.parentRef").map_or("<none>".to_owned(), |parent| {
        let mut out = text_at(parent, "resource").to_owned();
        let group = text_at(parent, "group");
        if !group.is_empty() {
            out = format!("{out}.{group}");
        }
        out = out.to_lowercase();
        let namespace = text_at(parent, "namespace");
        if !namespace.is_empty() {
            out = format!("{out}/{namespace}");
        }
        format!("{out}/{}", text_at(parent, "name"))
    });
    // Upstream fills one cell more than it has columns.
    vec![cells.name(), parent.into(), cells.age()]
}

pub(super) fn service_cidr(cells: &Cells<'_>) -> Vec<Value> {
    vec![
        cells.name(),
        texts(cells.object(), "spec.cidrs").join(",").into(),
        cells.age(),
    ]
}
