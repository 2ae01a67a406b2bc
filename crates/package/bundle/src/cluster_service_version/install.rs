//! How an operator is installed: its deployments and what they may do.

use std::collections::BTreeMap;

use goyaml::go_struct;
use serde_json::Value;

/// How an operator is installed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InstallStrategy {
    /// The strategy's name; `deployment` is the only one there is.
    pub strategy: String,
    /// What the strategy needs to know.
    pub spec: StrategyDetails,
}

go_struct!(InstallStrategy, "v1alpha1.NamedInstallStrategy", { "strategy" => strategy, "spec" => spec });

/// Deployments and what they may do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StrategyDetails {
    /// The operator's deployments.
    pub deployments: Vec<Deployment>,
    /// What service accounts may do in the namespaces that the operator looks after.
    pub permissions: Vec<Permissions>,
    /// What service accounts may do in the whole cluster.
    pub cluster_permissions: Vec<Permissions>,
}

go_struct!(StrategyDetails, "v1alpha1.StrategyDetailsDeployment", {
    "deployments" => deployments, "permissions" => permissions, "clusterPermissions" => cluster_permissions,
});

/// A deployment of the operator.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Deployment {
    /// The deployment's name.
    pub name: String,
    /// Its `apps/v1` specification, as written; null if there is none.
    pub spec: Value,
    /// Labels of the deployment.
    pub label: BTreeMap<String, String>,
}

go_struct!(Deployment, "v1alpha1.StrategyDeploymentSpec", {
    "name" => name, "spec" => spec, "label" => label,
});

/// What a service account may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    /// The service account.
    pub service_account_name: String,
    /// What it may do.
    pub rules: Vec<PolicyRule>,
}

go_struct!(Permissions, "v1alpha1.StrategyDeploymentPermissions", {
    "serviceAccountName" => service_account_name, "rules" => rules,
});

/// One rule of what may be done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyRule {
    /// What may be done.
    pub verbs: Vec<String>,
    /// The groups of the resources.
    pub api_groups: Vec<String>,
    /// The resources.
    pub resources: Vec<String>,
    /// The names of the resources; all if empty.
    pub resource_names: Vec<String>,
    /// Paths that are no resources.
    pub non_resource_urls: Vec<String>,
}

go_struct!(PolicyRule, "v1.PolicyRule", {
    "verbs" => verbs,
    "apiGroups" => api_groups,
    "resources" => resources,
    "resourceNames" => resource_names,
    "nonResourceURLs" => non_resource_urls,
});
