//! The kinds that are looked at.

use classic::kind::{Kind, Naming};

const OLM_V1: &str = "olm.operatorframework.io/v1";

pub(crate) const CLUSTER_CATALOG: Naming = Naming::new("ClusterCatalog", OLM_V1, "clustercatalogs", false);
pub(crate) const CLUSTER_EXTENSION: Naming =
    Naming::new("ClusterExtension", OLM_V1, "clusterextensions", false);
pub(crate) const CLUSTER_OBJECT_SET: Naming =
    Naming::new("ClusterObjectSet", OLM_V1, "clusterobjectsets", false);

pub(crate) const CATALOG_SOURCE: Naming = Kind::CatalogSource.naming();
pub(crate) const SUBSCRIPTION: Naming = Kind::Subscription.naming();
pub(crate) const INSTALL_PLAN: Naming = Kind::InstallPlan.naming();
pub(crate) const SERVICE_VERSION: Naming = Kind::ClusterServiceVersion.naming();
pub(crate) const OPERATOR_GROUP: Naming = Kind::OperatorGroup.naming();
pub(crate) const OPERATOR_CONDITION: Naming = Kind::OperatorCondition.naming();
pub(crate) const OLM_CONFIG: Naming = Kind::OlmConfig.naming();

pub(crate) const NAMESPACE: Naming = Kind::Namespace.naming();
pub(crate) const SECRET: Naming = Kind::Secret.naming();
pub(crate) const CONFIG_MAP: Naming = Kind::ConfigMap.naming();
pub(crate) const SERVICE: Naming = Kind::Service.naming();
pub(crate) const DEPLOYMENT: Naming = Kind::Deployment.naming();
pub(crate) const DEFINITION: Naming = Kind::CustomResourceDefinition.naming();
pub(crate) const API_SERVICE: Naming = Kind::ApiService.naming();
pub(crate) const MUTATING_WEBHOOK: Naming = Kind::MutatingWebhookConfiguration.naming();
pub(crate) const VALIDATING_WEBHOOK: Naming = Kind::ValidatingWebhookConfiguration.naming();

pub(crate) const POD: Naming = Naming::new("Pod", "v1", "pods", true);
pub(crate) const EVENT: Naming = Naming::new("Event", "v1", "events", true);
pub(crate) const RESOURCE_QUOTA: Naming = Naming::new("ResourceQuota", "v1", "resourcequotas", true);
pub(crate) const ENDPOINT_SLICE: Naming =
    Naming::new("EndpointSlice", "discovery.k8s.io/v1", "endpointslices", true);
pub(crate) const LEASE: Naming = Naming::new("Lease", "coordination.k8s.io/v1", "leases", true);
pub(crate) const DISRUPTION_BUDGET: Naming =
    Naming::new("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", true);
pub(crate) const CERTIFICATE: Naming = Naming::new("Certificate", "cert-manager.io/v1", "certificates", true);
