//! The parts of expressions that stand for one character: escapes, and classes in brackets.

use regex_syntax::hir::ClassUnicode;

use super::classes::{self, add_range, folded};
use super::error::{Defect, SyntaxError};
use super::parse::Parser;

impl Parser<'_> {
    /// Reads `\d`, `\pL` and the like, if one of them stands here.
    pub(super) fn parse_class_escape(&mut self) -> Result<Option<ClassUnicode>, SyntaxError> {
        match *self.rest() {
            [b'\\', b'p' | b'P', ..] => self.parse_unicode_class().map(Some),
            [b'\\', letter, ..] => {
                let Some((class, negated)) = classes::perl(letter) else {
                    return Ok(None);
                };
                self.at += 2;
                Ok(Some(self.group(class, negated)))
            }
            _ => Ok(None),
        }
    }

    /// Applies the case flag to a named class, and then its negation.
    fn group(&self, class: ClassUnicode, negated: bool) -> ClassUnicode {
        let mut class = folded(class, self.flags.fold_case);
        if negated {
            class.negate();
        }
        class
    }

    fn parse_unicode_class(&mut self) -> Result<ClassUnicode, SyntaxError> {
        let start = self.at;
        let rest = self.rest();
        let mut negated = rest.get(1) == Some(&b'P');
        self.at += 2;
        let name = if self.next_character()? == '{' {
            let Some(end) = memchr::memchr(b'}', rest) else {
                check_utf8(rest)?;
                return Err(SyntaxError::new(Defect::CharacterRange, rest));
            };
            self.at = start + end + 1;
            rest.get(3..end).unwrap_or_default()
        } else {
            rest.get(2..self.at - start).unwrap_or_default()
        };
        check_utf8(name)?;
        let mut name = std::str::from_utf8(name).unwrap_or_default();
        if let Some(rest) = name.strip_prefix('^') {
            negated = !negated;
            name = rest;
        }
        match classes::unicode(name) {
            Some(class) => Ok(self.group(class, negated)),
            None => self.error(Defect::CharacterRange, start),
        }
    }

    /// Reads an escape that stands for one character.
    pub(super) fn parse_character_escape(&mut self) -> Result<u32, SyntaxError> {
        let start = self.at;
        self.at += 1;
        if self.rest().is_empty() {
            return Err(SyntaxError::new(Defect::TrailingBackslash, b""));
        }
        let octal_digit = |byte: Option<&u8>| byte.filter(|byte| matches!(byte, b'0'..=b'7')).copied();
        match self.next_character()? {
            // A single digit would refer to a group, which Go cannot do.
            '1'..='7' if octal_digit(self.rest().first()).is_none() => {}
            first @ '0'..='7' => {
                let mut value = u32::from(first) - u32::from('0');
                for _ in 1..3 {
                    let Some(digit) = octal_digit(self.rest().first()) else {
                        break;
                    };
                    value = value * 8 + u32::from(digit - b'0');
                    self.at += 1;
                }
                return Ok(value);
            }
            'x' => {
                if let Some(value) = self.read_hexadecimal()? {
                    return Ok(value);
                }
            }
            'a' => return Ok(7),
            'f' => return Ok(12),
            'n' => return Ok(10),
            'r' => return Ok(13),
            't' => return Ok(9),
            'v' => return Ok(11),
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => return Ok(u32::from(other)),
            _ => {}
        }
        self.error(Defect::Escape, start)
    }

    /// Reads what follows `\x`: two digits, or any number of them in braces; none where it is something else.
    fn read_hexadecimal(&mut self) -> Result<Option<u32>, SyntaxError> {
        if self.rest().is_empty() {
            return Ok(None);
        }
        let first = self.next_character()?;
        if first != '{' {
            let second = self.next_character()?;
            return Ok(first
                .to_digit(16)
                .zip(second.to_digit(16))
                .map(|(high, low)| high * 16 + low));
        }
        let mut value = None;
        while !self.rest().is_empty() {
            let character = self.next_character()?;
            if character == '}' {
                return Ok(value);
            }
            let Some(digit) = character.to_digit(16) else {
                return Ok(None);
            };
            let next = value.unwrap_or(0) * 16 + digit;
            if next > u32::from(char::MAX) {
                return Ok(None);
            }
            value = Some(next);
        }
        Ok(None)
    }

    /// Reads a class in brackets.
    pub(super) fn parse_class(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        self.at += 1;
        let negated = self.rest().first() == Some(&b'^');
        self.at += usize::from(negated);
        let mut class = ClassUnicode::empty();
        let mut first = true;
        while first || self.rest().first() != Some(&b']') {
            first = false;
            if let Some(named) = self.parse_posix_class()? {
                class.union(&named);
            } else if let Some(named) = self.parse_class_escape()? {
                class.union(&named);
            } else {
                let range_at = self.at;
                let low = self.parse_class_character(start)?;
                let mut high = low;
                if let [b'-', end, ..] = *self.rest()
                    && end != b']'
                {
                    self.at += 1;
                    high = self.parse_class_character(start)?;
                    if high < low {
                        return self.error(Defect::CharacterRange, range_at);
                    }
                }
                let mut range = ClassUnicode::empty();
                add_range(&mut range, low, high);
                class.union(&folded(range, self.flags.fold_case));
            }
        }
        self.at += 1;
        if negated {
            class.negate();
        }
        self.push_class(class);
        Ok(())
    }

    fn parse_class_character(&mut self, class_start: usize) -> Result<u32, SyntaxError> {
        match self.rest().first() {
            None => Err(SyntaxError::new(
                Defect::MissingBracket,
                self.whole.get(class_start..).unwrap_or_default(),
            )),
            Some(b'\\') => self.parse_character_escape(),
            Some(_) => self.next_character().map(u32::from),
        }
    }

    fn parse_posix_class(&mut self) -> Result<Option<ClassUnicode>, SyntaxError> {
        let rest = self.rest();
        if rest.len() <= 2 || !rest.starts_with(b"[:") {
            return Ok(None);
        }
        let Some(end) = memchr::memmem::find(rest.get(2..).unwrap_or_default(), b":]") else {
            return Ok(None);
        };
        let start = self.at;
        self.at += end + 4;
        let name = rest
            .get(..end + 4)
            .and_then(|name| std::str::from_utf8(name).ok());
        match name.and_then(classes::posix) {
            Some((class, negated)) => Ok(Some(self.group(class, negated))),
            None => self.error(Defect::CharacterRange, start),
        }
    }
}

/// Refuses text that is not UTF-8, from the first broken byte on.
pub(super) fn check_utf8(text: &[u8]) -> Result<(), SyntaxError> {
    match std::str::from_utf8(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(SyntaxError::new(
            Defect::Utf8,
            text.get(error.valid_up_to()..).unwrap_or_default(),
        )),
    }
}
