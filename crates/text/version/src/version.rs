//! The version itself: three numbers, a pre-release, build metadata, and their order.

use crate::identifiers;
use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};

/// A semantic version: `major.minor.patch`, then perhaps `-prerelease` and `+build`.
///
/// [`precedence`](Self::precedence) is the order that decides what is newer; it does not look at build
/// metadata. `Ord` and `Eq` do: they tell apart everything that is written differently, so that sorting is
/// the same every time and a version can be a key.
///
/// ```
/// use version::Version;
///
/// let candidate = Version::parse("1.10.0-rc.1+build.5").unwrap();
/// assert!(candidate < Version::new(1, 10, 0));
/// assert_eq!(candidate.prerelease(), "rc.1");
/// assert_eq!(candidate.to_string(), "1.10.0-rc.1+build.5");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    pub(crate) prerelease: Box<str>,
    pub(crate) build: Box<str>,
}

impl Version {
    /// Returns the version of these numbers, without pre-release and build metadata.
    pub fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self {
            major,
            minor,
            patch,
            prerelease: Box::default(),
            build: Box::default(),
        }
    }

    /// The first number, which rises when users must change something.
    pub fn major(&self) -> u64 {
        self.major
    }

    /// The second number, which rises with what a version adds.
    pub fn minor(&self) -> u64 {
        self.minor
    }

    /// The third number, which rises with repairs.
    pub fn patch(&self) -> u64 {
        self.patch
    }

    /// The dotted identifiers after the hyphen; empty for a version that is no pre-release.
    pub fn prerelease(&self) -> &str {
        &self.prerelease
    }

    /// The dotted identifiers after the plus sign, the build metadata; empty where there are none.
    pub fn build(&self) -> &str {
        &self.build
    }

    /// Returns whether this version comes before the one that its numbers alone name.
    pub fn is_prerelease(&self) -> bool {
        !self.prerelease.is_empty()
    }

    /// Returns the numbers alone.
    pub fn core(&self) -> Self {
        Self::new(self.major, self.minor, self.patch)
    }

    /// Returns the same version without its build metadata.
    pub fn without_build(&self) -> Self {
        Self {
            build: Box::default(),
            ..self.clone()
        }
    }

    /// Compares by what semantic versioning says is newer; build metadata does not count.
    pub fn precedence(&self, other: &Self) -> Ordering {
        self.numbers().cmp(&other.numbers()).then_with(|| {
            match (self.is_prerelease(), other.is_prerelease()) {
                (false, false) => Ordering::Equal,
                (false, true) => Ordering::Greater,
                (true, false) => Ordering::Less,
                (true, true) => identifiers::compare(&self.prerelease, &other.prerelease),
            }
        })
    }

    /// Compares the build metadata alone, by the rules for pre-releases; having none comes first.
    pub fn compare_build(&self, other: &Self) -> Ordering {
        identifiers::compare(&self.build, &other.build)
    }

    fn numbers(&self) -> (u64, u64, u64) {
        (self.major, self.minor, self.patch)
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.precedence(other)
            .then_with(|| self.compare_build(other))
            .then_with(|| self.prerelease.cmp(&other.prerelease))
            .then_with(|| self.build.cmp(&other.build))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Display for Version {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(out, "-{}", self.prerelease)?;
        }
        if !self.build.is_empty() {
            write!(out, "+{}", self.build)?;
        }
        Ok(())
    }
}
