//! Writing a blob: in pieces, over several attempts, visible only when it is whole and right.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;

use super::file_lock::{Kind, Wait, locked};
use super::{ContentError, ContentStore, Pin, room, touch};
use crate::digest::{Digest, Hasher};

/// How many bytes of a partial are read at a time when its digest is computed anew.
const REHASH_BYTES: usize = 128 << 10;

/// A blob that is being written; nobody sees it before [`Ingest::commit`].
///
/// Dropped without a commit, the bytes of a blob with a known digest stay and are continued by the next
/// [`ContentStore::ingest`], in this process or another.
pub struct Ingest {
    store: ContentStore,
    expected: Option<Digest>,
    size: Option<u64>,
    offset: u64,
    /// Absent when the store has the blob already.
    partial: Option<Partial>,
}

struct Partial {
    file: File,
    path: PathBuf,
    hasher: Hasher,
}

impl Ingest {
    /// Returns nothing when somebody else writes the same blob and `wait` says no.
    pub(super) fn named(
        store: &ContentStore,
        digest: &Digest,
        size: Option<u64>,
        wait: Wait,
    ) -> Result<Option<Self>, ContentError> {
        let mut ingest = Self {
            store: store.clone(),
            expected: Some(*digest),
            size,
            offset: 0,
            partial: None,
        };
        if let Some(size) = size {
            ingest.check_capacity(size)?;
        }
        if ingest.is_present(digest)? {
            return Ok(Some(ingest));
        }
        let path = store.partial_path(&digest.hex());
        let failed = |action| {
            let path = path.clone();
            move |source| ContentError::Io { path, action, source }
        };
        let Some(file) = locked(&path, Kind::Exclusive, wait).map_err(failed("lock"))? else {
            return Ok(None);
        };
        // Whoever held the lock before may have finished the blob.
        if ingest.is_present(digest)? {
            let _ = fs::remove_file(&path);
            return Ok(Some(ingest));
        }
        let mut partial = Partial {
            file,
            path: path.clone(),
            hasher: Hasher::new(),
        };
        ingest.offset = partial.rehash().map_err(failed("read"))?;
        ingest.partial = Some(partial);
        if ingest.offset > size.unwrap_or(u64::MAX) {
            ingest.restart()?;
        }
        Ok(Some(ingest))
    }

    pub(super) fn unnamed(store: &ContentStore) -> Result<Self, ContentError> {
        let path = store.partial_path(&format!("unnamed-{}", uuid::Uuid::new_v4().simple()));
        let file = locked(&path, Kind::Exclusive, Wait::Yes)
            .and_then(|file| file.ok_or_else(|| io::Error::from(io::ErrorKind::WouldBlock)))
            .map_err(|source| ContentError::Io {
                path: path.clone(),
                action: "create",
                source,
            })?;
        Ok(Self {
            store: store.clone(),
            expected: None,
            size: None,
            offset: 0,
            partial: Some(Partial {
                file,
                path,
                hasher: Hasher::new(),
            }),
        })
    }

    /// How many bytes are there already: writing goes on from here.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns whether nothing needs to be written any more, because the store has the blob or all its bytes.
    pub fn is_complete(&self) -> bool {
        self.partial.is_none() || self.size == Some(self.offset)
    }

    /// Throws away what has been written, to begin again at offset 0.
    pub fn restart(&mut self) -> Result<(), ContentError> {
        let Some(partial) = &mut self.partial else {
            return Ok(());
        };
        partial
            .file
            .set_len(0)
            .and_then(|()| partial.file.rewind())
            .map_err(|source| ContentError::Io {
                path: partial.path.clone(),
                action: "empty",
                source,
            })?;
        partial.hasher = Hasher::new();
        self.offset = 0;
        Ok(())
    }

    /// Verifies what was written and makes it a blob of the store, so that a crash finds either all of it or nothing.
    pub fn commit(self) -> Result<Digest, ContentError> {
        self.commit_pinned().map(|(digest, _)| digest)
    }

    /// Commits the blob so that it is pinned from the first moment.
    pub fn commit_pinned(mut self) -> Result<(Digest, Pin), ContentError> {
        let Some(partial) = self.partial.take() else {
            let digest = self.expected.ok_or_else(|| ContentError::Io {
                path: self.store.root().to_path_buf(),
                action: "finish a blob in",
                source: io::ErrorKind::Unsupported.into(),
            })?;
            return self.store.pin(&digest).map(|pin| (digest, pin));
        };
        let Partial { file, path, hasher } = partial;
        let found = hasher.finish();
        let digest = self.expected.unwrap_or(found);
        let discarded = |error| {
            // The partial can never become the blob, so that continuing it would fail forever.
            let _ = fs::remove_file(&path);
            Err(error)
        };
        match self.size {
            // Too short: more bytes may still follow in another attempt.
            Some(expected) if self.offset < expected => {
                return Err(ContentError::WrongSize {
                    digest,
                    expected,
                    found: self.offset,
                });
            }
            _ if digest != found => {
                return discarded(ContentError::WrongDigest {
                    expected: digest,
                    found,
                });
            }
            _ => {}
        }
        let pin = self.store.pin(&digest)?;
        if self.is_present(&digest)? {
            let _ = fs::remove_file(&path);
            return Ok((digest, pin));
        }
        if self.store.is_durable()
            && let Err(error) = file.sync_all()
        {
            if self.expected.is_none() {
                let _ = fs::remove_file(&path);
            }
            return Err(self.write_error(error, 0));
        }
        touch(&file);
        let target = self.store.blob_path(&digest);
        fs::rename(&path, &target).map_err(|source| ContentError::Io {
            path: target,
            action: "move a blob to",
            source,
        })?;
        if self.store.is_durable() {
            let folder = self.store.root().join("blobs/sha256");
            File::open(&folder)
                .and_then(|folder| folder.sync_all())
                .map_err(|source| ContentError::Io {
                    path: folder,
                    action: "sync",
                    source,
                })?;
        }
        room::note_commit(&self.store, self.offset)?;
        Ok((digest, pin))
    }

