//! How integers, text and characters look.

use super::quote::{Repertoire, append_quoted, append_quoted_char, can_backquote};
use super::value::Printer;
use super::{is_print, utf8};

/// Digits of numbers and bytes, and the letter of the prefix.
const LOWER: &[u8; 17] = b"0123456789abcdefx";
/// The same in capitals.
const UPPER: &[u8; 17] = b"0123456789ABCDEFX";
/// The binary digits of a `uint64`.
const MAX_DIGITS: usize = 64;

/// An integer as its sign and magnitude.
#[derive(Clone, Copy)]
pub(super) struct Signed {
    pub(super) negative: bool,
    pub(super) magnitude: u64,
}

/// How an integer is written.
#[derive(Clone, Copy)]
pub(super) struct Notation {
    /// 2, 8, 10 or 16.
    pub(super) base: u64,
    /// Capital digits and prefix.
    pub(super) upper: bool,
    /// `0o` before octal digits.
    pub(super) octal_prefix: bool,
}

impl Notation {
    /// `%d`.
    pub(super) const DECIMAL: Notation = Notation {
        base: 10,
        upper: false,
        octal_prefix: false,
    };
    /// `%x`.
    pub(super) const HEX: Notation = Notation {
        base: 16,
        upper: false,
        octal_prefix: false,
    };
}

fn write_digits(mut number: u64, base: u64, alphabet: &[u8; 17], buffer: &mut [u8; MAX_DIGITS]) -> usize {
    let mut start = buffer.len();
    loop {
        start -= 1;
        buffer[start] = alphabet[(number % base) as usize];
        number /= base;
        if number == 0 {
            return start;
        }
    }
}

