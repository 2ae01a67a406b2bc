//! What an object may not be, in the words of the API server.
//!
//! Objects come decoded, defaulted and prepared, in the version in which they are stored. A check reads them and reports
//! faults in the order in which the real server does; where that walks a map in no order, ours is the order of its keys.
//!
//! - `report`, `reading`: where a field is, what is wrong with it, and how objects are read
//! - `syntax`, `selectors`, `metadata`, `resources`, `seen`: what many kinds share
//! - `internal`, `difference`: parts of objects and their differences as errors show them
//! - `pods` and what pods are made of: `containers`, `environment`, `probes`, `volumes`, `security`, `placement`
//! - the other kinds, by what they are about

mod access;
mod admission;
mod autoscaling;
mod claims;
mod cluster;
mod config;
mod containers;
mod difference;
mod environment;
mod extension;
mod go_json;
mod internal;
mod jobs;
mod limits;
mod metadata;
mod network;
mod placement;
mod pods;
mod probes;
mod reading;
mod report;
mod resources;
mod security;
mod seen;
mod selectors;
mod services;
mod storage;
mod syntax;
#[cfg(test)]
mod tests;
mod volumes;
mod warnings;
mod workloads;

use schema::FieldErrors;
use serde_json::Value;

use self::report::Errors;
use crate::tree::Fields;

/// Returns what is wrong with a new object.
pub fn validate_create(group: &str, kind: &str, object: &Value) -> FieldErrors {
    let mut errors = Errors::default();
    let object = reading::fields(object);
    create(&mut errors, group, kind, object);
    if errors.is_empty() {
        metadata::check_common(&mut errors, group, kind, object, None);
    }
    errors.into_faults()
}

fn create(errors: &mut Errors, group: &str, kind: &str, object: &Fields) {
    match (group, kind) {
        ("", "Pod") => pods::check(errors, object),
        ("", "PodTemplate") => workloads::pod_template(errors, object, None),
        ("", "ReplicationController") => workloads::replication_controller(errors, object, None),
        ("", "ConfigMap") => config::config_map(errors, object, None),
        ("", "Secret") => config::secret(errors, object, None),
        ("", "ServiceAccount") => config::service_account(errors, object, None),
        ("", "Service") => services::check(errors, object),
        ("", "PersistentVolumeClaim") => claims::check(errors, object),
        ("apps", "Deployment") => workloads::deployment(errors, object, None),
        ("apps", "ReplicaSet") => workloads::replica_set(errors, object, None),
        ("apps", "StatefulSet") => workloads::check_stateful(errors, object),
        ("apps", "DaemonSet") => workloads::daemon_set(errors, object, None),
        ("apps", "ControllerRevision") => workloads::controller_revision(errors, object, None),
        ("batch", "Job") => jobs::check(errors, object),
        ("batch", "CronJob") => jobs::cron_job(errors, object, None),
        ("rbac.authorization.k8s.io", "Role") => access::role(errors, object, None),
        ("rbac.authorization.k8s.io", "ClusterRole") => access::cluster_role(errors, object, None),
        ("rbac.authorization.k8s.io", kind) => access::binding(errors, kind, object, None),
        ("", "Endpoints") => network::endpoints(errors, object, None),
        ("", "LimitRange") => limits::range(errors, object, None),
        ("", "ResourceQuota") => limits::quota(errors, object, None),
        ("", "Node") => cluster::node(errors, object, None),
        ("" | "events.k8s.io", "Event") => cluster::event(errors, group, object, None),
        ("", "PersistentVolume") => storage::volume(errors, object, None),
        ("discovery.k8s.io", "EndpointSlice") => network::slice(errors, object, None),
        ("networking.k8s.io", "Ingress") => network::ingress(errors, object, None),
        ("networking.k8s.io", "IngressClass") => network::ingress_class(errors, object, None),
        ("networking.k8s.io", "NetworkPolicy") => network::policy(errors, object, None),
        ("storage.k8s.io", "StorageClass") => storage::class(errors, object, None),
        ("storage.k8s.io", "VolumeAttributesClass") => storage::attributes_class(errors, object, None),
        ("storage.k8s.io", "CSIDriver") => storage::csi_driver(errors, object, None),
        ("storage.k8s.io", "CSINode") => storage::csi_node(errors, object, None),
        ("storage.k8s.io", "VolumeAttachment") => storage::attachment(errors, object, None),
        ("storage.k8s.io", "CSIStorageCapacity") => storage::capacity(errors, object, None),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaling::autoscaler(errors, object, None),
        ("policy", "PodDisruptionBudget") => autoscaling::budget(errors, object, None),
        ("coordination.k8s.io", "Lease") => cluster::lease(errors, object, None),
        ("scheduling.k8s.io", "PriorityClass") => cluster::priority_class(errors, object, None),
        ("node.k8s.io", "RuntimeClass") => cluster::runtime_class(errors, object, None),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => admission::webhooks(errors, kind, object, None),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            admission::validating_policy(errors, object, None);
        }
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => {
            admission::mutating_policy(errors, object, None);
        }
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding",
        ) => admission::binding(errors, kind, object),
        ("apiregistration.k8s.io", "APIService") => extension::api_service(errors, object, None),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => extension::flow_schema(errors, object),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => {
            extension::priority_level(errors, object);
        }
        ("", "Namespace") => cluster::namespace(errors, object),
        ("certificates.k8s.io", "CertificateSigningRequest") => extension::signing_request(errors, object),
        _ => metadata::check(errors, group, kind, object),
    }
}

