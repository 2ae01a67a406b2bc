//! Which pods of the stage really run: those whose images lie where a flag says, and were built by baton.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use image::registry::Serving;
use stage::node::images::Images;

use crate::failure::Failure;
use crate::hosted_stage;
use crate::listening;
use crate::own_registry;

/// Where images are found that baton built, and whose pods run as processes of this machine.
///
/// Nothing runs that isn't told here: other pods are simulated, whatever their images claim to be.
#[derive(Args)]
#[command(next_help_heading = "Pods that really run")]
pub(super) struct BuiltPodsFlags {
    /// Really run pods whose images are in this OCI layout, such as the folder dist of baton bundle build; may be repeated
    #[arg(long = "images", value_name = "FOLDER")]
    layouts: Vec<PathBuf>,
    /// Really run pods of images that baton built and this registry has, as in their names; may be repeated
    #[arg(long = "registry", value_name = "HOST[:PORT]")]
    registries: Vec<String>,
    /// Serve a registry as well, and really run what baton built and who logged in pushed there; it lies in the data folder
    #[arg(long, value_name = "ADDRESS", requires = "data_dir")]
    serve_registry: Option<SocketAddr>,
}

/// What the node is given, and what has to be stopped at the end.
pub(super) struct BuiltPods {
    pub(super) images: Option<Arc<dyn Images>>,
    pub(super) registry: Option<Serving>,
}

impl BuiltPodsFlags {
    /// The address of the registry to serve, if there is one.
    pub(super) fn listens_on(&self) -> Option<SocketAddr> {
        self.serve_registry
    }

    /// Opens what the flags name; others reach the registry by `names`. Called within a Tokio runtime.
    pub(super) async fn open(self, data: Option<&Path>, names: &[String]) -> Result<BuiltPods, Failure> {
        let registries = self.registries;
        let registry = match (self.serve_registry, data) {
            (Some(address), Some(data)) => {
                let listener = listening::bind(address, "--serve-registry").await?;
                let password = own_registry::password(Some(data))?;
                let folder = data.join("registry");
                let flag = "--serve-registry";
                Some(hosted_stage::serve_registry(
                    &folder, listener, flag, &password, names,
                )?)
            }
            _ => None,
        };
        if registry.is_none() && registries.is_empty() && self.layouts.is_empty() {
            return Ok(BuiltPods {
                images: None,
                registry,
            });
        }
        Ok(BuiltPods {
            images: Some(hosted_stage::built_images(
                data,
                registry.as_ref(),
                registries,
                self.layouts,
            )?),
            registry,
        })
    }
}
