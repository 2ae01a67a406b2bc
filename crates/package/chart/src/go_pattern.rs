//! Regular expressions in Go's syntax.
//!
//! The two syntaxes are almost one. This rewrites what differs: Perl classes mean ASCII, `[` and doubled signs are plain
//! inside a class, a brace that starts no repetition is itself, `\Q…\E` quotes, and a repetition may not be repeated.

use std::fmt::Write as _;

use regex::{Regex, RegexBuilder};
use thiserror::Error;

/// The greatest number in a repetition, as in Go.
const MAX_REPEAT: u32 = 1000;

/// How much memory a compiled pattern may take; Go limits a pattern's size by other means, but of the same order.
const MAX_PROGRAM_SIZE: usize = 16 * 1024 * 1024;

/// How deep groups may be nested, as in Go.
const MAX_NESTING: u32 = 1000;

/// A pattern that Go does not accept.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("pattern cannot be compiled")]
pub(crate) struct InvalidPattern;

/// Compiles a pattern that is written in Go's syntax.
pub(crate) fn compile(pattern: &str) -> Result<Regex, InvalidPattern> {
    let translated = Translation {
        rest: pattern,
        out: String::with_capacity(pattern.len() + 8),
    }
    .run()?;
    RegexBuilder::new(&translated)
        .size_limit(MAX_PROGRAM_SIZE)
        .nest_limit(MAX_NESTING)
        .build()
        .map_err(|_| InvalidPattern)
}

struct Translation<'a> {
    rest: &'a str,
    out: String,
}

/// What stands before a repetition sign.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Something,
    Repetition,
}

impl Translation<'_> {
    fn run(mut self) -> Result<String, InvalidPattern> {
        let mut before = Before::Nothing;
        while let Some(character) = self.next() {
            before = match character {
                '\\' => {
                    self.escape(false)?;
                    Before::Something
                }
                '[' => {
                    self.class()?;
                    Before::Something
                }
                '*' | '+' | '?' => {
                    self.repetition(before, &character.to_string())?;
                    Before::Repetition
                }
                '{' => {
                    if let Some((length, text)) = repetition(self.rest) {
                        let text = text?;
                        self.rest = &self.rest[length..];
                        self.repetition(before, &text)?;
                        Before::Repetition
                    } else {
                        self.out.push_str("\\{");
                        Before::Something
                    }
                }
                '}' => {
                    self.out.push_str("\\}");
                    Before::Something
                }
                '(' => {
                    self.out.push('(');
                    if self.rest.starts_with('?') {
                        self.group_start()?
                    } else {
                        Before::Nothing
                    }
                }
                '|' => {
                    self.out.push('|');
                    Before::Nothing
                }
                _ => {
                    self.out.push(character);
                    Before::Something
                }
            };
        }
        Ok(self.out)
    }

    fn next(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = &self.rest[character.len_utf8()..];
        Some(character)
    }

    fn repetition(&mut self, before: Before, sign: &str) -> Result<(), InvalidPattern> {
        if before != Before::Something {
            return Err(InvalidPattern);
        }
        self.out.push_str(sign);
        if self.rest.starts_with('?') {
            self.next();
            self.out.push('?');
        }
        Ok(())
    }

    /// Copies the flags or the name of a group; Go has fewer flags and no look-around.
    fn group_start(&mut self) -> Result<Before, InvalidPattern> {
        let end = self.rest.find([':', ')', '>']).ok_or(InvalidPattern)?;
        let start = &self.rest[..=end];
        let is_named = start.starts_with("?P<") || start.starts_with("?<");
        let is_flags = start[1..end].bytes().all(|byte| b"imsU-".contains(&byte))
            && matches!(self.rest.as_bytes()[end], b':' | b')');
        if !is_named && !is_flags || start == "?)" {
            return Err(InvalidPattern);
        }
        self.out.push_str(start);
        self.rest = &self.rest[end + 1..];
        Ok(Before::Nothing)
    }

    /// Translates what follows a backslash.
    fn escape(&mut self, in_class: bool) -> Result<(), InvalidPattern> {
        let character = self.next().ok_or(InvalidPattern)?;
        let class = match character {
            'd' => Some("0-9"),
            's' => Some("\\t\\n\\x0C\\r "),
            'w' => Some("0-9A-Za-z_"),
            _ => None,
        };
        if let Some(class) = class {
            if in_class {
                self.out.push_str(class);
            } else {
                self.out.extend(["[", class, "]"]);
            }
            return Ok(());
        }
        match character {
            'D' => self.out.push_str("[^0-9]"),
            'S' => self.out.push_str("[^\\t\\n\\x0C\\r ]"),
            'W' => self.out.push_str("[^0-9A-Za-z_]"),
            'b' if !in_class => self.out.push_str("(?-u:\\b)"),
            'B' if !in_class => self.out.push_str("(?-u:\\B)"),
            'Q' if !in_class => {
                let (quoted, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                self.out.push_str("(?:");
                self.out.push_str(&regex::escape(quoted));
                self.out.push(')');
                self.rest = rest;
            }
            'A' | 'z' if !in_class => {
                self.out.push('\\');
                self.out.push(character);
            }
            'C' if !in_class => self.out.push_str("(?s:.)"),
            'a' | 'f' | 't' | 'n' | 'r' | 'v' | 'p' | 'P' | 'x' => {
                self.out.push('\\');
                self.out.push(character);
                if matches!(character, 'p' | 'P') && self.rest.starts_with("{^") {
                    self.out.pop();
                    self.out.push(if character == 'p' { 'P' } else { 'p' });
                    self.out.push('{');
                    self.rest = &self.rest[2..];
                }
                if self.rest.starts_with('{') || self.out.ends_with('{') {
                    let end = self.rest.find('}').ok_or(InvalidPattern)?;
                    self.out.push_str(&self.rest[..=end]);
                    self.rest = &self.rest[end + 1..];
                }
            }
            '0'..='7' => self.octal(character)?,
            _ if character.is_ascii_alphanumeric() || !character.is_ascii() => return Err(InvalidPattern),
            _ => {
                self.out.push('\\');
                self.out.push(character);
            }
        }
        Ok(())
    }

    fn octal(&mut self, first: char) -> Result<(), InvalidPattern> {
        // A single digit other than zero would refer back to a group, which Go does not have.
        if first != '0' && !self.rest.starts_with(|next: char| next.is_digit(8)) {
            return Err(InvalidPattern);
        }
        let mut code = first.to_digit(8).unwrap_or(0);
        for _ in 0..2 {
            let Some(digit) = self.rest.chars().next().and_then(|next| next.to_digit(8)) else {
                break;
            };
            code = code * 8 + digit;
            self.next();
        }
        // Writing to a String cannot fail.
        let _ = write!(self.out, "\\x{{{code:x}}}");
        Ok(())
    }

    fn class(&mut self) -> Result<(), InvalidPattern> {
        self.out.push('[');
        if self.rest.starts_with('^') {
            self.next();
            self.out.push('^');
        }
        let mut is_first = true;
        loop {
            if let Some(length) = named_class(self.rest) {
                self.out.push_str(&self.rest[..length]);
                self.rest = &self.rest[length..];
                is_first = false;
                continue;
            }
            let character = self.next().ok_or(InvalidPattern)?;
            match character {
                ']' if !is_first => break,
                '\\' => self.escape(true)?,
                '[' | ']' | '&' | '~' => {
                    self.out.push('\\');
                    self.out.push(character);
                }
                // A hyphen is plain at the start and at the end; elsewhere it must make a range.
                '-' if is_first || self.rest.starts_with(']') => self.out.push_str("\\-"),
                _ => self.out.push(character),
            }
            is_first = false;
        }
        self.out.push(']');
        Ok(())
    }
}

