//! What checks look at in the pods of an operator's deployments.

use std::collections::BTreeMap;

use goyaml::go_struct;
use serde_json::Value;

use super::manifest;
use crate::cluster_service_version::ClusterServiceVersion;

/// The pod that a deployment makes.
#[derive(Debug, Clone, Default)]
pub(super) struct Pod {
    pub(super) containers: Vec<Container>,
    pub(super) service_account_name: String,
    affinity: Option<Affinity>,
}
go_struct!(Pod, "v1.PodSpec", {
    "containers" => containers, "serviceAccountName" => service_account_name, "affinity" => affinity,
});

/// One container of a pod.
#[derive(Debug, Clone, Default)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) resources: Resources,
}
go_struct!(Container, "v1.Container", { "name" => name, "image" => image, "resources" => resources });

/// What a container asks for.
#[derive(Debug, Clone, Default)]
pub(super) struct Resources {
    /// By resource; nothing when the field is absent, which differs from asking for nothing.
    pub(super) requests: Option<BTreeMap<String, Value>>,
}
go_struct!(Resources, "v1.ResourceRequirements", { "requests" => requests });

#[derive(Debug, Clone, Default)]
struct DeploymentSpec {
    template: Template,
}
go_struct!(DeploymentSpec, "v1.DeploymentSpec", { "template" => template });

#[derive(Debug, Clone, Default)]
struct Template {
    spec: Pod,
}
go_struct!(Template, "v1.PodTemplateSpec", { "spec" => spec });

#[derive(Debug, Clone, Default)]
struct Affinity {
    node: Option<NodeAffinity>,
}
go_struct!(Affinity, "v1.Affinity", { "nodeAffinity" => node });

#[derive(Debug, Clone, Default)]
struct NodeAffinity {
    required: Option<NodeSelector>,
}
go_struct!(NodeAffinity, "v1.NodeAffinity", { "requiredDuringSchedulingIgnoredDuringExecution" => required });

#[derive(Debug, Clone, Default)]
struct NodeSelector {
    terms: Vec<NodeSelectorTerm>,
}
go_struct!(NodeSelector, "v1.NodeSelector", { "nodeSelectorTerms" => terms });

#[derive(Debug, Clone, Default)]
struct NodeSelectorTerm {
    expressions: Vec<NodeSelectorRequirement>,
}
go_struct!(NodeSelectorTerm, "v1.NodeSelectorTerm", { "matchExpressions" => expressions });

#[derive(Debug, Clone, Default)]
struct NodeSelectorRequirement {
    key: String,
    operator: String,
    values: Vec<String>,
}
go_struct!(NodeSelectorRequirement, "v1.NodeSelectorRequirement", {
    "key" => key, "operator" => operator, "values" => values,
});

/// The pods of all deployments; one that can't be read has no containers.
pub(super) fn pods(csv: &ClusterServiceVersion) -> impl Iterator<Item = Pod> + '_ {
    csv.spec.install.spec.deployments.iter().map(|deployment| {
        manifest::typed::<DeploymentSpec>(&deployment.spec)
            .map(|spec| spec.template.spec)
            .unwrap_or_default()
    })
}

impl Pod {
    /// The operating systems and architectures that the pod's node must have, each with each.
    pub(super) fn required_platforms(&self) -> Vec<(String, String)> {
        let terms = self
            .affinity
            .as_ref()
            .and_then(|affinity| affinity.node.as_ref()?.required.as_ref())
            .map(|selector| selector.terms.as_slice())
            .unwrap_or_default();
        let mut platforms = Vec::new();
        for term in terms {
            // Of several expressions about one label the last counts.
            let values = |key: &str| {
                term.expressions
                    .iter()
                    .rfind(|expression| expression.operator == "In" && expression.key == key)
                    .map(|expression| expression.values.as_slice())
                    .unwrap_or_default()
            };
            for system in values("kubernetes.io/os") {
                for architecture in values("kubernetes.io/arch") {
                    platforms.push((system.clone(), architecture.clone()));
                }
            }
        }
        platforms
    }
}
