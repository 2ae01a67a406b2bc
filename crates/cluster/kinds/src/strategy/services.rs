//! Services that become another type, and slices of endpoints.

use std::collections::BTreeSet;

use super::raise_generation;
use crate::defaults::is_reached_from_outside;
use crate::tree::{Fields, Tree, same};

/// Drops what only the old type of a service has, where the client left it as it was: whoever changes the type shouldn't
/// have to know what was filled in.
pub(super) fn drop_what_the_old_type_had(new: &mut Fields, old: &Fields) {
    let empty = Fields::new();
    let old_spec = old.part("spec").unwrap_or(&empty);
    let spec = new.part_or_new("spec");
    let keeps = |spec: &Fields, field: &str| same(spec.get(field), old_spec.get(field));
    let has_address = |spec: &Fields| spec.text("type") != "ExternalName";
    let has_node_ports = |spec: &Fields| matches!(spec.text("type"), "NodePort" | "LoadBalancer");
    let has_health_check =
        |spec: &Fields| spec.text("type") == "LoadBalancer" && spec.text("externalTrafficPolicy") == "Local";
    let is_balanced = |spec: &Fields| spec.text("type") == "LoadBalancer";

    if has_address(old_spec) && !has_address(spec) {
        if keeps(spec, "clusterIP") && keeps(spec, "clusterIPs") {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if keeps(spec, field) {
                spec.remove(field);
            }
        }
    }
    if has_node_ports(old_spec) && !has_node_ports(spec) && node_ports(spec).is_subset(&node_ports(old_spec))
    {
        for port in spec.items_mut("ports") {
            port.remove("nodePort");
        }
    }
    if has_health_check(old_spec) && !has_health_check(spec) && keeps(spec, "healthCheckNodePort") {
        spec.remove("healthCheckNodePort");
    }
    if is_balanced(old_spec) && !is_balanced(spec) {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if keeps(spec, field) {
                spec.remove(field);
            }
        }
    }
    if is_reached_from_outside(old_spec)
        && !is_reached_from_outside(spec)
        && keeps(spec, "externalTrafficPolicy")
    {
        spec.remove("externalTrafficPolicy");
    }
    if !is_balanced(spec) {
        new.part_or_new("status")
            .set("loadBalancer", serde_json::json!({}));
    }
}

fn node_ports(spec: &Fields) -> BTreeSet<i64> {
    spec.items("ports")
        .map(|port| port.number("nodePort"))
        .filter(|port| *port != 0)
        .collect()
}

/// Raises the generation of a slice when anything but its metadata has changed, or its labels.
pub(super) fn raise_generation_of_slice(new: &mut Fields, old: &Fields) {
    let labels = |object: &Fields| {
        object
            .part("metadata")
            .and_then(|metadata| metadata.get("labels").cloned())
    };
    let has_changed = ["addressType", "endpoints", "ports"]
        .iter()
        .any(|field| !same(new.get(*field), old.get(*field)))
        || !same(labels(new).as_ref(), labels(old).as_ref());
    if has_changed {
        raise_generation(new, old);
    }
}

/// Drops what an old version said about the places of endpoints; the name of the node is kept in its own field.
pub(super) fn drop_topology(slice: &mut Fields, old: Option<&Fields>) {
    if old.is_some_and(|old| same(old.get("endpoints"), slice.get("endpoints"))) {
        return;
    }
    let known: BTreeSet<String> = old
        .into_iter()
        .flat_map(|old| old.items("endpoints"))
        .filter_map(|endpoint| endpoint.part("deprecatedTopology"))
        .map(|topology| topology.text("kubernetes.io/hostname").to_owned())
        .collect();
    for endpoint in slice.items_mut("endpoints") {
        let node = endpoint
            .part("deprecatedTopology")
            .map(|topology| topology.text("kubernetes.io/hostname").to_owned());
        if let Some(node) = node
            && endpoint.is_unset("nodeName")
            && !node.is_empty()
            && known.contains(&node)
        {
            endpoint.set("nodeName", node);
        }
        endpoint.remove("deprecatedTopology");
    }
}
