//! Constraints on versions in Masterminds/semver's language, as in Helm's `kubeVersion: ">=1.25.0-0"`.

mod comparator;
mod grammar;

use crate::edition::Edition;
use crate::quoted::Quoted;
use crate::version::Version;
use comparator::Comparator;
pub use comparator::Reason;
use std::fmt::{self, Display, Formatter};

/// How long a constraint may be for [`Edition::V3_5`], in bytes; that release of the library sets it.
pub const MAX_CONSTRAINT_BYTES: usize = 512;

/// How long a constraint may be for [`Edition::V3_3`], in bytes.
///
/// That release has no limit. Real constraints have less than 100; hyphen ranges are searched from every
/// place, so the time grows with the square of the length, and this keeps it at some milliseconds.
pub const MAX_OLD_CONSTRAINT_BYTES: usize = 4096;

/// How many alternatives a constraint may have for [`Edition::V3_5`]; that release of the library sets it.
pub const MAX_CONSTRAINT_GROUPS: usize = 32;

/// What a version must be: comparators that must all hold, in alternatives of which one must.
///
/// A pre-release is refused unless the constraint names a pre-release; [`Edition`] tells where it must.
///
/// ```
/// use version::{Constraint, Edition, Version};
///
/// let supported = Constraint::parse(">= 1.25, < 2 || 0.9.x", Edition::V3_3).unwrap();
/// assert!(supported.check(&Version::new(1, 32, 0)));
/// let refusals = supported.validate(&Version::new(2, 0, 0)).unwrap_err();
/// assert_eq!(refusals[0].to_string(), "2.0.0 is greater than or equal to 2");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    alternatives: Vec<Alternative>,
    edition: Edition,
    include_prereleases: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Alternative {
    comparators: Vec<Comparator>,
    names_prerelease: bool,
}

/// A text is not a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstraintError {
    /// The text is longer than [`MAX_CONSTRAINT_BYTES`] or [`MAX_OLD_CONSTRAINT_BYTES`].
    TooLong {
        /// How many bytes it may have.
        max: usize,
    },
    /// There are more than [`MAX_CONSTRAINT_GROUPS`] alternatives.
    TooManyGroups,
    /// An alternative does not follow the grammar.
    Improper {
        /// The alternative, after hyphen ranges were rewritten.
        text: String,
        /// The release of the library that words the message.
        edition: Edition,
    },
    /// A version has the right shape but is none, for example because a number is too great.
    Version {
        /// The release of the library that words the message.
        edition: Edition,
    },
}

impl Display for ConstraintError {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { max } => write!(out, "constraint string is too long (max {max} bytes)"),
            Self::TooManyGroups => write!(out, "too many constraint groups (max {MAX_CONSTRAINT_GROUPS})"),
            Self::Improper {
                text,
                edition: Edition::V3_3,
            } => write!(out, "improper constraint: {text}"),
            Self::Improper {
                text,
                edition: Edition::V3_5,
            } => {
                write!(out, "improper constraint: {}", Quoted(text))
            }
            Self::Version {
                edition: Edition::V3_3,
            } => out.write_str("constraint Parser Error"),
            Self::Version {
                edition: Edition::V3_5,
            } => out.write_str("constraint parser error"),
        }
    }
}

impl std::error::Error for ConstraintError {}

/// Why one comparator does not accept a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong with the version.
    pub reason: Reason,
    /// The version that was asked about.
    pub version: Version,
    /// The version in the constraint, as it was written; empty for [`Reason::Prerelease`].
    pub limit: String,
    edition: Edition,
}

impl Display for Refusal {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (before, behind) = self.reason.words();
        match self.edition {
            Edition::V3_3 => write!(out, "{} {before}", self.version)?,
            Edition::V3_5 => write!(out, "{} {before}", Quoted(&self.version.to_string()))?,
        }
        if self.reason == Reason::Prerelease {
            return Ok(());
        }
        match self.edition {
            Edition::V3_3 => write!(out, " {}{behind}", self.limit),
            Edition::V3_5 => write!(out, " {}{behind}", Quoted(&self.limit)),
        }
    }
}

