//! Snake, kebab and camel case: text taken apart into words and put together again.

use gotemplate::{Function, Type, Value};

use crate::go_characters::{
    LETTER, NUMBER, PUNCTUATION, UPPER, characters, first_character, to_lower, to_upper,
};

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("snakecase", &[Type::String], |call| {
        Ok(Value::string(split_words(&call.text(0), '_')))
    })
    .heavy(),
    Function::new("kebabcase", &[Type::String], |call| {
        Ok(Value::string(split_words(&call.text(0), '-')))
    })
    .heavy(),
    Function::new("camelcase", &[Type::String], |call| {
        Ok(Value::string(join_words(&call.text(0))))
    })
    .heavy(),
];

fn is_connector(character: char) -> bool {
    character == '-' || character == '_' || character.is_whitespace()
}

/// Joins words that are separated by spaces, hyphens or underscores, each beginning with a capital letter.
fn join_words(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = characters(text).map(|(character, _)| character);
    let Some(mut current) = rest.next() else {
        return out;
    };
    let mut in_capitals = false;
    // Connectors at the beginning stay.
    loop {
        if !is_connector(current) {
            in_capitals = UPPER.contains(current);
            current = to_upper(current);
            break;
        }
        out.push(current);
        match rest.next() {
            Some(next) => current = next,
            // A text of nothing but connectors gets its last one twice.
            None => break,
        }
    }
    for next in rest {
        let previous = std::mem::replace(&mut current, next);
        match (is_connector(previous), is_connector(next)) {
            (true, true) => out.push(previous),
            (true, false) => {
                in_capitals = UPPER.contains(next);
                current = to_upper(next);
            }
            (false, _) => {
                if in_capitals {
                    if UPPER.contains(next) {
                        current = to_lower(next);
                    } else {
                        in_capitals = false;
                    }
                }
                out.push(previous);
            }
        }
    }
    out.push(current);
    out
}

/// What a run of similar characters is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordKind {
    /// Nothing left, or nothing but broken UTF-8.
    Invalid,
    Number,
    /// Begins with a capital letter.
    Capital,
    /// Begins with another letter.
    Alphabet,
    Connector,
    Punctuation,
    Other,
}

impl WordKind {
    /// Returns whether a word of this kind stands right beside what comes before, without a connector.
    fn needs_no_connector(self) -> bool {
        matches!(self, WordKind::Connector | WordKind::Punctuation)
    }

    fn continues_number(self) -> bool {
        matches!(self, WordKind::Alphabet | WordKind::Number)
    }
}

/// Writes words in lower case, with a connector between them.
///
/// A number belongs to the word before it, unless small letters follow it: `Bld4Floor` and `http2xx` are `bld4_floor`
/// and `http_2xx`.
fn split_words(text: &[u8], connector: char) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 4);
    let mut words = Words::new(text);
    while !words.rest.is_empty() {
        if words.kind != WordKind::Connector {
            words.write(&mut out, connector);
        }
        let (previous, last) = (words.kind, words.word);
        words.advance();
        match previous {
            WordKind::Number => words.write_number_tail(&mut out, connector),
            WordKind::Connector => write_word(&mut out, previous, last, connector),
            WordKind::Punctuation => {}
            _ if words.kind != WordKind::Number => {
                if !words.kind.needs_no_connector() {
                    push(&mut out, connector);
                }
            }
            _ if words.rest.is_empty() => {}
            _ => {
                let number = words.word;
                words.advance();
                if words.kind == WordKind::Alphabet {
                    push(&mut out, connector);
                    out.extend_from_slice(number);
                    words.write_number_tail(&mut out, connector);
                } else {
                    out.extend_from_slice(number);
                    if !words.kind.needs_no_connector() {
                        push(&mut out, connector);
                    }
                }
            }
        }
    }
    words.write(&mut out, connector);
    out
}

/// A text being taken apart into words.
struct Words<'text> {
    kind: WordKind,
    word: &'text [u8],
    rest: &'text [u8],
}

