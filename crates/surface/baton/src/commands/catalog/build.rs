//! `baton catalog build`: a catalog's image on disk.

use std::path::PathBuf;

use clap::Args;
use image::policy::PolicySource;
use image::reference::Reference;

use super::catalog_image::CatalogImageFlags;
use super::published::{self, GuardFlags, MovingTagFlags};
use super::validate;
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
    moving: MovingTagFlags,
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
            validate::check(&format!("catalog {}", self.source), &catalog)?;
            let names = self.moving.names(&target)?;
            let compared = published::find(&images, &names, &self.guard).await?;
            published::admit(&compared.published, &mut catalog, &self.guard, terminal)?;
            self.contents.build(images.store()?, &catalog)
        })?;
        if let Some(path) = &self.output {
            built_images::export(&images, &image, &target, path)?;
        }
        terminal.print(self.built.keep(&images, &image, &target)?.as_bytes())
    }
}
