//! What fields are when nobody wrote them.
//!
//! Besides the defaults of Kubernetes' types this does what its conversion to the types it works with does: two names of
//! one field get the same value, texts of a Secret become data, annotations that once were fields are kept in order.

mod image;
mod network;
mod platform;
mod pods;
mod resources;
mod volumes;
mod workloads;

use serde_json::Value;

pub(crate) use self::network::is_reached_from_outside;
pub(crate) use self::platform::label_with_name;
pub(crate) use self::workloads::{
    AUTOSCALER_ANNOTATIONS, PROCESSOR_PERCENT, TEMPLATE_GENERATION, processor_metric,
};
use crate::tree::Tree;

/// Fills in the defaults of an object of a built-in kind, which is given in this version.
pub fn apply(group: &str, version: &str, kind: &str, object: &mut Value) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    match (group, kind) {
        ("", "Pod") => pods::pod(object),
        ("", "PodTemplate") => workloads::pod_template(object),
        ("", "ReplicationController") => workloads::replication_controller(object),
        ("", "Service") => network::service(object),
        ("", "Endpoints") => network::endpoints(object),
        ("", "Namespace") => platform::namespace(object),
        ("", "Node") => platform::node(object),
        ("", "Secret") => platform::secret(object),
        ("", "LimitRange") => platform::limit_range(object),
        ("", "ResourceQuota") => platform::resource_quota(object),
        ("", "PersistentVolume") => volumes::persistent_volume(object),
        ("", "PersistentVolumeClaim") => volumes::claim(object),
        ("apps", "Deployment") => workloads::deployment(object),
        ("apps", "ReplicaSet") => workloads::replica_set(object),
        ("apps", "StatefulSet") => workloads::stateful_set(object),
        ("apps", "DaemonSet") => workloads::daemon_set(object),
        ("batch", "Job") => workloads::job(object),
        ("batch", "CronJob") => workloads::cron_job(object),
        ("autoscaling", "HorizontalPodAutoscaler") if version == "v1" => workloads::autoscaler_v1(object),
        ("autoscaling", "HorizontalPodAutoscaler") => workloads::autoscaler(object),
        ("discovery.k8s.io", "EndpointSlice") => network::endpoint_slice(object),
        ("networking.k8s.io", "NetworkPolicy") => network::network_policy(object),
        ("networking.k8s.io", "IngressClass") => network::ingress_class(object),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => platform::role_binding(object),
        ("storage.k8s.io", "StorageClass") => volumes::storage_class(object),
        ("storage.k8s.io", "CSIDriver") => volumes::csi_driver(object),
        ("storage.k8s.io", "VolumeAttachment") => volumes::attachment(object),
        ("scheduling.k8s.io", "PriorityClass") => platform::priority_class(object),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => platform::flow_schema(object),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => platform::priority_level(object),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => {
            platform::webhooks(object, false);
        }
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => platform::webhooks(object, true),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy") => {
            platform::policy(object, false);
        }
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding",
        ) => platform::policy(object, true),
        ("apiregistration.k8s.io", "APIService") => platform::api_service(object),
        ("resource.k8s.io", "ResourceClaim") => platform::resource_claim(object),
        ("resource.k8s.io", "ResourceClaimTemplate") => {
            platform::device_requests(object.part_or_new("spec").part_or_new("spec"));
        }
        ("authentication.k8s.io", "TokenRequest") => platform::token_request(object),
        _ => {}
    }
}