impl<'text> Words<'text> {
    fn new(text: &'text [u8]) -> Words<'text> {
        let mut words = Words {
            kind: WordKind::Invalid,
            word: &[],
            rest: text,
        };
        words.advance();
        words
    }

    fn advance(&mut self) {
        let (kind, size) = measure_word(self.rest);
        let (word, rest) = self.rest.split_at_checked(size).unwrap_or((self.rest, &[]));
        (self.kind, self.word, self.rest) = (kind, word, rest);
    }

    fn write(&self, out: &mut Vec<u8>, connector: char) {
        write_word(out, self.kind, self.word, connector);
    }

    fn write_number_tail(&mut self, out: &mut Vec<u8>, connector: char) {
        while self.kind.continues_number() {
            self.write(out, connector);
            self.advance();
        }
        if self.kind != WordKind::Invalid && !self.kind.needs_no_connector() {
            push(out, connector);
        }
    }
}

fn push(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

fn write_word(out: &mut Vec<u8>, kind: WordKind, word: &[u8], connector: char) {
    if !matches!(kind, WordKind::Capital | WordKind::Connector) {
        out.extend_from_slice(word);
        return;
    }
    for (character, _) in characters(word) {
        if is_connector(character) {
            push(out, connector);
        } else if UPPER.contains(character) {
            push(out, to_lower(character));
        } else {
            push(out, character);
        }
    }
}

/// Returns the kind and the length of the word at the beginning.
fn measure_word(text: &[u8]) -> (WordKind, usize) {
    let mut runs = Runs {
        text,
        size: 0,
        last: char::REPLACEMENT_CHARACTER,
    };
    let Some((first, size)) = runs.peek() else {
        return (WordKind::Invalid, 0);
    };
    runs.take(first, size);
    if first == char::REPLACEMENT_CHARACTER {
        return (WordKind::Invalid, runs.size);
    }
    let small = |character: char| is_alphabet(character) && !UPPER.contains(character);
    let kind = if is_connector(first) {
        runs.take_while(is_connector);
        WordKind::Connector
    } else if PUNCTUATION.contains(first) {
        runs.take_while(|character| PUNCTUATION.contains(character));
        WordKind::Punctuation
    } else if UPPER.contains(first) {
        measure_capital(&mut runs, small);
        WordKind::Capital
    } else if is_alphabet(first) {
        runs.take_while(small);
        WordKind::Alphabet
    } else if NUMBER.contains(first) {
        runs.take_while(|character| NUMBER.contains(character));
        WordKind::Number
    } else {
        let other = |character: char| {
            !(is_connector(character)
                || is_alphabet(character)
                || NUMBER.contains(character)
                || PUNCTUATION.contains(character))
        };
        runs.take_while(other);
        WordKind::Other
    };
    (kind, runs.size)
}

/// Takes either a capital and its small letters, or a run of capitals; of `HTTPStatus` only `HTTP`.
fn measure_capital(runs: &mut Runs<'_>, small: impl Fn(char) -> bool) {
    match runs.peek() {
        Some((second, size)) if UPPER.contains(second) => {
            let mut last_size = size;
            runs.take(second, size);
            while let Some((character, size)) = runs.peek() {
                if !UPPER.contains(character) {
                    if is_alphabet(character) {
                        runs.size -= last_size;
                    }
                    break;
                }
                last_size = size;
                runs.take(character, size);
            }
        }
        Some((second, size)) if is_alphabet(second) => {
            runs.take(second, size);
            runs.take_while(small);
        }
        _ => {}
    }
}

/// Letters but for Chinese ones, which have no case.
fn is_alphabet(character: char) -> bool {
    LETTER.contains(character)
        && !matches!(character, '\u{3400}'..='\u{4d85}' | '\u{4e00}'..='\u{9fcc}' | '\u{20000}'..='\u{2b81d}')
}

/// A word being measured; broken UTF-8 counts to the character after it, or to the last one at the end.
struct Runs<'text> {
    text: &'text [u8],
    size: usize,
    last: char,
}

impl Runs<'_> {
    fn peek(&self) -> Option<(char, usize)> {
        let rest = self.text.get(self.size..).filter(|rest| !rest.is_empty())?;
        let mut size = 0;
        // Character by character: to look at all that is left, each time, would take for ever where there is much.
        while let Some((character, width)) = first_character(rest.get(size..).unwrap_or_default()) {
            size += width;
            if character != char::REPLACEMENT_CHARACTER {
                return Some((character, size));
            }
        }
        Some((self.last, size))
    }

