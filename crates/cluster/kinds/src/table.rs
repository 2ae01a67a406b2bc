//! The rows of the built-in kinds: how each is called, where it lives, and what may be done with it.
//!
//! Names, verbs and subresources are those that discovery of Kubernetes 1.36 shows, in its order.

/// Whether objects of a kind live in namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// In the whole cluster.
    Cluster,
}

/// What hangs below an object, such as `status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subresource {
    /// The last part of its path.
    pub name: &'static str,
    /// The group of the kind that is read and written there; empty, with an empty version, for the parent's own.
    pub group: &'static str,
    /// The version of that kind.
    pub version: &'static str,
    /// The kind that is read and written there.
    pub kind: &'static str,
    /// What may be done with it.
    pub verbs: &'static [&'static str],
}

impl Subresource {
    const fn new(
        name: &'static str,
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        verbs: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            group,
            version,
            kind,
            verbs,
        }
    }
}

/// What may be done with objects of most kinds.
pub const ALL_VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// The status, written apart from the rest. Its kind is the parent's.
pub const STATUS: Subresource = Subresource::new("status", "", "", "", &["get", "patch", "update"]);

/// The number of replicas, for whatever can be scaled.
pub const SCALE: Subresource =
    Subresource::new("scale", "autoscaling", "v1", "Scale", &["get", "patch", "update"]);

/// One built-in kind.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a habit of its own, not a state"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The API group; empty for the core.
    pub group: &'static str,
    /// The versions that are served, the preferred one first. The first is also the one that is stored.
    pub versions: &'static [&'static str],
    /// The kind's name.
    pub kind: &'static str,
    /// The name in paths.
    pub plural: &'static str,
    /// The name of one of them on the command line.
    pub singular: &'static str,
    /// Short names on the command line.
    pub short_names: &'static [&'static str],
    /// The groups of kinds, such as `all`, it belongs to on the command line.
    pub categories: &'static [&'static str],
    /// Where its objects live.
    pub scope: Scope,
    /// What may be done with its objects.
    pub verbs: &'static [&'static str],
    /// What hangs below its objects.
    pub subresources: &'static [Subresource],
    /// Whether an update must say which version of the object it changes.
    pub demands_resource_version: bool,
    /// Whether an update of an object that isn't there makes it.
    pub created_by_update: bool,
    /// Whether a deletion answers with the deleted object instead of a `Status`.
    pub returns_deleted_object: bool,
    /// Whether dependents are left behind when a deletion doesn't say what to do with them.
    pub orphans_dependents: bool,
    /// What those are told who still use it; empty where it stays.
    pub deprecation: &'static str,
}

impl Kind {
    const fn new(
        group: &'static str,
        kind: &'static str,
        plural: &'static str,
        singular: &'static str,
        scope: Scope,
    ) -> Self {
        Self {
            group,
            versions: &["v1"],
            kind,
            plural,
            singular,
            short_names: &[],
            categories: &[],
            scope,
            verbs: ALL_VERBS,
            subresources: &[],
            demands_resource_version: false,
            created_by_update: false,
            returns_deleted_object: false,
            orphans_dependents: false,
            deprecation: "",
        }
    }

    const fn namespaced(
        group: &'static str,
        kind: &'static str,
        plural: &'static str,
        singular: &'static str,
    ) -> Self {
        Self::new(group, kind, plural, singular, Scope::Namespaced)
    }

    const fn cluster(
        group: &'static str,
        kind: &'static str,
        plural: &'static str,
        singular: &'static str,
    ) -> Self {
        Self::new(group, kind, plural, singular, Scope::Cluster)
    }

    const fn versions(mut self, versions: &'static [&'static str]) -> Self {
        self.versions = versions;
        self
    }

    const fn verbs(mut self, verbs: &'static [&'static str]) -> Self {
        self.verbs = verbs;
        self
    }

    const fn short_names(mut self, short_names: &'static [&'static str]) -> Self {
        self.short_names = short_names;
        self
    }

    const fn categories(mut self, categories: &'static [&'static str]) -> Self {
        self.categories = categories;
        self
    }

    const fn subresources(mut self, subresources: &'static [Subresource]) -> Self {
        self.subresources = subresources;
        self
    }

    const fn demands_resource_version(mut self) -> Self {
        self.demands_resource_version = true;
        self
    }

    const fn deprecated(mut self, deprecation: &'static str) -> Self {
        self.deprecation = deprecation;
        self
    }

    const fn created_by_update(mut self) -> Self {
        self.created_by_update = true;
        self
    }

    const fn returns_deleted_object(mut self) -> Self {
        self.returns_deleted_object = true;
        self
    }

    const fn orphans_dependents(mut self) -> Self {
        self.orphans_dependents = true;
        self
    }

    /// Returns whether objects of the kind live in namespaces.
    pub const fn is_namespaced(&self) -> bool {
        matches!(self.scope, Scope::Namespaced)
    }

    /// Returns the name of the kind's list.
    pub fn list_kind(&self) -> String {
        format!("{}List", self.kind)
    }

    /// Returns the subresource with this name.
    pub fn subresource(&self, name: &str) -> Option<&'static Subresource> {
        self.subresources.iter().find(|one| one.name == name)
    }
}