/// The length of a class such as `[:alpha:]` at the start.
fn named_class(text: &str) -> Option<usize> {
    if !text.starts_with("[:") {
        return None;
    }
    let end = text.find(":]")?;
    let name = text[2..end].trim_start_matches('^');
    name.bytes()
        .all(|byte| byte.is_ascii_lowercase())
        .then_some(end + 2)
}

/// A repetition such as `2,5}` at the start: its length, and how it is written here, unless it is too great.
fn repetition(text: &str) -> Option<(usize, Result<String, InvalidPattern>)> {
    let end = text.find('}')?;
    let (low, high) = match text[..end].split_once(',') {
        Some((low, high)) => (low, Some(high)),
        None => (&text[..end], None),
    };
    let is_number = |digits: &str| {
        !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && (digits.len() == 1 || !digits.starts_with('0'))
    };
    if !is_number(low) || high.is_some_and(|high| !high.is_empty() && !is_number(high)) {
        return None;
    }
    let value = |digits: &str| digits.parse::<u32>().ok().filter(|value| *value <= MAX_REPEAT);
    let fits = match (value(low), high) {
        (None, _) => false,
        (Some(_), None | Some("")) => true,
        (Some(low), Some(high)) => value(high).is_some_and(|high| low <= high),
    };
    let text = if fits {
        Ok(format!("{{{}}}", &text[..end]))
    } else {
        Err(InvalidPattern)
    };
    Some((end + 1, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        let rows = [
            ("^\\d+$", "12", true),
            ("^\\d+$", "٣", false),
            ("\\bfoo\\b", "a foo b", true),
            ("^[\\w.-]+$", "a.b-c_9", true),
            ("^[^\\s]+$", "a b", false),
            ("^a{,2}$", "a{,2}", true),
            ("^a{2}$", "aa", true),
            ("^{", "{", true),
            ("[[a]", "[", true),
            ("^[]a]+$", "]a", true),
            ("[a&&b]", "&", true),
            ("\\Qa.b\\E", "a.b", true),
            ("\\Qa.b\\E", "axb", false),
            ("^(?i)ABC$", "abc", true),
            ("(?P<n>x)", "x", true),
            ("^[[:alpha:]]+$", "abc", true),
            ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-b", true),
            ("^\\pL+$", "é", true),
            ("^\\x{e9}\\101$", "éA", true),
            ("a$", "a\n", false),
            ("}", "}", true),
        ];
        for (pattern, text, expected) in rows {
            assert_eq!(
                compile(pattern).map(|regex| regex.is_match(text)),
                Ok(expected),
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for pattern in [
            "(?=a)", "a**", "*a", "(", "[a", "\\1", "a{2,1}", "a{1001}", "\\y", "(?<=a)b", "a\\", "[z-a]",
            "(?!x)",
        ] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_pattern_panics(pattern in "[a\\[\\](){}?*+|^$\\\\dwQE:<>P0-9,&~é-]{0,30}") {
            let _ = compile(&pattern);
        }
    }
}
