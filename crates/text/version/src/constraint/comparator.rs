//! One comparator of a constraint, such as `^1.2`, and how it decides.

use super::grammar::{Pattern, Term};
use crate::edition::Edition;
use crate::identifiers;
use crate::spelled::Spelled;
use crate::version::Version;
use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};

/// An operator and the version that it compares with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comparator {
    operation: Operation,
    operator: Box<str>,
    /// The version as it was written.
    limit: Box<str>,
    /// The version with zeros in place of what is missing or wild.
    version: Version,
    wild: Wild,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

/// The first number of a version that is missing or a wildcard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wild {
    Nothing,
    Major,
    Minor,
    Patch,
}

/// Why a comparator does not accept a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The version is a pre-release, and none is looked for.
    Prerelease,
    /// The version is the one that is excluded.
    Equal,
    /// The version is not the one that is asked for.
    NotEqual,
    /// The version is less than the least that is accepted.
    Less,
    /// The version is not greater than the limit.
    LessOrEqual,
    /// The version is greater than the greatest that is accepted.
    Greater,
    /// The version is not less than the limit.
    GreaterOrEqual,
    /// The first number differs.
    Major,
    /// The first or second number differs.
    MajorOrMinor,
    /// The second number differs, where the first is 0.
    MinorOfZero,
    /// The second number differs, where the first two are 0.
    Minor,
    /// The third number differs, where the first two are 0.
    PatchOfZero,
}

impl Reason {
    /// The words between the version and the limit, and those behind it.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Prerelease => (
                "is a prerelease version and the constraint is only looking for release versions",
                "",
            ),
            Self::Equal => ("is equal to", ""),
            Self::NotEqual => ("is not equal to", ""),
            Self::Less => ("is less than", ""),
            Self::LessOrEqual => ("is less than or equal to", ""),
            Self::Greater => ("is greater than", ""),
            Self::GreaterOrEqual => ("is greater than or equal to", ""),
            Self::Major => ("does not have same major version as", ""),
            Self::MajorOrMinor => ("does not have same major and minor version as", ""),
            Self::MinorOfZero => (
                "does not have same minor version as",
                ". Expected minor versions to match when constraint major version is 0",
            ),
            Self::Minor => ("does not have same minor version as", ""),
            Self::PatchOfZero => (
                "does not equal",
                ". Expect version and constraint to equal when major and minor versions are 0",
            ),
        }
    }
}

impl Comparator {
    /// Returns the comparator that `term` writes; `None` where its version is none.
    pub(super) fn new(term: &Term<'_>, edition: Edition) -> Option<Self> {
        let operation = match term.operator {
            "" | "=" => Operation::Equal,
            "!=" => Operation::NotEqual,
            ">" => Operation::Greater,
            "<" => Operation::Less,
            ">=" | "=>" => Operation::GreaterOrEqual,
            "<=" | "=<" => Operation::LessOrEqual,
            "~" | "~>" => Operation::Tilde,
            "^" => Operation::Caret,
            _ => return None,
        };
        let Pattern {
            text,
            major,
            prerelease,
            ..
        } = term.pattern;
        let (wild, version) = match (term.pattern.minor, term.pattern.patch) {
            _ if is_wild(major) => (Wild::Major, format!("0.0.0{prerelease}")),
            (Some(minor), Some(patch)) if !is_wild(minor) && !is_wild(patch) => {
                (Wild::Nothing, text.to_owned())
            }
            (Some(minor), _) if !is_wild(minor) => (Wild::Patch, format!("{major}.{minor}.0{prerelease}")),
            _ => (Wild::Minor, format!("{major}.0.0{prerelease}")),
        };
        let version = Spelled::parse(&version, edition).ok()?.into_version();
        Some(Self {
            operation,
            operator: term.operator.into(),
            limit: text.into(),
            version,
            wild,
        })
    }

    /// The version as it was written.
    pub(super) fn limit(&self) -> &str {
        &self.limit
    }

    /// Returns whether the comparator's own version is a pre-release.
    pub(super) fn names_prerelease(&self) -> bool {
        self.version.is_prerelease()
    }

