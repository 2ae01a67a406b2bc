//! Numbers that people give to things and to each other: of books, cards and persons. Most have a digit that checks the
//! others.

use std::sync::LazyLock;

use chart::go_expression::Expression;

use super::{constant, matches};

static CREDIT_CARD: LazyLock<Option<Expression>> = LazyLock::new(|| {
    constant(
        "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|\
         3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$",
    )
});

static SOCIAL_SECURITY: LazyLock<Option<Expression>> =
    LazyLock::new(|| constant("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"));

/// Whatever isn't a digit is overlooked.
pub(super) fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    if !matches(&CREDIT_CARD, &digits) {
        return false;
    }
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, byte)| {
            let digit = u32::from(byte - b'0');
            match (place % 2, digit * 2) {
                (0, _) => digit,
                (_, doubled @ 10..) => doubled % 10 + 1,
                (_, doubled) => doubled,
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Takes out the dashes and blanks that group the digits.
fn without_grouping(text: &str) -> String {
    text.chars()
        .filter(|character| !matches!(character, '\t' | '\n' | '\u{c}' | '\r' | ' ' | '-'))
        .collect()
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let signs = without_grouping(text);
    let [front @ .., last] = signs.as_bytes() else {
        return false;
    };
    if front.len() != 9 || !front.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let check = match last {
        b'X' => 10,
        b'0'..=b'9' => u32::from(last - b'0'),
        _ => return false,
    };
    let weighted: u32 = (1..)
        .zip(front)
        .map(|(weight, byte)| weight * u32::from(byte - b'0'))
        .sum();
    (weighted + 10 * check).is_multiple_of(11)
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let signs = without_grouping(text);
    if signs.len() != 13 || !signs.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let weighted: u32 = signs
        .bytes()
        .zip([1, 3].into_iter().cycle())
        .map(|(byte, weight)| weight * u32::from(byte - b'0'))
        .sum();
    weighted.is_multiple_of(10)
}

/// The length of the text must be that of a number with both separators.
pub(super) fn is_social_security_number(text: &str) -> bool {
    text.len() == 11 && matches(&SOCIAL_SECURITY, text)
}
