//! Reading a version as Masterminds/semver does, and keeping the way it was written.

use crate::edition::Edition;
use crate::identifiers;
use crate::number::{self, NumberError};
use crate::strict::{MAX_VERSION_BYTES, split_off};
use crate::version::Version;
use std::fmt::{self, Display, Formatter};
use thiserror::Error;

/// How long a version may be for [`Edition::V3_5`], in bytes; that release of the library sets it.
pub const MAX_SPELLED_BYTES: usize = 256;

/// A version together with the way it was written, such as `v1.2` for 1.2.0.
///
/// ```
/// use version::{Edition, Spelled};
///
/// let kubernetes = Spelled::parse("v1.32", Edition::V3_3).unwrap();
/// assert_eq!(kubernetes.version().to_string(), "1.32.0");
/// assert_eq!(kubernetes.original(), "v1.32");
/// assert_eq!(kubernetes.next_minor().unwrap().original(), "v1.33.0");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelled {
    version: Version,
    original: Box<str>,
    edition: Edition,
}

/// A text is not a version by Masterminds' rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpelledError {
    /// What is wrong.
    pub kind: SpelledErrorKind,
    /// The release of the library that words the message.
    pub edition: Edition,
}

/// What is wrong with a text that is not a version by Masterminds' rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpelledErrorKind {
    /// The text does not look like a version.
    NotAVersion,
    /// There is no text; the strict reader says so.
    Empty,
    /// The text is longer than [`MAX_SPELLED_BYTES`] or, for the edition without a limit, [`MAX_VERSION_BYTES`].
    TooLong,
    /// One of the three numbers has something else than digits; the strict reader says so.
    Characters,
    /// A number starts with a needless zero.
    LeadingZero,
    /// The build metadata is not well-formed.
    Metadata,
    /// The pre-release is not well-formed.
    Prerelease,
    /// One of the three numbers is too great; the lenient reader says so.
    Segment(NumberError),
    /// One of the three numbers is empty or too great; the strict reader says so.
    Number(NumberError),
}

impl Display for SpelledError {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (capital, rest, number) = match &self.kind {
            SpelledErrorKind::NotAVersion => ("Invalid Semantic Version", "", None),
            SpelledErrorKind::Empty => ("Version string empty", "", None),
            SpelledErrorKind::TooLong => {
                return write!(
                    out,
                    "version string is too long (max {} bytes)",
                    max_bytes(self.edition)
                );
            }
            SpelledErrorKind::Characters => ("Invalid characters in version", "", None),
            SpelledErrorKind::LeadingZero => ("Version segment starts with 0", "", None),
            SpelledErrorKind::Metadata => ("Invalid Metadata string", "", None),
            SpelledErrorKind::Prerelease => ("Invalid Prerelease string", "", None),
            SpelledErrorKind::Segment(number) => ("Error parsing version segment", ": ", Some(number)),
            SpelledErrorKind::Number(number) => ("", "", Some(number)),
        };
        match self.edition {
            Edition::V3_3 => out.write_str(capital)?,
            Edition::V3_5 => out.write_str(&capital.to_ascii_lowercase())?,
        }
        out.write_str(rest)?;
        number.map_or(Ok(()), |number| number.fmt(out))
    }
}

impl std::error::Error for SpelledError {}

