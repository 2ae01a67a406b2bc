//! `baton catalog push`: a catalog published, and nothing that was published lost.

use catalog::guard;
use catalog::objects::Catalog;
use clap::Args;
use image::policy::PolicySource;
use image::reference::Reference;

use super::catalog_image::CatalogImageFlags;
use super::published::{self, GuardFlags, MovingTagFlags};
use super::validate;
use crate::built_images::BuiltImagesFlags;
use crate::failure::Failure;
use crate::images::{Fetched, Held, ImageFlags, Images, digest_of};
use crate::named_source::NamedSource;
use crate::runtime;
use crate::terminal::Terminal;

/// Publishes a catalog, unless customers would lose something that is published now.
#[derive(Args)]
pub(crate) struct Push {
    /// Where to publish it
    #[arg(value_name = "IMAGE")]
    image: String,
    /// Publish this catalog (a directory, oci:LAYOUT, a tar, or an image) instead of the one that was built
    #[arg(long, value_name = "CATALOG")]
    from: Option<String>,
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

impl Push {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let target = Reference::parse(&self.image)?;
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        runtime::block_on(async {
            let (mut catalog, built) = match self.from.as_deref().map(NamedSource::parse) {
                None => self.read_built(&images, self.built.find(&images, &target).await?)?,
                Some(source @ NamedSource::Directory(_)) => match images.read(&source).await? {
                    Held::Catalog(catalog) => (catalog, None),
                    Held::Bundle(..) => return Err(not_a_catalog(&self.image)),
                },
                Some(source) => self.read_built(&images, images.fetch_whole(&source).await?)?,
            };
            validate::check("the catalog", &catalog)?;
            let names = self.moving.names(&target)?;
            let compared = published::find(&images, &names, &self.guard).await?;
            if compared.published.is_empty() {
                terminal.remark(format!("{target} is published for the first time"));
            }
            let history = guard::history(&catalog)?;
            published::admit(&compared.published, &mut catalog, &self.guard, terminal)?;
            let root = match built {
                Some(fetched) if guard::history(&catalog)? == history => fetched.manifest,
                Some(_) => {
                    return Err(Failure::new(
                        "the image was built before it was compared with what is published now; build it again, with the same --allow and --moving-tag",
                    ));
                }
                None => self.contents.build(images.store()?, &catalog)?.descriptor,
            };
            published::publish(&images, &root, &self.guard, &compared).await?;
            let digest = digest_of(&root)?;
            names
                .iter()
                .try_for_each(|name| terminal.print(format!("{}@{digest}\n", name.or_latest()).as_bytes()))
        })
    }

    fn read_built(&self, images: &Images, fetched: Fetched) -> Result<(Catalog, Option<Fetched>), Failure> {
        match images.read_image(&fetched, &self.image)? {
            Held::Catalog(catalog) => Ok((catalog, Some(fetched))),
            Held::Bundle(..) => Err(not_a_catalog(&self.image)),
        }
    }
}

fn not_a_catalog(name: &str) -> Failure {
    Failure::new(format!(
        "what should be published as {name} is a bundle, not a catalog; publish it with baton bundle push"
    ))
}
