//! What objects use of a `ResourceQuota`: how many there are, and what pods and claims ask for.
//!
//! Pure: the controller sums it up over what is stored, and admission asks it about what is written.

use std::collections::BTreeMap;

use kinds::quantity::Quantity;
use serde_json::Value;

use crate::node::requests;
use crate::object::Object;

/// Amounts by the name that quotas limit them under.
pub type Usage = BTreeMap<String, Quantity>;

/// What follows the name of a `StorageClass` in the names of limits on it.
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";

/// The resources of the core that quotas count under their own name, too.
const COUNTED: [&str; 6] = [
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
];

fn one() -> Quantity {
    Quantity::read("1")
}

fn number(count: usize) -> Quantity {
    Quantity::read(&count.to_string())
}

/// Returns what an object uses.
pub fn usage(group: &str, plural: &str, object: &Value) -> Usage {
    let mut usage = Usage::new();
    let counted = if group.is_empty() {
        format!("count/{plural}")
    } else {
        format!("count/{plural}.{group}")
    };
    usage.insert(counted, one());
    if !group.is_empty() {
        return usage;
    }
    if COUNTED.contains(&plural) {
        usage.insert(plural.to_owned(), one());
    }
    match plural {
        "pods" => add_pod(&mut usage, object),
        "services" => add_service(&mut usage, object),
        "persistentvolumeclaims" => add_claim(&mut usage, object),
        _ => {}
    }
    usage
}

fn add_pod(usage: &mut Usage, pod: &Value) {
    // A pod that has ended uses nothing but its place in the store.
    if matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
        return;
    }
    usage.insert("pods".to_owned(), one());
    for (name, amount) in requests::of_pod(pod) {
        if matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-") {
            usage.insert(name.clone(), amount);
        }
        usage.insert(format!("requests.{name}"), amount);
    }
    for (name, amount) in requests::limits_of_pod(pod) {
        if matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") {
            usage.insert(format!("limits.{name}"), amount);
        }
    }
}

fn add_service(usage: &mut Usage, service: &Value) {
    let ports = service["spec"]["ports"].as_array();
    let ports = ports.map(Vec::as_slice).unwrap_or_default();
    let balanced = service["spec"]["type"] == "LoadBalancer";
    let node_ports = match service["spec"]["type"].as_str() {
        Some("LoadBalancer") if service["spec"]["allocateLoadBalancerNodePorts"] == false => ports
            .iter()
            .filter(|port| port["nodePort"].as_i64().unwrap_or(0) != 0)
            .count(),
        Some("NodePort" | "LoadBalancer") => ports.len(),
        _ => 0,
    };
    usage.insert("services.nodeports".to_owned(), number(node_ports));
    usage.insert("services.loadbalancers".to_owned(), number(usize::from(balanced)));
}

fn add_claim(usage: &mut Usage, claim: &Value) {
    let storage = requests::amounts(&claim["spec"]["resources"]["requests"])
        .remove("storage")
        .unwrap_or_else(|| Quantity::read("0"));
    usage.insert("requests.storage".to_owned(), storage);
    let class = claim
        .annotation("volume.beta.kubernetes.io/storage-class")
        .or_else(|| claim["spec"]["storageClassName"].as_str())
        .filter(|class| !class.is_empty());
    if let Some(class) = class {
        usage.insert(format!("{class}{OF_CLASS}persistentvolumeclaims"), one());
        usage.insert(format!("{class}{OF_CLASS}requests.storage"), storage);
    }
}

/// Returns whether a quota is about an object: quotas with scopes are about some of the pods.
pub fn is_about(quota: &Value, group: &str, plural: &str, object: &Value) -> bool {
    let scopes = quota["spec"]["scopes"].as_array().into_iter().flatten();
    let mut requirements: Vec<(&str, &str, Vec<&str>)> = scopes
        .filter_map(Value::as_str)
        .map(|scope| (scope, "Exists", Vec::new()))
        .collect();
    let selector = quota["spec"]["scopeSelector"]["matchExpressions"].as_array();
    for one in selector.into_iter().flatten() {
        let values = one["values"].as_array().into_iter().flatten();
        requirements.push((
            one["scopeName"].as_str().unwrap_or_default(),
            one["operator"].as_str().unwrap_or_default(),
            values.filter_map(Value::as_str).collect(),
        ));
    }
    if requirements.is_empty() {
        return true;
    }
    (group, plural) == ("", "pods")
        && requirements
            .iter()
            .all(|(scope, operator, values)| is_in_scope(object, scope, operator, values))
}