/// Returns what is wrong with an update of an object, through the object itself (`None`) or a subresource.
pub fn validate_update(
    group: &str,
    kind: &str,
    subresource: Option<&str>,
    new: &Value,
    old: &Value,
) -> FieldErrors {
    let mut errors = Errors::default();
    let (new, old) = (reading::fields(new), reading::fields(old));
    metadata::check_common(&mut errors, group, kind, new, Some(old));
    match subresource {
        None | Some("scale") => update(&mut errors, group, kind, new, old),
        Some(below) => update_below(&mut errors, group, kind, below, new, old),
    }
    errors.into_faults()
}

fn update(errors: &mut Errors, group: &str, kind: &str, new: &Fields, old: &Fields) {
    match (group, kind) {
        ("", "Pod") => pods::check_update(errors, new, old),
        ("", "PodTemplate") => workloads::pod_template(errors, new, Some(old)),
        ("", "ReplicationController") => workloads::replication_controller(errors, new, Some(old)),
        ("", "ConfigMap") => config::config_map(errors, new, Some(old)),
        ("", "Secret") => config::secret(errors, new, Some(old)),
        ("", "ServiceAccount") => config::service_account(errors, new, Some(old)),
        ("", "Service") => services::check_update(errors, new, old),
        ("", "PersistentVolumeClaim") => claims::check_update(errors, new, old),
        ("apps", "Deployment") => workloads::deployment(errors, new, Some(old)),
        ("apps", "ReplicaSet") => workloads::replica_set(errors, new, Some(old)),
        ("apps", "StatefulSet") => workloads::update_stateful(errors, new, old),
        ("apps", "DaemonSet") => workloads::daemon_set(errors, new, Some(old)),
        ("apps", "ControllerRevision") => workloads::controller_revision(errors, new, Some(old)),
        ("batch", "Job") => jobs::check_update(errors, new, old),
        ("batch", "CronJob") => jobs::cron_job(errors, new, Some(old)),
        ("rbac.authorization.k8s.io", "Role") => access::role(errors, new, Some(old)),
        ("rbac.authorization.k8s.io", "ClusterRole") => access::cluster_role(errors, new, Some(old)),
        ("rbac.authorization.k8s.io", kind) => access::binding(errors, kind, new, Some(old)),
        ("", "Endpoints") => network::endpoints(errors, new, Some(old)),
        ("", "LimitRange") => limits::range(errors, new, Some(old)),
        ("", "ResourceQuota") => limits::quota(errors, new, Some(old)),
        ("", "Node") => cluster::node(errors, new, Some(old)),
        ("" | "events.k8s.io", "Event") => cluster::event(errors, group, new, Some(old)),
        ("", "PersistentVolume") => storage::volume(errors, new, Some(old)),
        ("discovery.k8s.io", "EndpointSlice") => network::slice(errors, new, Some(old)),
        ("networking.k8s.io", "Ingress") => network::ingress(errors, new, Some(old)),
        ("networking.k8s.io", "IngressClass") => network::ingress_class(errors, new, Some(old)),
        ("networking.k8s.io", "NetworkPolicy") => network::policy(errors, new, Some(old)),
        ("storage.k8s.io", "StorageClass") => storage::class(errors, new, Some(old)),
        ("storage.k8s.io", "VolumeAttributesClass") => storage::attributes_class(errors, new, Some(old)),
        ("storage.k8s.io", "CSIDriver") => storage::csi_driver(errors, new, Some(old)),
        ("storage.k8s.io", "CSINode") => storage::csi_node(errors, new, Some(old)),
        ("storage.k8s.io", "VolumeAttachment") => storage::attachment(errors, new, Some(old)),
        ("storage.k8s.io", "CSIStorageCapacity") => storage::capacity(errors, new, Some(old)),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaling::autoscaler(errors, new, Some(old)),
        ("policy", "PodDisruptionBudget") => autoscaling::budget(errors, new, Some(old)),
        ("coordination.k8s.io", "Lease") => cluster::lease(errors, new, Some(old)),
        ("scheduling.k8s.io", "PriorityClass") => cluster::priority_class(errors, new, Some(old)),
        ("node.k8s.io", "RuntimeClass") => cluster::runtime_class(errors, new, Some(old)),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => admission::webhooks(errors, kind, new, Some(old)),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            admission::validating_policy(errors, new, Some(old));
        }
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => {
            admission::mutating_policy(errors, new, Some(old));
        }
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding",
        ) => admission::binding(errors, kind, new),
        ("apiregistration.k8s.io", "APIService") => extension::api_service(errors, new, Some(old)),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => extension::flow_schema(errors, new),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => {
            extension::priority_level(errors, new);
        }
        _ => metadata::check_update(errors, group, new, old),
    }
}

