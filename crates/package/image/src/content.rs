//! The content store: blobs on disk, each under the digest of its bytes.
//!
//! ```text
//! <root>/blobs/sha256/<hex>    whole blobs; only a rename puts one here, after its digest was verified and synced
//! <root>/partial/<hex>         what has arrived of a blob; the writer holds an exclusive lock on it
//! <root>/partial/unnamed-<id>  content whose digest is known only when it ends
//! <root>/pins/<id>             the blobs that one process keeps from being evicted; it holds the lock of the file
//! <root>/aside/<hex>           blobs whose bytes no longer have their digest, kept for whoever looks into it
//! <root>/lock                  held alone by who makes room, and together by who pins
//! ```
//!
//! Any number of processes may share a root. A process that is killed leaves at most a partial behind, which the next
//! one continues. Locks belong to open files, so the kernel drops them with their process.

mod damage;
mod error;
mod file_lock;
mod ingest;
mod pin;
mod room;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use crate::digest::Digest;

pub use damage::VerifiedBlob;
pub use error::ContentError;
pub use ingest::Ingest;
pub use pin::Pin;

/// How many bytes a store keeps when the user names no other number: room for dozens of operator images, and little
/// enough for the disk of a laptop or a node.
pub const DEFAULT_CAPACITY_BYTES: u64 = 20 << 30;

/// How often a lock file that others keep replacing is opened anew before that is reported instead of tried forever.
const MAX_LOCK_ATTEMPTS: usize = 1000;

/// A bounded store of blobs on disk, shared between threads (by cloning) and between processes (by its directory).
#[derive(Debug, Clone)]
pub struct ContentStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    capacity: u64,
    usage: Mutex<room::Usage>,
    pins: Mutex<pin::Pins>,
    /// Present for a store that goes away with its last user, which therefore needs no syncing either.
    temporary: Option<tempfile::TempDir>,
}

impl ContentStore {
    /// Opens the store at `root`, creating it when it isn't there; beyond `capacity_bytes` the least recently used
    /// blobs that nobody pins are removed.
    pub fn open(root: &Path, capacity_bytes: u64) -> Result<Self, ContentError> {
        Self::create(root.to_path_buf(), capacity_bytes, None)
    }

    /// Makes a store in a directory of its own, which is removed when the last clone is dropped.
    pub fn temporary() -> Result<Self, ContentError> {
        let directory = tempfile::tempdir().map_err(|source| ContentError::Io {
            path: std::env::temp_dir(),
            action: "create a directory in",
            source,
        })?;
        Self::create(directory.path().to_path_buf(), u64::MAX, Some(directory))
    }

    fn create(
        root: PathBuf,
        capacity: u64,
        temporary: Option<tempfile::TempDir>,
    ) -> Result<Self, ContentError> {
        let store = Self {
            inner: Arc::new(Inner {
                root,
                capacity,
                usage: Mutex::default(),
                pins: Mutex::default(),
                temporary,
            }),
        };
        for folder in ["blobs/sha256", "partial", "pins", "aside"] {
            let path = store.root().join(folder);
            fs::create_dir_all(&path).map_err(|source| ContentError::Io {
                path,
                action: "create",
                source,
            })?;
        }
        Ok(store)
    }

    /// The directory that the store is kept in.
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// Beyond how many bytes blobs are removed.
    pub fn capacity(&self) -> u64 {
        self.inner.capacity
    }

    /// Returns whether the blob is in the store; only a [`Pin`] makes sure that it stays there.
    pub fn contains(&self, digest: &Digest) -> bool {
        self.size(digest).is_some()
    }

    /// The size of a blob in bytes, if it is in the store.
    pub fn size(&self, digest: &Digest) -> Option<u64> {
        let metadata = fs::symlink_metadata(self.blob_path(digest)).ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    /// Opens a blob for reading; what is read from the file is not verified, see [`Self::open_verified`].
    ///
    /// An open file can be read to its end even when the blob is evicted meanwhile.
    pub fn open_blob(&self, digest: &Digest) -> Result<File, ContentError> {
        let path = self.blob_path(digest);
        let file = File::open(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => self.missing(digest),
            _ => ContentError::Io {
                path,
                action: "open",
                source,
            },
        })?;
        touch(&file);
        Ok(file)
    }

