//! Where everything lies on disk.
//!
//! ```text
//! baton-registry                                  the layout's version
//! lock                                            held by the process that serves the folder
//! blobs/sha256/ab/ab12…                           bytes of blobs and manifests, once for all repositories
//! repositories/team/operator/_blobs/sha256/ab12…  empty: the repository has this blob
//! repositories/team/operator/_manifests/sha256/…  the media type of this manifest
//! repositories/team/operator/_pushers/sha256/ab…  the name of who logged in to push this manifest
//! repositories/team/operator/_tags/v1.0.0         the digest that the tag stands for
//! repositories/team/operator/_referrers/sha256/ab12…/sha256-cd34…  the descriptor of a manifest about ab12…
//! uploads/<session>/{session,data}                an upload that isn't finished
//! temporary/                                      files on their way; emptied at the start
//! ```
//!
//! A part of a repository's name begins with a letter or digit, so that the folders with `_` never meet one.

use std::path::{Path, PathBuf};

use super::content_digest::{Algorithm, ContentDigest};
use super::names::{RepositoryName, Tag};

/// The folder of a registry, and the paths in it.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    folder: PathBuf,
}

impl Layout {
    /// The layout of the registry in `folder`.
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
        }
    }

    /// The registry's folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file that says which layout this is.
    pub(super) fn version(&self) -> PathBuf {
        self.folder.join("baton-registry")
    }

    /// The file that the serving process holds.
    pub(super) fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }

    /// Files on their way.
    pub(super) fn temporary(&self) -> PathBuf {
        self.folder.join("temporary")
    }

    /// Unfinished uploads.
    pub(super) fn uploads(&self) -> PathBuf {
        self.folder.join("uploads")
    }

    /// Everything that repositories know.
    pub(super) fn repositories(&self) -> PathBuf {
        self.folder.join("repositories")
    }

    /// All content named by one algorithm.
    pub(super) fn blobs(&self, algorithm: Algorithm) -> PathBuf {
        self.folder.join("blobs").join(algorithm.name())
    }

    /// The bytes of a blob or manifest.
    pub(super) fn blob(&self, digest: &ContentDigest) -> PathBuf {
        let digits = digest.hexadecimal();
        self.blobs(digest.algorithm())
            .join(digits.get(..2).unwrap_or(digits))
            .join(digits)
    }

    /// What one repository knows.
    pub(super) fn repository(&self, name: &RepositoryName) -> PathBuf {
        self.repositories().join(name.as_str())
    }

    /// The blobs of a repository that one algorithm names.
    pub(super) fn members(&self, name: &RepositoryName, algorithm: Algorithm) -> PathBuf {
        self.repository(name).join("_blobs").join(algorithm.name())
    }

    /// The mark that a repository has a blob.
    pub(super) fn member(&self, name: &RepositoryName, digest: &ContentDigest) -> PathBuf {
        self.members(name, digest.algorithm()).join(digest.hexadecimal())
    }

    /// The manifests of a repository that one algorithm names.
    pub(super) fn manifests(&self, name: &RepositoryName, algorithm: Algorithm) -> PathBuf {
        self.repository(name).join("_manifests").join(algorithm.name())
    }

    /// The record of a manifest.
    pub(super) fn manifest(&self, name: &RepositoryName, digest: &ContentDigest) -> PathBuf {
        self.manifests(name, digest.algorithm())
            .join(digest.hexadecimal())
    }

    /// Who pushed a manifest.
    pub(super) fn pusher(&self, name: &RepositoryName, digest: &ContentDigest) -> PathBuf {
        self.repository(name)
            .join("_pushers")
            .join(digest.algorithm().name())
            .join(digest.hexadecimal())
    }

    /// The tags of a repository.
    pub(super) fn tags(&self, name: &RepositoryName) -> PathBuf {
        self.repository(name).join("_tags")
    }

    /// The record of a tag.
    pub(super) fn tag(&self, name: &RepositoryName, tag: &Tag) -> PathBuf {
        self.tags(name).join(tag.as_str())
    }

    /// The manifests that say that they are about `subject`.
    pub(super) fn referrers(&self, name: &RepositoryName, subject: &ContentDigest) -> PathBuf {
        self.repository(name)
            .join("_referrers")
            .join(subject.algorithm().name())
            .join(subject.hexadecimal())
    }

    /// The record that `referrer` is about `subject`.
    pub(super) fn referrer(
        &self,
        name: &RepositoryName,
        subject: &ContentDigest,
        referrer: &ContentDigest,
    ) -> PathBuf {
        self.referrers(name, subject).join(format!(
            "{}-{}",
            referrer.algorithm().name(),
            referrer.hexadecimal()
        ))
    }
}
