//! The kinds of objects that a registry+v1 bundle may hold.

/// Whether a bundle may hold objects of this kind, whatever their group.
pub(super) fn is_supported(kind: &str) -> bool {
    matches!(
        kind,
        "ClusterServiceVersion"
            | "CustomResourceDefinition"
            | "ClusterRole"
            | "ClusterRoleBinding"
            | "Service"
            | "ServiceAccount"
            | "Role"
            | "RoleBinding"
            | "PrometheusRule"
            | "ServiceMonitor"
            | "Secret"
            | "ConfigMap"
            | "PodDisruptionBudget"
            | "PriorityClass"
            | "VerticalPodAutoscaler"
            | "ConsoleYAMLSample"
            | "ConsoleQuickStart"
            | "ConsoleCLIDownload"
            | "ConsoleLink"
            | "ConsolePlugin"
            | "NetworkPolicy"
            | "PodMonitor"
    )
}
