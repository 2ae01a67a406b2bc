//! `ClusterExtension`: a package that is installed and kept up to date.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::condition::Condition;
use crate::kind::cluster_kind;

cluster_kind! {
    /// A package from a catalog that is installed in the cluster and kept up to date.
    ClusterExtension, "clusterextensions", ClusterExtensionSpec, ClusterExtensionStatus
}

/// What is installed, where, and how far it may change by itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterExtensionSpec {
    /// The namespace that the package goes into.
    pub namespace: String,
    /// Not used any more; kept so that it survives being read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account: Option<ServiceAccountReference>,
    /// Where the package comes from.
    pub source: ExtensionSource,
    /// How it is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<Install>,
    /// Settings that the package understands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Configuration>,
    /// How long a new version may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_deadline_minutes: Option<i32>,
}

/// Names a ServiceAccount.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServiceAccountReference {
    /// The name; empty where it was cleared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// Where a package comes from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionSource {
    /// The kind of source; `Catalog` is the only one that definitions let through.
    pub source_type: String,
    /// Which package of which catalogs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog: Option<CatalogFilter>,
}

/// A package, and which of its versions may be installed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogFilter {
    /// The package.
    pub package_name: String,
    /// The versions that may be installed; empty for any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The channels that may be followed; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// The catalogs that may be used; none for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// Who answers for the step to the next version.
    #[serde(default)]
    pub upgrade_constraint_policy: UpgradeConstraintPolicy,
}

/// Who answers for the step from the installed version to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum UpgradeConstraintPolicy {
    /// The catalog.
    #[default]
    CatalogProvided,
    /// The user.
    SelfCertified,
}

/// How a package is installed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Install {
    /// What is checked before anything is changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preflight: Option<Preflight>,
}

/// What is checked before anything is changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Preflight {
    /// The check of changed CustomResourceDefinitions.
    #[serde(rename = "crdUpgradeSafety", default, skip_serializing_if = "Option::is_none")]
    pub definition_upgrade_safety: Option<DefinitionUpgradeSafety>,
}

/// The check that changed CustomResourceDefinitions do not harm the resources that exist.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DefinitionUpgradeSafety {
    /// Whether the check is done.
    pub enforcement: Enforcement,
}

/// Whether a check is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Enforcement {
    /// What fails it is refused.
    #[default]
    Strict,
    /// It is left out.
    None,
}

/// Settings that a package understands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    /// The kind of settings; `Inline` is the only one that definitions let through.
    pub config_type: String,
    /// The settings themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<Map<String, Value>>,
}

/// What became of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterExtensionStatus {
    /// What is known of it right now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// What is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<InstallStatus>,
    /// The revisions that are rolled out or being rolled out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active_revisions: Vec<RevisionStatus>,
}

/// What is installed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InstallStatus {
    /// The bundle.
    pub bundle: BundleMetadata,
}

/// A bundle by its name and version.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BundleMetadata {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its release; an empty one is not the same as none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
}

/// A revision of an extension and how it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RevisionStatus {
    /// The name of its ClusterObjectSet.
    pub name: String,
    /// What is known of it right now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
