//! The columns of what a cluster is made of: networking, storage, access, admission and the rest.

use super::definition::{AGE, Definition, NAME, from, says};

pub(super) const KINDS: &[Definition] = &[
    Definition {
        group: "apiregistration.k8s.io",
        kind: "APIService",
        columns: &[
            NAME,
            says(
                "Service",
                "string",
                "The reference to the service that hosts this API endpoint.",
            ),
            says("Available", "string", "Whether this service is available."),
            AGE,
        ],
    },
    Definition {
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        columns: &[
            NAME,
            AGE,
            says(
                "SignerName",
                "string",
                "Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:\n 1. If it's a kubelet client certificate, it is assigned\n    \"kubernetes.io/kube-apiserver-client-kubelet\".\n 2. If it's a kubelet serving certificate, it is assigned\n    \"kubernetes.io/kubelet-serving\".\n 3. Otherwise, it is assigned \"kubernetes.io/legacy-unknown\".\nDistribution of trust for signers happens out of band. You can select on this field using `spec.signerName`.",
            ),
            says("Requestor", "string", "Base64-encoded PKCS#10 CSR data"),
            from(
                "RequestedDuration",
                "string",
                "io.k8s.api.certificates.v1.CertificateSigningRequestSpec",
                "expirationSeconds",
            ),
            says(
                "Condition",
                "string",
                "Conditions applied to the request, such as approval or denial.",
            ),
        ],
    },
    Definition {
        group: "networking.k8s.io",
        kind: "IngressClass",
        columns: &[
            NAME,
            says(
                "Controller",
                "string",
                "Controller that is responsible for handling this class",
            ),
            says(
                "Parameters",
                "string",
                "A reference to a resource with additional parameters",
            ),
            AGE,
        ],
    },
    Definition {
        group: "networking.k8s.io",
        kind: "Ingress",
        columns: &[
            NAME,
            says(
                "Class",
                "string",
                "The name of the IngressClass resource that should be used for additional configuration",
            ),
            says(
                "Hosts",
                "string",
                "Hosts that incoming requests are matched against before the ingress rule",
            ),
            says(
                "Address",
                "string",
                "Address is a list containing ingress points for the load-balancer",
            ),
            says("Ports", "string", "Ports of TLS configurations that open"),
            AGE,
        ],
    },
    Definition {
        group: "networking.k8s.io",
        kind: "IPAddress",
        columns: &[
            NAME,
            from(
                "ParentRef",
                "string",
                "io.k8s.api.networking.v1.IPAddressSpec",
                "parentRef",
            ),
        ],
    },
    Definition {
        group: "networking.k8s.io",
        kind: "NetworkPolicy",
        columns: &[
            NAME,
            from(
                "Pod-Selector",
                "string",
                "io.k8s.api.networking.v1.NetworkPolicySpec",
                "podSelector",
            ),
            AGE,
        ],
    },
    Definition {
        group: "networking.k8s.io",
        kind: "ServiceCIDR",
        columns: &[
            NAME,
            from(
                "CIDRs",
                "string",
                "io.k8s.api.networking.v1.ServiceCIDRSpec",
                "cidrs",
            ),
            AGE,
        ],
    },
    Definition {
        group: "policy",
        kind: "PodDisruptionBudget",
        columns: &[
            NAME,
            says(
                "Min Available",
                "string",
                "The minimum number of pods that must be available.",
            ),
            says(
                "Max Unavailable",
                "string",
                "The maximum number of pods that may be unavailable.",
            ),
            says(
                "Allowed Disruptions",
                "integer",
                "Calculated number of pods that may be disrupted at this time.",
            ),
            AGE,
        ],
    },
    Definition {
        group: "rbac.authorization.k8s.io",
        kind: "ClusterRoleBinding",
        columns: &[
            NAME,
            says(
                "Role",
                "string",
                "RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
            ),
            AGE,
            says("Users", "string", "Users in the clusterRoleBinding").wide(),
            says("Groups", "string", "Groups in the clusterRoleBinding").wide(),
            says(
                "ServiceAccounts",
                "string",
                "ServiceAccounts in the clusterRoleBinding",
            )
            .wide(),
        ],
    },
    Definition {
        group: "rbac.authorization.k8s.io",
        kind: "RoleBinding",
        columns: &[
            NAME,
            says(
                "Role",
                "string",
                "RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
            ),
            AGE,
            says("Users", "string", "Users in the roleBinding").wide(),
            says("Groups", "string", "Groups in the roleBinding").wide(),
            says("ServiceAccounts", "string", "ServiceAccounts in the roleBinding").wide(),
        ],
    },
    Definition {
        group: "storage.k8s.io",
        kind: "CSIDriver",
        columns: &[
            NAME,
            from(
                "AttachRequired",
                "boolean",
                "io.k8s.api.storage.v1.CSIDriverSpec",
                "attachRequired",
            ),
            from(
                "PodInfoOnMount",
                "boolean",
                "io.k8s.api.storage.v1.CSIDriverSpec",
                "podInfoOnMount",
            ),
            from(
                "StorageCapacity",
                "boolean",
                "io.k8s.api.storage.v1.CSIDriverSpec",
                "storageCapacity",
            ),
            from(
                "TokenRequests",
                "string",
                "io.k8s.api.storage.v1.CSIDriverSpec",
                "tokenRequests",
            ),
            from(
                "RequiresRepublish",
                "boolean",
                "io.k8s.api.storage.v1.CSIDriverSpec",
                "requiresRepublish",
            ),
            from(
                "Modes",
                "string",
                "io.k8s.api.storage.v1.CSIDriverSpec",
                "volumeLifecycleModes",
            ),
            AGE,
        ],
    },
    Definition {
        group: "storage.k8s.io",
        kind: "CSINode",
        columns: &[
            NAME,
            says(
                "Drivers",
                "integer",
                "Drivers indicates the number of CSI drivers registered on the node",
            ),
            AGE,
        ],
    },
    Definition {
        group: "storage.k8s.io",
        kind: "StorageClass",
        columns: &[
            NAME,
            from(
                "Provisioner",
                "string",
                "io.k8s.api.storage.v1.StorageClass",
                "provisioner",
            ),
            from(
                "ReclaimPolicy",
                "string",
                "io.k8s.api.storage.v1.StorageClass",
                "reclaimPolicy",
            ),
            from(
                "VolumeBindingMode",
                "string",
                "io.k8s.api.storage.v1.StorageClass",
                "volumeBindingMode",
            ),
            from(
                "AllowVolumeExpansion",
                "string",
                "io.k8s.api.storage.v1.StorageClass",
                "allowVolumeExpansion",
            ),
            AGE,
        ],
    },
    Definition {
        group: "storage.k8s.io",
        kind: "VolumeAttachment",
        columns: &[
            NAME,
            from(
                "Attacher",
                "string",
                "io.k8s.api.storage.v1.VolumeAttachmentSpec",
                "attacher",
            )
            .format("name"),
            from(
                "PV",
                "string",
                "io.k8s.api.storage.v1.VolumeAttachmentSource",
                "persistentVolumeName",
            ),
            from(
                "Node",
                "string",
                "io.k8s.api.storage.v1.VolumeAttachmentSpec",
                "nodeName",
            ),
            from(
                "Attached",
                "boolean",
                "io.k8s.api.storage.v1.VolumeAttachmentStatus",
                "attached",
            ),
            AGE,
        ],
    },
    Definition {
        group: "storage.k8s.io",
        kind: "VolumeAttributesClass",
        columns: &[
            NAME,
            from(
                "DriverName",
                "string",
                "io.k8s.api.storage.v1.VolumeAttributesClass",
                "driverName",
            ),
            AGE,
        ],
    },
    Definition {
        group: "admissionregistration.k8s.io",
        kind: "MutatingAdmissionPolicy",
        columns: &[
            NAME,
            says(
                "Mutations",
                "integer",
                "Mutation indicates the number of mutations rules defined in this configuration",
            ),
            says(
                "ParamKind",
                "string",
                "ParamKind specifies the kind of resources used to parameterize this policy",
            ),
            AGE,
        ],
    },
    Definition {
        group: "admissionregistration.k8s.io",
        kind: "MutatingAdmissionPolicyBinding",
        columns: &[
            NAME,
            says(
                "PolicyName",
                "string",
                "PolicyName indicates the policy definition which the policy binding binded to",
            ),
            says(
                "ParamRef",
                "string",
                "ParamRef indicates the param resource which sets the configuration param",
            ),
            AGE,
        ],
    },
    Definition {
        group: "admissionregistration.k8s.io",
        kind: "MutatingWebhookConfiguration",
        columns: &[
            NAME,
            says(
                "Webhooks",
                "integer",
                "Webhooks indicates the number of webhooks registered in this configuration",
            ),
            AGE,
        ],
    },
    Definition {
        group: "admissionregistration.k8s.io",
        kind: "ValidatingAdmissionPolicy",
        columns: &[
            NAME,
            says(
                "Validations",
                "integer",
                "Validations indicates the number of validation rules defined in this configuration",
            ),
            says(
                "ParamKind",
                "string",
                "ParamKind specifies the kind of resources used to parameterize this policy",
            ),
            AGE,
        ],
    },
    Definition {
        group: "admissionregistration.k8s.io",
        kind: "ValidatingAdmissionPolicyBinding",
        columns: &[
            NAME,
            says(
                "PolicyName",
                "string",
                "PolicyName indicates the policy definition which the policy binding binded to",
            ),
            says(
                "ParamRef",
                "string",
                "ParamRef indicates the param resource which sets the configuration param",
            ),
            AGE,
        ],
    },
    Definition {
        group: "admissionregistration.k8s.io",
        kind: "ValidatingWebhookConfiguration",
        columns: &[
            NAME,
            says(
                "Webhooks",
                "integer",
                "Webhooks indicates the number of webhooks registered in this configuration",
            ),
            AGE,
        ],
    },
    Definition {
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        columns: &[
            NAME,
            from(
                "Value",
                "integer",
                "io.k8s.api.scheduling.v1.PriorityClass",
                "value",
            ),
            from(
                "Global-Default",
                "boolean",
                "io.k8s.api.scheduling.v1.PriorityClass",
                "globalDefault",
            ),
            AGE,
            from(
                "PreemptionPolicy",
                "string",
                "io.k8s.api.scheduling.v1.PriorityClass",
                "preemptionPolicy",
            ),
        ],
    },
    Definition {
        group: "coordination.k8s.io",
        kind: "Lease",
        columns: &[
            NAME,
            from(
                "Holder",
                "string",
                "io.k8s.api.coordination.v1.LeaseSpec",
                "holderIdentity",
            ),
            AGE,
        ],
    },
    Definition {
        group: "node.k8s.io",
        kind: "RuntimeClass",
        columns: &[NAME, says("Handler", "string", ""), AGE],
    },
    Definition {
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        columns: &[
            NAME,
            from(
                "AddressType",
                "string",
                "io.k8s.api.discovery.v1.EndpointSlice",
                "addressType",
            ),
            from(
                "Ports",
                "string",
                "io.k8s.api.discovery.v1.EndpointSlice",
                "ports",
            ),
            from(
                "Endpoints",
                "string",
                "io.k8s.api.discovery.v1.EndpointSlice",
                "endpoints",
            ),
            AGE,
        ],
    },
    Definition {
        group: "resource.k8s.io",
        kind: "DeviceClass",
        columns: &[NAME, AGE],
    },
    Definition {
        group: "resource.k8s.io",
        kind: "ResourceClaim",
        columns: &[
            NAME,
            says(
                "State",
                "string",
                "A summary of the current state (allocated, pending, reserved, etc.).",
            ),
            AGE,
        ],
    },
    Definition {
        group: "resource.k8s.io",
        kind: "ResourceClaimTemplate",
        columns: &[NAME, AGE],
    },
    Definition {
        group: "resource.k8s.io",
        kind: "ResourceSlice",
        columns: &[
            NAME,
            from(
                "Node",
                "string",
                "io.k8s.api.resource.v1.ResourceSliceSpec",
                "nodeName",
            ),
            from(
                "Driver",
                "string",
                "io.k8s.api.resource.v1.ResourceSliceSpec",
                "driver",
            ),
            from("Pool", "string", "io.k8s.api.resource.v1.ResourcePool", "name"),
            AGE,
        ],
    },
    Definition {
        group: "flowcontrol.apiserver.k8s.io",
        kind: "FlowSchema",
        columns: &[
            NAME,
            from(
                "PriorityLevel",
                "string",
                "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationReference",
                "name",
            ),
            from(
                "MatchingPrecedence",
                "string",
                "io.k8s.api.flowcontrol.v1.FlowSchemaSpec",
                "matchingPrecedence",
            ),
            from(
                "DistinguisherMethod",
                "string",
                "io.k8s.api.flowcontrol.v1.FlowSchemaSpec",
                "distinguisherMethod",
            ),
            AGE,
            says(
                "MissingPL",
                "string",
                "references a broken or non-existent PriorityLevelConfiguration",
            ),
        ],
    },
    Definition {
        group: "flowcontrol.apiserver.k8s.io",
        kind: "PriorityLevelConfiguration",
        columns: &[
            NAME,
            from(
                "Type",
                "string",
                "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec",
                "type",
            ),
            from(
                "NominalConcurrencyShares",
                "string",
                "io.k8s.api.flowcontrol.v1.LimitedPriorityLevelConfiguration",
                "nominalConcurrencyShares",
            ),
            from(
                "Queues",
                "string",
                "io.k8s.api.flowcontrol.v1.QueuingConfiguration",
                "queues",
            ),
            from(
                "HandSize",
                "string",
                "io.k8s.api.flowcontrol.v1.QueuingConfiguration",
                "handSize",
            ),
            from(
                "QueueLengthLimit",
                "string",
                "io.k8s.api.flowcontrol.v1.QueuingConfiguration",
                "queueLengthLimit",
            ),
            AGE,
        ],
    },
];
