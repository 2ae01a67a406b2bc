//! `baton bundle push`: built images published, each under a name that never changes its meaning.

use clap::Args;
use image::policy::PolicySource;
use image::reference::Reference;

use super::publication::{self, Publication};
use crate::built_images::BuiltImagesFlags;
use crate::failure::Failure;
use crate::images::{ImageFlags, Images, digest_of};
use crate::runtime;
use crate::terminal::Terminal;

/// Publishes images that were built; a version that is published with another content is refused.
#[derive(Args)]
pub(crate) struct Push {
    /// The names of the images, as they were built
    #[arg(value_name = "IMAGE", required = true)]
    names: Vec<String>,
    /// Let this image replace the one that is published
    #[arg(long, value_name = "IMAGE")]
    allow: Vec<String>,
    #[command(flatten)]
    built: BuiltImagesFlags,
    #[command(flatten)]
    images: ImageFlags,
}

impl Push {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let names = self
            .names
            .iter()
            .map(|name| Reference::parse(name))
            .collect::<Result<Vec<_>, _>>()?;
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        runtime::block_on(async {
            // All are looked at before any is pushed: a refusal must leave nothing half-published.
            let mut pushes = Vec::new();
            for name in &names {
                let image = self.built.find(&images, name).await?;
                let digest = digest_of(&image.manifest)?;
                pushes.push((
                    name,
                    publication::decide(&images, name, digest, &self.allow).await?,
                    digest,
                    image,
                ));
            }
            let decided: Vec<_> = pushes
                .iter()
                .map(|(name, decided, ..)| (*name, *decided))
                .collect();
            publication::refuse_needless(&self.allow, &decided)?;
            for (name, publication, digest, image) in pushes {
                // How they were made was known when they were built, and isn't kept with them.
                let root = &image.manifest;
                publication::publish(&images, name, root, publication, &[], terminal).await?;
                let told = match publication {
                    Publication::New => String::new(),
                    Publication::Unchanged => " (was published already)".to_owned(),
                    Publication::Replaces(old) => format!(" (replaces {old})"),
                };
                terminal.print(format!("{}@{digest}{told}\n", name.or_latest()).as_bytes())?;
            }
            Ok(())
        })
    }
}
