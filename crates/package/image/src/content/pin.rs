//! Pins: blobs that are in use and therefore stay.
//!
//! A process notes its pins in one file of its own, of which it holds the lock: `+<hex>` for a blob that it pins, and
//! `-<hex>` for one that it no longer does. Without the lock the process is gone, and its pins with it.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use super::file_lock::{Kind, Wait, locked};
use super::{ContentError, ContentStore, is_still_at};
use crate::digest::Digest;

/// Keeps a blob in the store while it lives; clones share the pin.
#[derive(Debug, Clone)]
pub struct Pin {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    digest: Digest,
    store: ContentStore,
}

/// The pins of this process.
#[derive(Debug, Default)]
pub(super) struct Pins {
    counts: HashMap<Digest, usize>,
    /// Where they are noted for other processes; absent while there are none.
    notes: Option<Notes>,
}

#[derive(Debug)]
struct Notes {
    path: PathBuf,
    file: File,
}

impl Pin {
    pub(super) fn new(store: &ContentStore, digest: &Digest) -> Result<Self, ContentError> {
        let mut pins = store.inner.pins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = pins.counts.get_mut(digest) {
            *count += 1;
        } else {
            pins.note(store, digest).map_err(|source| ContentError::Io {
                path: store.root().join("pins"),
                action: "pin a blob in",
                source,
            })?;
            pins.counts.insert(*digest, 1);
        }
        Ok(Self {
            held: Arc::new(Held {
                digest: *digest,
                store: store.clone(),
            }),
        })
    }

    /// The blob that is kept.
    pub fn digest(&self) -> &Digest {
        &self.held.digest
    }
}

impl Pins {
    fn note(&mut self, store: &ContentStore, digest: &Digest) -> io::Result<()> {
        // Whoever makes room holds this lock alone, so a blob is either pinned before that or looked for after it.
        let _lock = locked(&store.root().join("lock"), Kind::Shared, Wait::Yes)?;
        let notes = match &mut self.notes {
            Some(notes) => notes,
            None => self.notes.insert(Notes::new(store)?),
        };
        // One call, so that no reader sees half of it unless the disk is full, and then the pin fails.
        notes.file.write_all(format!("+{}\n", digest.hex()).as_bytes())
    }

    fn release(&mut self, digest: &Digest) {
        match self.counts.get_mut(digest) {
            Some(count) if *count > 1 => {
                *count -= 1;
                return;
            }
            _ => {
                self.counts.remove(digest);
            }
        }
        if self.counts.is_empty() {
            if let Some(notes) = self.notes.take() {
                let _ = fs::remove_file(&notes.path);
            }
        } else if let Some(notes) = &mut self.notes {
            // At worst the blob stays until the process ends.
            let _ = notes.file.write_all(format!("-{}\n", digest.hex()).as_bytes());
        }
    }
}

impl Notes {
    fn new(store: &ContentStore) -> io::Result<Self> {
        let path = store
            .root()
            .join("pins")
            .join(uuid::Uuid::new_v4().simple().to_string());
        let file = locked(&path, Kind::Exclusive, Wait::Yes)?.ok_or(io::ErrorKind::WouldBlock)?;
        Ok(Self { path, file })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let pins = &self.store.inner.pins;
        pins.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .release(&self.digest);
    }
}

/// What any process pins; notes of processes that are gone are removed. Whoever asks holds the store's lock alone.
pub(super) fn pinned(store: &ContentStore) -> io::Result<HashSet<Digest>> {
    let mut pinned = HashSet::new();
    for entry in fs::read_dir(store.root().join("pins"))? {
        let path = entry?.path();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if file.try_lock().is_ok() {
            if is_still_at(&file, &path)? {
                fs::remove_file(&path)?;
            }
            continue;
        }
        let mut own = HashSet::new();
        for line in io::read_to_string(&file)?.lines() {
            let digest = |hex: &str| format!("sha256:{hex}").parse::<Digest>().ok();
            if let Some(digest) = line.strip_prefix('+').and_then(digest) {
                own.insert(digest);
            } else if let Some(digest) = line.strip_prefix('-').and_then(digest) {
                own.remove(&digest);
            }
        }
        pinned.extend(own);
    }
    Ok(pinned)
}
