//! OCI image layouts, as a directory or as a tar, in and out of the content store.
//!
//! ```text
//! oci-layout            says that this is one
//! index.json            the images, each with its name as an annotation
//! blobs/sha256/<hex>    everything else
//! ```
//!
//! What `docker save` writes can be read as well: tars with a `manifest.json`, from before Docker wrote layouts.

mod docker_archive;
mod export;
mod import;

use std::path::PathBuf;

use oci_spec::image::{Descriptor, ImageIndex};

use crate::content::ContentError;
use crate::digest::Digest;
use crate::manifest::ManifestError;

pub use export::{export_directory, export_tar, write_tar};
pub use import::{Imported, import, import_directory, import_tar};

/// The annotation of a descriptor in `index.json` that holds the image's name or tag.
pub const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// The annotation in which containerd and Docker keep the whole name when [`REF_NAME`] is only the tag.
const CONTAINERD_NAME: &str = "io.containerd.image.name";

/// How many entries a tar of images may have: hundreds of images with hundreds of layers each.
const MAX_ARCHIVE_ENTRIES: usize = 100_000;

/// How many bytes a tar of images may have, unpacked: it is read to its end, so this bounds the time.
const MAX_ARCHIVE_BYTES: u64 = 64 << 30;

/// How long the names of a tar's entries may be together, so that remembering them stays cheap.
const MAX_ARCHIVE_NAMES_BYTES: usize = 16 << 20;

/// An image in a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedImage {
    /// Names the manifest or index.
    pub descriptor: Descriptor,
    /// The tag or whole name that the layout gives it.
    pub name: Option<String>,
}

/// Why a layout couldn't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// The content store couldn't take or give a blob.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// A manifest can't be read, or something that it names is missing.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The file or directory isn't a layout.
    #[error(
        "{} holds no images: {cause}; give an OCI layout (a directory or tar with index.json) or a tar of docker save",
        path.display()
    )]
    NotALayout {
        /// The file or directory.
        path: PathBuf,
        /// What is missing or wrong.
        cause: String,
    },
    /// A blob doesn't have the bytes that its name promises.
    #[error("{} is damaged: {blob} has the digest {found}; copy or save the image again", path.display())]
    WrongDigest {
        /// The file or directory.
        path: PathBuf,
        /// Where the blob lies.
        blob: String,
        /// The digest of its bytes.
        found: Digest,
    },
    /// Something that an image needs isn't in the layout, nor in the content store.
    #[error("{} is not complete: image {image} needs {part}, which is not in it; copy or save the image again", path.display())]
    Incomplete {
        /// The file or directory.
        path: PathBuf,
        /// The image.
        image: String,
        /// What is missing.
        part: String,
    },
    /// An entry of the tar has a name that leads out of it, as no image tool writes one.
    #[error(
        "entry {entry:?} of {} leads out of it; nothing was read: don't use this file, and tell whoever made it",
        path.display()
    )]
    LeadsOut {
        /// The file.
        path: PathBuf,
        /// The entry's name.
        entry: String,
    },
    /// The tar is more than a tar of images may be.
    #[error("{} has {what} than images have ({limit}); if it is trusted, split it", path.display())]
    TooBig {
        /// The file.
        path: PathBuf,
        /// What there is too much of.
        what: &'static str,
        /// How much there may be.
        limit: u64,
    },
    /// A file couldn't be read.
    #[error("cannot read {}: {source}; check that it exists and may be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system, or the reader of the tar, said.
        source: std::io::Error,
    },
    /// A file couldn't be written. What was there before is still there.
    #[error("cannot write {}: {source}; check the directory and its disk", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// The images that an `index.json` names.
fn named_images(index: &ImageIndex) -> Vec<NamedImage> {
    index
        .manifests()
        .iter()
        .map(|descriptor| {
            let annotation = |key| {
                let annotations = descriptor.annotations().as_ref()?;
                annotations.get(key).filter(|name| !name.is_empty()).cloned()
            };
            NamedImage {
                descriptor: descriptor.clone(),
                name: annotation(CONTAINERD_NAME).or_else(|| annotation(REF_NAME)),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
