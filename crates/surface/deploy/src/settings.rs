//! What an installation is told: where, how many, with which image and which parts.

use std::collections::BTreeSet;

use api::keys;
use image::reference::Reference;

use crate::component::Component;
use crate::part::Part;

/// The image that the files of the repository name. Nobody publishes it: who deploys builds and pushes one with baton.
pub const PLACEHOLDER_IMAGE: &str = concat!("registry.example.com/baton:", env!("CARGO_PKG_VERSION"));

/// The namespace of OLM v0, as upstream has it.
pub const CLASSIC_NAMESPACE: &str = "olm";

/// The most replicas: each is a copy of what all of them serve, and one leads.
pub const MAX_REPLICAS: u32 = 20;

/// Who makes the certificates that the components serve with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServingCertificates {
    /// baton itself, in a Secret that it renews.
    #[default]
    Own,
    /// cert-manager, which has to be in the cluster.
    CertManager,
}

/// What an installation is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The namespace of OLM v1.
    pub namespace: String,
    /// The namespace of OLM v0 and of its global catalogs.
    pub classic_namespace: String,
    /// The image with baton.
    pub image: String,
    /// Secrets of both namespaces with passwords for the image's registry.
    pub image_pull_secrets: Vec<String>,
    /// How many pods each Deployment has.
    pub replicas: u32,
    /// Who makes the certificates that the components serve with.
    pub certificates: ServingCertificates,
    /// What is in it.
    pub parts: BTreeSet<Part>,
    /// The group of users whom the part `tenant-limits` is about.
    pub tenants: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            namespace: keys::SYSTEM_NAMESPACE.to_owned(),
            classic_namespace: CLASSIC_NAMESPACE.to_owned(),
            image: PLACEHOLDER_IMAGE.to_owned(),
            image_pull_secrets: Vec::new(),
            replicas: 2,
            certificates: ServingCertificates::Own,
            parts: Part::ALL.into_iter().filter(|part| part.is_usual()).collect(),
            tenants: "tenants".to_owned(),
        }
    }
}

/// Why nothing can be installed so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A namespace's name is none.
    #[error(
        "{setting} {name:?} is no name of a namespace: up to 63 lower-case letters, digits and '-', such as {example:?}"
    )]
    Namespace {
        /// Which setting.
        setting: &'static str,
        /// What it says.
        name: String,
        /// What it could say.
        example: &'static str,
    },
    /// Both versions of OLM in one namespace.
    #[error(
        "OLM v1 and OLM v0 can't share namespace {0:?}: their NetworkPolicies and roles differ; name another one"
    )]
    SameNamespace(String),
    /// The image's name is none.
    #[error("image {image:?} is no name of an image: {cause}")]
    Image {
        /// What it says.
        image: String,
        /// Why not.
        cause: String,
    },
    /// No replicas, or too many.
    #[error("{0} replicas are not possible: between 1 and {MAX_REPLICAS}; 2 survive the loss of a node")]
    Replicas(u32),
}

impl Settings {
    /// Whether a part is in it.
    pub fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    /// The components that run.
    pub fn components(&self) -> impl Iterator<Item = Component> + '_ {
        Component::ALL
            .into_iter()
            .filter(|component| *component != Component::Subscriptions || self.has(Part::Classic))
    }

    /// The namespace of a component.
    pub fn namespace_of(&self, component: Component) -> &str {
        match component {
            Component::Catalogs | Component::Extensions => &self.namespace,
            Component::Subscriptions => &self.classic_namespace,
        }
    }

    /// The namespaces that components run in.
    pub fn namespaces(&self) -> Vec<&str> {
        let mut namespaces = vec![self.namespace.as_str()];
        if self.has(Part::Classic) {
            namespaces.push(&self.classic_namespace);
        }
        namespaces
    }

    /// Fails where a cluster would refuse what comes of it.
    pub fn check(&self) -> Result<(), SettingsError> {
        let names = [
            ("--namespace", &self.namespace, keys::SYSTEM_NAMESPACE),
            ("--classic-namespace", &self.classic_namespace, CLASSIC_NAMESPACE),
        ];
        for (setting, name, example) in names {
            if !is_label(name) {
                return Err(SettingsError::Namespace {
                    setting,
                    name: name.clone(),
                    example,
                });
            }
        }
        if self.has(Part::Classic) && self.namespace == self.classic_namespace {
            return Err(SettingsError::SameNamespace(self.namespace.clone()));
        }
        Reference::parse(&self.image).map_err(|error| SettingsError::Image {
            image: self.image.clone(),
            cause: error.to_string(),
        })?;
        if !(1..=MAX_REPLICAS).contains(&self.replicas) {
            return Err(SettingsError::Replicas(self.replicas));
        }
        Ok(())
    }
}

/// Whether a text is a DNS label, as names of namespaces have to be.
fn is_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cluster_would_refuse_is_refused_before() {
        let refused = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            settings.check().expect_err("refused").to_string()
        };
        assert_eq!(Settings::default().check(), Ok(()));
        for (said, words) in [
            (
                refused(|s| s.namespace = "OLM".to_owned()),
                "--namespace \"OLM\" is no name of a namespace",
            ),
            (
                refused(|s| s.classic_namespace = String::new()),
                "--classic-namespace \"\" is no name",
            ),
            (
                refused(|s| s.classic_namespace = s.namespace.clone()),
                "can't share namespace",
            ),
            (
                refused(|s| s.image = "a b".to_owned()),
                "image \"a b\" is no name of an image: ",
            ),
            (refused(|s| s.replicas = 0), "0 replicas are not possible"),
            (refused(|s| s.replicas = 21), "21 replicas are not possible"),
        ] {
            assert!(said.contains(words), "{said} lacks {words:?}");
        }
    }

    #[test]
    fn without_olm_v0_its_namespace_and_component_are_left_out() {
        let mut settings = Settings::default();
        assert_eq!(settings.namespaces(), ["olmv1-system", "olm"]);
        settings.parts.remove(&Part::Classic);
        assert_eq!(settings.namespaces(), ["olmv1-system"]);
        assert!(
            !settings
                .components()
                .any(|component| component == Component::Subscriptions)
        );
        // Whoever leaves it out may have both names the same.
        settings.classic_namespace = settings.namespace.clone();
        assert_eq!(settings.check(), Ok(()));
    }
}
