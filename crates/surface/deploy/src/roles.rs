//! Roles and bindings, made of the table of rights.

use serde_json::{Value, json};

use crate::component::Component;
use crate::part::Part;
use crate::rights::{self, Right, Scope};
use crate::settings::Settings;

const GROUP: &str = "rbac.authorization.k8s.io";
const API_VERSION: &str = "rbac.authorization.k8s.io/v1";

/// The namespace with what the API server says of itself.
const KUBE_SYSTEM: &str = "kube-system";

/// Where metrics are read.
pub const METRICS_PATH: &str = "/metrics";

/// The roles and bindings of a component.
pub fn of(settings: &Settings, component: Component) -> Vec<Value> {
    let name = component.name();
    let own: Vec<&Right> = rights::own(component).collect();
    let of_scope = |scope: Scope| own.iter().copied().filter(move |right| right.scope == scope);
    let manager = format!("{name}-manager-role");
    let binding = format!("{name}-manager-rolebinding");
    let mut objects = vec![
        role(component, &manager, None, of_scope(Scope::Cluster)),
        bound(settings, component, &binding, None, &manager),
    ];
    let namespace = Some(settings.namespace_of(component));
    objects.push(role(
        component,
        &manager,
        namespace,
        of_scope(Scope::OwnNamespace),
    ));
    objects.push(bound(settings, component, &binding, namespace, &manager));
    if of_scope(Scope::KubeSystem).next().is_some() {
        let reader = format!("{name}-authentication-reader");
        let namespace = Some(KUBE_SYSTEM);
        objects.push(role(component, &reader, namespace, of_scope(Scope::KubeSystem)));
        objects.push(bound(settings, component, &reader, namespace, &reader));
    }
    let for_bundles = rights::for_bundles(component);
    if !for_bundles.is_empty() {
        let installer = format!("{name}-bundle-installer-role");
        let binding = format!("{name}-bundle-installer-rolebinding");
        objects.push(role(component, &installer, None, for_bundles.iter()));
        objects.push(bound(settings, component, &binding, None, &installer));
        if settings.has(Part::ClusterAdmin) {
            let binding = format!("{name}-cluster-admin-rolebinding");
            objects.push(bound(settings, component, &binding, None, "cluster-admin"));
        }
    }
    if component != Component::Subscriptions {
        objects.push(metrics_reader(component));
    }
    objects
}

/// The role that lets somebody read a component's metrics.
pub fn metrics_reader(component: Component) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "ClusterRole",
        "metadata": {"name": format!("{}-metrics-reader", component.name()), "labels": component.labels()},
        "rules": [{"nonResourceURLs": [METRICS_PATH], "verbs": ["get"]}],
    })
}

/// The roles for people: who may see extensions and catalogs, and who may change them. They are parts of the roles that
/// every cluster has for those who administer it.
pub fn for_people() -> Vec<Value> {
    let role = |name: &str, verbs: &[&str]| {
        json!({
            "apiVersion": API_VERSION, "kind": "ClusterRole",
            "metadata": {"name": name, "labels": Component::Extensions.labels()},
            "rules": [{
                "apiGroups": [api::keys::GROUP],
                "resources": ["clusterextensions", "clustercatalogs", "clusterobjectsets"],
                "verbs": verbs,
            }],
        })
    };
    vec![role(
        "operator-controller-clusterextension-viewer-role",
        &["get", "list", "watch"],
    )]
}

fn role<'a>(
    component: Component,
    name: &str,
    namespace: Option<&str>,
    rights: impl Iterator<Item = &'a Right>,
) -> Value {
    let rules: Vec<Value> = rights
        .map(|right| {
            let mut rule = json!({
                "apiGroups": [right.group], "resources": right.resources, "verbs": right.verbs,
            });
            if !right.names.is_empty() {
                rule["resourceNames"] = json!(right.names);
            }
            rule
        })
        .collect();
    let mut role = json!({
        "apiVersion": API_VERSION, "kind": "ClusterRole",
        "metadata": {"name": name, "labels": component.labels()}, "rules": rules,
    });
    if let Some(namespace) = namespace {
        role["kind"] = "Role".into();
        role["metadata"]["namespace"] = namespace.into();
    }
    role
}

fn bound(
    settings: &Settings,
    component: Component,
    name: &str,
    namespace: Option<&str>,
    role: &str,
) -> Value {
    let mut binding = json!({
        "apiVersion": API_VERSION, "kind": "ClusterRoleBinding",
        "metadata": {"name": name, "labels": component.labels()},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{
            "kind": "ServiceAccount",
            "name": component.service_account(),
            "namespace": settings.namespace_of(component),
        }],
    });
    if let Some(namespace) = namespace {
        binding["kind"] = "RoleBinding".into();
        binding["metadata"]["namespace"] = namespace.into();
        binding["roleRef"]["kind"] = "Role".into();
    }
    binding
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(objects: &[Value], kind: &str) -> Vec<String> {
        let named = objects.iter().filter(|object| object["kind"] == kind);
        named
            .map(|object| object["metadata"]["name"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn cluster_admin_is_bound_only_where_it_is_asked_for() {
        let mut settings = Settings::default();
        let binds_admin = |settings: &Settings| {
            let bindings = of(settings, Component::Extensions);
            bindings
                .iter()
                .any(|object| object["roleRef"]["name"] == "cluster-admin")
        };
        assert!(!binds_admin(&settings));
        settings.parts.insert(Part::ClusterAdmin);
        assert!(binds_admin(&settings));
    }

    #[test]
    fn every_role_is_bound_and_every_binding_has_its_role() {
        let settings = Settings::default();
        for component in settings.components() {
            let objects = of(&settings, component);
            for (role, binding) in [("ClusterRole", "ClusterRoleBinding"), ("Role", "RoleBinding")] {
                let mut bound: Vec<String> = objects
                    .iter()
                    .filter(|object| object["kind"] == binding)
                    .map(|object| object["roleRef"]["name"].as_str().unwrap_or_default().to_owned())
                    .collect();
                let mut roles = names(&objects, role);
                // Metrics are read by others.
                roles.retain(|name| !name.ends_with("-metrics-reader"));
                bound.sort();
                roles.sort();
                assert_eq!(roles, bound, "{component:?}");
            }
        }
    }
}