    /// Notes that the store has the blob, if so.
    fn is_present(&mut self, digest: &Digest) -> Result<bool, ContentError> {
        match self.store.open_blob(digest) {
            Ok(file) => {
                self.offset = file.metadata().map_or(0, |metadata| metadata.len());
                Ok(true)
            }
            Err(ContentError::Missing { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn check_capacity(&self, size: u64) -> Result<(), ContentError> {
        if size <= self.store.capacity() {
            return Ok(());
        }
        Err(ContentError::BeyondCapacity {
            store: self.store.root().to_path_buf(),
            blob: self.in_words(),
            size,
            capacity: self.store.capacity(),
        })
    }

    fn in_words(&self) -> String {
        match &self.expected {
            Some(digest) => format!("blob {digest}"),
            None => "a new blob".to_owned(),
        }
    }

    fn write_error(&self, source: io::Error, at_hand: usize) -> ContentError {
        match source.kind() {
            // A file may also be larger than what the process or the file system takes.
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                ContentError::DiskFull {
                    store: self.store.root().to_path_buf(),
                    blob: self.in_words(),
                    needed: self
                        .size
                        .map_or(at_hand as u64, |size| size.saturating_sub(self.offset))
                        .max(1),
                    source,
                }
            }
            _ => ContentError::Io {
                path: self.store.root().to_path_buf(),
                action: "write a blob to",
                source,
            },
        }
    }
}

impl Write for Ingest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The store has the blob already, so whatever still comes is the same.
        if self.partial.is_none() {
            return Ok(bytes.len());
        }
        let end = self.offset.saturating_add(bytes.len() as u64);
        if let (Some(digest), Some(expected)) = (self.expected, self.size)
            && end > expected
        {
            return Err(ContentError::WrongSize {
                digest,
                expected,
                found: end,
            }
            .into());
        }
        self.check_capacity(end)?;
        let Some(partial) = &mut self.partial else {
            return Ok(bytes.len());
        };
        match partial.file.write(bytes) {
            Ok(written) => {
                partial.hasher.update(bytes.get(..written).unwrap_or(bytes));
                self.offset += written as u64;
                Ok(written)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => Err(self.write_error(error, bytes.len()).into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Ingest {
    fn drop(&mut self) {
        // Nothing can continue content without a name, and an empty partial is only litter.
        if let Some(partial) = &self.partial
            && (self.expected.is_none() || self.offset == 0)
        {
            let _ = fs::remove_file(&partial.path);
        }
    }
}

impl Partial {
    /// Computes the digest so far from the bytes that an earlier attempt left, and returns how many there are.
    fn rehash(&mut self) -> io::Result<u64> {
        let mut buffer = vec![0; REHASH_BYTES];
        let mut offset = 0;
        loop {
            match self.file.read(&mut buffer) {
                Ok(0) => return Ok(offset),
                Ok(read) => {
                    self.hasher.update(buffer.get(..read).unwrap_or_default());
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_a_full_disk(ingest: &mut Ingest) {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        ingest.partial.as_mut().unwrap().file = full;
    }

    #[test]
    fn a_full_disk_is_reported_with_what_is_needed_and_leaves_nothing_torn() {
        let store = ContentStore::temporary().unwrap();
        let content = b"more than fits";
        let digest = Digest::of(content);
        let mut ingest = store.ingest(&digest, Some(content.len() as u64)).unwrap();
        ingest.write_all(&content[..4]).unwrap();
        on_a_full_disk(&mut ingest);
        let error = ingest.write_all(&content[4..]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let text = error
            .to_string()
            .replace(&*store.root().to_string_lossy(), "<store>");
        assert_eq!(
            text,
            format!(
                "no space left for blob {digest} in the content store <store>: at least 10 more bytes are needed; free \
                 them on that disk or move the store to another, then try again"
            )
        );
        drop(ingest);
        assert!(!store.contains(&digest));

        let mut ingest = store.ingest(&digest, Some(content.len() as u64)).unwrap();
        assert_eq!(ingest.offset(), 4);
        ingest.write_all(&content[4..]).unwrap();
        assert_eq!(ingest.commit().unwrap(), digest);
        assert_eq!(store.read(&digest, 100).unwrap(), content);
    }

    #[test]
    fn content_without_a_name_leaves_nothing_on_a_full_disk() {
        let store = ContentStore::temporary().unwrap();
        let mut ingest = store.ingest_unnamed().unwrap();
        ingest.write_all(b"some").unwrap();
        on_a_full_disk(&mut ingest);
        assert_eq!(
            ingest.write_all(b"more").unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
        drop(ingest);
        assert_eq!(fs::read_dir(store.root().join("partial")).unwrap().count(), 0);
        assert_eq!(store.blobs().unwrap(), []);
    }
}
