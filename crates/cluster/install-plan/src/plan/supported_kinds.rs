//! Kinds of a bundle's objects that plans install beside those that every bundle has.

/// Returns whether objects of a kind live in namespaces; none for a kind that plans don't install.
pub(super) fn is_namespaced(kind: &str) -> Option<bool> {
    match kind {
        "PrometheusRule"
        | "ServiceMonitor"
        | "PodDisruptionBudget"
        | "VerticalPodAutoscaler"
        | "NetworkPolicy" => Some(true),
        "PriorityClass" | "ConsoleYAMLSample" | "ConsoleQuickStart" | "ConsoleCLIDownload"
        | "ConsoleLink" | "ConsolePlugin" => Some(false),
        _ => None,
    }
}
