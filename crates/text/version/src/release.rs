//! The release of a version: what orders two builds of the same version of an operator.

use crate::identifiers::{self, IdentifierError};
use crate::quoted::Quoted;
use crate::strict::VersionError;
use crate::version::Version;
use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};
use thiserror::Error;

/// How long a release may be, in bytes; the schema of OLM's resources says so.
pub const MAX_RELEASE_BYTES: usize = 20;

/// A release such as `2` or `rc.1`: dotted identifiers that are ordered like those of a pre-release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Release(Box<str>);

/// A text is not a release.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReleaseError {
    /// The text is longer than [`MAX_RELEASE_BYTES`].
    #[error("invalid release {}: exceeds maximum length of {MAX_RELEASE_BYTES} characters", Quoted(.0))]
    TooLong(String),
    /// Some identifiers are not well-formed; each is named by its place, counted from 0.
    #[error("invalid release {}: {}", Quoted(.text), segments(.wrong))]
    Segments {
        /// The whole text.
        text: String,
        /// Where an identifier is wrong, and why.
        wrong: Vec<(usize, IdentifierError)>,
    },
}

fn segments(wrong: &[(usize, IdentifierError)]) -> String {
    wrong
        .iter()
        .map(|(place, error)| format!("segment {place}: {error}"))
        .collect::<Vec<_>>()
        .join("\n")
}

impl Release {
    /// Reads a release; an empty text is the empty release, which comes before all others.
    pub fn parse(text: &str) -> Result<Self, ReleaseError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        if text.len() > MAX_RELEASE_BYTES {
            return Err(ReleaseError::TooLong(text.to_owned()));
        }
        let wrong: Vec<_> = text
            .split('.')
            .enumerate()
            .filter_map(|(place, identifier)| {
                identifiers::check(identifier).err().map(|error| (place, error))
            })
            .collect();
        if wrong.is_empty() {
            Ok(Self(text.into()))
        } else {
            Err(ReleaseError::Segments {
                text: text.to_owned(),
                wrong,
            })
        }
    }

    /// Returns whether this is the empty release.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The identifiers as they were written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Ord for Release {
    fn cmp(&self, other: &Self) -> Ordering {
        identifiers::compare(&self.0, &other.0)
    }
}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Display for Release {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// A version and perhaps its release.
///
/// ```
/// use version::VersionRelease;
///
/// let first = VersionRelease::from_build_metadata("1.0.0+2").unwrap();
/// assert_eq!(first.release.as_ref().unwrap().as_str(), "2");
/// let next = VersionRelease::from_build_metadata("1.0.0+10").unwrap();
/// assert!(first.precedence(&next).is_lt());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRelease {
    /// The version; it keeps its build metadata unless that was taken as the release.
    pub version: Version,
    /// The release, where there is one. Saying that it is empty is not the same as not saying anything.
    pub release: Option<Release>,
}

/// A version or its release is not well-formed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VersionReleaseError {
    /// The version is not one.
    #[error("error parsing version {}: {source}", Quoted(.text))]
    Version {
        /// What was written.
        text: String,
        /// Why it is no version.
        source: VersionError,
    },
    /// The release is not one.
    #[error("error parsing release {}: {source}", Quoted(.text))]
    Release {
        /// What was written.
        text: String,
        /// Why it is no release.
        source: ReleaseError,
    },
}

impl VersionRelease {
    /// Reads a version and a release from a field each; the version keeps its build metadata.
    pub fn from_fields(version: &str, release: &str) -> Result<Self, VersionReleaseError> {
        let version = Version::parse(version).map_err(|source| VersionReleaseError::Version {
            text: version.to_owned(),
            source,
        })?;
        let release = Release::parse(release).map_err(|source| VersionReleaseError::Release {
            text: release.to_owned(),
            source,
        })?;
        Ok(Self {
            version,
            release: Some(release),
        })
    }

    /// Reads a version whose build metadata is the release, the way of bundles without a field for it.
    ///
    /// Build metadata that is no release stays where it is.
    pub fn from_build_metadata(text: &str) -> Result<Self, VersionError> {
        let mut version = Version::parse(text)?;
        let release = Release::parse(version.build())
            .ok()
            .filter(|release| !release.is_empty());
        if release.is_some() {
            version.build = Box::default();
        }
        Ok(Self { version, release })
    }

    /// Compares by the version's precedence, then by the release; none is the same as an empty one.
    pub fn precedence(&self, other: &Self) -> Ordering {
        self.version
            .precedence(&other.version)
            .then_with(|| identifiers::compare(self.release_text(), other.release_text()))
    }

    fn release_text(&self) -> &str {
        self.release.as_ref().map_or("", Release::as_str)
    }

    /// Returns the version with the release as its build metadata, for readers that have one field only.
    pub fn to_build_metadata(&self) -> Version {
        match &self.release {
            Some(release) if !release.is_empty() => Version {
                build: release.0.clone(),
                ..self.version.clone()
            },
            _ => self.version.clone(),
        }
    }

    /// Returns the version and the release as they go into the name of a Kubernetes object.
    pub fn to_name_part(&self) -> String {
        let mut name = self.version.to_string().replace('+', "-");
        if let Some(release) = self.release.as_ref().filter(|release| !release.is_empty()) {
            name.push('-');
            name.push_str(release.as_str());
        }
        name.make_ascii_lowercase();
        name
    }
}
