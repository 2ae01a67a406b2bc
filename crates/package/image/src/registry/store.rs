//! The registry's content on disk: blobs kept once, and what each repository has of them.
//!
//! Everything here blocks; the HTTP side calls it on threads for that. Writers exclude each other per repository, and
//! all of them hold the [`Store::gate`] shared, which the garbage collector takes alone while it removes.

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, SystemTime};

use super::content_digest::ContentDigest;
use super::durable::{self, if_present};
use super::layout::Layout;
use super::manifest::Role;
use super::names::{RepositoryName, Tag};

mod manifests;
mod names;

/// How many repositories can be written to at once; more only wait for each other.
const WRITER_LOCKS: usize = 64;

/// How long the mark of a blob isn't made young again after it was: asking for a blob often shouldn't write often.
const LEASE_RENEWAL: Duration = Duration::from_mins(1);

/// Why content wasn't stored, read or removed.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    /// The disk refused; a full one also ends here.
    #[error("cannot {action}: {source}")]
    Disk {
        /// What was being done.
        action: String,
        /// What the disk said.
        source: io::Error,
    },
    /// A manifest refers to content that its repository doesn't have.
    #[error("repository {repository} doesn't have {} of the manifest's parts", descriptors.len())]
    Missing {
        /// The repository that it was pushed to.
        repository: RepositoryName,
        /// What is missing.
        descriptors: Vec<MissingPart>,
    },
    /// A manifest says another size of its part than the part has.
    #[error(
        "the manifest says that {digest} has {said} bytes, but it has {stored}: build the manifest again"
    )]
    WrongSize {
        /// The part.
        digest: ContentDigest,
        /// What the manifest says.
        said: u64,
        /// What is stored.
        stored: u64,
    },
    /// The tag stands for something else and this registry doesn't move tags.
    #[error(
        "tag {tag} is published as {current} and this registry doesn't change what is published: push {pushed} under another tag"
    )]
    TagImmutable {
        /// The tag.
        tag: Tag,
        /// What it stands for.
        current: ContentDigest,
        /// What it was to stand for.
        pushed: ContentDigest,
    },
    /// The content is part of what a tag stands for and this registry doesn't remove what is published.
    #[error("{digest} is published as tag {tag} and this registry doesn't remove what is published")]
    Published {
        /// The content.
        digest: ContentDigest,
        /// A tag that needs it.
        tag: Tag,
    },
    /// A stored file isn't what the registry once wrote.
    #[error("the stored {what} of {digest} is damaged: push it again")]
    Damaged {
        /// What the file should be.
        what: &'static str,
        /// What it belongs to.
        digest: String,
    },
}

/// A part of a manifest that its repository doesn't have.
#[derive(Debug)]
pub(super) struct MissingPart {
    /// What it is for.
    pub role: Role,
    /// Its name.
    pub digest: ContentDigest,
}

/// Says what was being done when the disk failed.
pub(super) trait During<T> {
    /// Adds the action, in words that follow "cannot".
    fn during(self, action: impl FnOnce() -> String) -> Result<T, StoreError>;
}

impl<T> During<T> for io::Result<T> {
    fn during(self, action: impl FnOnce() -> String) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::Disk {
            action: action(),
            source,
        })
    }
}

/// A manifest with what is known about it.
#[derive(Debug)]
pub(super) struct StoredManifest {
    /// The name of its bytes.
    pub digest: ContentDigest,
    /// The kind that it was pushed as.
    pub media_type: String,
    /// Its bytes, as they were pushed.
    pub bytes: Vec<u8>,
}

/// A blob that can be read.
#[derive(Debug)]
pub(super) struct StoredBlob {
    /// The open file: it stays readable when the blob is removed.
    pub file: File,
    /// How long it is.
    pub size: u64,
}

/// The content of a registry.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) layout: Layout,
    tags_are_immutable: bool,
    gate: RwLock<()>,
    writers: Vec<Mutex<()>>,
    writer_choice: RandomState,
    /// What was referred to since a collection of garbage began; nothing while there is none.
    pub(super) meanwhile: Mutex<Option<HashSet<ContentDigest>>>,
}

