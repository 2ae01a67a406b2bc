//! What can be wrong with an image that is unpacked.

use std::io;
use std::path::PathBuf;

use crate::content::ContentError;
use crate::digest::Digest;
use crate::manifest::ManifestError;

/// Why an image couldn't be unpacked. Nothing of it was written then.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The manifest, or the image for this platform, couldn't be found or read.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A part of the image is missing in the content store, or damaged there.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The index holds another index where the image should be.
    #[error("index {digest} names another index for this platform; pull the image that it names instead")]
    NestedIndex {
        /// The outer index.
        digest: Digest,
    },
    /// The configuration isn't that of an image, or doesn't fit the manifest.
    #[error(
        "configuration {digest} of the image can't be used: {cause}; ask for the image to be published again"
    )]
    Configuration {
        /// The configuration.
        digest: Digest,
        /// What is wrong.
        cause: String,
    },
    /// A layer can't be unpacked from a certain entry on.
    #[error("entry {entry:?} of layer {layer} can't be unpacked: {problem}")]
    Entry {
        /// The layer's blob.
        layer: Digest,
        /// The entry's path as the layer has it.
        entry: String,
        /// What is wrong.
        problem: EntryProblem,
    },
    /// A layer is not a tar, or is packed in a way that can't be read.
    #[error(
        "layer {layer} can't be read after entry {after:?}: {source}; ask for the image to be published again"
    )]
    Unreadable {
        /// The layer's blob.
        layer: Digest,
        /// The last entry that was read, or nothing.
        after: String,
        /// What is wrong.
        source: io::Error,
    },
    /// The unpacked bytes of a layer are not those that the image was made from.
    #[error(
        "layer {layer} unpacks to content with the digest {found}, but the image's configuration promises {expected}; \
         don't use this image, and tell whoever published it"
    )]
    WrongDiffId {
        /// The layer's blob.
        layer: Digest,
        /// What the configuration says.
        expected: Digest,
        /// What was found.
        found: Digest,
    },
    /// A layer is more than an image may be.
    #[error("layer {layer} has more than {limit} {what}; if the image is trusted, ask for a smaller one")]
    LayerTooBig {
        /// The layer's blob.
        layer: Digest,
        /// What there is too much of.
        what: &'static str,
        /// How much there may be.
        limit: u64,
    },
    /// The image is more than may be unpacked.
    #[error(
        "the image has {what} of more than {limit} bytes; if the image is trusted, ask for a smaller one"
    )]
    TooBig {
        /// What there is too much of.
        what: &'static str,
        /// How many bytes there may be.
        limit: u64,
    },
    /// There is something at the target already.
    #[error("cannot unpack to {}: it is not empty; choose another directory or remove it first", target.display())]
    Occupied {
        /// The target.
        target: PathBuf,
    },
    /// A file or directory couldn't be written.
    #[error("cannot write {}: {source}; check the directory and its disk, nothing was left at the target", path.display())]
    Write {
        /// What should have been written.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// What is wrong with one entry of a layer.
#[derive(Debug, thiserror::Error)]
pub enum EntryProblem {
    /// The path climbs above the root of the image.
    #[error("its path leads out of the image; don't use this image, and tell whoever published it")]
    LeadsOut,
    /// A path that no file can have.
    #[error("{0}; ask for the image to be published again")]
    Malformed(&'static str),
    /// A file with holes, which Docker refuses too.
    #[error("it is a sparse file, which images can't hold; ask for the image to be published again")]
    Sparse,
    /// A file lies where a directory should be.
    #[error("{path:?} on the way to it is a file; ask for the image to be published again")]
    ParentIsFile {
        /// The file.
        path: String,
    },
    /// Links lead in a circle.
    #[error("the links on the way to it lead in a circle; ask for the image to be published again")]
    TooManyLinks,
    /// A hard link to something that isn't there.
    #[error(
        "it links to {target:?}, which is not in what is unpacked of the image; ask for the image to be published again"
    )]
    NoLinkTarget {
        /// The target as the layer has it.
        target: String,
    },
    /// A file is bigger than may be unpacked.
    #[error(
        "its {size} bytes are more than the {limit} that one file may have; if the image is trusted, ask for a smaller one"
    )]
    TooBig {
        /// The size of the file.
        size: u64,
        /// How many bytes one file may have.
        limit: u64,
    },
    /// All files together are bigger than may be unpacked.
    #[error(
        "with it the image's files have more than the {limit} bytes that may be unpacked; if the image is trusted, ask for a smaller one"
    )]
    TotalTooBig {
        /// How many bytes all files may have.
        limit: u64,
    },
    /// The paths of all entries are together more than fits into memory.
    #[error("the paths of the image's files are together longer than {limit} bytes; don't use this image")]
    TooManyNames {
        /// How many bytes there may be.
        limit: usize,
    },
    /// The content couldn't be read or kept.
    #[error("{0}; check the disk and try again")]
    Stream(io::Error),
}
