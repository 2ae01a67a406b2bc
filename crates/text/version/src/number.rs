//! Numbers as Go's `strconv` reads them, with its error texts.

use crate::quoted::Quoted;
use thiserror::Error;

/// A number of a version is empty or greater than 64 bits hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NumberError {
    /// The text is empty or has something else than digits.
    #[error("strconv.ParseUint: parsing {}: invalid syntax", Quoted(.0))]
    Syntax(String),
    /// The number is greater than 18446744073709551615.
    #[error("strconv.ParseUint: parsing {}: value out of range", Quoted(.0))]
    TooGreat(String),
}

/// Returns the number that `text` writes in decimal digits.
pub(crate) fn parse(text: &str) -> Result<u64, NumberError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NumberError::Syntax(text.to_owned()));
    }
    text.parse().map_err(|_| NumberError::TooGreat(text.to_owned()))
}

/// Returns whether `text` is a number that is written with needless zeros in front.
pub(crate) fn has_leading_zeros(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0')
}

/// Returns whether every character of `text` is a decimal digit; true for an empty text.
pub(crate) fn only_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether Go counts `character` as a digit, in any script.
pub(crate) fn is_digit(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_digit();
    }
    let code = u32::from(character);
    let following = ZEROS.partition_point(|&zero| zero <= code);
    following
        .checked_sub(1)
        .and_then(|index| ZEROS.get(index))
        .is_some_and(|&zero| code - zero < 10)
}

/// The digit zero of every script but ASCII, in order; each is followed by the other nine.
const ZEROS: &[u32] = &[
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50,
    0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0,
    0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50,
    0x11d50, 0x11da0, 0x11f50, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6,
    0x1e140, 0x1e2f0, 0x1e4f0, 0x1e950, 0x1fbf0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_number_is_read_and_the_next_is_refused() {
        assert_eq!(parse("18446744073709551615"), Ok(u64::MAX));
        let refused = parse("18446744073709551616").unwrap_err();
        assert_eq!(
            refused.to_string(),
            r#"strconv.ParseUint: parsing "18446744073709551616": value out of range"#
        );
        assert_eq!(
            parse("").unwrap_err().to_string(),
            r#"strconv.ParseUint: parsing "": invalid syntax"#
        );
        assert_eq!(
            parse("+1").unwrap_err().to_string(),
            r#"strconv.ParseUint: parsing "+1": invalid syntax"#
        );
    }

    #[test]
    fn digits_of_other_scripts_are_digits_and_fractions_are_not() {
        assert!(ZEROS.is_sorted());
        for digit in ['0', '9', '٣', '९', '𝟘', '𝟿', '０', '９'] {
            assert!(is_digit(digit), "{digit}");
        }
        for other in ['x', '½', '²', 'Ⅷ', '①', '/', ':', '\u{65f}'] {
            assert!(!is_digit(other), "{other}");
        }
    }
}
