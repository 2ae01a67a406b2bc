//! What can go wrong with stored content.

use std::io;
use std::path::{Path, PathBuf};

use crate::digest::Digest;

/// Why the content store couldn't do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The blob isn't in the store: it was never fetched, was evicted, or was set aside. Normal for a cache.
    #[error("blob {digest} is not in the content store {}: fetch or build its image again", store.display())]
    Missing {
        /// The store's directory.
        store: PathBuf,
        /// The blob that was asked for.
        digest: Digest,
    },
    /// The bytes on disk are not the ones that the blob is named after.
    #[error(
        "blob {digest} in the content store {} is damaged: its bytes have the digest {found}; it was set aside as {}, \
         fetch or build its image again",
        store.display(), aside.display()
    )]
    Damaged {
        /// The store's directory.
        store: PathBuf,
        /// The blob's name.
        digest: Digest,
        /// The digest of the bytes that were found.
        found: Digest,
        /// Where the damaged bytes are now.
        aside: PathBuf,
    },
    /// What was written doesn't have the digest that was promised; nothing of it was kept.
    #[error(
        "the content received for blob {expected} has the digest {found}; it was thrown away, fetch it again"
    )]
    WrongDigest {
        /// The digest that was promised.
        expected: Digest,
        /// The digest of what came.
        found: Digest,
    },
    /// What was written is longer or shorter than was promised.
    #[error(
        "the content received for blob {digest} is {found} bytes long instead of {expected}; fetch it again"
    )]
    WrongSize {
        /// The blob that was written.
        digest: Digest,
        /// The size that was promised.
        expected: u64,
        /// The size of what came; for content that is too long, the size at which it was cut off.
        found: u64,
    },
    /// A blob that should be read into memory is bigger than the reader allows.
    #[error(
        "blob {digest} is {size} bytes long, and at most {limit} are read here; it is not what the image says it is"
    )]
    TooLarge {
        /// The blob.
        digest: Digest,
        /// Its size.
        size: u64,
        /// How many bytes the reader allows.
        limit: u64,
    },
    /// One blob alone is bigger than the whole store may be.
    #[error(
        "{blob} needs {size} bytes or more, but the content store {} keeps at most {capacity}; raise the store's capacity",
        store.display()
    )]
    BeyondCapacity {
        /// The store's directory.
        store: PathBuf,
        /// The blob, in words.
        blob: String,
        /// The size that it has at least.
        size: u64,
        /// The store's capacity.
        capacity: u64,
    },
    /// The disk is full. Nothing torn was left; what has arrived of a named blob is continued next time.
    #[error(
        "no space left for {blob} in the content store {}: at least {needed} more bytes are needed; free them on that \
         disk or move the store to another, then try again",
        store.display()
    )]
    DiskFull {
        /// The store's directory.
        store: PathBuf,
        /// The blob, in words.
        blob: String,
        /// How many bytes are still to be written, as far as that is known.
        needed: u64,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The operating system refused something.
    #[error("cannot {action} {}: {source}; check that the directory exists and may be written", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried, as a verb.
        action: &'static str,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
}

impl ContentError {
    /// Takes back an error of the store that travelled through a [`std::io::Read`] or [`std::io::Write`].
    ///
    /// An error that isn't one becomes [`ContentError::Io`] with the given path and action.
    pub fn of_stream(error: io::Error, path: &Path, action: &'static str) -> Self {
        match error.downcast::<Self>() {
            Ok(own) => own,
            Err(source) => Self::Io {
                path: path.to_path_buf(),
                action,
                source,
            },
        }
    }
}

impl From<ContentError> for io::Error {
    fn from(error: ContentError) -> Self {
        let kind = match &error {
            ContentError::Missing { .. } => io::ErrorKind::NotFound,
            ContentError::DiskFull { .. } => io::ErrorKind::StorageFull,
            ContentError::BeyondCapacity { .. } | ContentError::TooLarge { .. } => {
                io::ErrorKind::FileTooLarge
            }
            ContentError::Damaged { .. }
            | ContentError::WrongDigest { .. }
            | ContentError::WrongSize { .. } => io::ErrorKind::InvalidData,
            ContentError::Io { source, .. } => source.kind(),
        };
        Self::new(kind, error)
    }
}
