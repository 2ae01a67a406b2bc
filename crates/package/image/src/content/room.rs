//! Making room: beyond the store's capacity, what was used least recently goes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::SystemTime;

use super::file_lock::{Kind, Wait, locked};
use super::pin::pinned;
use super::{ContentError, ContentStore, is_still_at};
use crate::digest::Digest;

/// After writing which part of the free room a process counts again what is there: so many processes can fill one store
/// side by side, each knowing only of its own writes in between, without going beyond the capacity.
const SHARE_OF_FREE_ROOM: u64 = 8;

/// What this process knows of how full the store is.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// How many more bytes may be committed before the store is counted again.
    until_recount: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kept {
    /// Nobody reads these any more, so they go first.
    Aside,
    Partial,
    Blob,
}

struct Entry {
    kept: Kept,
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

/// Counts a new blob, and makes room when the store has become too full; the new blob, which is pinned, stays.
pub(super) fn note_commit(store: &ContentStore, size: u64) -> Result<(), ContentError> {
    let mut usage = store.inner.usage.lock().unwrap_or_else(PoisonError::into_inner);
    if size < usage.until_recount {
        usage.until_recount -= size;
        return Ok(());
    }
    let used = make_room(store).map_err(|source| ContentError::Io {
        path: store.root().to_path_buf(),
        action: "make room in the content store",
        source,
    })?;
    usage.until_recount = store.capacity().saturating_sub(used) / SHARE_OF_FREE_ROOM;
    Ok(())
}

/// The digests and sizes of all blobs, sorted by digest.
pub(super) fn blobs(store: &ContentStore) -> Result<Vec<(Digest, u64)>, ContentError> {
    let folder = store.root().join("blobs/sha256");
    let mut entries = Vec::new();
    scan(&folder, Kept::Blob, &mut entries).map_err(|source| ContentError::Io {
        path: folder,
        action: "list",
        source,
    })?;
    let mut blobs: Vec<_> = entries
        .iter()
        .filter_map(|entry| Some((digest_of(&entry.path)?, entry.size)))
        .collect();
    blobs.sort_unstable();
    Ok(blobs)
}

/// Removes what was used least recently until the store is within its capacity, and returns how many bytes are left.
fn make_room(store: &ContentStore) -> io::Result<u64> {
    let _lock = locked(&store.root().join("lock"), Kind::Exclusive, Wait::Yes)?;
    let pinned = pinned(store)?;
    let mut entries = Vec::new();
    scan(&store.root().join("aside"), Kept::Aside, &mut entries)?;
    scan(&store.root().join("partial"), Kept::Partial, &mut entries)?;
    scan(&store.root().join("blobs/sha256"), Kept::Blob, &mut entries)?;
    entries.sort_by(|a, b| {
        let order = |entry: &Entry| (entry.kept != Kept::Aside, entry.used);
        order(a).cmp(&order(b)).then_with(|| a.path.cmp(&b.path))
    });
    let mut used = entries
        .iter()
        .fold(0_u64, |sum, entry| sum.saturating_add(entry.size));
    for entry in &entries {
        let too_full = used > store.capacity();
        let removed = match entry.kept {
            Kept::Aside => too_full && remove(&entry.path)?,
            Kept::Partial => (too_full || is_orphan(&entry.path)) && remove_unless_written(&entry.path)?,
            Kept::Blob => {
                let is_free = digest_of(&entry.path).is_some_and(|digest| !pinned.contains(&digest));
                too_full && is_free && remove(&entry.path)?
            }
        };
        if removed {
            used = used.saturating_sub(entry.size);
        }
    }
    Ok(used)
}

/// Content without a name can be continued by nobody but its writer.
fn is_orphan(path: &Path) -> bool {
    digest_of(path).is_none()
}

fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a partial that nobody holds the lock of.
fn remove_unless_written(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if file.try_lock().is_err() || !is_still_at(&file, path)? {
        return Ok(false);
    }
    remove(path)
}

fn scan(folder: &Path, kept: Kept, entries: &mut Vec<Entry>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            // Another process has removed or committed it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if metadata.is_file() {
            entries.push(Entry {
                kept,
                path: entry.path(),
                size: metadata.len(),
                used: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            });
        }
    }
    Ok(())
}

fn digest_of(path: &Path) -> Option<Digest> {
    let name = path.file_name().and_then(OsStr::to_str)?;
    format!("sha256:{name}").parse().ok()
}
