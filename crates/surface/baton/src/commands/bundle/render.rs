//! `baton bundle render`: the manifests that installing a bundle would create.

use bundle::registry::RegistryBundle;
use bundle::rendering::certificates::{CertManager, CertificateProvider, ServiceCa};
use bundle::rendering::{RenderOptions, render};
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
        let mut options = RenderOptions::new(self.namespace);
        options.target_namespaces.clone_from(&self.watch);
        options.certificates = match self.certificates {
            Certificates::CertManager => Some(&CertManager as &dyn CertificateProvider),
            Certificates::ServiceCa => Some(&ServiceCa),
            Certificates::None => None,
        };
        for object in render(&bundle, options).map_err(|error| told(error.to_string()))? {
            terminal.print(format!("---\n{}", goyaml::to_string(&object)?).as_bytes())?;
        }
        Ok(())
    }
}
