//! Upper, lower and title case, and initials.

use gotemplate::{Function, Text, Type, Value};

use crate::go_characters::{
    DIGIT, LETTER, LOWER, TITLE, UPPER, map_characters, to_lower, to_title, to_upper,
};

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("upper", &[Type::String], |call| {
        Ok(Value::String(change(call.text(0), to_upper)))
    })
    .heavy(),
    Function::new("lower", &[Type::String], |call| {
        Ok(Value::String(change(call.text(0), to_lower)))
    })
    .heavy(),
    Function::new("title", &[Type::String], |call| {
        Ok(Value::string(title(&call.text(0))))
    })
    .heavy(),
    Function::new("untitle", &[Type::String], |call| {
        Ok(Value::string(untitle(&call.text(0))))
    })
    .heavy(),
    Function::new("swapcase", &[Type::String], |call| {
        Ok(Value::string(swap_case(&call.text(0))))
    })
    .heavy(),
    Function::new("initials", &[Type::String], |call| {
        Ok(Value::string(initials(&call.text(0))))
    })
    .heavy(),
];

fn change(text: Text, case: fn(char) -> char) -> Text {
    match std::str::from_utf8(&text) {
        Ok(valid) if valid.chars().all(|character| case(character) == character) => text,
        _ => map_characters(&text, case).into(),
    }
}

/// Changes the first letter of each word to title case; a word ends where a character is neither letter, digit nor
/// underscore, and outside ASCII where it is white space.
fn title(text: &[u8]) -> String {
    let mut previous = ' ';
    map_characters(text, |character| {
        let starts_word = separates_words(previous);
        previous = character;
        if starts_word {
            to_title(character)
        } else {
            character
        }
    })
}

fn separates_words(character: char) -> bool {
    if character.is_ascii() {
        !(character.is_ascii_alphanumeric() || character == '_')
    } else {
        !LETTER.contains(character) && !DIGIT.contains(character) && character.is_whitespace()
    }
}

/// Changes the first letter of each word to lower case; words are what white space separates.
fn untitle(text: &[u8]) -> String {
    let mut starts_word = true;
    map_characters(text, |character| {
        if character.is_whitespace() {
            starts_word = true;
            character
        } else if std::mem::take(&mut starts_word) {
            to_lower(character)
        } else {
            character
        }
    })
}

/// Swaps the case of every letter; a lower-case letter at the start of a word becomes title case.
fn swap_case(text: &[u8]) -> String {
    let mut starts_word = true;
    map_characters(text, |character| {
        if UPPER.contains(character) || TITLE.contains(character) {
            starts_word = false;
            to_lower(character)
        } else if LOWER.contains(character) {
            if std::mem::take(&mut starts_word) {
                to_title(character)
            } else {
                to_upper(character)
            }
        } else {
            starts_word = character.is_whitespace();
            character
        }
    })
}

/// Keeps the first byte of each word, read as Latin-1.
fn initials(text: &[u8]) -> String {
    let mut starts_word = true;
    let keeps = |character: &char| {
        if character.is_whitespace() {
            starts_word = true;
            false
        } else {
            std::mem::take(&mut starts_word)
        }
    };
    text.iter().map(|&byte| char::from(byte)).filter(keeps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::testing::check_change as check;

    #[test]
    fn title_changes_the_first_letter_of_words() {
        check(
            title,
            &[
                ("foo bar", "Foo Bar"),
                ("o'neil's_x y", "O'Neil'S_x Y"),
                ("hello-world.a", "Hello-World.A"),
                ("ǆabc ßa", "ǅabc ßa"),
                ("élan vital", "Élan Vital"),
                ("a1b 2c\u{2003}d", "A1b 2c\u{2003}D"),
            ],
        );
    }

    #[test]
    fn untitle_changes_it_back() {
        check(
            untitle,
            &[
                ("Hello World", "hello world"),
                ("ÉA bC", "éA bC"),
                ("  Xy\u{9}Z", "  xy\u{9}z"),
            ],
        );
    }

    #[test]
    fn swapping_case_gives_words_a_title_letter() {
        check(
            swap_case,
            &[
                ("The dog has a BONE", "tHE DOG HAS A bone"),
                ("aB c ǅ", "Ab C ǆ"),
                ("éÉ 1a", "Éé 1A"),
            ],
        );
    }

    #[test]
    fn initials_are_bytes() {
        check(
            initials,
            &[("First Try", "FT"), ("  a  b", "ab"), ("éa ñb", "ÃÃ")],
        );
    }

    #[test]
    fn upper_maps_one_to_one() {
        check(
            |text| change(text.into(), to_upper).as_bytes().to_vec(),
            &[("straße İi ﬁ", "STRAßE İI ﬁ"), ("ΐ ᾳ", "ΐ ᾼ")],
        );
    }

    #[test]
    fn lower_maps_one_to_one() {
        check(
            |text| change(text.into(), to_lower).as_bytes().to_vec(),
            &[("straße İi ﬁ", "straße ii ﬁ"), ("ΐ ᾳ", "ΐ ᾳ")],
        );
    }
}