impl Printer<'_> {
    /// Writes an integer with sign, prefix, leading zeros and padding.
    pub(super) fn integer(&mut self, number: Signed, notation: Notation) {
        let layout = self.layout;
        if layout.precision == Some(0) && number.magnitude == 0 {
            self.fill(b' ', layout.width.unwrap_or(0));
            return;
        }
        let alphabet = if notation.upper { UPPER } else { LOWER };
        let mut buffer = [0; MAX_DIGITS];
        let start = write_digits(number.magnitude, notation.base, alphabet, &mut buffer);
        let digits = &buffer[start..];

        let sign = match (number.negative, layout.plus, layout.space) {
            (true, ..) => Some(b'-'),
            (_, true, _) => Some(b'+'),
            (_, _, true) => Some(b' '),
            _ => None,
        };
        // A precision silences the zero flag; both ask for leading zeros.
        let least_digits = match (layout.precision, layout.width) {
            (Some(precision), _) => precision,
            (None, Some(width)) if layout.zero && !layout.minus => width.saturating_sub(sign.iter().len()),
            _ => 0,
        };
        let zeros = least_digits.saturating_sub(digits.len());
        let starts_with_zero = zeros > 0 || digits[0] == b'0';
        let prefix: &[u8] = match (layout.sharp, notation.base) {
            (true, 2) => b"0b",
            (true, 8) if !starts_with_zero => b"0",
            (true, 16) if notation.upper => b"0X",
            (true, 16) => b"0x",
            _ => b"",
        };
        let octal: &[u8] = if notation.octal_prefix { b"0o" } else { b"" };

        let length = sign.iter().len() + octal.len() + prefix.len() + zeros + digits.len();
        let missing = layout.width.unwrap_or(0).saturating_sub(length);
        if !layout.minus {
            self.fill(b' ', missing);
        }
        self.out.extend(sign);
        self.out.extend_from_slice(octal);
        self.out.extend_from_slice(prefix);
        self.fill(b'0', zeros);
        self.out.extend_from_slice(digits);
        if layout.minus {
            self.fill(b' ', missing);
        }
    }

    /// Writes an unsigned number in hexadecimal, with or without `0x` whatever the flags say.
    pub(super) fn hex_number(&mut self, magnitude: u64, prefix: bool) {
        let sharp = std::mem::replace(&mut self.layout.sharp, prefix);
        self.integer(
            Signed {
                negative: false,
                magnitude,
            },
            Notation::HEX,
        );
        self.layout.sharp = sharp;
    }

    /// Writes a code point as `U+0078`, with the character where `#` asks for it.
    pub(super) fn unicode(&mut self, code: u64) {
        let mut buffer = [0; MAX_DIGITS];
        let start = write_digits(code, 16, UPPER, &mut buffer);
        let digits = &buffer[start..];
        let least_digits = self.layout.precision.unwrap_or(0).max(4);
        let zeros = least_digits.saturating_sub(digits.len());

        let shown = u32::try_from(code)
            .ok()
            .and_then(char::from_u32)
            .filter(|&character| is_print(character));
        let mut character_bytes = [0; 4];
        let character: &[u8] = match shown {
            Some(character) if self.layout.sharp => character.encode_utf8(&mut character_bytes).as_bytes(),
            _ => b"",
        };
        // " 'x'" is four characters wide.
        let length = 2 + zeros + digits.len() + if character.is_empty() { 0 } else { 4 };
        let missing = self.layout.width.unwrap_or(0).saturating_sub(length);
        if !self.layout.minus {
            self.fill(b' ', missing);
        }
        self.out.extend_from_slice(b"U+");
        self.fill(b'0', zeros);
        self.out.extend_from_slice(digits);
        if !character.is_empty() {
            self.out.extend_from_slice(b" '");
            self.out.extend_from_slice(character);
            self.out.push(b'\'');
        }
        if self.layout.minus {
            self.fill(b' ', missing);
        }
    }

    /// Writes the character with the given code point, U+FFFD where there is none.
    pub(super) fn character(&mut self, code: u64) {
        let character = character_of(code);
        self.padded(character.encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// Writes the character with the given code point as a Go literal.
    pub(super) fn quoted_character(&mut self, code: u64) {
        let mut literal = Vec::new();
        append_quoted_char(&mut literal, character_of(code), self.repertoire());
        self.padded(&literal);
    }

    /// Writes text, cut to the precision.
    pub(super) fn text(&mut self, text: &[u8]) {
        let text = self.cut(text);
        self.padded(text);
    }

    /// Writes text as a Go literal, cut to the precision before it is quoted.
    pub(super) fn quoted(&mut self, text: &[u8]) {
        let text = self.cut(text);
        let mut literal = Vec::with_capacity(text.len() + 2);
        if self.layout.sharp && can_backquote(text) {
            literal.push(b'`');
            literal.extend_from_slice(text);
            literal.push(b'`');
        } else {
            append_quoted(&mut literal, text, self.repertoire());
        }
        self.padded(&literal);
    }

    /// Writes bytes in hexadecimal.
    pub(super) fn hex_bytes(&mut self, bytes: &[u8], upper: bool) {
        let layout = self.layout;
        let bytes = layout
            .precision
            .and_then(|precision| bytes.get(..precision))
            .unwrap_or(bytes);
        let width = layout.width.unwrap_or(0);
        if bytes.is_empty() {
            self.padding(width);
            return;
        }
        let count = bytes.len();
        let length = match (layout.space, layout.sharp) {
            (true, true) => 5 * count - 1,
            (true, false) => 3 * count - 1,
            (false, true) => 2 * count + 2,
            (false, false) => 2 * count,
        };
        let missing = width.saturating_sub(length);
        if !layout.minus {
            self.padding(missing);
        }
        let alphabet = if upper { UPPER } else { LOWER };
        for (index, &byte) in bytes.iter().enumerate() {
            if layout.space && index > 0 {
                self.out.push(b' ');
            }
            if layout.sharp && (layout.space || index == 0) {
                self.out.extend_from_slice(&[b'0', alphabet[16]]);
            }
            self.out.extend_from_slice(&[
                alphabet[usize::from(byte >> 4)],
                alphabet[usize::from(byte & 0xf)],
            ]);
        }
        if layout.minus {
            self.padding(missing);
        }
    }

    fn cut<'text>(&self, text: &'text [u8]) -> &'text [u8] {
        match self.layout.precision {
            Some(precision) => utf8::truncate(text, precision),
            None => text,
        }
    }

    fn repertoire(&self) -> Repertoire {
        if self.layout.plus {
            Repertoire::Ascii
        } else {
            Repertoire::Printable
        }
    }
}

fn character_of(code: u64) -> char {
    u32::try_from(code)
        .ok()
        .and_then(char::from_u32)
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}
