//! The registry's content on disk: blobs kept once, and what each repository has of them.
//!
//! Everything here blocks; the HTTP side calls it on threads for that. Writers exclude each other per repository, and
//! all of them hold the [`Store::gate`] shared, which the garbage collector takes alone while it removes.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, SystemTime};

use super::content_digest::{Algorithm, ContentDigest};
use super::durable::{self, if_present};
use super::layout::Layout;
use super::manifest::{Descriptor, Manifest, Role, may_be_absent};
use super::names::{ManifestReference, RepositoryName, Tag};

/// How many repositories can be written to at once; more only wait for each other.
const WRITER_LOCKS: usize = 64;

/// How long the mark of a blob isn't made young again after it was: asking for a blob often shouldn't write often.
const LEASE_RENEWAL: Duration = Duration::from_secs(60);

/// Why content wasn't stored, read or removed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
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
pub struct MissingPart {
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

    // Blobs.

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

    // Manifests.

    /// The manifest that a tag or digest names, if the repository has it.
    pub(super) fn manifest(
        &self,
        repository: &RepositoryName,
        reference: &ManifestReference,
    ) -> Result<Option<StoredManifest>, StoreError> {
        let digest = match reference {
            ManifestReference::Digest(digest) => digest.clone(),
            ManifestReference::Tag(tag) => match self.tag(repository, tag)? {
                Some(digest) => digest,
                None => return Ok(None),
            },
        };
        let action = || format!("read manifest {digest} of {repository}");
        let record = self.layout.manifest(repository, &digest);
        let Some(media_type) = if_present(fs::read_to_string(record)).during(action)? else {
            return Ok(None);
        };
        let bytes = fs::read(self.layout.blob(&digest)).during(action)?;
        Ok(Some(StoredManifest {
            digest,
            media_type,
            bytes,
        }))
    }

    /// Stores a manifest and points the tags at it, all or, for a reason that can be seen before, nothing of it.
    pub(super) fn put_manifest(
        &self,
        repository: &RepositoryName,
        manifest: &Manifest,
        digest: &ContentDigest,
        bytes: &[u8],
        tags: &[Tag],
    ) -> Result<(), StoreError> {
        let action = || format!("store manifest {digest} in {repository}");
        let _adding = self.adding();
        let _writing = self.writing(repository);
        self.require_parts(repository, manifest)?;
        if self.tags_are_immutable {
            for tag in tags {
                self.refuse_to_move(repository, tag, digest)?;
            }
        }
        self.note_use(digest);
        for (_, part) in manifest.parts() {
            self.note_use(&part.digest);
        }
        let temporary = self.layout.temporary();
        let blob = self.layout.blob(digest);
        let stored = if_present(fs::read(&blob)).during(action)?;
        if stored.is_none_or(|stored| stored != bytes) {
            durable::replace(&temporary, &blob, bytes).during(action)?;
        }
        if let Some(subject) = &manifest.subject {
            let descriptor = manifest.descriptor(digest.clone(), bytes.len() as u64);
            let record = serde_json::to_vec(&descriptor)
                .map_err(io::Error::from)
                .during(action)?;
            let target = self.layout.referrer(repository, &subject.digest, digest);
            durable::replace(&temporary, &target, &record).during(action)?;
        }
        let record = self.layout.manifest(repository, digest);
        durable::replace(&temporary, &record, manifest.media_type.as_bytes()).during(action)?;
        for tag in tags {
            let target = self.layout.tag(repository, tag);
            durable::replace(&temporary, &target, digest.to_string().as_bytes())
                .during(|| format!("store tag {tag} of {repository}"))?;
        }
        Ok(())
    }

    fn require_parts(&self, repository: &RepositoryName, manifest: &Manifest) -> Result<(), StoreError> {
        let mut missing = Vec::new();
        for (role, part) in manifest.parts() {
            match self.part_size(repository, part)? {
                Some(size) if size == part.size => {}
                Some(stored) => {
                    return Err(StoreError::WrongSize {
                        digest: part.digest.clone(),
                        said: part.size,
                        stored,
                    });
                }
                None if may_be_absent(role, part) => {}
                None => missing.push(MissingPart {
                    role,
                    digest: part.digest.clone(),
                }),
            }
        }
        if missing.is_empty() {
            Ok(())
        } else {
            Err(StoreError::Missing {
                repository: repository.clone(),
                descriptors: missing,
            })
        }
    }

