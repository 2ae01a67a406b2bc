//! Ranges of versions in blang/semver's language, as in `skipRange: ">=1.0.0 <1.5.0 || 2.x"`.

mod wildcard;

use crate::number;
use crate::quoted::Quoted;
use crate::strict::VersionError;
use crate::version::Version;
use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use thiserror::Error;

/// How long a range may be, in bytes.
///
/// Real ranges have less than 100; this leaves room for one that lists hundreds of versions.
pub const MAX_RANGE_BYTES: usize = 8192;

/// A set of versions: comparators that must all hold, in alternatives of which one must.
///
/// A pre-release is compared like any other version: `<2.0.0` holds for `2.0.0-rc1`.
///
/// ```
/// use version::{Range, Version};
///
/// let skipped = Range::parse(">=1.0.0 <1.5.0 || 2.x").unwrap();
/// assert!(skipped.matches(&Version::new(1, 4, 9)));
/// assert!(skipped.matches(&Version::new(2, 7, 0)));
/// assert!(!skipped.matches(&Version::new(1, 5, 0)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    alternatives: Vec<Vec<Comparator>>,
    text: Box<str>,
}

/// A text is not a range.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RangeError {
    /// The text is longer than [`MAX_RANGE_BYTES`]; blang itself has no limit.
    #[error("range string is too long (max {MAX_RANGE_BYTES} bytes)")]
    TooLong,
    /// Nothing stands before the first `||`.
    #[error("First element in range is '||'")]
    NothingFirst,
    /// Nothing stands behind the last `||`, or the text has nothing that counts.
    #[error("Last element in range is '||'")]
    NothingLast,
    /// An element has no digit, so no version.
    #[error("Could not get version from string: {}", Quoted(.0))]
    NoVersion(String),
    /// What stands before the version is no comparison.
    #[error(
        "Could not parse Range {}: Could not parse comparator {} in {}",
        Quoted(.element), Quoted(.operator), Quoted(&format!("{operator}{version}"))
    )]
    Operator {
        /// The whole element, after wildcards were rewritten.
        element: String,
        /// What stands in the comparison's place.
        operator: String,
        /// What follows it.
        version: String,
    },
    /// The version of an element is not one.
    #[error(
        "Could not parse Range {}: Could not parse version {} in {}: {source}",
        Quoted(.element), Quoted(.version), Quoted(&format!("{operator}{version}"))
    )]
    Version {
        /// The whole element, after wildcards were rewritten.
        element: String,
        /// The comparison before the version.
        operator: String,
        /// What stands in the version's place.
        version: String,
        /// Why it is none.
        source: VersionError,
    },
}

impl Range {
    /// Reads a range.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        if text.len() > MAX_RANGE_BYTES {
            return Err(RangeError::TooLong);
        }
        let elements = split(text);
        let mut alternatives = Vec::new();
        for alternative in by_alternative(&elements)? {
            let mut expanded = Vec::with_capacity(alternative.len());
            for element in alternative {
                wildcard::expand(element, &mut expanded)?;
            }
            alternatives.push(expanded);
        }
        let alternatives = alternatives
            .iter()
            .map(|alternative| {
                alternative
                    .iter()
                    .map(|element| Comparator::parse(element))
                    .collect()
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            alternatives,
            text: text.into(),
        })
    }

    /// Returns whether `version` is in the range; its build metadata does not count.
    ///
    /// An alternative without comparators, as between the bars of `1.0.0 || || 2.0.0`, holds for nothing.
    /// blang accepts that text and then crashes when it is asked.
    pub fn matches(&self, version: &Version) -> bool {
        self.alternatives
            .iter()
            .any(|all| !all.is_empty() && all.iter().all(|comparator| comparator.matches(version)))
    }
}

impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        Self::parse(text)
    }
}

impl Display for Range {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparator {
    relation: Relation,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Comparator {
    fn parse(element: &str) -> Result<Self, RangeError> {
        let (operator, version) = split_operator(element)?;
        let relation = match operator {
            "" | "=" | "==" => Relation::Equal,
            "!" | "!=" => Relation::NotEqual,
            ">" => Relation::Greater,
            ">=" => Relation::GreaterOrEqual,
            "<" => Relation::Less,
            "<=" => Relation::LessOrEqual,
            _ => {
                return Err(RangeError::Operator {
                    element: element.to_owned(),
                    operator: operator.to_owned(),
                    version: version.to_owned(),
                });
            }
        };
        let version = Version::parse(version).map_err(|source| RangeError::Version {
            element: element.to_owned(),
            operator: operator.to_owned(),
            version: version.to_owned(),
            source,
        })?;
        Ok(Self { relation, version })
    }

    fn matches(&self, version: &Version) -> bool {
        let order = version.precedence(&self.version);
        match self.relation {
            Relation::Equal => order == Ordering::Equal,
            Relation::NotEqual => order != Ordering::Equal,
            Relation::Greater => order == Ordering::Greater,
            Relation::GreaterOrEqual => order != Ordering::Less,
            Relation::Less => order == Ordering::Less,
            Relation::LessOrEqual => order != Ordering::Greater,
        }
    }
}

/// Splits a range at its spaces; a space behind a comparison belongs to the element, and is dropped.
///
/// As in blang, an element of one character vanishes, which is why `1` and `x` are ranges of nothing.
fn split(text: &str) -> Vec<String> {
    let mut elements = Vec::new();
    let mut keep = |element: &str| {
        if element.len() > 1 {
            elements.push(element.replace(' ', ""));
        }
    };
    let mut start = 0;
    let mut previous = '\0';
    for (index, character) in text.char_indices() {
        if character != ' ' {
            previous = character;
        } else if !matches!(previous, '<' | '>' | '=') {
            keep(&text[start..index]);
            start = index + 1;
        }
    }
    keep(&text[start..]);
    elements
}

fn by_alternative(elements: &[String]) -> Result<impl Iterator<Item = &[String]>, RangeError> {
    if elements.first().is_some_and(|first| first == "||") {
        return Err(RangeError::NothingFirst);
    }
    if elements.last().is_none_or(|last| last == "||") {
        return Err(RangeError::NothingLast);
    }
    Ok(elements.split(|element| element == "||"))
}

/// Splits an element before its first digit.
fn split_operator(element: &str) -> Result<(&str, &str), RangeError> {
    let at = element
        .find(number::is_digit)
        .ok_or_else(|| RangeError::NoVersion(element.to_owned()))?;
    let (operator, version) = element.split_at(at);
    Ok((operator.trim(), version))
}