/// Returns the row of a kind.
pub fn kind(group: &str, kind: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|row| row.group == group && row.kind == kind)
}

/// Returns the row of a resource.
pub fn resource(group: &str, plural: &str) -> Option<&'static Kind> {
    KINDS
        .iter()
        .find(|row| row.group == group && row.plural == plural)
}

/// The built-in kinds, in the order of discovery.
pub const KINDS: &[Kind] = &[
    // The core.
    Kind::namespaced("", "Binding", "bindings", "binding").verbs(&["create"]),
    Kind::cluster("", "ComponentStatus", "componentstatuses", "componentstatus")
        .verbs(&["get", "list"])
        .deprecated("v1 ComponentStatus is deprecated in v1.19+")
        .short_names(&["cs"]),
    Kind::namespaced("", "ConfigMap", "configmaps", "configmap").short_names(&["cm"]),
    Kind::namespaced("", "Endpoints", "endpoints", "endpoints")
        .deprecated("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
        .short_names(&["ep"])
        .created_by_update(),
    Kind::namespaced("", "Event", "events", "event")
        .short_names(&["ev"])
        .created_by_update(),
    Kind::namespaced("", "LimitRange", "limitranges", "limitrange")
        .short_names(&["limits"])
        .created_by_update(),
    Kind::cluster("", "Namespace", "namespaces", "namespace")
        .verbs(&["create", "delete", "get", "list", "patch", "update", "watch"])
        .short_names(&["ns"])
        .subresources(&[
            Subresource::new("finalize", "", "", "Namespace", &["update"]),
            STATUS,
        ])
        .returns_deleted_object(),
    Kind::cluster("", "Node", "nodes", "node")
        .short_names(&["no"])
        .subresources(&[
            Subresource::new(
                "proxy",
                "",
                "",
                "NodeProxyOptions",
                &["create", "delete", "get", "patch", "update"],
            ),
            STATUS,
        ]),
    Kind::namespaced(
        "",
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        "persistentvolumeclaim",
    )
    .short_names(&["pvc"])
    .subresources(&[STATUS])
    .returns_deleted_object(),
    Kind::cluster("", "PersistentVolume", "persistentvolumes", "persistentvolume")
        .short_names(&["pv"])
        .subresources(&[STATUS])
        .returns_deleted_object(),
    Kind::namespaced("", "Pod", "pods", "pod")
        .short_names(&["po"])
        .categories(&["all"])
        .subresources(&[
            Subresource::new("attach", "", "", "PodAttachOptions", &["create", "get"]),
            Subresource::new("binding", "", "", "Binding", &["create"]),
            Subresource::new("ephemeralcontainers", "", "", "Pod", &["get", "patch", "update"]),
            Subresource::new("eviction", "policy", "v1", "Eviction", &["create"]),
            Subresource::new("exec", "", "", "PodExecOptions", &["create", "get"]),
            Subresource::new("log", "", "", "Pod", &["get"]),
            Subresource::new("portforward", "", "", "PodPortForwardOptions", &["create", "get"]),
            Subresource::new(
                "proxy",
                "",
                "",
                "PodProxyOptions",
                &["create", "delete", "get", "patch", "update"],
            ),
            Subresource::new("resize", "", "", "Pod", &["get", "patch", "update"]),
            STATUS,
        ])
        .returns_deleted_object(),
    Kind::namespaced("", "PodTemplate", "podtemplates", "podtemplate").returns_deleted_object(),
    Kind::namespaced(
        "",
        "ReplicationController",
        "replicationcontrollers",
        "replicationcontroller",
    )
    .short_names(&["rc"])
    .categories(&["all"])
    .subresources(&[SCALE, STATUS])
    .orphans_dependents(),
    Kind::namespaced("", "ResourceQuota", "resourcequotas", "resourcequota")
        .short_names(&["quota"])
        .subresources(&[STATUS])
        .returns_deleted_object(),
    Kind::namespaced("", "Secret", "secrets", "secret"),
    Kind::namespaced("", "ServiceAccount", "serviceaccounts", "serviceaccount")
        .short_names(&["sa"])
        .subresources(&[Subresource::new(
            "token",
            "authentication.k8s.io",
            "v1",
            "TokenRequest",
            &["create"],
        )])
        .returns_deleted_object(),
    Kind::namespaced("", "Service", "services", "service")
        .short_names(&["svc"])
        .categories(&["all"])
        .subresources(&[
            Subresource::new(
                "proxy",
                "",
                "",
                "ServiceProxyOptions",
                &["create", "delete", "get", "patch", "update"],
            ),
            STATUS,
        ])
        .created_by_update()
        .returns_deleted_object(),
    // apiregistration.k8s.io
    Kind::cluster(
        "apiregistration.k8s.io",
        "APIService",
        "apiservices",
        "apiservice",
    )
    .categories(&["api-extensions"])
    .subresources(&[STATUS])
    .demands_resource_version(),
    // apps
    Kind::namespaced(
        "apps",
        "ControllerRevision",
        "controllerrevisions",
        "controllerrevision",
    ),
    Kind::namespaced("apps", "DaemonSet", "daemonsets", "daemonset")
        .short_names(&["ds"])
        .categories(&["all"])
        .subresources(&[STATUS]),
    Kind::namespaced("apps", "Deployment", "deployments", "deployment")
        .short_names(&["deploy"])
        .categories(&["all"])
        .subresources(&[SCALE, STATUS]),
    Kind::namespaced("apps", "ReplicaSet", "replicasets", "replicaset")
        .short_names(&["rs"])
        .categories(&["all"])
        .subresources(&[SCALE, STATUS]),
    Kind::namespaced("apps", "StatefulSet", "statefulsets", "statefulset")
        .short_names(&["sts"])
        .categories(&["all"])
        .subresources(&[SCALE, STATUS]),
    // events.k8s.io
    Kind::namespaced("events.k8s.io", "Event", "events", "event")
        .short_names(&["ev"])
        .created_by_update(),
    // authentication.k8s.io
    Kind::cluster(
        "authentication.k8s.io",
        "SelfSubjectReview",
        "selfsubjectreviews",
        "selfsubjectreview",
    )
    .verbs(&["create"]),
    Kind::cluster(
        "authentication.k8s.io",
        "TokenReview",
        "tokenreviews",
        "tokenreview",
    )
    .verbs(&["create"]),
    // authorization.k8s.io
    Kind::namespaced(
        "authorization.k8s.io",
        "LocalSubjectAccessReview",
        "localsubjectaccessreviews",
        "localsubjectaccessreview",
    )
    .verbs(&["create"]),
    Kind::cluster(
        "authorization.k8s.io",
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        "selfsubjectaccessreview",
    )
    .verbs(&["create"]),
    Kind::cluster(
        "authorization.k8s.io",
        "SelfSubjectRulesReview",
        "selfsubjectrulesreviews",
        "selfsubjectrulesreview",
    )
    .verbs(&["create"]),
    Kind::cluster(
        "authorization.k8s.io",
        "SubjectAccessReview",
        "subjectaccessreviews",
        "subjectaccessreview",
    )
    .verbs(&["create"]),
    // autoscaling
    Kind::namespaced(
        "autoscaling",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "horizontalpodautoscaler",
    )
    .versions(&["v2", "v1"])
    .short_names(&["hpa"])
    .categories(&["all"])
    .subresources(&[STATUS]),
    // batch
    Kind::namespaced("batch", "CronJob", "cronjobs", "cronjob")
        .short_names(&["cj"])
        .categories(&["all"])
        .subresources(&[STATUS]),
    Kind::namespaced("batch", "Job", "jobs", "job")
        .categories(&["all"])
        .subresources(&[STATUS])
        .orphans_dependents(),
    // certificates.k8s.io
    Kind::cluster(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        "certificatesigningrequests",
        "certificatesigningrequest",
    )
    .short_names(&["csr"])
    .subresources(&[
        Subresource::new(
            "approval",
            "",
            "",
            "CertificateSigningRequest",
            &["get", "patch", "update"],
        ),
        STATUS,
    ]),
    // networking.k8s.io
    Kind::cluster(
        "networking.k8s.io",
        "IngressClass",
        "ingressclasses",
        "ingressclass",
    ),
    Kind::namespaced("networking.k8s.io", "Ingress", "ingresses", "ingress")
        .short_names(&["ing"])
        .subresources(&[STATUS]),
    Kind::cluster("networking.k8s.io", "IPAddress", "ipaddresses", "ipaddress").short_names(&["ip"]),
    Kind::namespaced(
        "networking.k8s.io",
        "NetworkPolicy",
        "networkpolicies",
        "networkpolicy",
    )
    .short_names(&["netpol"]),
    Kind::cluster("networking.k8s.io", "ServiceCIDR", "servicecidrs", "servicecidr").subresources(&[STATUS]),
    // policy
    Kind::namespaced(
        "policy",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "poddisruptionbudget",
    )
    .short_names(&["pdb"])
    .subresources(&[STATUS])
    .demands_resource_version(),
    // rbac.authorization.k8s.io
    Kind::cluster(
        "rbac.authorization.k8s.io",
        "ClusterRoleBinding",
        "clusterrolebindings",
        "clusterrolebinding",
    )
    .created_by_update(),
    Kind::cluster(
        "rbac.authorization.k8s.io",
        "ClusterRole",
        "clusterroles",
        "clusterrole",
    )
    .created_by_update(),
    Kind::namespaced(
        "rbac.authorization.k8s.io",
        "RoleBinding",
        "rolebindings",
        "rolebinding",
    )
    .created_by_update(),
    Kind::namespaced("rbac.authorization.k8s.io", "Role", "roles", "role").created_by_update(),
    // storage.k8s.io
    Kind::cluster("storage.k8s.io", "CSIDriver", "csidrivers", "csidriver")
        .demands_resource_version()
        .returns_deleted_object(),
    Kind::cluster("storage.k8s.io", "CSINode", "csinodes", "csinode")
        .demands_resource_version()
        .returns_deleted_object(),
    Kind::namespaced(
        "storage.k8s.io",
        "CSIStorageCapacity",
        "csistoragecapacities",
        "csistoragecapacity",
    )
    .demands_resource_version(),
    Kind::cluster("storage.k8s.io", "StorageClass", "storageclasses", "storageclass")
        .short_names(&["sc"])
        .returns_deleted_object(),
    Kind::cluster(
        "storage.k8s.io",
        "VolumeAttachment",
        "volumeattachments",
        "volumeattachment",
    )
    .subresources(&[STATUS])
    .demands_resource_version()
    .returns_deleted_object(),
    Kind::cluster(
        "storage.k8s.io",
        "VolumeAttributesClass",
        "volumeattributesclasses",
        "volumeattributesclass",
    )
    .short_names(&["vac"])
    .returns_deleted_object(),
    // admissionregistration.k8s.io
    Kind::cluster(
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicy",
    )
    .categories(&["api-extensions"])
    .demands_resource_version(),
    Kind::cluster(
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
        "mutatingadmissionpolicybinding",
    )
    .categories(&["api-extensions"])
    .demands_resource_version(),
    Kind::cluster(
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        "mutatingwebhookconfiguration",
    )
    .categories(&["api-extensions"])
    .demands_resource_version(),
    Kind::cluster(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        "validatingadmissionpolicy",
    )
    .categories(&["api-extensions"])
    .subresources(&[STATUS])
    .demands_resource_version(),
    Kind::cluster(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        "validatingadmissionpolicybinding",
    )
    .categories(&["api-extensions"])
    .demands_resource_version(),
    Kind::cluster(
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        "validatingwebhookconfiguration",
    )
    .categories(&["api-extensions"])
    .demands_resource_version(),
    // apiextensions.k8s.io
    Kind::cluster(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "customresourcedefinition",
    )
    .short_names(&["crd", "crds"])
    .categories(&["api-extensions"])
    .subresources(&[STATUS])
    .demands_resource_version(),
    // scheduling.k8s.io
    Kind::cluster(
        "scheduling.k8s.io",
        "PriorityClass",
        "priorityclasses",
        "priorityclass",
    )
    .short_names(&["pc"]),
    // coordination.k8s.io
    Kind::namespaced("coordination.k8s.io", "Lease", "leases", "lease")
        .demands_resource_version()
        .created_by_update(),
    // node.k8s.io
    Kind::cluster("node.k8s.io", "RuntimeClass", "runtimeclasses", "runtimeclass")
        .demands_resource_version()
        .created_by_update(),
    // discovery.k8s.io
    Kind::namespaced(
        "discovery.k8s.io",
        "EndpointSlice",
        "endpointslices",
        "endpointslice",
    ),
    // resource.k8s.io
    Kind::cluster("resource.k8s.io", "DeviceClass", "deviceclasses", "deviceclass").returns_deleted_object(),
    Kind::namespaced(
        "resource.k8s.io",
        "ResourceClaim",
        "resourceclaims",
        "resourceclaim",
    )
    .subresources(&[STATUS])
    .returns_deleted_object(),
    Kind::namespaced(
        "resource.k8s.io",
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
        "resourceclaimtemplate",
    )
    .returns_deleted_object(),
    Kind::cluster(
        "resource.k8s.io",
        "ResourceSlice",
        "resourceslices",
        "resourceslice",
    )
    .returns_deleted_object(),
    // flowcontrol.apiserver.k8s.io
    Kind::cluster(
        "flowcontrol.apiserver.k8s.io",
        "FlowSchema",
        "flowschemas",
        "flowschema",
    )
    .subresources(&[STATUS]),
    Kind::cluster(
        "flowcontrol.apiserver.k8s.io",
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        "prioritylevelconfiguration",
    )
    .subresources(&[STATUS]),
];
