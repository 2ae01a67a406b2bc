//! Locks on files: they belong to open files, so that the kernel drops them with their process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use super::{MAX_LOCK_ATTEMPTS, is_still_at};

/// Whether others may hold the same lock.
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