fn update_below(errors: &mut Errors, group: &str, kind: &str, below: &str, new: &Fields, old: &Fields) {
    match (group, kind, below) {
        ("", "Pod", "status") => pods::check_status(errors, new, old),
        ("", "Pod", "ephemeralcontainers") => pods::check_ephemeral(errors, new, old),
        ("", "Pod", "resize") => pods::check_resize(errors, new, old),
        ("", "Service", "status") => services::check_status(errors, new, old),
        ("", "PersistentVolumeClaim", "status") => claims::check_status(errors, new, old),
        ("apps", "Deployment", "status") => workloads::deployment_status(errors, new, old),
        ("", "ReplicationController", "status") | ("apps", "ReplicaSet", "status") => {
            workloads::replicas_status(errors, group, new, old);
        }
        ("apps", "StatefulSet", "status") => workloads::check_stateful_status(errors, new, old),
        ("apps", "DaemonSet", "status") => workloads::daemon_set_status(errors, new, old),
        ("batch", "Job", "status") => jobs::check_status(errors, new, old),
        ("", "Namespace", "status") => cluster::namespace_status(errors, new, old),
        ("", "Namespace", "finalize") => cluster::namespace_finalizers(errors, new, old),
        ("", "ResourceQuota", "status") => limits::quota_status(errors, new, old),
        ("", "Node", "status") => cluster::node(errors, new, Some(old)),
        ("networking.k8s.io", "Ingress", "status") => network::ingress_status(errors, new, old),
        ("autoscaling", "HorizontalPodAutoscaler", "status") => {
            autoscaling::autoscaler_status(errors, new, old);
        }
        ("policy", "PodDisruptionBudget", "status") => autoscaling::budget_status(errors, new, old),
        ("storage.k8s.io", "VolumeAttachment", "status") => storage::attachment(errors, new, Some(old)),
        ("apiregistration.k8s.io", "APIService", "status") => {
            extension::api_service_status(errors, new, old);
        }
        _ => metadata::check_update(errors, group, new, old),
    }
}

/// Returns what a person should know about an object that is allowed, as the `Warning` headers say it.
pub fn warnings(group: &str, kind: &str, new: &Value, old: Option<&Value>) -> Vec<String> {
    warnings::of(group, kind, reading::fields(new), old.map(reading::fields))
}
