//! What the store has by name: tags, repositories, and the manifests that are about others.

use std::fs;
use std::path::PathBuf;

use super::super::content_digest::{Algorithm, ContentDigest};
use super::super::durable::{self, if_present};
use super::super::manifest::Descriptor;
use super::super::names::{RepositoryName, Tag};
use super::{During as _, Store, StoreError};

impl Store {
    /// What a tag stands for.
    pub(in crate::registry) fn tag(
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
    pub(in crate::registry) fn delete_tag(
        &self,
        repository: &RepositoryName,
        tag: &Tag,
    ) -> Result<bool, StoreError> {
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
    pub(in crate::registry) fn tags(&self, repository: &RepositoryName) -> Result<Vec<Tag>, StoreError> {
        let names = durable::names_in(&self.layout.tags(repository))
            .during(|| format!("list the tags of {repository}"))?;
        let mut tags: Vec<Tag> = names.iter().filter_map(|name| Tag::parse(name).ok()).collect();
        tags.sort_unstable();
        Ok(tags)
    }

    /// Returns whether anything was ever stored under this name.
    pub(in crate::registry) fn has_repository(
        &self,
        repository: &RepositoryName,
    ) -> Result<bool, StoreError> {
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
    pub(in crate::registry) fn repositories(&self) -> Result<Vec<RepositoryName>, StoreError> {
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
    pub(in crate::registry) fn all_repositories(&self) -> Result<Vec<RepositoryName>, StoreError> {
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
    pub(in crate::registry) fn manifests(
        &self,
        repository: &RepositoryName,
    ) -> Result<Vec<ContentDigest>, StoreError> {
        digests(|algorithm| self.layout.manifests(repository, algorithm))
    }

    /// The blobs that a repository has, in no order.
    pub(in crate::registry) fn members(
        &self,
        repository: &RepositoryName,
    ) -> Result<Vec<ContentDigest>, StoreError> {
        digests(|algorithm| self.layout.members(repository, algorithm))
    }

    /// The descriptors of the manifests that say that they are about `subject`, sorted by digest.
    pub(in crate::registry) fn referrers(
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

/// The digests that the names of files in the folders of all algorithms stand for.
fn digests(folder: impl Fn(Algorithm) -> PathBuf) -> Result<Vec<ContentDigest>, StoreError> {
    let mut digests = Vec::new();
    for algorithm in Algorithm::ALL {
        let folder = folder(algorithm);
        let names = durable::names_in(&folder).during(|| format!("list {}", folder.display()))?;
        let texts = names.iter().map(|name| format!("{}:{name}", algorithm.name()));
        digests.extend(texts.filter_map(|text| text.parse::<ContentDigest>().ok()));
    }
    Ok(digests)
}
