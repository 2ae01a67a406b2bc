//! The versions of Kubernetes, its APIs and Helm that a chart is rendered for.

use version::Spelled;

use crate::compatibility::{EDITION, is_compatible_range};

/// What a chart may ask about the cluster that it is rendered for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The version of Kubernetes.
    pub kube_version: KubeVersion,
    /// The API versions that the cluster serves, such as `apps/v1`, and kinds such as `apps/v1/Deployment`.
    pub api_versions: Vec<String>,
}

/// A version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeVersion {
    /// The whole version, with a leading `v`.
    pub version: String,
    /// The major number.
    pub major: String,
    /// The minor number.
    pub minor: String,
}

/// The Helm that baton renders as; charts can ask for it.
pub struct HelmVersion {
    /// The version, with a leading `v`.
    pub version: &'static str,
    /// The commit that it was built from.
    pub git_commit: &'static str,
    /// Whether that commit's tree was changed.
    pub git_tree_state: &'static str,
    /// The Go that it was built with.
    pub go_version: &'static str,
}

/// Helm 3.17.3, whose output baton's is identical with.
pub const HELM_VERSION: HelmVersion = HelmVersion {
    version: "v3.17.3",
    git_commit: "e4da49785aa6e6ee2b86efd5dd9e43400318262b",
    git_tree_state: "clean",
    go_version: "go1.23.7",
};

/// The API versions that Helm knows without a cluster, in its order.
const KNOWN_API_VERSIONS: [&str; 56] = [
    "v1",
    "admissionregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1alpha1",
    "admissionregistration.k8s.io/v1beta1",
    "internal.apiserver.k8s.io/v1alpha1",
    "apps/v1",
    "apps/v1beta1",
    "apps/v1beta2",
    "authentication.k8s.io/v1",
    "authentication.k8s.io/v1alpha1",
    "authentication.k8s.io/v1beta1",
    "authorization.k8s.io/v1",
    "authorization.k8s.io/v1beta1",
    "autoscaling/v1",
    "autoscaling/v2",
    "autoscaling/v2beta1",
    "autoscaling/v2beta2",
    "batch/v1",
    "batch/v1beta1",
    "certificates.k8s.io/v1",
    "certificates.k8s.io/v1beta1",
    "certificates.k8s.io/v1alpha1",
    "coordination.k8s.io/v1alpha2",
    "coordination.k8s.io/v1beta1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1",
    "events.k8s.io/v1beta1",
    "extensions/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "networking.k8s.io/v1",
    "networking.k8s.io/v1alpha1",
    "networking.k8s.io/v1beta1",
    "node.k8s.io/v1",
    "node.k8s.io/v1alpha1",
    "node.k8s.io/v1beta1",
    "policy/v1",
    "policy/v1beta1",
    "rbac.authorization.k8s.io/v1",
    "rbac.authorization.k8s.io/v1beta1",
    "rbac.authorization.k8s.io/v1alpha1",
    "resource.k8s.io/v1beta1",
    "resource.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1alpha1",
    "scheduling.k8s.io/v1beta1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1beta1",
    "storage.k8s.io/v1",
    "storage.k8s.io/v1alpha1",
    "storagemigration.k8s.io/v1alpha1",
    "apiextensions.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1",
];

/// The Kubernetes that charts are rendered for when nobody says which.
const DEFAULT_KUBE_VERSION: (&str, &str) = ("1", "32");

/// A chart that does not fit the version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {actual}")]
pub struct IncompatibleKubeVersion {
    /// The range in `Chart.yaml`.
    pub wanted: String,
    /// The version that is rendered for.
    pub actual: String,
}

impl Default for Capabilities {
    fn default() -> Capabilities {
        let (major, minor) = DEFAULT_KUBE_VERSION;
        Capabilities {
            kube_version: KubeVersion {
                version: format!("v{major}.{minor}.0"),
                major: major.into(),
                minor: minor.into(),
            },
            api_versions: KNOWN_API_VERSIONS.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Capabilities {
    /// Checks the range of Kubernetes versions that a chart asks for; an empty one fits every version.
    pub fn check(&self, wanted: &str) -> Result<(), IncompatibleKubeVersion> {
        let actual = &self.kube_version.version;
        if wanted.is_empty() || is_compatible_range(wanted, actual) {
            return Ok(());
        }
        Err(IncompatibleKubeVersion {
            wanted: wanted.to_owned(),
            actual: actual.clone(),
        })
    }
}

impl KubeVersion {
    /// Reads a version as `--kube-version` takes it; the error is Helm's text.
    pub fn parse(text: &str) -> Result<KubeVersion, String> {
        let spelled = Spelled::parse(text, EDITION).map_err(|error| error.to_string())?;
        let version = spelled.version();
        Ok(KubeVersion {
            version: format!("v{version}"),
            major: version.major().to_string(),
            minor: version.minor().to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_normalised() {
        let version = KubeVersion::parse("1.29").expect("a version");
        assert_eq!(
            (
                version.version.as_str(),
                version.major.as_str(),
                version.minor.as_str()
            ),
            ("v1.29.0", "1", "29")
        );
        assert_eq!(
            KubeVersion::parse("v1.30.4-gke.1").expect("a version").version,
            "v1.30.4-gke.1"
        );
        assert_eq!(
            KubeVersion::parse("nonsense").expect_err("no version"),
            "Invalid Semantic Version"
        );
    }

    #[test]
    fn a_range_that_excludes_the_cluster_is_refused_in_helms_words() {
        let error = Capabilities::default().check(">=1.40.0").expect_err("too old");
        assert_eq!(
            error.to_string(),
            "chart requires kubeVersion: >=1.40.0 which is incompatible with Kubernetes v1.32.0"
        );
    }
}
