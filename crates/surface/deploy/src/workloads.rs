//! What runs: namespaces, accounts, Deployments, Services, and what keeps replicas alive.

use serde_json::{Value, json};

use crate::component::{Component, MANAGED_BY, PART_OF};
use crate::part::Part;
use crate::settings::Settings;

/// The PriorityClass of the pods.
pub const PRIORITY_CLASS: &str = "baton-controllers";

/// Below what the cluster itself needs (two thousand million), above what users run without saying anything.
const PRIORITY: u32 = 1_000_000_000;

/// How long pods stay on a node that doesn't answer, as upstream has it.
const PATIENCE_WITH_NODES_SECONDS: u32 = 120;

/// The namespaces that components run in.
pub fn namespaces(settings: &Settings) -> Vec<Value> {
    let levels = ["audit", "enforce", "warn"];
    let names = settings.namespaces();
    let namespaces = names.into_iter().map(|name| {
        let mut labels = json!({PART_OF.0: PART_OF.1, MANAGED_BY.0: MANAGED_BY.1});
        // Operators are installed beside OLM v0, and not all of them keep to the strictest level.
        let standard = if name == settings.namespace {
            "restricted"
        } else {
            "baseline"
        };
        for level in levels {
            labels[format!("pod-security.kubernetes.io/{level}")] = standard.into();
            labels[format!("pod-security.kubernetes.io/{level}-version")] = "latest".into();
        }
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    });
    namespaces.collect()
}

/// The class by which nodes know that operators may go before what looks after them.
pub fn priority_class() -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": PRIORITY_CLASS, "labels": {PART_OF.0: PART_OF.1, MANAGED_BY.0: MANAGED_BY.1}},
        "value": PRIORITY,
        "globalDefault": false,
        "description": "The controllers of OLM: without them, no operator is repaired or upgraded.",
    })
}

/// The account of a component.
pub fn service_account(settings: &Settings, component: Component) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": metadata(settings, component, component.service_account()),
    })
}

/// The Service of a component.
pub fn service(settings: &Settings, component: Component) -> Value {
    let ports: Vec<Value> = component
        .ports()
        .into_iter()
        .filter_map(|port| {
            let number = port.service?;
            Some(json!({"name": port.name, "port": number, "protocol": "TCP", "targetPort": port.number}))
        })
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": metadata(settings, component, component.service()),
        "spec": {"ports": ports, "selector": component.selector()},
    })
}

/// What keeps one replica while nodes are emptied; none where there is only one, which could never leave its node.
pub fn disruption_budget(settings: &Settings, component: Component) -> Option<Value> {
    (settings.replicas > 1).then(|| {
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": metadata(settings, component, component.deployment()),
            "spec": {
                "minAvailable": 1,
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
                "selector": {"matchLabels": component.selector()},
            },
        })
    })
}

/// The Deployment of a component.
pub fn deployment(settings: &Settings, component: Component) -> Value {
    let mut labels = component.labels();
    let selector = component.selector();
    for (key, value) in selector.as_object().into_iter().flatten() {
        labels[key] = value.clone();
    }
    let mut pod = json!({
        "serviceAccountName": component.service_account(),
        "containers": [component.container_of(settings)],
        "volumes": component.volumes(settings),
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        // As long as requests may take to end.
        "terminationGracePeriodSeconds": 40,
        "topologySpreadConstraints": [{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": selector},
        }],
        "tolerations": tolerations(),
    });
    if settings.has(Part::Priority) {
        pod["priorityClassName"] = PRIORITY_CLASS.into();
    }
    if !settings.image_pull_secrets.is_empty() {
        let secrets = settings.image_pull_secrets.iter();
        pod["imagePullSecrets"] = secrets.map(|name| json!({"name": name})).collect();
    }
    let mut metadata = metadata(settings, component, component.deployment());
    metadata["annotations"] = json!({"kubectl.kubernetes.io/default-logs-container": component.container()});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": settings.replicas,
            "minReadySeconds": 5,
            // A new replica is there before an old one goes.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "selector": {"matchLabels": component.selector()},
            "template": {
                "metadata": {
                    "labels": labels,
                    "annotations": {"kubectl.kubernetes.io/default-container": component.container()},
                },
                "spec": pod,
            },
        },
    })
}

fn tolerations() -> Value {
    let gone = |key: &str| {
        json!({
            "key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": "NoExecute",
            "tolerationSeconds": PATIENCE_WITH_NODES_SECONDS,
        })
    };
    json!([
        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
        gone("unreachable"),
        gone("not-ready"),
    ])
}

/// The metadata of an object of a component.
pub(crate) fn metadata(settings: &Settings, component: Component, name: &str) -> Value {
    json!({"name": name, "namespace": settings.namespace_of(component), "labels": component.labels()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_replica_may_leave_its_node() {
        let mut settings = Settings::default();
        assert!(disruption_budget(&settings, Component::Catalogs).is_some());
        settings.replicas = 1;
        assert_eq!(disruption_budget(&settings, Component::Catalogs), None);
    }

    #[test]
    fn pods_are_found_by_their_deployment_and_service() {
        let settings = Settings::default();
        for component in settings.components() {
            let deployment = deployment(&settings, component);
            let labels = &deployment["spec"]["template"]["metadata"]["labels"];
            let service = service(&settings, component);
            for selector in [
                &deployment["spec"]["selector"]["matchLabels"],
                &service["spec"]["selector"],
            ] {
                let selector = selector.as_object().expect("a selector");
                assert!(!selector.is_empty());
                assert!(
                    selector.iter().all(|(key, value)| labels[key] == *value),
                    "{component:?}"
                );
            }
        }
    }

    #[test]
    fn pods_keep_to_the_restricted_level() {
        let settings = Settings::default();
        let deployment = deployment(&settings, Component::Extensions);
        let pod = &deployment["spec"]["template"]["spec"];
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
        let container = &pod["containers"][0]["securityContext"];
        assert_eq!(container["allowPrivilegeEscalation"], false);
        assert_eq!(container["capabilities"]["drop"], json!(["ALL"]));
    }
}
