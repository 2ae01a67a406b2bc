//! Uploads that aren't finished: sessions whose bytes lie on disk, so that they outlive the process.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedMutexGuard;
use uuid::Uuid;

use super::content_digest::{Algorithm, ContentDigest, ContentHasher};
use super::durable::if_present;
use super::names::RepositoryName;

/// How many uploads may be unfinished: each holds a folder on disk until it is finished, cancelled or too old.
pub const MAX_UPLOAD_SESSIONS: usize = 1000;

/// How long an upload may rest before it is thrown away: a client that was cut off comes back sooner.
pub const MAX_UPLOAD_AGE: Duration = Duration::from_hours(24);

/// What a session's file says; the bytes lie beside it.
#[derive(Serialize, Deserialize)]
struct SessionRecord {
    repository: String,
    algorithm: Algorithm,
}

/// An unfinished upload.
#[derive(Debug)]
pub(super) struct Upload {
    id: Uuid,
    repository: RepositoryName,
    folder: PathBuf,
    written: AtomicU64,
    progress: Arc<tokio::sync::Mutex<Progress>>,
}

/// What only the one who writes may touch.
#[derive(Debug)]
struct Progress {
    algorithm: Algorithm,
    /// The digest of the bytes so far; nothing after a restart, when the bytes on disk are read again at the end.
    hasher: Option<ContentHasher>,
}

impl std::fmt::Debug for ContentHasher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ContentHasher({} bytes)", self.bytes())
    }
}

impl Upload {
    /// The session's name in addresses.
    pub(super) fn id(&self) -> Uuid {
        self.id
    }

    /// How many bytes have arrived.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn has_rested_for(&self, age: Duration) -> bool {
        let metadata = if_present(fs::metadata(self.data()));
        match metadata.and_then(|found| found.map(|found| found.modified()).transpose()) {
            Ok(Some(modified)) => SystemTime::now()
                .duration_since(modified)
                .is_ok_and(|resting| resting >= age),
            // Without its bytes it can never be finished. One that is just being made gets its record after them.
            Ok(None) => self.folder.join("session").exists(),
            Err(_) => false,
        }
    }

    /// Opens the upload for writing; nothing if another request is writing to it.
    pub(super) fn try_write(self: &Arc<Self>) -> Option<io::Result<UploadWriter>> {
        let progress = Arc::clone(&self.progress).try_lock_owned().ok()?;
        Some(UploadWriter::open(Arc::clone(self), progress))
    }
}

/// The one writer of an upload.
///
/// It holds the session's lock and moves with it into the thread that writes: when a client goes away in the middle,
/// what was being written is finished before anyone else may write.
#[derive(Debug)]
pub(super) struct UploadWriter {
    upload: Arc<Upload>,
    progress: OwnedMutexGuard<Progress>,
    file: File,
    start: u64,
    offset: u64,
}

impl UploadWriter {
    fn open(upload: Arc<Upload>, mut progress: OwnedMutexGuard<Progress>) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).open(upload.data())?;
        let offset = file.metadata()?.len();
        if progress
            .hasher
            .as_ref()
            .is_some_and(|hasher| hasher.bytes() != offset)
        {
            progress.hasher = None;
        }
        if offset == 0 {
            progress.hasher = Some(ContentHasher::new(progress.algorithm));
        }
        upload.written.store(offset, Ordering::Release);
        Ok(Self {
            upload,
            progress,
            file,
            start: offset,
            offset,
        })
    }

    /// Where the next byte goes.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Appends pieces; when that fails, the upload is again as it was when it was opened.
    pub(super) fn append(&mut self, pieces: &[Bytes]) -> io::Result<()> {
        for piece in pieces {
            if let Err(error) = self.file.write_all(piece) {
                self.roll_back();
                return Err(error);
            }
            if let Some(hasher) = &mut self.progress.hasher {
                hasher.update(piece);
            }
            self.offset += piece.len() as u64;
        }
        self.upload.written.store(self.offset, Ordering::Release);
        Ok(())
    }

    /// Takes back what was appended since the upload was opened.
    pub(super) fn roll_back(&mut self) {
        self.progress.hasher = None;
        // When even that fails, the next writer goes on from the length that the file then has.
        let _ = self.file.set_len(self.start);
        self.offset = self.file.metadata().map_or(self.start, |metadata| metadata.len());
        self.upload.written.store(self.offset, Ordering::Release);
    }

    /// Makes what was appended survive a power failure.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let synced = self.file.sync_data();
        if synced.is_err() {
            self.roll_back();
        }
        synced
    }

    /// The digest of everything that was uploaded, and the file that holds it. The session stays locked until the
    /// result is dropped.
    pub(super) fn finish(mut self, algorithm: Algorithm) -> io::Result<FinishedUpload> {
        self.file.sync_all()?;
        let running = self
            .progress
            .hasher
            .take()
            .filter(|hasher| hasher.algorithm() == algorithm && hasher.bytes() == self.offset);
        let digest = match running {
            Some(hasher) => hasher.finish(),
            None => ContentDigest::of_reader(algorithm, File::open(self.upload.data())?)?,
        };
        Ok(FinishedUpload { digest, writer: self })
    }
}

