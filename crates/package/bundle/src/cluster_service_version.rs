//! What is read of a `ClusterServiceVersion`, field by field as Go reads `v1alpha1.ClusterServiceVersion`.
//!
//! Field names match whatever their case, unknown fields are dropped, and what does not fit is said in the words of
//! Go's encoding/json. Pod templates and other parts of Kubernetes' own types stay plain JSON.

mod descriptions;
mod install;
mod text;
mod webhooks;

use std::collections::BTreeMap;

use goyaml::go_struct;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use descriptions::{
    ApiServiceDefinitions, ApiServiceDescription, CustomResourceDefinitions, CustomResourceDescription,
    Descriptor, RawMessage, ResourceReference,
};
pub use install::{Deployment, InstallStrategy, Permissions, PolicyRule, StrategyDetails};
pub use text::{OperatorRelease, OperatorVersion};
pub use webhooks::{IntOrString, WebhookDescription, WebhookRule};

/// The kind of the object that describes one version of an operator.
pub const KIND: &str = "ClusterServiceVersion";

/// The annotation that says which range of versions this one may follow.
pub const SKIP_RANGE_ANNOTATION: &str = "olm.skipRange";

/// The annotation that says which bundle this one stands in for.
pub const SUBSTITUTES_FOR_ANNOTATION: &str = "olm.substitutesFor";

/// One version of an operator: what it is, what it provides and how it is installed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClusterServiceVersion {
    /// The version of the API, `operators.coreos.com/v1alpha1`.
    pub api_version: String,
    /// The object's kind, [`KIND`].
    pub kind: String,
    /// Name, labels and annotations.
    pub metadata: ObjectMetadata,
    /// Everything else.
    pub spec: Spec,
}

go_struct!(ClusterServiceVersion, "v1alpha1.ClusterServiceVersion", {
    "apiVersion" => api_version in "TypeMeta",
    "kind" => kind in "TypeMeta",
    "metadata" => metadata,
    "spec" => spec,
});

impl ClusterServiceVersion {
    /// Reads a `ClusterServiceVersion` from an object as it was found in a bundle.
    ///
    /// # Errors
    ///
    /// The first field that does not fit, in Go's words.
    pub fn decode(object: &Value) -> Result<Self, goyaml::Error> {
        goyaml::typed::decode(object)
    }

    /// The range of versions that this one may follow; empty if it names none.
    #[must_use]
    pub fn skip_range(&self) -> &str {
        self.annotation(SKIP_RANGE_ANNOTATION)
    }

    /// The bundle that this one stands in for; empty if it names none.
    #[must_use]
    pub fn substitutes_for(&self) -> &str {
        self.annotation(SUBSTITUTES_FOR_ANNOTATION)
    }

    /// The value of an annotation; empty if it is absent.
    #[must_use]
    pub fn annotation(&self, name: &str) -> &str {
        self.metadata.annotations.get(name).map_or("", String::as_str)
    }
}

/// The part of an object's metadata that bundles use.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ObjectMetadata {
    /// The object's name.
    pub name: String,
    /// What a name is made from where there is none.
    pub generate_name: String,
    /// The namespace; bundles leave it to whoever installs them.
    pub namespace: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Finalizers.
    pub finalizers: Vec<String>,
}

go_struct!(ObjectMetadata, "v1.ObjectMeta", {
    "name" => name,
    "generateName" => generate_name,
    "namespace" => namespace,
    "labels" => labels,
    "annotations" => annotations,
    "finalizers" => finalizers,
});

/// What a version of an operator says of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spec {
    /// How the operator is installed.
    pub install: InstallStrategy,
    /// The operator's version.
    pub version: OperatorVersion,
    /// What orders builds of the same version.
    pub release: OperatorRelease,
    /// How mature this version is, in the author's words.
    pub maturity: String,
    /// The custom resources it provides and needs.
    pub custom_resource_definitions: CustomResourceDefinitions,
    /// The aggregated APIs it provides and needs.
    pub api_service_definitions: ApiServiceDefinitions,
    /// The webhooks it serves.
    pub webhook_definitions: Vec<WebhookDescription>,
    /// Kinds that the cluster must have.
    pub native_apis: Vec<GroupVersionKind>,
    /// The oldest Kubernetes it runs on.
    pub minimum_kubernetes_version: String,
    /// The name that users see.
    pub display_name: String,
    /// What the operator is for, in Markdown.
    pub description: String,
    /// Words to find it by.
    pub keywords: Vec<String>,
    /// Who looks after it.
    pub maintainers: Vec<Maintainer>,
    /// Who makes it.
    pub provider: Link,
    /// Where to read more.
    pub links: Vec<Link>,
    /// Its pictures.
    pub icon: Vec<Icon>,
    /// Which sets of namespaces it can look after.
    pub install_modes: Vec<InstallMode>,
    /// The version that this one follows.
    pub replaces: String,
    /// Labels for what belongs to the operator.
    pub labels: BTreeMap<String, String>,
    /// Annotations of what belongs to the operator.
    pub annotations: BTreeMap<String, String>,
    /// Selects what belongs to the operator.
    pub selector: Option<LabelSelector>,
    /// Whether custom resources are deleted with the operator.
    pub cleanup: Cleanup,
    /// Versions that this one follows too.
    pub skips: Vec<String>,
    /// The images it needs.
    pub related_images: Vec<RelatedImage>,
}

