//! Manifests in the store: taken when they are whole, and refused when they would change what is published.

use std::collections::HashSet;
use std::fs;
use std::io;

use super::super::content_digest::ContentDigest;
use super::super::durable::{self, if_present};
use super::super::manifest::{Descriptor, Manifest, may_be_absent};
use super::super::names::{ManifestReference, RepositoryName, Tag};
use super::{During as _, MissingPart, Store, StoreError, StoredManifest};

impl Store {
    /// The manifest that a tag or digest names, if the repository has it.
    pub(in crate::registry) fn manifest(
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
    pub(in crate::registry) fn put_manifest(
        &self,
        repository: &RepositoryName,
        manifest: &Manifest,
        digest: &ContentDigest,
        bytes: &[u8],
        tags: &[Tag],
        pusher: Option<&str>,
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
        // Before a tag leads there: who follows it asks at once who pushed. Whoever needn't log in says nothing, and takes
        // nothing back: the bytes are those that somebody else pushed.
        if let Some(pusher) = pusher {
            let record = self.layout.pusher(repository, digest);
            durable::replace(&temporary, &record, pusher.as_bytes()).during(action)?;
        }
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
    pub(in crate::registry) fn delete_manifest(
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

    /// Who pushed a manifest that is here, by the name that was logged in with.
    pub(in crate::registry) fn pusher(
        &self,
        repository: &RepositoryName,
        digest: &ContentDigest,
    ) -> Result<Option<String>, StoreError> {
        let action = || format!("read who pushed {digest} into {repository}");
        if !self
            .layout
            .manifest(repository, digest)
            .try_exists()
            .during(action)?
        {
            return Ok(None);
        }
        if_present(fs::read_to_string(self.layout.pusher(repository, digest))).during(action)
    }

    /// Removes the record of a manifest, who pushed it, and that it is about another.
    pub(in crate::registry) fn forget_manifest(
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
        durable::remove(&self.layout.pusher(repository, digest)).during(action)?;
        if let Some(subject) = subject {
            durable::remove(&self.layout.referrer(repository, &subject.digest, digest)).during(action)?;
        }
        Ok(())
    }

    /// An error if some tag stands for `digest` or for something made of it.
    pub(super) fn refuse_if_published(
        &self,
        repository: &RepositoryName,
        digest: &ContentDigest,
    ) -> Result<(), StoreError> {
        let mut seen = HashSet::new();
        for tag in self.tags(repository)? {
            let mut open: Vec<ContentDigest> = self.tag(repository, &tag)?.into_iter().collect();
            while let Some(next) = open.pop() {
                if next == *digest {
                    return Err(StoreError::Published {
                        digest: digest.clone(),
                        tag,
                    });
                }
                if !seen.insert(next.clone()) {
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
    pub(in crate::registry) fn parsed_manifest(
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
}
