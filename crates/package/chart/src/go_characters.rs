//! Characters as Go sees them: UTF-8 that may be broken, Unicode 15 categories, one character for one in case changes.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, HirKind};

/// Iterates over the characters with their length in bytes; each byte that is not UTF-8 counts as U+FFFD.
pub(crate) fn characters(text: &[u8]) -> impl Iterator<Item = (char, usize)> + '_ {
    text.utf8_chunks().flat_map(|chunk| {
        let valid = chunk
            .valid()
            .chars()
            .map(|character| (character, character.len_utf8()));
        valid.chain(chunk.invalid().iter().map(|_| (char::REPLACEMENT_CHARACTER, 1)))
    })
}

/// Returns the first character with its length in bytes.
pub(crate) fn first_character(text: &[u8]) -> Option<(char, usize)> {
    // The longest character has four bytes.
    characters(text.get(..4).unwrap_or(text)).next()
}

/// Replaces every character; what is not UTF-8 becomes U+FFFD.
pub(crate) fn map_characters(text: &[u8], change: impl FnMut(char) -> char) -> String {
    characters(text)
        .map(|(character, _)| character)
        .map(change)
        .collect()
}

/// A set of characters that Unicode 15, which Go knows, puts into some categories.
pub(crate) struct Category(LazyLock<ClassUnicode>);

impl Category {
    /// Returns whether the character belongs to it.
    pub(crate) fn contains(&self, character: char) -> bool {
        let position = self.0.ranges().binary_search_by(|range| {
            if range.end() < character {
                std::cmp::Ordering::Less
            } else if range.start() > character {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        });
        position.is_ok()
    }
}

/// Upper-case letters.
pub(crate) static UPPER: Category = Category(LazyLock::new(|| unicode_15_class(r"\p{Lu}")));
/// Lower-case letters.
pub(crate) static LOWER: Category = Category(LazyLock::new(|| unicode_15_class(r"\p{Ll}")));
/// Title-case letters, such as U+01C5.
pub(crate) static TITLE: Category = Category(LazyLock::new(|| unicode_15_class(r"\p{Lt}")));
/// Letters.
pub(crate) static LETTER: Category = Category(LazyLock::new(|| unicode_15_class(r"\p{L}")));
/// Decimal digits.
pub(crate) static DIGIT: Category = Category(LazyLock::new(|| unicode_15_class(r"\p{Nd}")));
/// Numbers: digits, letters such as Ⅷ, and others such as ½.
pub(crate) static NUMBER: Category = Category(LazyLock::new(|| unicode_15_class(r"\p{N}")));
/// Punctuation.
pub(crate) static PUNCTUATION: Category = Category(LazyLock::new(|| unicode_15_class(r"\p{P}")));

/// Returns the characters of a class as Unicode 15 had it; empty for a class that does not exist.
pub(crate) fn unicode_15_class(class: &str) -> ClassUnicode {
    let expression = format!(r"[{class}&&\p{{Age=15.0}}]");
    match regex_syntax::parse(&expression).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // A class of a single character is read as a literal.
        Ok(HirKind::Literal(literal)) => {
            let characters = std::str::from_utf8(&literal.0).unwrap_or_default().chars();
            ClassUnicode::new(characters.map(|one| regex_syntax::hir::ClassUnicodeRange::new(one, one)))
        }
        _ => ClassUnicode::empty(),
    }
}

/// Changes to upper case, one character for one.
pub(crate) fn to_upper(character: char) -> char {
    match character {
        // These become two characters in full case mapping, but have a single one as well.
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => shifted(character, 8),
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => shifted(character, 9),
        _ => single(character, character.to_uppercase()),
    }
}

/// Changes to lower case, one character for one.
pub(crate) fn to_lower(character: char) -> char {
    match character {
        '\u{130}' => 'i',
        _ => single(character, character.to_lowercase()),
    }
}

/// Changes to title case: upper case, but for letters that are two letters in one, and Georgian.
pub(crate) fn to_title(character: char) -> char {
    match character {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => character,
        _ => to_upper(character),
    }
}

fn shifted(character: char, by: u32) -> char {
    char::from_u32(u32::from(character) + by).unwrap_or(character)
}

/// Returns the only character of a mapping; the original where there are several, or where Unicode 15 had none.
fn single(original: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) if !(cased_later(original) || cased_later(one)) => one,
        _ => original,
    }
}

/// Returns whether the letter got its case partner after Unicode 15.
fn cased_later(character: char) -> bool {
    matches!(
        character,
        '\u{1c89}'..='\u{1c8a}'
            | '\u{a7cb}'..='\u{a7cf}'
            | '\u{a7d2}'..='\u{a7d5}'
            | '\u{a7da}'..='\u{a7dc}'
            | '\u{10d50}'..='\u{10d85}'
            | '\u{16ea0}'..='\u{16ed3}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_bytes_count_one_by_one() {
        let seen: Vec<_> = characters(b"a\xe2\x82b\xff").collect();
        let broken = (char::REPLACEMENT_CHARACTER, 1);
        assert_eq!(seen, [('a', 1), broken, broken, ('b', 1), broken]);
        assert_eq!(first_character("é…".as_bytes()), Some(('é', 2)));
        assert_eq!(first_character(b""), None);
    }

    #[test]
    fn case_changes_one_character_for_one() {
        for (from, upper, lower, title) in [
            ('a', 'A', 'a', 'A'),
            ('ß', 'ß', 'ß', 'ß'),
            ('İ', 'İ', 'i', 'İ'),
            ('ǆ', 'Ǆ', 'ǆ', 'ǅ'),
            ('\u{1f80}', '\u{1f88}', '\u{1f80}', '\u{1f88}'),
            ('\u{1fb3}', '\u{1fbc}', '\u{1fb3}', '\u{1fbc}'),
            ('\u{10d0}', '\u{1c90}', '\u{10d0}', '\u{10d0}'),
            ('\u{19b}', '\u{19b}', '\u{19b}', '\u{19b}'),
            ('\u{1c8a}', '\u{1c8a}', '\u{1c8a}', '\u{1c8a}'),
        ] {
            assert_eq!(
                (to_upper(from), to_lower(from), to_title(from)),
                (upper, lower, title),
                "{from}"
            );
        }
    }

    #[test]
    fn categories_are_those_of_unicode_15() {
        assert!(UPPER.contains('É') && !UPPER.contains('é') && !UPPER.contains('\u{1c89}'));
        assert!(LOWER.contains('é') && TITLE.contains('ǅ') && LETTER.contains('漢'));
        assert!(NUMBER.contains('½') && !DIGIT.contains('½') && DIGIT.contains('٣'));
        assert!(PUNCTUATION.contains('-') && PUNCTUATION.contains('_') && !PUNCTUATION.contains('+'));
    }
}
