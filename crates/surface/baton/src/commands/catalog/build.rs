//! `baton catalog build`: a catalog's image on disk.

use std::path::PathBuf;

use catalog::validation;
use clap::Args;
use image::policy::PolicySource;
use image::reference::Reference;

use super::catalog_image::CatalogImageFlags;
use super::published::{self, GuardFlags};
use crate::built_images::{self, BuiltImagesFlags};
use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::runtime;
use crate::terminal::Terminal;

/// Builds a catalog's image, after comparing it with what is published, and keeps it for pushing.
#[derive(Args)]
pub(crate) struct Build {
    /// The catalog: a directory, oci:LAYOUT, a tar, or an image
    #[arg(value_name = "CATALOG")]
    source: String,
    /// The image's name, under which customers have it
    #[arg(short, long, value_name = "IMAGE")]
    image: String,
    /// Write the image here too: a directory for an OCI layout, or a file that ends in .tar
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    built: BuiltImagesFlags,
    #[command(flatten)]
    guard: GuardFlags,
    #[command(flatten)]
    contents: CatalogImageFlags,
    #[command(flatten)]
    images: ImageFlags,
}

impl Build {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let target = Reference::parse(&self.image)?;
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        let image = runtime::block_on(async {
            let mut catalog = images.read_catalog(&self.source).await?;
            validation::validate(&catalog)
                .map_err(|error| Failure::new(format!("catalog {} is not valid: {error}", self.source)))?;
            let (_, published) = published::find(&images, &target, &self.guard).await?;
            published::admit(published.as_ref(), &mut catalog, &self.guard, terminal)?;
            self.contents.build(images.store()?, &catalog)
        })?;
        if let Some(path) = &self.output {
            built_images::export(&images, &image, &target, path)?;
        }
        terminal.print(self.built.keep(&images, &image, &target)?.as_bytes())
    }
}
