//! `baton catalog list`: what a catalog has, as tables.

use catalog::listing;
use clap::{Args, ValueEnum};
use image::policy::PolicySource;

use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::runtime;
use crate::terminal::Terminal;

/// Prints the packages, channels or bundles of a catalog.
#[derive(Args)]
pub(crate) struct List {
    /// What to list
    #[arg(value_enum)]
    what: What,
    /// The catalog: a directory, oci:LAYOUT, a tar, or an image
    #[arg(value_name = "CATALOG")]
    source: String,
    /// Only this package
    #[arg(value_name = "PACKAGE")]
    package: Option<String>,
    #[command(flatten)]
    images: ImageFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    Packages,
    Channels,
    Bundles,
}

impl List {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        let catalog = runtime::block_on(images.read_catalog(&self.source))?;
        let package = self.package.as_deref();
        let table = match self.what {
            What::Packages => listing::packages(&catalog)?,
            What::Channels => listing::channels(&catalog, package)?,
            What::Bundles => listing::bundles(&catalog, package)?,
        };
        terminal.print(table.as_bytes())
    }
}
