//! Services and what finds, allows and names them.

use serde_json::Value;

use crate::tree::{Fields, Tree};

/// How long a client stays with the same pod: three hours.
const AFFINITY_SECONDS: i64 = 10_800;

/// Returns whether a service can be reached from outside.
pub(crate) fn is_reached_from_outside(spec: &Fields) -> bool {
    match spec.text("type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !spec.is_zero("externalIPs"),
        _ => false,
    }
}

/// Fills in a Service. Its addresses and ports of nodes are allotted by the server.
pub(super) fn service(service: &mut Fields) {
    let spec = service.part_or_new("spec");
    spec.set_if_zero("sessionAffinity", "None");
    match spec.text("sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            let client = spec.part_or_new("sessionAffinityConfig").part_or_new("clientIP");
            client.set_if_unset("timeoutSeconds", AFFINITY_SECONDS);
        }
        _ => {}
    }
    spec.set_if_zero("type", "ClusterIP");
    for port in spec.items_mut("ports") {
        port.set_if_zero("protocol", "TCP");
        let number = port.number("port");
        port.set_if_zero("targetPort", number);
    }
    if is_reached_from_outside(spec) {
        spec.set_if_zero("externalTrafficPolicy", "Cluster");
    }
    if matches!(spec.text("type"), "NodePort" | "LoadBalancer" | "ClusterIP") {
        spec.set_if_unset("internalTrafficPolicy", "Cluster");
    }
    if spec.text("type") == "LoadBalancer" {
        spec.set_if_unset("allocateLoadBalancerNodePorts", true);
        let balancer = service
            .part_mut("status")
            .and_then(|status| status.part_mut("loadBalancer"));
        for ingress in balancer
            .into_iter()
            .flat_map(|balancer| balancer.items_mut("ingress"))
        {
            if !ingress.is_zero("ip") {
                ingress.set_if_unset("ipMode", "VIP");
            }
        }
    }
}

/// Fills in Endpoints.
pub(super) fn endpoints(endpoints: &mut Fields) {
    for subset in endpoints.items_mut("subsets") {
        for port in subset.items_mut("ports") {
            port.set_if_zero("protocol", "TCP");
        }
    }
}

/// Fills in an `EndpointSlice`.
pub(super) fn endpoint_slice(slice: &mut Fields) {
    for port in slice.items_mut("ports") {
        port.set_if_unset("name", "");
        port.set_if_unset("protocol", "TCP");
    }
}

/// Fills in a `NetworkPolicy`.
pub(super) fn network_policy(policy: &mut Fields) {
    let spec = policy.part_or_new("spec");
    for list in ["ingress", "egress"] {
        for rule in spec.items_mut(list) {
            for port in rule.items_mut("ports") {
                port.set_if_unset("protocol", "TCP");
            }
        }
    }
    if spec.is_zero("policyTypes") {
        let mut types = vec!["Ingress"];
        if !spec.is_zero("egress") {
            types.push("Egress");
        }
        spec.set("policyTypes", Value::from(types));
    }
}

/// Fills in an `IngressClass`.
pub(super) fn ingress_class(class: &mut Fields) {
    if let Some(parameters) = class
        .part_mut("spec")
        .and_then(|spec| spec.part_mut("parameters"))
    {
        parameters.set_if_unset("scope", "Cluster");
    }
}
