//! `baton bundle render`: the manifests that installing a bundle would create.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use bundle::registry::RegistryBundle;
use bundle::rendering::certificates::{CertManager, CertificateProvider, ServiceCa};
use bundle::rendering::configuration::{Gates, MAXIMUM_CONFIGURATION_BYTES, ManifestsError, options};
use bundle::rendering::{RenderOptions, render};
use chart::diagnosis::Diagnosis;
use clap::{Args, ValueEnum};
use image::policy::PolicySource;

use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::runtime;
use crate::terminal::Terminal;

/// Prints the manifests that installing a bundle would create.
#[derive(Args)]
pub(crate) struct Render {
    /// The bundle: a directory, oci:LAYOUT, a tar, or an image
    #[arg(value_name = "BUNDLE")]
    source: String,
    /// The namespace that the operator would run in
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: String,
    /// A namespace that it would watch; all, where the bundle can, when none is given
    #[arg(long = "watch", value_name = "NAMESPACE")]
    watch: Vec<String>,
    /// A ClusterExtension's configuration, spec.config.inline, as YAML or JSON; checked as OLM v1 checks it
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    config: Option<PathBuf>,
    /// Who makes the certificates of its webhooks
    #[arg(long, value_enum, default_value = "cert-manager")]
    certificates: Certificates,
    #[command(flatten)]
    images: ImageFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Certificates {
    CertManager,
    ServiceCa,
    None,
}

impl Render {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        let (files, _) = runtime::block_on(images.read_bundle(&self.source))?;
        let told = |error: String| Failure::new(format!("bundle {}: {error}", self.source));
        let bundle = RegistryBundle::load(&files).map_err(|error| told(error.to_string()))?;
        let certificates: Option<&dyn CertificateProvider> = match self.certificates {
            Certificates::CertManager => Some(&CertManager),
            Certificates::ServiceCa => Some(&ServiceCa),
            Certificates::None => None,
        };
        let options = if let Some(file) = &self.config {
            let inline = read(file)?;
            options(
                &bundle,
                &self.namespace,
                Some(&inline),
                Gates::all(),
                certificates,
            )
            .map_err(|error| refused(&error).within(format_args!("bundle {}", self.source)))?
        } else {
            let mut options = RenderOptions::new(self.namespace);
            options.target_namespaces.clone_from(&self.watch);
            options.certificates = certificates;
            options
        };
        for object in render(&bundle, options).map_err(|error| told(error.to_string()))? {
            terminal.print(format!("---\n{}", goyaml::to_string(&object)?).as_bytes())?;
        }
        Ok(())
    }
}

/// Reads a configuration, but never much more than is looked at.
fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let told = |error| Failure::new(format!("configuration {}: {error}", file.display()));
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAXIMUM_CONFIGURATION_BYTES).unwrap_or(u64::MAX);
    File::open(file)
        .map_err(told)?
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(told)?;
    Ok(bytes)
}

/// OLM v1's words, and behind them the values that its words keep to themselves.
fn refused(error: &ManifestsError) -> Failure {
    let text = error.to_string();
    let hides_values =
        text.contains("validation failed") || matches!(error, ManifestsError::DeploymentConfig(_));
    let notes = if hides_values {
        error.details().to_vec()
    } else if text.ends_with("certificate provider is nil") {
        vec!["say who makes its certificates, with --certificates cert-manager or service-ca".to_owned()]
    } else {
        Vec::new()
    };
    let diagnosis = Diagnosis {
        notes,
        ..Diagnosis::default()
    };
    Failure::with_diagnosis(text, diagnosis)
}