go_struct!(Spec, "v1alpha1.ClusterServiceVersionSpec", {
    "install" => install,
    "version" => version,
    "release" => release,
    "maturity" => maturity,
    "customresourcedefinitions" => custom_resource_definitions,
    "apiservicedefinitions" => api_service_definitions,
    "webhookdefinitions" => webhook_definitions,
    "nativeAPIs" => native_apis,
    "minKubeVersion" => minimum_kubernetes_version,
    "displayName" => display_name,
    "description" => description,
    "keywords" => keywords,
    "maintainers" => maintainers,
    "provider" => provider,
    "links" => links,
    "icon" => icon,
    "installModes" => install_modes,
    "replaces" => replaces,
    "labels" => labels,
    "annotations" => annotations,
    "selector" => selector,
    "cleanup" => cleanup,
    "skips" => skips,
    "relatedImages" => related_images,
});

impl Spec {
    /// Whether the operator says that it supports the install mode `kind`, such as `AllNamespaces`.
    #[must_use]
    pub fn supports(&self, kind: &str) -> bool {
        self.install_modes
            .iter()
            .any(|mode| mode.kind == kind && mode.supported)
    }
}

/// A kind of a version of an API group.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupVersionKind {
    /// The group; empty for the core of Kubernetes.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

go_struct!(GroupVersionKind, "v1.GroupVersionKind", {
    "group" => group, "version" => version, "kind" => kind,
});

/// Someone who looks after an operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maintainer {
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub email: String,
}

go_struct!(Maintainer, "v1alpha1.Maintainer", { "name" => name, "email" => email });

/// A name and where to read more about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
}

go_struct!(Link, "v1alpha1.AppLink", { "name" => name, "url" => url });

/// A picture of the operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Icon {
    /// The picture in base64, as written.
    pub data: String,
    /// Its type, such as `image/png`.
    pub media_type: String,
}

go_struct!(Icon, "v1alpha1.Icon", { "base64data" => data, "mediatype" => media_type });

/// Whether the operator can look after a set of namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallMode {
    /// `OwnNamespace`, `SingleNamespace`, `MultiNamespace` or `AllNamespaces`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it can.
    pub supported: bool,
}

go_struct!(InstallMode, "v1alpha1.InstallMode", {
    "type" => kind as "v1alpha1.InstallModeType", "supported" => supported,
});

/// Selects objects by their labels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// Labels that an object must have.
    pub match_labels: BTreeMap<String, String>,
    /// Conditions that an object's labels must meet.
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

go_struct!(LabelSelector, "v1.LabelSelector", {
    "matchLabels" => match_labels, "matchExpressions" => match_expressions,
});

/// A condition on one label.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelectorRequirement {
    /// The label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values that the operator speaks of.
    pub values: Vec<String>,
}

go_struct!(LabelSelectorRequirement, "v1.LabelSelectorRequirement", {
    "key" => key, "operator" => operator as "v1.LabelSelectorOperator", "values" => values,
});

/// Whether custom resources are deleted with the operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleanup {
    /// Whether they are.
    pub enabled: bool,
}

go_struct!(Cleanup, "v1alpha1.CleanupSpec", { "enabled" => enabled });

/// An image that the operator needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RelatedImage {
    /// What the image is called.
    pub name: String,
    /// The image.
    pub image: String,
}

go_struct!(RelatedImage, "v1alpha1.RelatedImage", { "name" => name, "image" => image });

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_found_whatever_their_case() {
        let version = ClusterServiceVersion::decode(&json!({
            "metadata": {"Name": "a.v1", "annotations": {"olm.skipRange": "<1.0.0"}},
            "spec": {
                "DisplayName": "A",
                "version": "v1.2",
                "unknown": {},
                "installModes": [{"type": "AllNamespaces", "supported": true}],
                "install": {"spec": {"deployments": [{"name": "d", "spec": {"replicas": 1}}]}},
            },
        }))
        .expect("a version");
        assert_eq!(version.metadata.name, "a.v1");
        assert_eq!(version.skip_range(), "<1.0.0");
        assert_eq!(version.spec.version.0.to_string(), "1.2.0");
        assert!(version.spec.supports("AllNamespaces"));
        assert_eq!(
            version.spec.install.spec.deployments[0].spec,
            json!({"replicas": 1})
        );
    }

    #[test]
    fn what_does_not_fit_is_said_in_gos_words() {
        let unmarshal = "json: cannot unmarshal";
        for (object, expected) in [
            (
                json!({"spec": {"keywords": "a"}}),
                format!(
                    "{unmarshal} string into Go struct field ClusterServiceVersionSpec.spec.keywords of type []string"
                ),
            ),
            (
                json!({"spec": {"release": 1}}),
                format!(
                    "{unmarshal} number into Go struct field ClusterServiceVersionSpec.spec.release of type string"
                ),
            ),
            (
                json!({"spec": {"installModes": [{"type": 1}]}}),
                format!(
                    "{unmarshal} number into Go struct field InstallMode.spec.installModes.type of type v1alpha1.InstallModeType"
                ),
            ),
            (
                json!({"apiVersion": 1}),
                format!(
                    "{unmarshal} number into Go struct field ClusterServiceVersion.TypeMeta.apiVersion of type string"
                ),
            ),
            // A version that can't be read ends the reading, whatever was wrong before it.
            (
                json!({"spec": {"keywords": 1, "version": "1.0.x"}}),
                "Invalid character(s) found in patch number \"x\"".to_owned(),
            ),
            (
                json!({"spec": {"release": "1.01"}}),
                "Numeric PreRelease version must not contain leading zeroes \"01\"".to_owned(),
            ),
            (json!({"spec": {"release": ""}}), "Prerelease is empty".to_owned()),
            (
                json!({"spec": {"release": "a+b"}}),
                "Invalid character(s) found in prerelease \"a+b\"".to_owned(),
            ),
        ] {
            let error = ClusterServiceVersion::decode(&object).expect_err("a mismatch");
            assert_eq!(error.to_string(), expected, "{object}");
        }
    }
}
