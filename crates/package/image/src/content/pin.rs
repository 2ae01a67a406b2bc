//! Pins: blobs that are in use and therefore stay.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{ContentError, ContentStore, MAX_LOCK_ATTEMPTS, is_still_at};
use crate::digest::Digest;

/// Keeps a blob in the store while it lives; clones share the pin.
#[derive(Debug, Clone)]
pub struct Pin {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    digest: Digest,
    path: PathBuf,
    file: File,
    /// A temporary store's directory must outlive what is pinned in it.
    _store: ContentStore,
}

impl Pin {
    pub(super) fn new(store: &ContentStore, digest: &Digest) -> Result<Self, ContentError> {
        let path = path(store, digest);
        let file = locked(&path, Kind::Shared, Wait::Yes)
            .and_then(|file| file.ok_or_else(|| io::Error::from(io::ErrorKind::WouldBlock)))
            .map_err(|source| ContentError::Io {
                path: path.clone(),
                action: "lock",
                source,
            })?;
        Ok(Self {
            held: Arc::new(Held {
                digest: *digest,
                path,
                file,
                _store: store.clone(),
            }),
        })
    }

    /// The blob that is kept.
    pub fn digest(&self) -> &Digest {
        &self.held.digest
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // The last one out removes the lock file. Who opened it meanwhile sees that it is gone and makes a new one.
        if self.file.try_lock().is_ok() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Runs `evict` if nobody pins the blob, while nobody can pin it; returns nothing when somebody does.
pub(super) fn unless_pinned<T>(
    store: &ContentStore,
    digest: &Digest,
    evict: impl FnOnce() -> io::Result<T>,
) -> io::Result<Option<T>> {
    let path = path(store, digest);
    let Some(_lock) = locked(&path, Kind::Exclusive, Wait::No)? else {
        return Ok(None);
    };
    let result = evict();
    let _ = fs::remove_file(&path);
    result.map(Some)
}

fn path(store: &ContentStore, digest: &Digest) -> PathBuf {
    store.root().join("pins").join(digest.hex())
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Shared,
    Exclusive,
}

/// Whether to wait for a lock that somebody else holds.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Wait {
    Yes,
    No,
}

/// Opens or creates the file at `path` and locks it, or returns nothing when it is locked and `wait` says no.
///
/// Files that serve as locks here are also renamed and removed, so between opening and locking the path may have come
/// to name another file; then that one is locked instead.
pub(super) fn locked(path: &Path, kind: Kind, wait: Wait) -> io::Result<Option<File>> {
    for _ in 0..MAX_LOCK_ATTEMPTS {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        if !lock(&file, kind, wait)? {
            return Ok(None);
        }
        if is_still_at(&file, path)? {
            return Ok(Some(file));
        }
    }
    Err(io::Error::other("another process replaces it all the time"))
}

fn lock(file: &File, kind: Kind, wait: Wait) -> io::Result<bool> {
    loop {
        let outcome = match (kind, wait) {
            (Kind::Shared, Wait::Yes) => file.lock_shared().map_err(TryLockError::Error),
            (Kind::Shared, Wait::No) => file.try_lock_shared(),
            (Kind::Exclusive, Wait::Yes) => file.lock().map_err(TryLockError::Error),
            (Kind::Exclusive, Wait::No) => file.try_lock(),
        };
        return match outcome {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(TryLockError::Error(error)) => Err(error),
        };
    }
}
