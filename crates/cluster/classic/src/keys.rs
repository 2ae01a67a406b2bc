//! The labels, annotations and finalizers that OLM v0 writes and reads, by their exact keys.

pub use crate::world::{OWNER, OWNER_KIND, OWNER_NAMESPACE};

/// The annotation of a ClusterServiceVersion with the name of its OperatorGroup.
pub const OPERATOR_GROUP: &str = "olm.operatorGroup";

/// The annotation of a ClusterServiceVersion with the namespace of its OperatorGroup.
pub const OPERATOR_NAMESPACE: &str = "olm.operatorNamespace";

/// The annotation of a ClusterServiceVersion with the namespaces it looks after, joined by commas; empty for all.
pub const TARGET_NAMESPACES: &str = "olm.targetNamespaces";

/// The annotation of an OperatorGroup with what its operators provide: sorted `Kind.version.group`, joined by commas.
pub const PROVIDED_APIS: &str = "olm.providedAPIs";

/// The label of a copy with the namespace that it was copied from.
pub const COPIED_FROM: &str = "olm.copiedFrom";

/// The label of everything that OLM makes; its value is [`MANAGED_VALUE`].
pub const MANAGED: &str = "olm.managed";

/// The value of [`MANAGED`].
pub const MANAGED_VALUE: &str = "true";

/// What the label of the namespaces of an OperatorGroup starts with; its identity follows.
pub const OPERATOR_GROUP_IDENTITY_PREFIX: &str = "olm.operatorgroup.uid/";

/// The label of a Role, ClusterRole or binding with the hash of its rules, or of its role and subjects.
pub const PERMISSIONS_HASH: &str = "olm.permissions.hash";

/// The label of a Deployment with the hash of its spec as it was written.
pub const DEPLOYMENT_SPEC_HASH: &str = "olm.deployment-spec-hash";

/// The label of a webhook configuration with the `generateName` of the description it was made from.
pub const WEBHOOK_GENERATE_NAME: &str = "olm.webhook-description-generate-name";

/// The label of a webhook configuration with the hash of the description it was made from.
pub const WEBHOOK_HASH: &str = "olm.webhook-description-hash";

/// The annotation of a certificate's Secret and of pod templates with the hash of the authority's certificate.
pub const CERTIFICATE_AUTHORITY_HASH: &str = "olmcahash";

/// The annotation of a ClusterServiceVersion with the properties of its bundle, as the resolver sees it.
pub const PROPERTIES: &str = "operatorframework.io/properties";

/// What the annotations of a CustomResourceDefinition start with that name the versions it was installed with.
pub const INSTALLED_ALONGSIDE_PREFIX: &str = "operatorframework.io/installed-alongside-";

/// The annotation of a Subscription that was made for a dependency, with the name of its InstallPlan.
pub const GENERATED_BY: &str = "olm.generated-by";

/// The label of a catalog's pods and services with the name of the catalog.
pub const CATALOG_SOURCE: &str = "olm.catalogSource";

/// The label of a catalog's pod that was started to look for a newer image.
pub const CATALOG_SOURCE_UPDATE: &str = "catalogsource.operators.coreos.com/update";

/// The label of a catalog's pod with the hash of its spec.
pub const POD_SPEC_HASH: &str = "olm.pod-spec-hash";

/// The label of a catalog's service with the hash of its spec.
pub const SERVICE_SPEC_HASH: &str = "olm.service-spec-hash";

/// The label of a catalog's pod with the version of the ConfigMap it serves.
pub const CONFIG_MAP_RESOURCE_VERSION: &str = "olm.configMapResourceVersion";

/// The annotation of a CatalogSource with the priority class of its pods.
pub const PRIORITY_CLASS: &str = "operatorframework.io/priorityclass";

/// The annotation of a CatalogSource with an image reference that has placeholders for the cluster's version.
pub const CATALOG_IMAGE_TEMPLATE: &str = "olm.catalogImageTemplate";

/// The annotation of an OperatorGroup with how long unpacking a bundle may take.
pub const UNPACK_TIMEOUT: &str = "operatorframework.io/bundle-unpack-timeout";

/// The annotation of an OperatorGroup with how soon unpacking is tried again.
pub const UNPACK_MINIMUM_RETRY_INTERVAL: &str = "operatorframework.io/bundle-unpack-min-retry-interval";

/// The annotation of an OperatorGroup that leaves global catalogs out of resolution where it is `true`.
pub const EXCLUDE_GLOBAL_CATALOGS: &str = "olm.operatorframework.io/exclude-global-namespace-resolution";

/// What the label of everything that belongs to an Operator starts with; the Operator's name follows.
pub const COMPONENT_PREFIX: &str = "operators.coreos.com/";

/// The finalizer of every ClusterServiceVersion that is no copy.
pub const CLEANUP_FINALIZER: &str = "operators.coreos.com/csv-cleanup";

/// The annotation in which kubectl keeps what was applied; it isn't copied, since it is as large as the object.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What the label starts with that makes a ClusterRole part of `admin`, `edit` or `view`.
pub const AGGREGATE_TO_PREFIX: &str = "rbac.authorization.k8s.io/aggregate-to-";

/// What the label starts with that makes a ClusterRole part of the roles of OperatorGroups that provide an API.
pub const GROUP_AGGREGATE_TO_PREFIX: &str = "olm.opgroup.permissions/aggregate-to-";

/// The field manager of what is applied while a ClusterServiceVersion is installed.
pub const INSTALL_FIELD_MANAGER: &str = "olm.install";

/// The environment variable of an operator's containers with the name of its OperatorCondition.
pub const OPERATOR_CONDITION_NAME: &str = "OPERATOR_CONDITION_NAME";