    /// Opens a blob so that reading it to the end fails when its bytes no longer have their digest.
    pub fn open_verified(&self, digest: &Digest) -> Result<VerifiedBlob, ContentError> {
        let file = self.open_blob(digest)?;
        Ok(VerifiedBlob::new(self.clone(), *digest, file))
    }

    /// Reads a blob through and verifies it, however long it is; a damaged one is set aside.
    pub fn verify(&self, digest: &Digest) -> Result<(), ContentError> {
        let verified = self.open_verified(digest)?.finish();
        verified.map_err(|error| ContentError::of_stream(error, &self.blob_path(digest), "read"))
    }

    /// Reads a whole blob of at most `limit` bytes and verifies it; a damaged one is set aside, so that it no longer
    /// counts as present and is fetched again.
    pub fn read(&self, digest: &Digest, limit: u64) -> Result<Vec<u8>, ContentError> {
        let mut blob = self.open_verified(digest)?;
        let size = blob.size()?;
        if size > limit {
            return Err(ContentError::TooLarge {
                digest: *digest,
                size,
                limit,
            });
        }
        let mut bytes = Vec::with_capacity(size as usize);
        // The file may grow while it is read; one more byte than was announced is enough to see that it is damaged.
        let read = (&mut blob).take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.and_then(|_| blob.finish())
            .map_err(|error| ContentError::of_stream(error, &self.blob_path(digest), "read"))?;
        Ok(bytes)
    }

    /// Puts bytes into the store and returns their digest.
    pub fn insert(&self, bytes: &[u8]) -> Result<Digest, ContentError> {
        let digest = Digest::of(bytes);
        let mut ingest = self.ingest(&digest, Some(bytes.len() as u64))?;
        if !ingest.is_complete() {
            ingest.restart()?;
            ingest
                .write_all(bytes)
                .map_err(|error| ContentError::of_stream(error, self.root(), "write to"))?;
        }
        ingest.commit()
    }

    /// Continues or starts writing the blob with this digest, waiting while anybody else writes the same one.
    ///
    /// The wait blocks the thread, and a thread that waits for its own other [`Ingest`] of the same blob waits forever.
    pub fn ingest(&self, digest: &Digest, size: Option<u64>) -> Result<Ingest, ContentError> {
        loop {
            if let Some(ingest) = Ingest::named(self, digest, size, file_lock::Wait::Yes)? {
                return Ok(ingest);
            }
        }
    }

    /// Continues or starts writing the blob with this digest, or returns nothing while anybody else writes it.
    pub fn try_ingest(&self, digest: &Digest, size: Option<u64>) -> Result<Option<Ingest>, ContentError> {
        Ingest::named(self, digest, size, file_lock::Wait::No)
    }

    /// Starts writing content whose digest is known only when it ends.
    pub fn ingest_unnamed(&self) -> Result<Ingest, ContentError> {
        Ingest::unnamed(self)
    }

    /// Keeps the blob from being evicted by any process while the pin lives; the blob may arrive later.
    pub fn pin(&self, digest: &Digest) -> Result<Pin, ContentError> {
        let pin = Pin::new(self, digest)?;
        if let Ok(file) = File::open(self.blob_path(digest)) {
            touch(&file);
        }
        Ok(pin)
    }

    /// The digests and sizes of all blobs, sorted by digest.
    pub fn blobs(&self) -> Result<Vec<(Digest, u64)>, ContentError> {
        room::blobs(self)
    }

    fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.root().join("blobs/sha256").join(digest.hex())
    }

    fn partial_path(&self, name: &str) -> PathBuf {
        self.root().join("partial").join(name)
    }

    fn missing(&self, digest: &Digest) -> ContentError {
        ContentError::Missing {
            store: self.root().to_path_buf(),
            digest: *digest,
        }
    }

    fn is_durable(&self) -> bool {
        self.inner.temporary.is_none()
    }
}

/// Notes that a blob was used; best effort, since a reader without the right to do so may still read.
fn touch(file: &File) {
    let _ = file.set_modified(SystemTime::now());
}

/// Returns whether `path` still names the open file, which others may have renamed or removed before it was locked.
fn is_still_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(named) => Ok(named.dev() == open.dev() && named.ino() == open.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
