//! Images that were built and wait to be published: an OCI layout beside the author's tree.

use std::path::{Path, PathBuf};

use clap::Args;
use image::build::BuiltImage;
use image::layout::{self, NamedImage};
use image::reference::Reference;

use crate::failure::Failure;
use crate::images::{Fetched, Images, digest_of};
use crate::named_source::NamedSource;

/// Where built images are kept until they are published.
#[derive(Args, Clone)]
pub(crate) struct BuiltImagesFlags {
    /// The OCI layout that holds built images until they are pushed
    #[arg(long, value_name = "FOLDER", default_value = "dist")]
    pub(crate) dist: PathBuf,
}

impl BuiltImagesFlags {
    /// Keeps a built image under the name that it will be published with.
    pub(crate) fn keep(
        &self,
        images: &Images,
        image: &BuiltImage,
        name: &Reference,
    ) -> Result<String, Failure> {
        let named = NamedImage {
            descriptor: image.descriptor.clone(),
            name: Some(name.to_string()),
        };
        layout::export_directory(images.store()?, &[named], &self.dist)?;
        Ok(format!(
            "{} {name}@{}\n",
            self.dist.display(),
            digest_of(&image.descriptor)?
        ))
    }

    /// Finds the image that was built for a name.
    pub(crate) async fn find(&self, images: &Images, name: &Reference) -> Result<Fetched, Failure> {
        if !self.dist.join("index.json").is_file() {
            return Err(Failure::new(format!(
                "no image is built in {}: run baton bundle build or baton catalog build first, or say where it is with --dist",
                self.dist.display()
            )));
        }
        images
            .fetch_whole(&NamedSource::Layout {
                path: self.dist.clone(),
                name: Some(name.to_string()),
            })
            .await
    }
}

/// Writes images to a layout directory, or to a tar when the path says so.
pub(crate) fn export(
    images: &Images,
    image: &BuiltImage,
    name: &Reference,
    path: &Path,
) -> Result<(), Failure> {
    let named = [NamedImage {
        descriptor: image.descriptor.clone(),
        name: Some(name.to_string()),
    }];
    let file = path.to_string_lossy();
    if file.ends_with(".tar") {
        Ok(layout::export_tar(
            images.store()?,
            &named,
            path,
            image::layer::Compression::None,
        )?)
    } else if file.ends_with(".tar.gz") || file.ends_with(".tgz") {
        Ok(layout::export_tar(
            images.store()?,
            &named,
            path,
            image::layer::Compression::Gzip,
        )?)
    } else {
        Ok(layout::export_directory(images.store()?, &named, path)?)
    }
}
