//! The kinds of objects that OLM v0 looks at and writes.

/// A kind that is kept in the [`World`](crate::world::World).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are those of Kubernetes")]
pub enum Kind {
    ClusterServiceVersion,
    InstallPlan,
    Subscription,
    CatalogSource,
    OperatorGroup,
    OperatorCondition,
    Operator,
    OlmConfig,
    Namespace,
    ServiceAccount,
    Secret,
    ConfigMap,
    Service,
    Deployment,
    Role,
    RoleBinding,
    ClusterRole,
    ClusterRoleBinding,
    CustomResourceDefinition,
    ApiService,
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
}

/// How a kind is called in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Naming {
    /// The kind as objects write it.
    pub kind: &'static str,
    /// The group and version as objects write them.
    pub api_version: &'static str,
    /// The name in paths.
    pub plural: &'static str,
    /// Whether its objects live in namespaces.
    pub is_namespaced: bool,
}

impl Naming {
    /// Names a kind.
    pub const fn new(
        kind: &'static str,
        api_version: &'static str,
        plural: &'static str,
        is_namespaced: bool,
    ) -> Self {
        Self {
            kind,
            api_version,
            plural,
            is_namespaced,
        }
    }
}

impl Kind {
    /// Every kind, in the order of the enumeration.
    pub const ALL: [Self; 22] = [
        Self::ClusterServiceVersion,
        Self::InstallPlan,
        Self::Subscription,
        Self::CatalogSource,
        Self::OperatorGroup,
        Self::OperatorCondition,
        Self::Operator,
        Self::OlmConfig,
        Self::Namespace,
        Self::ServiceAccount,
        Self::Secret,
        Self::ConfigMap,
        Self::Service,
        Self::Deployment,
        Self::Role,
        Self::RoleBinding,
        Self::ClusterRole,
        Self::ClusterRoleBinding,
        Self::CustomResourceDefinition,
        Self::ApiService,
        Self::MutatingWebhookConfiguration,
        Self::ValidatingWebhookConfiguration,
    ];

    /// Returns how the kind is called in the API.
    pub const fn naming(self) -> Naming {
        const ALPHA: &str = "operators.coreos.com/v1alpha1";
        const RBAC: &str = "rbac.authorization.k8s.io/v1";
        const ADMISSION: &str = "admissionregistration.k8s.io/v1";
        match self {
            Self::ClusterServiceVersion => {
                Naming::new("ClusterServiceVersion", ALPHA, "clusterserviceversions", true)
            }
            Self::InstallPlan => Naming::new("InstallPlan", ALPHA, "installplans", true),
            Self::Subscription => Naming::new("Subscription", ALPHA, "subscriptions", true),
            Self::CatalogSource => Naming::new("CatalogSource", ALPHA, "catalogsources", true),
            Self::OperatorGroup => {
                Naming::new("OperatorGroup", "operators.coreos.com/v1", "operatorgroups", true)
            }
            Self::OperatorCondition => Naming::new(
                "OperatorCondition",
                "operators.coreos.com/v2",
                "operatorconditions",
                true,
            ),
            Self::Operator => Naming::new("Operator", "operators.coreos.com/v1", "operators", false),
            Self::OlmConfig => Naming::new("OLMConfig", "operators.coreos.com/v1", "olmconfigs", false),
            Self::Namespace => Naming::new("Namespace", "v1", "namespaces", false),
            Self::ServiceAccount => Naming::new("ServiceAccount", "v1", "serviceaccounts", true),
            Self::Secret => Naming::new("Secret", "v1", "secrets", true),
            Self::ConfigMap => Naming::new("ConfigMap", "v1", "configmaps", true),
            Self::Service => Naming::new("Service", "v1", "services", true),
            Self::Deployment => Naming::new("Deployment", "apps/v1", "deployments", true),
            Self::Role => Naming::new("Role", RBAC, "roles", true),
            Self::RoleBinding => Naming::new("RoleBinding", RBAC, "rolebindings", true),
            Self::ClusterRole => Naming::new("ClusterRole", RBAC, "clusterroles", false),
            Self::ClusterRoleBinding => Naming::new("ClusterRoleBinding", RBAC, "clusterrolebindings", false),
            Self::CustomResourceDefinition => Naming::new(
                "CustomResourceDefinition",
                "apiextensions.k8s.io/v1",
                "customresourcedefinitions",
                false,
            ),
            Self::ApiService => Naming::new("APIService", "apiregistration.k8s.io/v1", "apiservices", false),
            Self::MutatingWebhookConfiguration => Naming::new(
                "MutatingWebhookConfiguration",
                ADMISSION,
                "mutatingwebhookconfigurations",
                false,
            ),
            Self::ValidatingWebhookConfiguration => Naming::new(
                "ValidatingWebhookConfiguration",
                ADMISSION,
                "validatingwebhookconfigurations",
                false,
            ),
        }
    }

    /// Returns the kind that objects call so.
    pub fn named(kind: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|candidate| candidate.naming().kind == kind)
    }
}
