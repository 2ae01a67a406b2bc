//! Blobs whose bytes no longer have their digest: found while reading, and set aside.

use std::fs::{self, File};
use std::io::{self, Read};

use super::file_lock::{Kind, Wait, locked};
use super::{ContentError, ContentStore, is_still_at};
use crate::digest::{Digest, Hasher};

/// How many bytes are read at a time to verify what the reader of a blob left over.
const REST_BYTES: usize = 64 << 10;

/// A blob that is verified while it is read: the read that reaches the end fails when the digest is another.
pub struct VerifiedBlob {
    store: ContentStore,
    digest: Digest,
    file: File,
    hasher: Option<Hasher>,
}

impl VerifiedBlob {
    pub(super) fn new(store: ContentStore, digest: Digest, file: File) -> Self {
        Self {
            store,
            digest,
            file,
            hasher: Some(Hasher::new()),
        }
    }

    /// The size of the blob in bytes.
    pub fn size(&self) -> Result<u64, ContentError> {
        let metadata = self.file.metadata().map_err(|source| ContentError::Io {
            path: self.store.blob_path(&self.digest),
            action: "read",
            source,
        })?;
        Ok(metadata.len())
    }

    /// Reads what is left, so that the whole blob is verified however much of it was wanted.
    pub fn finish(&mut self) -> io::Result<()> {
        let mut rest = vec![0; REST_BYTES];
        loop {
            match self.read(&mut rest) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn verify(&mut self) -> io::Result<()> {
        let Some(found) = self.hasher.take().map(Hasher::finish) else {
            return Ok(());
        };
        if found == self.digest {
            return Ok(());
        }
        Err(set_aside(&self.store, &self.digest, found, &self.file).into())
    }
}

impl Read for VerifiedBlob {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        match &mut self.hasher {
            Some(hasher) if read > 0 => hasher.update(buffer.get(..read).unwrap_or_default()),
            _ if read == 0 && !buffer.is_empty() => self.verify()?,
            _ => {}
        }
        Ok(read)
    }
}

/// Moves the blob that `file` was opened from out of the way, unless a good one has taken its place meanwhile.
fn set_aside(store: &ContentStore, digest: &Digest, found: Digest, file: &File) -> ContentError {
    let blob = store.blob_path(digest);
    let aside = store.root().join("aside").join(digest.hex());
    let moved = locked(&store.root().join("lock"), Kind::Exclusive, Wait::Yes).and_then(|_lock| {
        if is_still_at(file, &blob)? {
            fs::rename(&blob, &aside)?;
        }
        Ok(())
    });
    match moved {
        Ok(()) => ContentError::Damaged {
            store: store.root().to_path_buf(),
            digest: *digest,
            found,
            aside,
        },
        Err(source) => ContentError::Io {
            path: blob,
            action: "set aside the damaged blob",
            source,
        },
    }
}
