//! What OLM v0 needs beside a program: roles that are parts of the cluster's own, groups, and its configuration.

use serde_json::{Value, json};

/// The namespace that upstream's installation makes for operators of all namespaces.
pub const OPERATORS_NAMESPACE: &str = "operators";

/// A label with this beginning makes a role a part of another: of `view`, `edit` or `admin`.
const AGGREGATE_TO: &str = "rbac.authorization.k8s.io/aggregate-to-";

const ALPHA_KINDS: [&str; 4] = [
    "clusterserviceversions",
    "catalogsources",
    "installplans",
    "subscriptions",
];

/// The roles that let those who may view and edit a namespace do so with OLM's objects.
pub fn roles() -> [Value; 2] {
    let role = |name: &str, to: &[&str], rules: Value| {
        let labels = to
            .iter()
            .map(|role| (format!("{AGGREGATE_TO}{role}"), Value::from("true")));
        let labels: serde_json::Map<String, Value> = labels.collect();
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": name, "labels": labels}, "rules": rules,
        })
    };
    let written = json!([
        {"apiGroups": ["operators.coreos.com"], "resources": ["subscriptions"],
         "verbs": ["create", "update", "patch", "delete"]},
        {"apiGroups": ["operators.coreos.com"], "resources": ALPHA_KINDS, "verbs": ["delete"]},
    ]);
    let mut readable = ALPHA_KINDS.to_vec();
    readable.push("operatorgroups");
    let read = json!([
        {"apiGroups": ["operators.coreos.com"], "resources": readable, "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["packages.operators.coreos.com"],
         "resources": ["packagemanifests", "packagemanifests/icon"], "verbs": ["get", "list", "watch"]},
    ]);
    [
        role("aggregate-olm-edit", &["admin", "edit"], written),
        role("aggregate-olm-view", &["admin", "edit", "view"], read),
    ]
}

/// The groups that upstream's installation makes: one for all namespaces, and one for OLM's own.
pub fn groups(namespace: &str) -> [Value; 2] {
    let group = |name: &str, namespace: &str, spec: Value| {
        json!({
            "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": name, "namespace": namespace}, "spec": spec,
        })
    };
    [
        group("global-operators", OPERATORS_NAMESPACE, json!({})),
        group(
            "olm-operators",
            namespace,
            json!({"targetNamespaces": [namespace]}),
        ),
    ]
}

/// The configuration of OLM v0, in which people say how it works.
pub fn configuration() -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OLMConfig",
        "metadata": {"name": "cluster"}, "spec": {},
    })
}

/// The namespace for operators of all namespaces.
pub fn operators_namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OPERATORS_NAMESPACE}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roles_are_parts_of_those_that_every_cluster_has() {
        for role in roles() {
            let labels = &role["metadata"]["labels"];
            assert_eq!(labels["rbac.authorization.k8s.io/aggregate-to-admin"], "true");
            let is_for_viewers = labels
                .get("rbac.authorization.k8s.io/aggregate-to-view")
                .is_some();
            assert_eq!(is_for_viewers, role["metadata"]["name"] == "aggregate-olm-view");
        }
    }

    #[test]
    fn one_group_is_for_all_namespaces_and_one_for_olms_own() {
        let [global, own] = groups("olm");
        assert_eq!(global["spec"], json!({}));
        assert_eq!(own["spec"], json!({"targetNamespaces": ["olm"]}));
    }
}
