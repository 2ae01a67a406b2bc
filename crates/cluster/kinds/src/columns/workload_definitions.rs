//! The columns of what runs and what it needs: the core, apps, batch, autoscaling and events groups.

use super::definition::{AGE, CONTAINERS, Definition, IMAGES, META, NAME, from, says};

pub(super) const KINDS: &[Definition] = &[
    Definition {
        group: "",
        kind: "ComponentStatus",
        columns: &[
            NAME,
            says("Status", "string", "Status of the component conditions"),
            says("Message", "string", "Message of the component conditions"),
            says("Error", "string", "Error of the component conditions"),
        ],
    },
    Definition {
        group: "",
        kind: "ConfigMap",
        columns: &[
            NAME,
            from("Data", "string", "io.k8s.api.core.v1.ConfigMap", "data"),
            AGE,
        ],
    },
    Definition {
        group: "",
        kind: "Endpoints",
        columns: &[
            NAME,
            from("Endpoints", "string", "io.k8s.api.core.v1.Endpoints", "subsets"),
            AGE,
        ],
    },
    Definition {
        group: "",
        kind: "Event",
        columns: &[
            from("Last Seen", "string", "io.k8s.api.core.v1.Event", "lastTimestamp"),
            from("Type", "string", "io.k8s.api.core.v1.Event", "type"),
            from("Reason", "string", "io.k8s.api.core.v1.Event", "reason"),
            from("Object", "string", "io.k8s.api.core.v1.Event", "involvedObject"),
            from(
                "Subobject",
                "string",
                "io.k8s.api.core.v1.ObjectReference",
                "fieldPath",
            )
            .wide(),
            from("Source", "string", "io.k8s.api.core.v1.Event", "source").wide(),
            from("Message", "string", "io.k8s.api.core.v1.Event", "message"),
            from(
                "First Seen",
                "string",
                "io.k8s.api.core.v1.Event",
                "firstTimestamp",
            )
            .wide(),
            from("Count", "string", "io.k8s.api.core.v1.Event", "count").wide(),
            from(
                "Name",
                "string",
                "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
                "name",
            )
            .format("name")
            .wide(),
        ],
    },
    Definition {
        group: "",
        kind: "Namespace",
        columns: &[NAME, says("Status", "string", "The status of the namespace"), AGE],
    },
    Definition {
        group: "",
        kind: "Node",
        columns: &[
            NAME,
            says("Status", "string", "The status of the node"),
            says("Roles", "string", "The roles of the node"),
            AGE,
            from(
                "Version",
                "string",
                "io.k8s.api.core.v1.NodeSystemInfo",
                "kubeletVersion",
            ),
            from(
                "Internal-IP",
                "string",
                "io.k8s.api.core.v1.NodeStatus",
                "addresses",
            )
            .wide(),
            from(
                "External-IP",
                "string",
                "io.k8s.api.core.v1.NodeStatus",
                "addresses",
            )
            .wide(),
            from(
                "OS-Image",
                "string",
                "io.k8s.api.core.v1.NodeSystemInfo",
                "osImage",
            )
            .wide(),
            from(
                "Kernel-Version",
                "string",
                "io.k8s.api.core.v1.NodeSystemInfo",
                "kernelVersion",
            )
            .wide(),
            from(
                "Container-Runtime",
                "string",
                "io.k8s.api.core.v1.NodeSystemInfo",
                "containerRuntimeVersion",
            )
            .wide(),
        ],
    },
    Definition {
        group: "",
        kind: "PersistentVolumeClaim",
        columns: &[
            NAME,
            from(
                "Status",
                "string",
                "io.k8s.api.core.v1.PersistentVolumeClaimStatus",
                "phase",
            ),
            from(
                "Volume",
                "string",
                "io.k8s.api.core.v1.PersistentVolumeClaimSpec",
                "volumeName",
            ),
            from(
                "Capacity",
                "string",
                "io.k8s.api.core.v1.PersistentVolumeClaimStatus",
                "capacity",
            ),
            from(
                "Access Modes",
                "string",
                "io.k8s.api.core.v1.PersistentVolumeClaimStatus",
                "accessModes",
            ),
            says("StorageClass", "string", "StorageClass of the pvc"),
            says(
                "VolumeAttributesClass",
                "string",
                "VolumeAttributesClass of the pvc",
            ),
            AGE,
            from(
                "VolumeMode",
                "string",
                "io.k8s.api.core.v1.PersistentVolumeClaimSpec",
                "volumeMode",
            )
            .wide(),
        ],
    },
    Definition {
        group: "",
        kind: "PersistentVolume",
        columns: &[
            NAME,
            from(
                "Capacity",
                "string",
                "io.k8s.api.core.v1.PersistentVolumeSpec",
                "capacity",
            ),
            from(
                "Access Modes",
                "string",
                "io.k8s.api.core.v1.PersistentVolumeSpec",
                "accessModes",
            ),
            from(
                "Reclaim Policy",
                "string",
                "io.k8s.api.core.v1.PersistentVolumeSpec",
                "persistentVolumeReclaimPolicy",
            ),
            from(
                "Status",
                "string",
                "io.k8s.api.core.v1.PersistentVolumeStatus",
                "phase",
            ),
            from(
                "Claim",
                "string",
                "io.k8s.api.core.v1.PersistentVolumeSpec",
                "claimRef",
            ),
            says("StorageClass", "string", "StorageClass of the pv"),
            says(
                "VolumeAttributesClass",
                "string",
                "VolumeAttributesClass of the pv",
            ),
            from(
                "Reason",
                "string",
                "io.k8s.api.core.v1.PersistentVolumeStatus",
                "reason",
            ),
            AGE,
            from(
                "VolumeMode",
                "string",
                "io.k8s.api.core.v1.PersistentVolumeSpec",
                "volumeMode",
            )
            .wide(),
        ],
    },
    Definition {
        group: "",
        kind: "Pod",
        columns: &[
            NAME,
            says(
                "Ready",
                "string",
                "The aggregate readiness state of this pod for accepting traffic.",
            ),
            says(
                "Status",
                "string",
                "The aggregate status of the containers in this pod.",
            ),
            says(
                "Restarts",
                "string",
                "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
            ),
            AGE,
            from("IP", "string", "io.k8s.api.core.v1.PodStatus", "podIP").wide(),
            from("Node", "string", "io.k8s.api.core.v1.PodSpec", "nodeName").wide(),
            from(
                "Nominated Node",
                "string",
                "io.k8s.api.core.v1.PodStatus",
                "nominatedNodeName",
            )
            .wide(),
            from(
                "Readiness Gates",
                "string",
                "io.k8s.api.core.v1.PodSpec",
                "readinessGates",
            )
            .wide(),
        ],
    },
    Definition {
        group: "",
        kind: "PodTemplate",
        columns: &[
            NAME,
            says("Containers", "string", "Names of each container in the template."),
            says(
                "Images",
                "string",
                "Images referenced by each container in the template.",
            ),
            says("Pod Labels", "string", "The labels for the pod template."),
        ],
    },
    Definition {
        group: "",
        kind: "ReplicationController",
        columns: &[
            NAME,
            from(
                "Desired",
                "integer",
                "io.k8s.api.core.v1.ReplicationControllerSpec",
                "replicas",
            ),
            from(
                "Current",
                "integer",
                "io.k8s.api.core.v1.ReplicationControllerStatus",
                "replicas",
            ),
            from(
                "Ready",
                "integer",
                "io.k8s.api.core.v1.ReplicationControllerStatus",
                "readyReplicas",
            ),
            AGE,
            CONTAINERS,
            IMAGES,
            from(
                "Selector",
                "string",
                "io.k8s.api.core.v1.ReplicationControllerSpec",
                "selector",
            )
            .wide(),
        ],
    },
    Definition {
        group: "",
        kind: "ResourceQuota",
        columns: &[
            NAME,
            says(
                "Request",
                "string",
                "Request represents a minimum amount of cpu/memory that a container may consume.",
            ),
            says(
                "Limit",
                "string",
                "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.",
            ),
            AGE,
        ],
    },
    Definition {
        group: "",
        kind: "Secret",
        columns: &[
            NAME,
            from("Type", "string", "io.k8s.api.core.v1.Secret", "type"),
            from("Data", "string", "io.k8s.api.core.v1.Secret", "data"),
            AGE,
        ],
    },
    Definition {
        group: "",
        kind: "ServiceAccount",
        columns: &[NAME, AGE],
    },
    Definition {
        group: "",
        kind: "Service",
        columns: &[
            NAME,
            from("Type", "string", "io.k8s.api.core.v1.ServiceSpec", "type"),
            from(
                "Cluster-IP",
                "string",
                "io.k8s.api.core.v1.ServiceSpec",
                "clusterIP",
            ),
            from(
                "External-IP",
                "string",
                "io.k8s.api.core.v1.ServiceSpec",
                "externalIPs",
            ),
            from("Port(s)", "string", "io.k8s.api.core.v1.ServiceSpec", "ports"),
            AGE,
            from("Selector", "string", "io.k8s.api.core.v1.ServiceSpec", "selector").wide(),
        ],
    },
    Definition {
        group: "apps",
        kind: "ControllerRevision",
        columns: &[
            NAME,
            says("Controller", "string", "Controller of the object"),
            from(
                "Revision",
                "string",
                "io.k8s.api.apps.v1.ControllerRevision",
                "revision",
            ),
            AGE,
        ],
    },
    Definition {
        group: "apps",
        kind: "DaemonSet",
        columns: &[
            NAME,
            from(
                "Desired",
                "integer",
                "io.k8s.api.apps.v1.DaemonSetStatus",
                "desiredNumberScheduled",
            ),
            from(
                "Current",
                "integer",
                "io.k8s.api.apps.v1.DaemonSetStatus",
                "currentNumberScheduled",
            ),
            from(
                "Ready",
                "integer",
                "io.k8s.api.apps.v1.DaemonSetStatus",
                "numberReady",
            ),
            from(
                "Up-to-date",
                "integer",
                "io.k8s.api.apps.v1.DaemonSetStatus",
                "updatedNumberScheduled",
            ),
            from(
                "Available",
                "integer",
                "io.k8s.api.apps.v1.DaemonSetStatus",
                "numberAvailable",
            ),
            from(
                "Node Selector",
                "string",
                "io.k8s.api.core.v1.PodSpec",
                "nodeSelector",
            ),
            AGE,
            CONTAINERS,
            IMAGES,
            from(
                "Selector",
                "string",
                "io.k8s.api.apps.v1.DaemonSetSpec",
                "selector",
            )
            .wide(),
        ],
    },
    Definition {
        group: "apps",
        kind: "Deployment",
        columns: &[
            NAME,
            says("Ready", "string", "Number of the pod with ready state"),
            from(
                "Up-to-date",
                "string",
                "io.k8s.api.apps.v1.DeploymentStatus",
                "updatedReplicas",
            ),
            from(
                "Available",
                "string",
                "io.k8s.api.apps.v1.DeploymentStatus",
                "availableReplicas",
            ),
            AGE,
            CONTAINERS,
            IMAGES,
            from(
                "Selector",
                "string",
                "io.k8s.api.apps.v1.DeploymentSpec",
                "selector",
            )
            .wide(),
        ],
    },
    Definition {
        group: "apps",
        kind: "ReplicaSet",
        columns: &[
            NAME,
            from(
                "Desired",
                "integer",
                "io.k8s.api.apps.v1.ReplicaSetSpec",
                "replicas",
            ),
            from(
                "Current",
                "integer",
                "io.k8s.api.apps.v1.ReplicaSetStatus",
                "replicas",
            ),
            from(
                "Ready",
                "integer",
                "io.k8s.api.apps.v1.ReplicaSetStatus",
                "readyReplicas",
            ),
            AGE,
            CONTAINERS,
            IMAGES,
            from(
                "Selector",
                "string",
                "io.k8s.api.apps.v1.ReplicaSetSpec",
                "selector",
            )
            .wide(),
        ],
    },
    Definition {
        group: "apps",
        kind: "StatefulSet",
        columns: &[
            NAME,
            says("Ready", "string", "Number of the pod with ready state"),
            AGE,
            CONTAINERS,
            IMAGES,
        ],
    },
    Definition {
        group: "events.k8s.io",
        kind: "Event",
        columns: &[
            from("Last Seen", "string", "io.k8s.api.core.v1.Event", "lastTimestamp"),
            from("Type", "string", "io.k8s.api.core.v1.Event", "type"),
            from("Reason", "string", "io.k8s.api.core.v1.Event", "reason"),
            from("Object", "string", "io.k8s.api.core.v1.Event", "involvedObject"),
            from(
                "Subobject",
                "string",
                "io.k8s.api.core.v1.ObjectReference",
                "fieldPath",
            )
            .wide(),
            from("Source", "string", "io.k8s.api.core.v1.Event", "source").wide(),
            from("Message", "string", "io.k8s.api.core.v1.Event", "message"),
            from(
                "First Seen",
                "string",
                "io.k8s.api.core.v1.Event",
                "firstTimestamp",
            )
            .wide(),
            from("Count", "string", "io.k8s.api.core.v1.Event", "count").wide(),
            from(
                "Name",
                "string",
                "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
                "name",
            )
            .format("name")
            .wide(),
        ],
    },
    Definition {
        group: "autoscaling",
        kind: "HorizontalPodAutoscaler",
        columns: &[
            NAME,
            from(
                "Reference",
                "string",
                "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec",
                "scaleTargetRef",
            ),
            from(
                "Targets",
                "string",
                "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec",
                "metrics",
            ),
            from(
                "MinPods",
                "string",
                "io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerSpec",
                "minReplicas",
            ),
            from(
                "MaxPods",
                "string",
                "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec",
                "maxReplicas",
            ),
            from(
                "Replicas",
                "string",
                "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus",
                "currentReplicas",
            ),
            AGE,
        ],
    },
    Definition {
        group: "autoscaling",
        kind: "Scale",
        columns: &[
            from("Name", "string", META, "name"),
            from(
                "Desired",
                "integer",
                "io.k8s.api.autoscaling.v1.ScaleSpec",
                "replicas",
            ),
            from(
                "Available",
                "integer",
                "io.k8s.api.autoscaling.v1.ScaleStatus",
                "replicas",
            ),
            AGE,
        ],
    },
    Definition {
        group: "batch",
        kind: "CronJob",
        columns: &[
            NAME,
            from(
                "Schedule",
                "string",
                "io.k8s.api.batch.v1.CronJobSpec",
                "schedule",
            ),
            from(
                "Timezone",
                "string",
                "io.k8s.api.batch.v1.CronJobSpec",
                "timeZone",
            ),
            from("Suspend", "boolean", "io.k8s.api.batch.v1.CronJobSpec", "suspend"),
            from("Active", "integer", "io.k8s.api.batch.v1.CronJobStatus", "active"),
            from(
                "Last Schedule",
                "string",
                "io.k8s.api.batch.v1.CronJobStatus",
                "lastScheduleTime",
            ),
            AGE,
            CONTAINERS,
            IMAGES,
            from("Selector", "string", "io.k8s.api.batch.v1.JobSpec", "selector").wide(),
        ],
    },
    Definition {
        group: "batch",
        kind: "Job",
        columns: &[
            NAME,
            says("Status", "string", "Status of the job."),
            from(
                "Completions",
                "string",
                "io.k8s.api.batch.v1.JobStatus",
                "succeeded",
            ),
            says("Duration", "string", "Time required to complete the job."),
            AGE,
            CONTAINERS,
            IMAGES,
            from("Selector", "string", "io.k8s.api.batch.v1.JobSpec", "selector").wide(),
        ],
    },
];
