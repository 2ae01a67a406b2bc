//! The columns of `kubectl get`: what a Table says about an object, without the object.
//!
//! [`columns`] are a kind's columns and [`row`] is what an object has in them; [`custom`] does the same for custom
//! resources, whose definitions name their columns. Who answers the request puts the rows into a Table.

mod access;
mod autoscaling;
mod cells;
pub mod custom;
mod definition;
pub mod json_path;
mod networking;
mod platform;
mod platform_definitions;
mod pods;
mod storage;
mod workload_definitions;
mod workloads;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use cells::Cells;

pub use cells::human_duration;

/// One column of a Table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, such as `Ready`.
    pub name: String,
    /// Its type, such as `string` or `integer`.
    pub column_type: String,
    /// Its format, such as `name`; often empty.
    pub format: String,
    /// What it shows.
    pub description: String,
    /// 0 if it is always shown; greater if only where there is room.
    pub priority: i32,
}

impl Column {
    /// Returns the column as `columnDefinitions` has it.
    pub fn to_value(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.column_type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}

/// What an object has in the columns of its kind.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// One cell for each column.
    pub cells: Vec<Value>,
    /// The row's `conditions`; only pods that have ended have one.
    pub conditions: Vec<Value>,
}

impl Row {
    /// Returns the row as `rows` has it, with the `object` that was asked for.
    pub fn to_value(self, object: Value) -> Value {
        let mut fields = Map::new();
        fields.insert("cells".to_owned(), Value::Array(self.cells));
        if !self.conditions.is_empty() {
            fields.insert("conditions".to_owned(), Value::Array(self.conditions));
        }
        fields.insert("object".to_owned(), object);
        Value::Object(fields)
    }
}

/// Returns the columns of a built-in kind; `None` if it has none of its own, then the [default](default_columns) count.
pub fn columns(group: &str, kind: &str) -> Option<&'static [Column]> {
    definition::COLUMNS.of(group, kind)
}

/// Returns the columns of a kind that has none of its own: the name, and when it was created.
pub fn default_columns() -> &'static [Column] {
    definition::COLUMNS.default()
}

/// Returns what an object has in the columns of its kind, or in the default ones if it has none of its own.
///
/// Objects may be of any version of their kind that is served.
pub fn row(group: &str, kind: &str, object: &Value, now: Timestamp) -> Row {
    let cells = Cells::new(object, now);
    let conditions = if (group, kind) == ("", "Pod") {
        pods::conditions(&cells)
    } else {
        Vec::new()
    };
    let cells = match (group, kind) {
        ("", "Pod") => pods::pod(&cells),
        ("", "PodTemplate") => workloads::pod_template(&cells),
        ("", "ReplicationController") => workloads::replication_controller(&cells),
        ("", "ConfigMap") => platform::config_map(&cells),
        ("", "Secret") => platform::secret(&cells),
        ("", "ServiceAccount") | ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate") => {
            vec![cells.name(), cells.age()]
        }
        ("", "Namespace") => vec![cells.name(), cells.text("status.phase"), cells.age()],
        ("", "Node") => platform::node(&cells),
        ("", "ComponentStatus") => platform::component_status(&cells),
        ("" | "events.k8s.io", "Event") => platform::event(&cells),
        ("", "ResourceQuota") => platform::resource_quota(&cells),
        ("", "Service") => networking::service(&cells),
        ("", "Endpoints") => networking::endpoints(&cells),
        ("", "PersistentVolume") => storage::persistent_volume(&cells),
        ("", "PersistentVolumeClaim") => storage::persistent_volume_claim(&cells),
        ("apps", "Deployment") => workloads::deployment(&cells),
        ("apps", "ReplicaSet") => workloads::replica_set(&cells),
        ("apps", "StatefulSet") => workloads::stateful_set(&cells),
        ("apps", "DaemonSet") => workloads::daemon_set(&cells),
        ("apps", "ControllerRevision") => workloads::controller_revision(&cells),
        ("batch", "Job") => workloads::job(&cells),
        ("batch", "CronJob") => workloads::cron_job(&cells),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaling::horizontal_pod_autoscaler(&cells),
        ("autoscaling", "Scale") => vec![
            cells.name(),
            cells.number("spec.replicas"),
            cells.number("status.replicas"),
            cells.age(),
        ],
        ("policy", "PodDisruptionBudget") => workloads::pod_disruption_budget(&cells),
        ("networking.k8s.io", "Ingress") => networking::ingress(&cells),
        ("networking.k8s.io", "IngressClass") => networking::ingress_class(&cells),
        ("networking.k8s.io", "NetworkPolicy") => networking::network_policy(&cells),
        ("networking.k8s.io", "IPAddress") => networking::ip_address(&cells),
        ("networking.k8s.io", "ServiceCIDR") => networking::service_cidr(&cells),
        ("discovery.k8s.io", "EndpointSlice") => networking::endpoint_slice(&cells),
        ("storage.k8s.io", "StorageClass") => storage::storage_class(&cells),
        ("storage.k8s.io", "CSIDriver") => storage::csi_driver(&cells),
        ("storage.k8s.io", "CSINode") => vec![cells.name(), cells.count("spec.drivers"), cells.age()],
        ("storage.k8s.io", "VolumeAttachment") => storage::volume_attachment(&cells),
        ("storage.k8s.io", "VolumeAttributesClass") => {
            vec![cells.name(), cells.text("driverName"), cells.age()]
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => access::binding(&cells),
        ("certificates.k8s.io", "CertificateSigningRequest") => access::signing_request(&cells),
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => {
            vec![cells.name(), cells.count("webhooks"), cells.age()]
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            access::policy(&cells, "spec.validations")
        }
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => {
            access::policy(&cells, "spec.mutations")
        }
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding",
        ) => access::policy_binding(&cells),
        ("apiregistration.k8s.io", "APIService") => platform::api_service(&cells),
        ("scheduling.k8s.io", "PriorityClass") => platform::priority_class(&cells),
        ("coordination.k8s.io", "Lease") => {
            vec![cells.name(), cells.text("spec.holderIdentity"), cells.age()]
        }
        ("node.k8s.io", "RuntimeClass") => vec![cells.name(), cells.text("handler"), cells.age()],
        ("resource.k8s.io", "ResourceClaim") => platform::resource_claim(&cells),
        ("resource.k8s.io", "ResourceSlice") => platform::resource_slice(&cells),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => platform::flow_schema(&cells),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => platform::priority_level(&cells),
        _ => vec![cells.name(), cells.created_at()],
    };
    Row { cells, conditions }
}

#[cfg(test)]
mod tests;