fn is_in_scope(pod: &Value, scope: &str, operator: &str, values: &[&str]) -> bool {
    let ends = pod["spec"]["activeDeadlineSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds >= 0);
    let best_effort = pod["status"]["qosClass"]
        .as_str()
        .map_or_else(|| asks_for_nothing(pod), |class| class == "BestEffort");
    match scope {
        "Terminating" => ends,
        "NotTerminating" => !ends,
        "BestEffort" => best_effort,
        "NotBestEffort" => !best_effort,
        "PriorityClass" => {
            let class = pod["spec"]["priorityClassName"].as_str().unwrap_or_default();
            match operator {
                "In" => values.contains(&class),
                "NotIn" => !values.contains(&class),
                "DoesNotExist" => class.is_empty(),
                _ => !class.is_empty(),
            }
        }
        "CrossNamespacePodAffinity" => reaches_other_namespaces(pod),
        _ => false,
    }
}

fn asks_for_nothing(pod: &Value) -> bool {
    let sets = |amounts: &requests::Amounts| {
        amounts
            .iter()
            .any(|(name, amount)| matches!(name.as_str(), "cpu" | "memory") && amount.is_positive())
    };
    !sets(&requests::of_pod(pod)) && !sets(&requests::limits_of_pod(pod))
}

/// Returns whether a pod's affinity is about pods of other namespaces.
fn reaches_other_namespaces(pod: &Value) -> bool {
    let affinity = &pod["spec"]["affinity"];
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let required = affinity[kind]["requiredDuringSchedulingIgnoredDuringExecution"].as_array();
        let preferred = affinity[kind]["preferredDuringSchedulingIgnoredDuringExecution"].as_array();
        let preferred = preferred.into_iter().flatten().map(|one| &one["podAffinityTerm"]);
        required.into_iter().flatten().chain(preferred).any(|term| {
            term["namespaces"].as_array().is_some_and(|all| !all.is_empty())
                || term["namespaceSelector"].is_object()
        })
    })
}

/// Adds what one object uses to a sum.
pub fn add(sum: &mut Usage, more: &Usage) {
    requests::add(sum, more);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(usage: Usage) -> BTreeMap<String, String> {
        usage
            .into_iter()
            .map(|(name, amount)| (name, amount.written()))
            .collect()
    }

    fn pod(request: &Value, phase: &str) -> Value {
        json!({
            "spec": {"containers": [{"resources": request}]},
            "status": {"phase": phase},
        })
    }

    #[test]
    fn a_pod_uses_what_it_asks_for_until_it_ends() {
        let request = json!({"requests": {"cpu": "250m", "memory": "1Gi"}, "limits": {"cpu": "1"}});
        let used = written(usage("", "pods", &pod(&request, "Running")));
        for (name, amount) in [
            ("count/pods", "1"),
            ("pods", "1"),
            ("cpu", "250m"),
            ("requests.cpu", "250m"),
            ("requests.memory", "1Gi"),
            ("limits.cpu", "1"),
        ] {
            assert_eq!(used[name], amount, "{name}");
        }
        let ended = written(usage("", "pods", &pod(&request, "Succeeded")));
        assert_eq!(ended.len(), 1);
        assert_eq!(ended["count/pods"], "1");
    }

    #[test]
    fn services_and_claims_use_ports_and_storage() {
        let service = json!({"spec": {"type": "LoadBalancer", "ports": [{"port": 1}, {"port": 2}]}});
        let used = written(usage("", "services", &service));
        assert_eq!(used["services"], "1");
        assert_eq!(used["services.nodeports"], "2");
        assert_eq!(used["services.loadbalancers"], "1");
        let claim = json!({"spec": {
            "storageClassName": "fast", "resources": {"requests": {"storage": "5Gi"}},
        }});
        let used = written(usage("", "persistentvolumeclaims", &claim));
        assert_eq!(used["requests.storage"], "5Gi");
        assert_eq!(used["fast.storageclass.storage.k8s.io/requests.storage"], "5Gi");
        let used = written(usage("apps", "deployments", &json!({})));
        assert_eq!(used["count/deployments.apps"], "1");
    }

    #[test]
    fn scopes_choose_pods() {
        let best_effort = pod(&json!({}), "Pending");
        let asking = pod(&json!({"requests": {"cpu": "1"}}), "Pending");
        let quota = |scope: &str| json!({"spec": {"scopes": [scope]}});
        assert!(is_about(&quota("BestEffort"), "", "pods", &best_effort));
        assert!(!is_about(&quota("BestEffort"), "", "pods", &asking));
        assert!(is_about(&quota("NotTerminating"), "", "pods", &asking));
        assert!(!is_about(&quota("NotTerminating"), "", "services", &json!({})));
        let by_class = json!({"spec": {"scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]},
        ]}}});
        let mut high = asking.clone();
        high["spec"]["priorityClassName"] = "high".into();
        assert!(is_about(&by_class, "", "pods", &high));
        assert!(!is_about(&by_class, "", "pods", &asking));
        assert!(is_about(&json!({"spec": {}}), "", "services", &json!({})));
    }
}