    /// The size of a part that the repository has, as a blob or as a manifest.
    fn part_size(&self, repository: &RepositoryName, part: &Descriptor) -> Result<Option<u64>, StoreError> {
        let action = || format!("look for {} in {repository}", part.digest);
        let known = self
            .layout
            .member(repository, &part.digest)
            .try_exists()
            .during(action)?
            || self
                .layout
                .manifest(repository, &part.digest)
                .try_exists()
                .during(action)?;
        if !known {
            return Ok(None);
        }
        let metadata = if_present(fs::metadata(self.layout.blob(&part.digest))).during(action)?;
        Ok(metadata.map(|metadata| metadata.len()))
    }

    fn refuse_to_move(
        &self,
        repository: &RepositoryName,
        tag: &Tag,
        pushed: &ContentDigest,
    ) -> Result<(), StoreError> {
        match self.tag(repository, tag)? {
            Some(current) if current != *pushed => Err(StoreError::TagImmutable {
                tag: tag.clone(),
                current,
                pushed: pushed.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Removes a manifest and every tag that stands for it; returns whether there was one.
    pub(super) fn delete_manifest(
        &self,
        repository: &RepositoryName,
        digest: &ContentDigest,
    ) -> Result<bool, StoreError> {
        let _adding = self.adding();
        let _writing = self.writing(repository);
        let record = self.layout.manifest(repository, digest);
        let action = || format!("delete manifest {digest} of {repository}");
        if !record.try_exists().during(action)? {
            return Ok(false);
        }
        if self.tags_are_immutable {
            self.refuse_if_published(repository, digest)?;
        }
        for tag in self.tags(repository)? {
            if self.tag(repository, &tag)?.as_ref() == Some(digest) {
                durable::remove(&self.layout.tag(repository, &tag)).during(action)?;
            }
        }
        self.forget_manifest(repository, digest)?;
        Ok(true)
    }

    /// Removes the record of a manifest, and that it is about another.
    pub(super) fn forget_manifest(
        &self,
        repository: &RepositoryName,
        digest: &ContentDigest,
    ) -> Result<(), StoreError> {
        let action = || format!("delete manifest {digest} of {repository}");
        let reference = ManifestReference::Digest(digest.clone());
        // Bytes that can't be read any more name no subject; the list of referrers leaves such a record out.
        let subject = self
            .manifest(repository, &reference)
            .ok()
            .flatten()
            .and_then(|stored| Manifest::parse(&stored.bytes, Some(&stored.media_type)).ok())
            .and_then(|manifest| manifest.subject);
        durable::remove(&self.layout.manifest(repository, digest)).during(action)?;
        if let Some(subject) = subject {
            durable::remove(&self.layout.referrer(repository, &subject.digest, digest)).during(action)?;
        }
        Ok(())
    }

    /// An error if some tag stands for `digest` or for something made of it.
    fn refuse_if_published(
        &self,
        repository: &RepositoryName,
        digest: &ContentDigest,
    ) -> Result<(), StoreError> {
        let mut seen = HashMap::new();
        for tag in self.tags(repository)? {
            let mut open: Vec<ContentDigest> = self.tag(repository, &tag)?.into_iter().collect();
            while let Some(next) = open.pop() {
                if next == *digest {
                    return Err(StoreError::Published {
                        digest: digest.clone(),
                        tag,
                    });
                }
                if seen.insert(next.clone(), ()).is_some() {
                    continue;
                }
                if let Some(manifest) = self.parsed_manifest(repository, &next)? {
                    open.extend(manifest.parts().map(|(_, part)| part.digest.clone()));
                }
            }
        }
        Ok(())
    }

    /// The manifest with this digest, read; nothing if the repository has no such manifest.
    pub(super) fn parsed_manifest(
        &self,
        repository: &RepositoryName,
        digest: &ContentDigest,
    ) -> Result<Option<Manifest>, StoreError> {
        let reference = ManifestReference::Digest(digest.clone());
        let Some(stored) = self.manifest(repository, &reference)? else {
            return Ok(None);
        };
        Manifest::parse(&stored.bytes, Some(&stored.media_type))
            .map(Some)
            .map_err(|_| StoreError::Damaged {
                what: "manifest",
                digest: digest.to_string(),
            })
    }

    // Tags.

    /// What a tag stands for.
    pub(super) fn tag(
        &self,
        repository: &RepositoryName,
        tag: &Tag,
    ) -> Result<Option<ContentDigest>, StoreError> {
        let record = self.layout.tag(repository, tag);
        let text =
            if_present(fs::read_to_string(record)).during(|| format!("read tag {tag} of {repository}"))?;
        text.map(|text| {
            text.parse().map_err(|_| StoreError::Damaged {
                what: "tag",
                digest: format!("{repository}:{tag}"),
            })
        })
        .transpose()
    }

    /// Removes a tag and keeps its manifest; returns whether there was one.
    pub(super) fn delete_tag(&self, repository: &RepositoryName, tag: &Tag) -> Result<bool, StoreError> {
        let _adding = self.adding();
        let _writing = self.writing(repository);
        if self.tags_are_immutable
            && let Some(digest) = self.tag(repository, tag)?
        {
            return Err(StoreError::Published {
                digest,
                tag: tag.clone(),
            });
        }
        durable::remove(&self.layout.tag(repository, tag))
            .during(|| format!("delete tag {tag} of {repository}"))
    }

    /// The tags of a repository, sorted by their bytes.
    pub(super) fn tags(&self, repository: &RepositoryName) -> Result<Vec<Tag>, StoreError> {
        let names = durable::names_in(&self.layout.tags(repository))
            .during(|| format!("list the tags of {repository}"))?;
        let mut tags: Vec<Tag> = names.iter().filter_map(|name| Tag::parse(name).ok()).collect();
        tags.sort_unstable();
        Ok(tags)
    }

    // Repositories.

    /// Returns whether anything was ever stored under this name.
    pub(super) fn has_repository(&self, repository: &RepositoryName) -> Result<bool, StoreError> {
        let folder = self.layout.repository(repository);
        let action = || format!("look for repository {repository}");
        for part in ["_manifests", "_blobs"] {
            if folder.join(part).try_exists().during(action)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The repositories that have manifests, sorted by name.
    pub(super) fn repositories(&self) -> Result<Vec<RepositoryName>, StoreError> {
        let mut found = self.all_repositories()?;
        let mut failure = None;
        found.retain(|repository| match self.manifests(repository) {
            Ok(manifests) => !manifests.is_empty(),
            Err(error) => {
                failure = Some(error);
                true
            }
        });
        failure.map_or(Ok(found), Err)
    }

    /// Every repository that something was ever stored in, sorted by name.
    pub(super) fn all_repositories(&self) -> Result<Vec<RepositoryName>, StoreError> {
        let mut found = Vec::new();
        let mut open = vec![String::new()];
        while let Some(prefix) = open.pop() {
            let folder = self.layout.repositories().join(&prefix);
            let names = durable::names_in(&folder).during(|| "list the repositories".to_owned())?;
            let is_repository = names.iter().any(|name| name.starts_with('_'));
            if is_repository && let Ok(repository) = RepositoryName::parse(&prefix) {
                found.push(repository);
            }
            open.extend(
                names
                    .into_iter()
                    .filter(|name| !name.starts_with('_'))
                    .map(|name| {
                        if prefix.is_empty() {
                            name
                        } else {
                            format!("{prefix}/{name}")
                        }
                    }),
            );
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The manifests of a repository, in no order.
    pub(super) fn manifests(&self, repository: &RepositoryName) -> Result<Vec<ContentDigest>, StoreError> {
        self.digests(|algorithm| self.layout.manifests(repository, algorithm))
    }

    /// The blobs that a repository has, in no order.
    pub(super) fn members(&self, repository: &RepositoryName) -> Result<Vec<ContentDigest>, StoreError> {
        self.digests(|algorithm| self.layout.members(repository, algorithm))
    }

    fn digests(
        &self,
        folder: impl Fn(Algorithm) -> std::path::PathBuf,
    ) -> Result<Vec<ContentDigest>, StoreError> {
        let mut digests = Vec::new();
        for algorithm in Algorithm::ALL {
            let folder = folder(algorithm);
            let names = durable::names_in(&folder).during(|| format!("list {}", folder.display()))?;
            let texts = names.iter().map(|name| format!("{}:{name}", algorithm.name()));
            digests.extend(texts.filter_map(|text| text.parse::<ContentDigest>().ok()));
        }
        Ok(digests)
    }

    /// The descriptors of the manifests that say that they are about `subject`, sorted by digest.
    pub(super) fn referrers(
        &self,
        repository: &RepositoryName,
        subject: &ContentDigest,
    ) -> Result<Vec<Descriptor>, StoreError> {
        let action = || format!("list the referrers of {subject} in {repository}");
        let folder = self.layout.referrers(repository, subject);
        let mut descriptors = Vec::new();
        for name in durable::names_in(&folder).during(action)? {
            let Some(record) = if_present(fs::read(folder.join(&name))).during(action)? else {
                continue;
            };
            let descriptor: Descriptor =
                serde_json::from_slice(&record).map_err(|_| StoreError::Damaged {
                    what: "referrer",
                    digest: name.replacen('-', ":", 1),
                })?;
            if self
                .layout
                .manifest(repository, &descriptor.digest)
                .try_exists()
                .during(action)?
            {
                descriptors.push(descriptor);
            }
        }
        descriptors.sort_unstable_by(|left, right| left.digest.cmp(&right.digest));
        Ok(descriptors)
    }
}
