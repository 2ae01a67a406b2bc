//! The order of keys: by bytes in JSON, and in YAML as a person would put them.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory as _};

/// The order of encoding/json.
pub(crate) fn by_bytes(a: &str, b: &str) -> bool {
    a < b
}

/// The order of go-yaml v2: numbers inside keys by their value, letters after everything else.
pub(crate) fn natural_v2(a: &str, b: &str) -> bool {
    natural(a, b, false)
}

/// The order of go-yaml v3: as v2, but a letter that follows common digits comes first.
pub(crate) fn natural_v3(a: &str, b: &str) -> bool {
    natural(a, b, true)
}

fn natural(a: &str, b: &str, letters_first_after_digits: bool) -> bool {
    // Where one key is the beginning of the other, the shorter one comes first.
    let common = a
        .chars()
        .zip(b.chars())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum::<usize>();
    let (Some((shared, rest_a)), Some(rest_b)) = (a.split_at_checked(common), b.get(common..)) else {
        return false;
    };
    let (Some(first_a), Some(first_b)) = (rest_a.chars().next(), rest_b.chars().next()) else {
        return rest_a.is_empty() && !rest_b.is_empty();
    };
    match (is_letter(first_a), is_letter(first_b)) {
        (true, true) => return first_a < first_b,
        (false, false) => {}
        (letter_a, letter_b) => {
            let after_digits = letters_first_after_digits && shared.chars().next_back().is_some_and(is_digit);
            return if after_digits { letter_a } else { letter_b };
        }
    }
    // A zero inside of a number counts, so the common digits before it must not be forgotten.
    let inside_number = (first_a == '0' || first_b == '0')
        && shared
            .chars()
            .rev()
            .take_while(|&character| is_digit(character))
            .any(|character| character != '0');
    let (number_a, length_a) = leading_number(rest_a, inside_number);
    let (number_b, length_b) = leading_number(rest_b, inside_number);
    (number_a, length_a, first_a) < (number_b, length_b, first_b)
}

fn leading_number(text: &str, inside_number: bool) -> (i64, usize) {
    text.chars().take_while(|&character| is_digit(character)).fold(
        (i64::from(inside_number), 0),
        |(number, length), digit| {
            let value = i64::from(u32::from(digit)) - i64::from(u32::from('0'));
            (number.wrapping_mul(10).wrapping_add(value), length + 1)
        },
    )
}

fn is_letter(character: char) -> bool {
    if character.is_ascii() {
        character.is_ascii_alphabetic()
    } else {
        character.general_category_group() == GeneralCategoryGroup::Letter
    }
}

fn is_digit(character: char) -> bool {
    if character.is_ascii() {
        character.is_ascii_digit()
    } else {
        character.general_category() == GeneralCategory::DecimalNumber
    }
}