/// The number that should rise is the greatest there is.
///
/// Only [`Edition::V3_5`] refuses; before it the number started again at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0} version increment would overflow uint64")]
pub struct IncrementError(&'static str);

impl Spelled {
    /// Reads a version with lenience: a `v` in front, missing numbers and needless zeros pass.
    pub fn parse(text: &str, edition: Edition) -> Result<Self, SpelledError> {
        let fail = |kind| SpelledError { kind, edition };
        if text.len() > max_bytes(edition) {
            return Err(fail(SpelledErrorKind::TooLong));
        }
        let shape = Shape::of(text).ok_or_else(|| fail(SpelledErrorKind::NotAVersion))?;
        let segment = |text| number::parse(text).map_err(|error| fail(SpelledErrorKind::Segment(error)));
        let version = Version {
            major: segment(shape.major)?,
            minor: shape.minor.map_or(Ok(0), segment)?,
            patch: shape.patch.map_or(Ok(0), segment)?,
            prerelease: shape.prerelease.into(),
            build: shape.build.into(),
        };
        check_prerelease_unless_empty(&version.prerelease, edition)?;
        Ok(Self {
            version,
            original: text.into(),
            edition,
        })
    }

    /// Reads a version to the letter: three numbers, no `v`.
    ///
    /// [`Edition::V3_3`] lets identifiers be empty, so that `1.2.3-` is 1.2.3.
    pub fn parse_strict(text: &str, edition: Edition) -> Result<Self, SpelledError> {
        let fail = |kind| SpelledError { kind, edition };
        if text.is_empty() {
            return Err(fail(SpelledErrorKind::Empty));
        }
        if text.len() > max_bytes(edition) {
            return Err(fail(SpelledErrorKind::TooLong));
        }
        let mut elements = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (elements.next(), elements.next(), elements.next())
        else {
            return Err(fail(SpelledErrorKind::NotAVersion));
        };
        let (rest, build) = split_off(rest, '+');
        if let Some(build) = build {
            check_build(build, edition)?;
        }
        let (patch, prerelease) = split_off(rest, '-');
        if let Some(prerelease) = prerelease {
            check_prerelease(prerelease, edition)?;
        }
        for element in [major, minor, patch] {
            if !number::only_digits(element) {
                return Err(fail(SpelledErrorKind::Characters));
            }
            if number::has_leading_zeros(element) {
                return Err(fail(SpelledErrorKind::LeadingZero));
            }
        }
        let number = |text| number::parse(text).map_err(|error| fail(SpelledErrorKind::Number(error)));
        let version = Version {
            major: number(major)?,
            minor: number(minor)?,
            patch: number(patch)?,
            prerelease: prerelease.unwrap_or_default().into(),
            build: build.unwrap_or_default().into(),
        };
        Ok(Self {
            version,
            original: text.into(),
            edition,
        })
    }

    /// The version that the text means.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// The text, letter by letter.
    pub fn original(&self) -> &str {
        &self.original
    }

    /// Returns the version itself, without the way it was written.
    pub fn into_version(self) -> Version {
        self.version
    }

    /// Returns the next version that repairs something; for a pre-release that is the release.
    pub fn next_patch(&self) -> Result<Self, IncrementError> {
        let mut next = self.version.core();
        if !self.version.is_prerelease() {
            next.patch = self.raised(next.patch, "patch")?;
        }
        Ok(self.respelled(next))
    }

    /// Returns the next version that adds something.
    pub fn next_minor(&self) -> Result<Self, IncrementError> {
        let minor = self.raised(self.version.minor, "minor")?;
        Ok(self.respelled(Version::new(self.version.major, minor, 0)))
    }

    /// Returns the next version after which users must change something.
    pub fn next_major(&self) -> Result<Self, IncrementError> {
        let major = self.raised(self.version.major, "major")?;
        Ok(self.respelled(Version::new(major, 0, 0)))
    }

    /// Returns the same version with another pre-release; an empty one removes it.
    pub fn with_prerelease(&self, prerelease: &str) -> Result<Self, SpelledError> {
        self.check_length(prerelease)?;
        check_prerelease_unless_empty(prerelease, self.edition)?;
        Ok(self.respelled(Version {
            prerelease: prerelease.into(),
            ..self.version.clone()
        }))
    }

    /// Returns the same version with other build metadata; an empty text removes it.
    pub fn with_build(&self, build: &str) -> Result<Self, SpelledError> {
        self.check_length(build)?;
        if !build.is_empty() {
            check_build(build, self.edition)?;
        }
        Ok(self.respelled(Version {
            build: build.into(),
            ..self.version.clone()
        }))
    }

    fn check_length(&self, addition: &str) -> Result<(), SpelledError> {
        if addition.len() > MAX_VERSION_BYTES {
            return Err(SpelledError {
                kind: SpelledErrorKind::TooLong,
                edition: self.edition,
            });
        }
        Ok(())
    }

    fn raised(&self, number: u64, name: &'static str) -> Result<u64, IncrementError> {
        match self.edition {
            Edition::V3_3 => Ok(number.wrapping_add(1)),
            Edition::V3_5 => number.checked_add(1).ok_or(IncrementError(name)),
        }
    }

    fn respelled(&self, version: Version) -> Self {
        let prefix = if self.original.starts_with('v') { "v" } else { "" };
        let original = format!("{prefix}{version}").into();
        Self {
            version,
            original,
            edition: self.edition,
        }
    }
}

impl Display for Spelled {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.version.fmt(out)
    }
}

fn max_bytes(edition: Edition) -> usize {
    match edition {
        Edition::V3_3 => MAX_VERSION_BYTES,
        Edition::V3_5 => MAX_SPELLED_BYTES,
    }
}

fn check_prerelease_unless_empty(prerelease: &str, edition: Edition) -> Result<(), SpelledError> {
    if prerelease.is_empty() {
        Ok(())
    } else {
        check_prerelease(prerelease, edition)
    }
}

fn check_prerelease(prerelease: &str, edition: Edition) -> Result<(), SpelledError> {
    let fail = |kind| Err(SpelledError { kind, edition });
    for identifier in prerelease.split('.') {
        if identifier.is_empty() && edition == Edition::V3_5 {
            return fail(SpelledErrorKind::Prerelease);
        }
        if number::only_digits(identifier) {
            if number::has_leading_zeros(identifier) {
                return fail(SpelledErrorKind::LeadingZero);
            }
        } else if !identifiers::only_allowed(identifier) {
            return fail(SpelledErrorKind::Prerelease);
        }
    }
    Ok(())
}

fn check_build(build: &str, edition: Edition) -> Result<(), SpelledError> {
    let wrong = build.split('.').any(|identifier| {
        (identifier.is_empty() && edition == Edition::V3_5) || !identifiers::only_allowed(identifier)
    });
    if wrong {
        Err(SpelledError {
            kind: SpelledErrorKind::Metadata,
            edition,
        })
    } else {
        Ok(())
    }
}

/// The parts of a text that looks like a version to the lenient reader.
struct Shape<'a> {
    major: &'a str,
    minor: Option<&'a str>,
    patch: Option<&'a str>,
    prerelease: &'a str,
    build: &'a str,
}

impl<'a> Shape<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (rest, build) = split_off(text, '+');
        let (numbers, prerelease) = split_off(rest, '-');
        let mut numbers = numbers.split('.');
        let shape = Self {
            major: numbers.next()?,
            minor: numbers.next(),
            patch: numbers.next(),
            prerelease: prerelease.unwrap_or_default(),
            build: build.unwrap_or_default(),
        };
        let is_number = |text: &str| !text.is_empty() && number::only_digits(text);
        let are_identifiers = |list: &str| {
            list.split('.')
                .all(|one| !one.is_empty() && identifiers::only_allowed(one))
        };
        let fits = numbers.next().is_none()
            && [Some(shape.major), shape.minor, shape.patch]
                .into_iter()
                .flatten()
                .all(is_number)
            && prerelease.is_none_or(are_identifiers)
            && build.is_none_or(are_identifiers);
        fits.then_some(shape)
    }
}