impl std::error::Error for Refusal {}

impl Constraint {
    /// Reads a constraint by the rules of `edition`.
    pub fn parse(text: &str, edition: Edition) -> Result<Self, ConstraintError> {
        let max = match edition {
            Edition::V3_3 => MAX_OLD_CONSTRAINT_BYTES,
            Edition::V3_5 => MAX_CONSTRAINT_BYTES,
        };
        if text.len() > max {
            return Err(ConstraintError::TooLong { max });
        }
        let text = grammar::rewrite_hyphen_ranges(text);
        if edition == Edition::V3_5 && text.split("||").count() > MAX_CONSTRAINT_GROUPS {
            return Err(ConstraintError::TooManyGroups);
        }
        let alternatives = text
            .split("||")
            .map(|group| Alternative::parse(group, edition))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            alternatives,
            edition,
            include_prereleases: false,
        })
    }

    /// Returns the same constraint, but accepting pre-releases wherever their precedence fits.
    pub fn including_prereleases(self) -> Self {
        Self {
            include_prereleases: true,
            ..self
        }
    }

    /// Returns whether `version` is accepted.
    pub fn check(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|alternative| {
            alternative.comparators.iter().all(|comparator| {
                let looked_for = self.looks_for_prereleases(alternative, comparator);
                comparator.check(version, looked_for, self.edition).is_ok()
            })
        })
    }

    /// Accepts `version`, or says of every comparator that does not why.
    ///
    /// That the version is a pre-release is said once. By [`Edition::V3_3`] a pre-release may pass
    /// [`check`](Self::check) at `!=` and be refused here.
    pub fn validate(&self, version: &Version) -> Result<(), Vec<Refusal>> {
        let mut refusals: Vec<Refusal> = Vec::new();
        for alternative in &self.alternatives {
            let mut accepted = true;
            for comparator in &alternative.comparators {
                let looked_for = self.looks_for_prereleases(alternative, comparator);
                let result = if version.is_prerelease() && !looked_for {
                    Err(Reason::Prerelease)
                } else {
                    comparator.check(version, looked_for, self.edition)
                };
                let Err(reason) = result else { continue };
                accepted = false;
                if reason != Reason::Prerelease || refusals.iter().all(|earlier| earlier.reason != reason) {
                    refusals.push(self.refusal(reason, version, comparator));
                }
            }
            if accepted {
                return Ok(());
            }
        }
        Err(refusals)
    }

    fn refusal(&self, reason: Reason, version: &Version, comparator: &Comparator) -> Refusal {
        let limit = if reason == Reason::Prerelease {
            String::new()
        } else {
            comparator.limit().to_owned()
        };
        Refusal {
            reason,
            version: version.clone(),
            limit,
            edition: self.edition,
        }
    }

    fn looks_for_prereleases(&self, alternative: &Alternative, comparator: &Comparator) -> bool {
        self.include_prereleases
            || match self.edition {
                Edition::V3_3 => comparator.names_prerelease(),
                Edition::V3_5 => alternative.names_prerelease,
            }
    }
}

impl Alternative {
    fn parse(group: &str, edition: Edition) -> Result<Self, ConstraintError> {
        let terms = grammar::terms(group).ok_or_else(|| ConstraintError::Improper {
            text: group.to_owned(),
            edition,
        })?;
        let comparators = terms
            .into_iter()
            .map(|term| Comparator::new(&term, edition).ok_or(ConstraintError::Version { edition }))
            .collect::<Result<Vec<_>, _>>()?;
        let names_prerelease = comparators.iter().any(Comparator::names_prerelease);
        Ok(Self {
            comparators,
            names_prerelease,
        })
    }
}

impl Display for Constraint {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for (index, alternative) in self.alternatives.iter().enumerate() {
            if index > 0 {
                out.write_str(" || ")?;
            }
            for (index, comparator) in alternative.comparators.iter().enumerate() {
                if index > 0 {
                    out.write_str(" ")?;
                }
                comparator.fmt(out)?;
            }
        }
        Ok(())
    }
}