/// An upload whose bytes are all there and synced.
#[derive(Debug)]
pub(super) struct FinishedUpload {
    digest: ContentDigest,
    writer: UploadWriter,
}

impl FinishedUpload {
    /// The digest that the bytes have.
    pub(super) fn digest(&self) -> &ContentDigest {
        &self.digest
    }

    /// The file with the bytes.
    pub(super) fn file(&self) -> PathBuf {
        self.writer.upload.data()
    }
}

/// All unfinished uploads of a registry.
#[derive(Debug)]
pub(super) struct Uploads {
    folder: PathBuf,
    sessions: Mutex<HashMap<Uuid, Arc<Upload>>>,
}

impl Uploads {
    /// Finds the uploads that an earlier process left in `folder`, and removes what is too old or damaged.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let uploads = Self {
            folder: folder.to_path_buf(),
            sessions: Mutex::new(HashMap::new()),
        };
        for name in super::durable::names_in(folder)? {
            let path = folder.join(&name);
            match uploads.restore(&name, &path) {
                Some(upload) => {
                    uploads.lock().insert(upload.id, Arc::new(upload));
                }
                None => fs::remove_dir_all(&path)?,
            }
        }
        uploads.expire(MAX_UPLOAD_AGE);
        Ok(uploads)
    }

    fn restore(&self, name: &str, folder: &Path) -> Option<Upload> {
        let id = Uuid::parse_str(name).ok()?;
        let record: SessionRecord = serde_json::from_slice(&fs::read(folder.join("session")).ok()?).ok()?;
        let repository = RepositoryName::parse(&record.repository).ok()?;
        let length = fs::metadata(folder.join("data")).ok()?.len();
        Some(self.upload(id, repository, record.algorithm, length))
    }

    fn upload(&self, id: Uuid, repository: RepositoryName, algorithm: Algorithm, length: u64) -> Upload {
        Upload {
            id,
            repository,
            folder: self.folder.join(id.to_string()),
            written: AtomicU64::new(length),
            progress: Arc::new(tokio::sync::Mutex::new(Progress {
                algorithm,
                hasher: None,
            })),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<Upload>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an upload; nothing when too many are unfinished.
    pub(super) fn begin(
        &self,
        repository: &RepositoryName,
        algorithm: Algorithm,
    ) -> io::Result<Option<Arc<Upload>>> {
        let id = Uuid::new_v4();
        let upload = Arc::new(self.upload(id, repository.clone(), algorithm, 0));
        {
            let mut sessions = self.lock();
            if sessions.len() >= MAX_UPLOAD_SESSIONS {
                return Ok(None);
            }
            sessions.insert(id, Arc::clone(&upload));
        }
        let record = SessionRecord {
            repository: repository.to_string(),
            algorithm,
        };
        // Without syncing: a session that a power failure tears is one that the client begins again.
        let created = fs::create_dir(&upload.folder)
            .and_then(|()| File::create_new(upload.data()).map(drop))
            .and_then(|()| fs::write(upload.folder.join("session"), serde_json::to_vec(&record)?));
        if let Err(error) = created {
            self.discard(&upload);
            return Err(error);
        }
        Ok(Some(upload))
    }

    /// The upload with this name, if it belongs to the repository.
    pub(super) fn find(&self, repository: &RepositoryName, id: Uuid) -> Option<Arc<Upload>> {
        let upload = self.lock().get(&id).cloned();
        upload.filter(|upload| upload.repository == *repository)
    }

    /// Throws an upload away. What can't be removed now is removed at the next start.
    pub(super) fn discard(&self, upload: &Upload) {
        self.lock().remove(&upload.id);
        // The record first: a folder without it is never taken up again.
        let _ = fs::remove_file(upload.folder.join("session"));
        let _ = fs::remove_dir_all(&upload.folder);
    }

    /// Throws away the uploads that nobody has written to for `age`; returns how many.
    pub(super) fn expire(&self, age: Duration) -> usize {
        let all: Vec<Arc<Upload>> = self.lock().values().cloned().collect();
        let mut expired = 0;
        for upload in all {
            // The lock only for those that seem to go: a client that came at that moment would be turned away.
            if upload.has_rested_for(age)
                && let Ok(_idle) = upload.progress.try_lock()
                && upload.has_rested_for(age)
            {
                self.discard(&upload);
                expired += 1;
            }
        }
        expired
    }
}
