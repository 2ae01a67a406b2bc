//! What most kinds are told by when they are written.

use serde_json::{Value, json};

/// What of the metadata a write to the status keeps as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Metadata {
    /// Nothing but what only the server writes.
    Free,
    /// The labels.
    KeepLabels,
    /// The owners.
    KeepOwners,
    /// What clients write.
    Keep,
    /// All but the managers of fields.
    KeepAll,
}

/// How objects of a kind are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// Whether the kind has a status that a new object doesn't bring and a write to the object doesn't change.
    pub status: bool,
    /// Whether a new object may bring its status, but a write to the object doesn't change it.
    pub keeps_status: bool,
    /// Whether a new object has a generation.
    pub starts_counting: bool,
    /// The fields whose change raises the generation.
    pub counts: &'static [&'static str],
    /// What of the metadata a write to the status keeps.
    pub metadata: Metadata,
}

const PLAIN: Row = Row {
    status: false,
    keeps_status: false,
    starts_counting: false,
    counts: &[],
    metadata: Metadata::Free,
};

const fn with_status() -> Row {
    Row {
        status: true,
        ..PLAIN
    }
}

const fn counting(fields: &'static [&'static str]) -> Row {
    Row {
        starts_counting: true,
        counts: fields,
        ..PLAIN
    }
}

const fn with_status_counting(metadata: Metadata) -> Row {
    Row {
        status: true,
        starts_counting: true,
        counts: &["spec"],
        metadata,
        ..PLAIN
    }
}

/// Returns how objects of a kind are written.
pub(super) fn row(group: &str, kind: &str) -> Row {
    use Metadata::{Free, Keep, KeepAll, KeepLabels, KeepOwners};

    match (group, kind) {
        ("", "Pod") => with_status_counting(KeepOwners),
        ("", "Node") => Row {
            keeps_status: true,
            ..PLAIN
        },
        ("", "Namespace" | "PersistentVolume" | "PersistentVolumeClaim" | "ResourceQuota" | "Service")
        | ("autoscaling", "HorizontalPodAutoscaler")
        | ("certificates.k8s.io", "CertificateSigningRequest") => with_status(),
        ("", "PodTemplate") => counting(&["template"]),
        ("apps", "Deployment") => with_status_counting(KeepLabels),
        ("", "ReplicationController")
        | ("apps", "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job" | "CronJob")
        | ("policy", "PodDisruptionBudget")
        | ("networking.k8s.io", "Ingress") => with_status_counting(Free),
        ("networking.k8s.io", "NetworkPolicy" | "IngressClass")
        | (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding",
        )
        | ("resource.k8s.io", "DeviceClass" | "ResourceSlice") => counting(&["spec"]),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => with_status_counting(Keep),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => counting(&["webhooks"]),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema" | "PriorityLevelConfiguration") => {
            with_status_counting(KeepAll)
        }
        ("scheduling.k8s.io", "PriorityClass") | ("discovery.k8s.io", "EndpointSlice") => counting(&[]),
        // A CSIDriver has no generation until something changes.
        ("storage.k8s.io", "CSIDriver") => Row {
            counts: &["spec"],
            ..PLAIN
        },
        ("storage.k8s.io", "VolumeAttachment")
        | ("networking.k8s.io", "ServiceCIDR")
        | ("resource.k8s.io", "ResourceClaim")
        | ("apiregistration.k8s.io", "APIService") => Row {
            status: true,
            metadata: Keep,
            ..PLAIN
        },
        _ => PLAIN,
    }
}

/// Returns the status of a kind in which nothing has been written yet: some fields are always there.
pub(super) fn empty_status(kind: &str) -> Value {
    match kind {
        "Service" | "Ingress" => json!({"loadBalancer": {}}),
        "ReplicationController" | "ReplicaSet" => json!({"replicas": 0}),
        "StatefulSet" => json!({"replicas": 0, "availableReplicas": 0}),
        "DaemonSet" => json!({
            "currentNumberScheduled": 0,
            "desiredNumberScheduled": 0,
            "numberMisscheduled": 0,
            "numberReady": 0,
        }),
        "PodDisruptionBudget" => json!({
            "currentHealthy": 0,
            "desiredHealthy": 0,
            "disruptionsAllowed": 0,
            "expectedPods": 0,
        }),
        "HorizontalPodAutoscaler" => json!({"desiredReplicas": 0, "currentMetrics": null}),
        "VolumeAttachment" => json!({"attached": false}),
        _ => json!({}),
    }
}
