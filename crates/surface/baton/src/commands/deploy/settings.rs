//! Flags of `baton deploy` that say what is installed.

use std::collections::BTreeSet;

use ::deploy::part::Part;
use ::deploy::settings::{CLASSIC_NAMESPACE, PLACEHOLDER_IMAGE, ServingCertificates, Settings};
use api::keys;
use clap::{Args, ValueEnum};

use crate::failure::Failure;

/// Who makes the certificates that are served with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CertificateMaker {
    Baton,
    CertManager,
}

/// Fails where pods would have no image.
pub(super) fn require_image(settings: &Settings) -> Result<(), Failure> {
    if settings.image != PLACEHOLDER_IMAGE {
        return Ok(());
    }
    Err(Failure::new(
        "name the image with --image: one that nodes can pull; with --push, baton builds it and pushes it there first",
    ))
}

/// What is installed.
#[derive(Args)]
#[command(next_help_heading = "Installation")]
pub(super) struct SettingsFlags {
    /// The image with baton, as nodes pull it; without it, the one that is deployed
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// A Secret with passwords for the image's registry, in the namespaces of the pods; may be repeated
    #[arg(long, value_name = "SECRET")]
    image_pull_secret: Vec<String>,
    /// The namespace of OLM v1
    #[arg(long, value_name = "NAMESPACE", default_value = keys::SYSTEM_NAMESPACE)]
    namespace: String,
    /// The namespace of OLM v0 and its global catalogs
    #[arg(long, value_name = "NAMESPACE", default_value = CLASSIC_NAMESPACE)]
    classic_namespace: String,
    /// How many pods each Deployment has
    #[arg(long, value_name = "NUMBER", default_value_t = 2)]
    replicas: u32,
    /// Who makes the certificates that are served with
    #[arg(long, value_enum, value_name = "WHO", default_value = "baton")]
    serving_certificates: CertificateMaker,
    /// Add a part: monitoring, cluster-admin or tenant-limits; may be repeated
    #[arg(long, value_name = "PART")]
    with: Vec<Part>,
    /// Leave out a part: namespaces, definitions, classic, network-policies, disruption-budgets, priority or policies; may be
    /// repeated
    #[arg(long, value_name = "PART")]
    without: Vec<Part>,
    /// The group of users whom the part tenant-limits is about
    #[arg(long, value_name = "GROUP", default_value = "tenants")]
    tenants: String,
}

impl SettingsFlags {
    /// Whether somebody named an image.
    pub(super) fn has_image(&self) -> bool {
        self.image.is_some()
    }

    /// What is installed, if a cluster can take it.
    pub(super) fn settings(&self) -> Result<Settings, Failure> {
        let usual = Settings::default();
        let mut parts: BTreeSet<Part> = usual.parts;
        for part in &self.without {
            if self.with.contains(part) {
                return Err(Failure::new(format!(
                    "part {part} is in --with and in --without; take it out of one"
                )));
            }
            parts.remove(part);
        }
        parts.extend(&self.with);
        let settings = Settings {
            namespace: self.namespace.clone(),
            classic_namespace: self.classic_namespace.clone(),
            image: self.image.clone().unwrap_or(usual.image),
            image_pull_secrets: self.image_pull_secret.clone(),
            replicas: self.replicas,
            certificates: match self.serving_certificates {
                CertificateMaker::Baton => ServingCertificates::Own,
                CertificateMaker::CertManager => ServingCertificates::CertManager,
            },
            parts,
            tenants: self.tenants.clone(),
        };
        settings
            .check()
            .map_err(|error| Failure::new(error.to_string()))?;
        Ok(settings)
    }
}
