//! Reading a version as blang/semver does: to the letter, or with tolerance for what people write.

use crate::identifiers::{self, IdentifierError};
use crate::number::{self, NumberError};
use crate::quoted::Quoted;
use crate::version::Version;
use std::str::FromStr;
use thiserror::Error;

/// How long a version may be, in bytes.
///
/// The longest version in public catalogs has less than 64; a longer text is a mistake or an attack.
pub const MAX_VERSION_BYTES: usize = 1024;

/// A text is not a version by blang's rules.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VersionError {
    /// There is no text.
    #[error("Version string empty")]
    Empty,
    /// The text is longer than [`MAX_VERSION_BYTES`]; blang itself has no limit.
    #[error("version string is too long (max {MAX_VERSION_BYTES} bytes)")]
    TooLong,
    /// There are less than two dots.
    #[error("No Major.Minor.Patch elements found")]
    Elements,
    /// One of the three numbers has something else than digits.
    #[error("Invalid character(s) found in {number} number {}", Quoted(.text))]
    Characters {
        /// Which of the numbers.
        number: &'static str,
        /// What was written in its place.
        text: String,
    },
    /// One of the three numbers starts with a needless zero.
    #[error("{number} number must not contain leading zeroes {}", Quoted(.text))]
    LeadingZeros {
        /// Which of the numbers, with a capital letter.
        number: &'static str,
        /// What was written in its place.
        text: String,
    },
    /// One of the three numbers is empty or greater than 64 bits hold.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// The pre-release is not well-formed.
    #[error(transparent)]
    Prerelease(#[from] IdentifierError),
    /// There is nothing between two dots of the build metadata.
    #[error("Build meta data is empty")]
    EmptyBuild,
    /// The build metadata has a character that is neither a letter, a digit nor a hyphen.
    #[error("Invalid character(s) found in build meta data {}", Quoted(.0))]
    BuildCharacters(String),
    /// A version with less than three numbers has a pre-release or build metadata.
    #[error("Short version cannot contain PreRelease/Build meta data")]
    Short,
}

impl Version {
    /// Reads a version to the letter: three numbers, no `v`, no spaces.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        if text.is_empty() {
            return Err(VersionError::Empty);
        }
        if text.len() > MAX_VERSION_BYTES {
            return Err(VersionError::TooLong);
        }
        let mut elements = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (elements.next(), elements.next(), elements.next())
        else {
            return Err(VersionError::Elements);
        };
        let major = element(major, "major", "Major")?;
        let minor = element(minor, "minor", "Minor")?;
        let (rest, build) = split_off(rest, '+');
        let (patch, prerelease) = split_off(rest, '-');
        let patch = element(patch, "patch", "Patch")?;
        for identifier in prerelease.into_iter().flat_map(|list| list.split('.')) {
            identifiers::check(identifier)?;
        }
        for identifier in build.into_iter().flat_map(|list| list.split('.')) {
            if identifier.is_empty() {
                return Err(VersionError::EmptyBuild);
            }
            if !identifiers::only_allowed(identifier) {
                return Err(VersionError::BuildCharacters(identifier.to_owned()));
            }
        }
        Ok(Self {
            major,
            minor,
            patch,
            prerelease: prerelease.unwrap_or_default().into(),
            build: build.unwrap_or_default().into(),
        })
    }

    /// Reads a version as people write it: spaces around it, a `v`, missing numbers and needless zeros pass.
    pub fn parse_tolerant(text: &str) -> Result<Self, VersionError> {
        if text.len() > MAX_VERSION_BYTES {
            return Err(VersionError::TooLong);
        }
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        let elements: Vec<&str> = text.splitn(3, '.').collect();
        if elements.len() < 3 && elements.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err(VersionError::Short);
        }
        let mut normal = String::with_capacity(text.len() + "0.0.0".len());
        for index in 0..3 {
            if index > 0 {
                normal.push('.');
            }
            let element = elements.get(index).copied().unwrap_or("0");
            let trimmed = if element.len() > 1 {
                element.trim_start_matches('0')
            } else {
                element
            };
            if element.len() > 1 && !trimmed.starts_with(|first: char| first.is_ascii_digit()) {
                normal.push('0');
            }
            normal.push_str(trimmed);
        }
        Self::parse(&normal)
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        Self::parse(text)
    }
}

/// Splits `text` at the first `separator` into what is before and what is behind it.
pub(crate) fn split_off(text: &str, separator: char) -> (&str, Option<&str>) {
    text.split_once(separator)
        .map_or((text, None), |(before, behind)| (before, Some(behind)))
}

fn element(text: &str, number: &'static str, capital: &'static str) -> Result<u64, VersionError> {
    if !number::only_digits(text) {
        return Err(VersionError::Characters {
            number,
            text: text.to_owned(),
        });
    }
    if number::has_leading_zeros(text) {
        return Err(VersionError::LeadingZeros {
            number: capital,
            text: text.to_owned(),
        });
    }
    Ok(number::parse(text)?)
}
