//! The kinds of manifests that a registry+v1 bundle may hold.

/// Whether a kind lives in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Its objects get the operator's namespace.
    Namespaced,
    /// Its objects have no namespace.
    Cluster,
}

/// The scope of a kind that bundles may hold beside their ClusterServiceVersion and CRDs, and none for any other kind.
///
/// VerticalPodAutoscaler lives in a namespace in truth; upstream installs it without one, and clusters know it so.
#[must_use]
pub fn scope(kind: &str) -> Option<Scope> {
    match kind {
        "ConfigMap"
        | "NetworkPolicy"
        | "PodDisruptionBudget"
        | "PodMonitor"
        | "PrometheusRule"
        | "Role"
        | "RoleBinding"
        | "Secret"
        | "Service"
        | "ServiceAccount"
        | "ServiceMonitor" => Some(Scope::Namespaced),
        "ClusterRole"
        | "ClusterRoleBinding"
        | "ConsoleCLIDownload"
        | "ConsoleLink"
        | "ConsolePlugin"
        | "ConsoleQuickStart"
        | "ConsoleYAMLSample"
        | "PriorityClass"
        | "VerticalPodAutoscaler" => Some(Scope::Cluster),
        _ => None,
    }
}

/// Whether a bundle may hold objects of this kind, whatever their group.
#[must_use]
pub fn is_supported(kind: &str) -> bool {
    matches!(kind, "ClusterServiceVersion" | "CustomResourceDefinition") || scope(kind).is_some()
}
