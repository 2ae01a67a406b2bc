//! Who may talk to the pods, and to whom they talk.

use serde_json::{Value, json};

use crate::component::{Component, MANAGED_BY, PART_OF};
use crate::settings::Settings;
use crate::workloads::metadata;

/// Nothing comes in or goes out, unless another policy lets it.
pub fn default_deny(namespace: &str) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {
            "name": "default-deny-all-traffic", "namespace": namespace,
            "labels": {PART_OF.0: PART_OF.1, MANAGED_BY.0: MANAGED_BY.1},
        },
        "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
    })
}

/// What a component serves is let in. It may talk to everybody: registries, proxies and the API server can be anywhere.
pub fn component_policy(settings: &Settings, component: Component) -> Value {
    // Kubelets ask for health from the node, which no policy keeps out.
    let ports: Vec<Value> = component
        .ports()
        .into_iter()
        .filter(|port| port.name != "health")
        .map(|port| json!({"port": port.number, "protocol": "TCP"}))
        .collect();
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": metadata(settings, component, component.deployment()),
        "spec": {
            "podSelector": {"matchLabels": component.selector()},
            "ingress": [{"ports": ports}],
            "egress": [{}],
            "policyTypes": ["Ingress", "Egress"],
        },
    })
}