    /// Accepts `version` or says why not; `looked_for` tells whether a pre-release may be accepted.
    pub(super) fn check(&self, version: &Version, looked_for: bool, edition: Edition) -> Result<(), Reason> {
        // The older release forgets to ask at `!=` with a whole version.
        let asks =
            edition == Edition::V3_5 || self.operation != Operation::NotEqual || self.wild != Wild::Nothing;
        if asks && version.is_prerelease() && !looked_for {
            return Err(Reason::Prerelease);
        }
        match self.operation {
            Operation::Equal if self.wild == Wild::Nothing => {
                accept_if(version.precedence(&self.version).is_eq(), Reason::NotEqual)
            }
            Operation::Equal | Operation::Tilde => self.tilde(version),
            Operation::NotEqual => accept_if(self.differs(version), Reason::Equal),
            Operation::Greater => accept_if(self.is_exceeded(version), Reason::LessOrEqual),
            Operation::Less => accept_if(version.precedence(&self.version).is_lt(), Reason::GreaterOrEqual),
            Operation::GreaterOrEqual => accept_if(version.precedence(&self.version).is_ge(), Reason::Less),
            Operation::LessOrEqual => accept_if(self.is_kept(version), Reason::Greater),
            Operation::Caret => self.caret(version),
        }
    }

    fn differs(&self, version: &Version) -> bool {
        let limit = &self.version;
        match self.wild {
            Wild::Minor => version.major != limit.major,
            Wild::Patch => {
                version.major != limit.major
                    || version.minor != limit.minor
                    || identifiers::compare(&version.prerelease, &limit.prerelease) != Ordering::Equal
            }
            Wild::Nothing | Wild::Major => version.precedence(limit).is_ne(),
        }
    }

    fn is_exceeded(&self, version: &Version) -> bool {
        let limit = &self.version;
        match self.wild {
            Wild::Minor => version.major > limit.major,
            Wild::Patch => (version.major, version.minor) > (limit.major, limit.minor),
            Wild::Nothing | Wild::Major => version.precedence(limit).is_gt(),
        }
    }

    /// Returns whether `version` is not above the limit; a wild limit is above all that it covers.
    fn is_kept(&self, version: &Version) -> bool {
        let limit = &self.version;
        match self.wild {
            Wild::Nothing => version.precedence(limit).is_le(),
            Wild::Minor => version.major <= limit.major,
            // Limits that are all wild count as 0.0.x here.
            Wild::Patch | Wild::Major => (version.major, version.minor) <= (limit.major, limit.minor),
        }
    }

    /// `~1.2.3` is `>=1.2.3 <1.3.0`, `~1` is `>=1.0.0 <2.0.0`; `~0.0.0` and `~*` accept whatever is not less.
    fn tilde(&self, version: &Version) -> Result<(), Reason> {
        let limit = &self.version;
        accept_if(version.precedence(limit).is_ge(), Reason::Less)?;
        let is_zero = (limit.major, limit.minor, limit.patch) == (0, 0, 0);
        if is_zero && matches!(self.wild, Wild::Nothing | Wild::Major) {
            return Ok(());
        }
        accept_if(version.major == limit.major, Reason::Major)?;
        accept_if(
            version.minor == limit.minor || self.wild == Wild::Minor,
            Reason::MajorOrMinor,
        )
    }

    /// `^1.2.3` is `>=1.2.3 <2.0.0`, `^0.2.3` is `>=0.2.3 <0.3.0`, `^0.0.3` is `=0.0.3`.
    fn caret(&self, version: &Version) -> Result<(), Reason> {
        let limit = &self.version;
        accept_if(version.precedence(limit).is_ge(), Reason::Less)?;
        accept_if(version.major == limit.major, Reason::Major)?;
        if limit.major > 0 || self.wild == Wild::Minor {
            return Ok(());
        }
        if limit.minor > 0 || self.wild == Wild::Patch {
            return accept_if(version.minor == limit.minor, Reason::MinorOfZero);
        }
        accept_if(version.minor == 0, Reason::Minor)?;
        accept_if(version.patch == limit.patch, Reason::PatchOfZero)
    }
}

impl Display for Comparator {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.operator, self.limit)
    }
}

fn is_wild(number: &str) -> bool {
    matches!(number, "x" | "X" | "*")
}

fn accept_if(accepted: bool, reason: Reason) -> Result<(), Reason> {
    if accepted { Ok(()) } else { Err(reason) }
}
