//! What is asked for: a package, and what its next version must satisfy.

use gotemplate::format::quoted;
use thiserror::Error;
use version::{Constraint, ConstraintError, Edition, VersionError, VersionRelease, VersionReleaseError};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The package.
    pub package: String,
    /// The versions that may be chosen; none for all.
    pub version: Option<VersionWish>,
    /// The channels that may be followed; empty for all.
    pub channels: Vec<String>,
    /// Whether the next version must follow the installed one.
    pub policy: UpgradePolicy,
    /// What is installed now.
    pub installed: Option<Installed>,
}

/// Versions that may be chosen.
#[derive(Debug, Clone)]
pub struct VersionWish {
    /// As the user wrote it.
    pub text: String,
    /// What it means.
    pub constraint: Constraint,
}

/// A range of versions that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("desired version range {} is invalid: {source}", quoted(.text))]
pub struct VersionWishError {
    /// What was written.
    pub text: String,
    /// Why it is no range.
    pub source: ConstraintError,
}

impl VersionWish {
    /// Reads a range; none for empty text.
    pub fn parse(text: &str) -> Result<Option<Self>, VersionWishError> {
        if text.is_empty() {
            return Ok(None);
        }
        match Constraint::parse(text, Edition::V3_5) {
            Ok(constraint) => Ok(Some(Self {
                text: text.to_owned(),
                constraint,
            })),
            Err(source) => Err(VersionWishError {
                text: text.to_owned(),
                source,
            }),
        }
    }
}

/// Who answers for the way from the installed version to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UpgradePolicy {
    /// The catalog: only versions that follow the installed one are candidates.
    #[default]
    CatalogProvided,
    /// The user: every version is a candidate, older ones too.
    SelfCertified,
}

/// The bundle that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Its name.
    pub name: String,
    /// Its version, as the status has it.
    pub version: String,
    /// Its release, where the status has one; an empty one is not the same as none.
    pub release: Option<String>,
}

/// The version of what is installed can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InstalledError {
    /// The version, which holds the release too, isn't one.
    #[error("failed to get version and release of installed bundle: {0}")]
    Version(VersionError),
    /// The version or the release, in a field each, isn't one.
    #[error("failed to parse installed bundle version and release: {0}")]
    Fields(VersionReleaseError),
}

impl Installed {
    /// Reads the version and the release.
    pub fn version_and_release(&self) -> Result<VersionRelease, InstalledError> {
        match &self.release {
            None => VersionRelease::from_build_metadata(&self.version).map_err(InstalledError::Version),
            Some(release) => {
                VersionRelease::from_fields(&self.version, release).map_err(InstalledError::Fields)
            }
        }
    }
}