    fn take(&mut self, character: char, size: usize) {
        self.size += size;
        self.last = character;
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) {
        while let Some((character, size)) = self.peek()
            && belongs(character)
        {
            self.take(character, size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::testing::check_change as check;

    #[test]
    fn snake_case_words_are_joined_by_underscores() {
        check(
            |text| split_words(text, '_'),
            &[
                ("FirstName", "first_name"),
                ("HTTPServer", "http_server"),
                ("NoHTTPS", "no_https"),
                ("GO_PATH", "go_path"),
                ("GO PATH", "go_path"),
                ("GO-PATH", "go_path"),
                ("http2xx", "http_2xx"),
                ("HTTP20xOK", "http_20x_ok"),
                ("Duration2m3s", "duration_2m3s"),
                ("Bld4Floor3rd", "bld4_floor_3rd"),
                ("HTTPServer2Go", "http_server2_go"),
                ("FirstName99x", "first_name_99x"),
                ("_complex__case_", "_complex__case_"),
                ("some words", "some_words"),
                ("a", "a"),
                ("A", "a"),
                ("_", "_"),
                ("--", "__"),
                ("-a", "_a"),
                ("foo--bar", "foo__bar"),
                ("fooBar.bazQux", "foo_bar.baz_qux"),
                ("abc123DEF", "abc123_def"),
                ("1stPlace", "1st_place"),
                ("x1", "x1"),
                ("X1", "x1"),
                ("漢字Test", "漢字_test"),
                ("éÉcole", "é_école"),
                ("ABc", "a_bc"),
                ("ABC1", "abc1"),
                ("a.b-C_d", "a.b_c_d"),
                ("foo:Bar", "foo:bar"),
                ("http_server", "http_server"),
                ("ALL_CAPS_9", "all_caps_9"),
                ("9lives9", "9lives9"),
                ("ǅungla", "ǅungla"),
                ("$money", "$_money"),
                ("a$B", "a_$_b"),
            ],
        );
    }

    #[test]
    fn kebab_case_words_are_joined_by_hyphens() {
        check(
            |text| split_words(text, '-'),
            &[
                ("FirstName", "first-name"),
                ("HTTPServer", "http-server"),
                ("NoHTTPS", "no-https"),
                ("GO_PATH", "go-path"),
                ("GO PATH", "go-path"),
                ("GO-PATH", "go-path"),
                ("http2xx", "http-2xx"),
                ("HTTP20xOK", "http-20x-ok"),
                ("Duration2m3s", "duration-2m3s"),
                ("Bld4Floor3rd", "bld4-floor-3rd"),
                ("HTTPServer2Go", "http-server2-go"),
                ("FirstName99x", "first-name-99x"),
                ("_complex__case_", "-complex--case-"),
                ("some words", "some-words"),
                ("a", "a"),
                ("A", "a"),
                ("_", "-"),
                ("--", "--"),
                ("-a", "-a"),
                ("foo--bar", "foo--bar"),
                ("fooBar.bazQux", "foo-bar.baz-qux"),
                ("abc123DEF", "abc123-def"),
                ("1stPlace", "1st-place"),
                ("x1", "x1"),
                ("X1", "x1"),
                ("漢字Test", "漢字-test"),
                ("éÉcole", "é-école"),
                ("ABc", "a-bc"),
                ("ABC1", "abc1"),
                ("a.b-C_d", "a.b-c-d"),
                ("foo:Bar", "foo:bar"),
                ("http_server", "http-server"),
                ("ALL_CAPS_9", "all-caps-9"),
                ("9lives9", "9lives9"),
                ("ǅungla", "ǅungla"),
                ("$money", "$-money"),
                ("a$B", "a-$-b"),
            ],
        );
    }

    #[test]
    fn camel_case_words_begin_with_capitals() {
        check(
            join_words,
            &[
                ("FirstName", "FirstName"),
                ("HTTPServer", "Httpserver"),
                ("NoHTTPS", "NoHTTPS"),
                ("GO_PATH", "GoPath"),
                ("GO PATH", "GoPath"),
                ("GO-PATH", "GoPath"),
                ("http2xx", "Http2xx"),
                ("HTTP20xOK", "Http20xOK"),
                ("Duration2m3s", "Duration2m3s"),
                ("Bld4Floor3rd", "Bld4Floor3rd"),
                ("HTTPServer2Go", "Httpserver2Go"),
                ("FirstName99x", "FirstName99x"),
                ("_complex__case_", "_Complex_Case_"),
                ("some words", "SomeWords"),
                ("a", "A"),
                ("A", "A"),
                ("_", "__"),
                ("--", "---"),
                ("-a", "-A"),
                ("foo--bar", "Foo-Bar"),
                ("fooBar.bazQux", "FooBar.bazQux"),
                ("abc123DEF", "Abc123DEF"),
                ("1stPlace", "1stPlace"),
                ("x1", "X1"),
                ("X1", "X1"),
                ("漢字Test", "漢字Test"),
                ("éÉcole", "ÉÉcole"),
                ("ABc", "Abc"),
                ("ABC1", "Abc1"),
                ("a.b-C_d", "A.bCD"),
                ("foo:Bar", "Foo:Bar"),
                ("http_server", "HttpServer"),
                ("ALL_CAPS_9", "AllCaps9"),
                ("9lives9", "9lives9"),
                ("ǅungla", "Ǆungla"),
                ("$money", "$money"),
                ("a$B", "A$B"),
            ],
        );
    }
}
