//! The dot-separated identifiers after a version's numbers: `rc.1` in `1.2.3-rc.1`.

use crate::number::{self, NumberError};
use crate::quoted::Quoted;
use std::cmp::Ordering;
use thiserror::Error;

/// An identifier of a pre-release or a release is not one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IdentifierError {
    /// There is nothing between two dots.
    #[error("Prerelease is empty")]
    Empty,
    /// A number starts with a needless zero.
    #[error("Numeric PreRelease version must not contain leading zeroes {}", Quoted(.0))]
    LeadingZeros(String),
    /// A character is neither a letter, a digit nor a hyphen.
    #[error("Invalid character(s) found in prerelease {}", Quoted(.0))]
    Characters(String),
    /// The number is greater than 64 bits hold.
    #[error(transparent)]
    Number(#[from] NumberError),
}

/// Checks one identifier of a pre-release by blang's rules.
pub(crate) fn check(identifier: &str) -> Result<(), IdentifierError> {
    if identifier.is_empty() {
        return Err(IdentifierError::Empty);
    }
    if number::only_digits(identifier) {
        if number::has_leading_zeros(identifier) {
            return Err(IdentifierError::LeadingZeros(identifier.to_owned()));
        }
        number::parse(identifier)?;
        return Ok(());
    }
    if only_allowed(identifier) {
        Ok(())
    } else {
        Err(IdentifierError::Characters(identifier.to_owned()))
    }
}

/// Returns whether `identifier` has only letters, digits and hyphens; true for an empty one.
pub(crate) fn only_allowed(identifier: &str) -> bool {
    identifier.bytes().all(is_allowed)
}

/// Returns whether `byte` may stand in an identifier.
pub(crate) fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// Compares two dotted lists, identifier by identifier; where one list ends, it is the lesser.
///
/// An empty identifier counts like a missing one, because Masterminds' strict reader lets it in.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let (one, other) = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (one, other) => (one.unwrap_or_default(), other.unwrap_or_default()),
        };
        match rank(one).cmp(&rank(other)) {
            Ordering::Equal => {}
            decided => return decided,
        }
    }
}

/// Where an identifier stands among others: nothing, then numbers by value, then texts by their bytes.
///
/// A number beyond 64 bits is a text, as it is for Masterminds; blang lets none in.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank<'a> {
    Nothing,
    Number(u64, &'a str),
    Text(&'a str),
}

fn rank(identifier: &str) -> Rank<'_> {
    if identifier.is_empty() {
        return Rank::Nothing;
    }
    number::parse(identifier).map_or(Rank::Text(identifier), |value| Rank::Number(value, identifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_before_texts_and_a_longer_list_after_its_beginning() {
        let ascending = [
            "",
            "0",
            "2",
            "10",
            "10.0",
            "10.a",
            "18446744073709551615",
            "18446744073709551616",
            "A",
            "a",
            "a.b",
        ];
        for (index, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(compare(left, right), index.cmp(&other), "{left} and {right}");
            }
        }
    }
}
