//! `baton catalog list`: the catalogs of a cluster, or what one catalog has, as tables.

use catalog::listing::{self, DisplayNames};
use clap::{Args, ValueEnum};
use image::policy::PolicySource;

use crate::cluster::ClusterAccess;
use crate::commands::get;
use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;

/// Prints the catalogs of the cluster, or the packages, channels or bundles of one catalog.
#[derive(Args)]
pub(crate) struct List {
    /// What of a catalog to list; without it, the cluster's catalogs are
    #[arg(value_enum, requires = "source")]
    what: Option<What>,
    /// The catalog: a directory, oci:LAYOUT, a tar, or an image
    #[arg(value_name = "CATALOG")]
    source: Option<String>,
    /// Only this package
    #[arg(value_name = "PACKAGE")]
    package: Option<String>,
    #[command(flatten)]
    images: ImageFlags,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    Packages,
    Channels,
    Bundles,
}

impl List {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let (Some(what), Some(source)) = (self.what, &self.source) else {
            return runtime::block_on(async {
                let client = self.access.connect().await?;
                get::print(client, "clustercatalogs", None, self.output, terminal).await
            });
        };
        if self.output.is_for_programs() {
            return Err(Failure::new(format!(
                "-o is for the catalogs of a cluster; all that one catalog has is printed for programs by: baton catalog render \
                 {source} -o json"
            )));
        }
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        let catalog = runtime::block_on(images.read_catalog(source))?;
        let package = self.package.as_deref();
        let table = match what {
            What::Packages => listing::packages(&catalog, DisplayNames::OfMetadata),
            What::Channels => listing::channels(&catalog, package),
            What::Bundles => listing::bundles(&catalog, package),
        };
        let table = table.map_err(|error| match error.meant() {
            Some(meant) => Failure::new(format!("{error}; {meant}")),
            None => error.into(),
        })?;
        terminal.print(table.as_bytes())
    }
}