impl Store {
    /// The store in a folder that was prepared for it.
    pub(super) fn new(layout: Layout, tags_are_immutable: bool) -> Self {
        Self {
            layout,
            tags_are_immutable,
            gate: RwLock::new(()),
            writers: (0..WRITER_LOCKS).map(|_| Mutex::new(())).collect(),
            writer_choice: RandomState::new(),
            meanwhile: Mutex::new(None),
        }
    }

    /// Held while something is added that the collector of garbage must not miss.
    fn adding(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held while the collector removes.
    pub(super) fn removing(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self, repository: &RepositoryName) -> Option<MutexGuard<'_, ()>> {
        let choice = self.writer_choice.hash_one(repository) as usize % WRITER_LOCKS;
        let writer = self.writers.get(choice)?;
        Some(writer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells a running collection that `digest` is used, also where it has looked already.
    fn note_use(&self, digest: &ContentDigest) {
        let mut meanwhile = self.meanwhile.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = &mut *meanwhile {
            used.insert(digest.clone());
        }
    }

    /// The blob, if the repository has it. Its lease is renewed, so that a client that was told of it can use it.
    pub(super) fn blob(
        &self,
        repository: &RepositoryName,
        digest: &ContentDigest,
    ) -> Result<Option<StoredBlob>, StoreError> {
        let action = || format!("read blob {digest} of {repository}");
        let _adding = self.adding();
        let member = self.layout.member(repository, digest);
        let Some(mark) = if_present(fs::metadata(&member)).during(action)? else {
            return Ok(None);
        };
        let Some(file) = if_present(File::open(self.layout.blob(digest))).during(action)? else {
            return Ok(None);
        };
        let size = file.metadata().during(action)?.len();
        let age = mark
            .modified()
            .ok()
            .and_then(|then| SystemTime::now().duration_since(then).ok());
        if age.is_none_or(|age| age > LEASE_RENEWAL) {
            // A disk that can't be written to can still be read from.
            let _ = durable::renew(&member);
        }
        Ok(Some(StoredBlob { file, size }))
    }

    /// Takes a file with verified and synced content as a blob of the repository.
    pub(super) fn adopt_blob(
        &self,
        repository: &RepositoryName,
        digest: &ContentDigest,
        file: &std::path::Path,
    ) -> Result<(), StoreError> {
        let action = || format!("store blob {digest} in {repository}");
        let _adding = self.adding();
        self.note_use(digest);
        // Also over a file that is there: should that one be damaged, this one is verified.
        durable::adopt(file, &self.layout.blob(digest)).during(action)?;
        durable::mark(&self.layout.member(repository, digest)).during(action)
    }

    /// Gives a blob of one repository to another; returns whether the first has it.
    pub(super) fn mount_blob(
        &self,
        from: &RepositoryName,
        into: &RepositoryName,
        digest: &ContentDigest,
    ) -> Result<bool, StoreError> {
        let action = || format!("mount blob {digest} from {from} into {into}");
        let _adding = self.adding();
        self.note_use(digest);
        let present = self.layout.member(from, digest).try_exists().during(action)?
            && self.layout.blob(digest).try_exists().during(action)?;
        if present {
            durable::mark(&self.layout.member(into, digest)).during(action)?;
        }
        Ok(present)
    }

    /// Takes a blob away from a repository; returns whether it had it. The bytes go with the next collection.
    pub(super) fn delete_blob(
        &self,
        repository: &RepositoryName,
        digest: &ContentDigest,
    ) -> Result<bool, StoreError> {
        let _adding = self.adding();
        let _writing = self.writing(repository);
        let member = self.layout.member(repository, digest);
        let action = || format!("delete blob {digest} of {repository}");
        if self.tags_are_immutable && member.try_exists().during(action)? {
            self.refuse_if_published(repository, digest)?;
        }
        durable::remove(&member).during(action)
    }
}
