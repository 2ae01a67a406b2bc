//! Text and characters as Go literals.

use super::is_print;

/// The digits of escapes.
const HEX: &[u8; 16] = b"0123456789abcdef";

/// Which characters stand for themselves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Repertoire {
    /// All that Go finds printable.
    Printable,
    /// Printable ASCII only.
    Ascii,
}

/// Writes text as a double-quoted Go literal, as `strconv.Quote` does.
pub fn quote(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    append_quoted(&mut out, text, Repertoire::Printable);
    out
}

/// Writes text as a double-quoted Go literal, for a message.
pub fn quoted(text: impl AsRef<[u8]>) -> String {
    super::into_text(quote(text.as_ref()))
}

/// Writes text as a double-quoted Go literal in ASCII, as `strconv.QuoteToASCII` does.
pub fn quote_ascii(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    append_quoted(&mut out, text, Repertoire::Ascii);
    out
}

/// Writes text as a double-quoted Go literal at the end of `out`.
pub(super) fn append_quoted(out: &mut Vec<u8>, text: &[u8], repertoire: Repertoire) {
    out.push(b'"');
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            append_escaped(out, character, '"', repertoire);
        }
        for &byte in chunk.invalid() {
            append_hex(out, b'x', u32::from(byte), 2);
        }
    }
    out.push(b'"');
}

/// Writes a character as a single-quoted Go literal at the end of `out`.
pub(super) fn append_quoted_char(out: &mut Vec<u8>, character: char, repertoire: Repertoire) {
    out.push(b'\'');
    append_escaped(out, character, '\'', repertoire);
    out.push(b'\'');
}

/// Returns whether text can be written between backquotes, on one line and unchanged.
pub(super) fn can_backquote(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| {
        text.chars().all(|character| match character {
            '\t' => true,
            // A byte order mark would be invisible.
            '`' | '\u{7f}' | '\u{feff}' => false,
            other => other >= ' ',
        })
    })
}

fn append_escaped(out: &mut Vec<u8>, character: char, delimiter: char, repertoire: Repertoire) {
    if character == delimiter || character == '\\' {
        out.extend_from_slice(&[b'\\', character as u8]);
        return;
    }
    if is_print(character) && (character.is_ascii() || repertoire == Repertoire::Printable) {
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        return;
    }
    let letter = match character {
        '\u{7}' => b'a',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\u{b}' => b'v',
        control if control.is_ascii() => return append_hex(out, b'x', u32::from(control), 2),
        basic if basic <= '\u{ffff}' => return append_hex(out, b'u', u32::from(basic), 4),
        other => return append_hex(out, b'U', u32::from(other), 8),
    };
    out.extend_from_slice(&[b'\\', letter]);
}

fn append_hex(out: &mut Vec<u8>, letter: u8, code: u32, digits: u32) {
    out.extend_from_slice(&[b'\\', letter]);
    out.extend(
        (0..digits)
            .rev()
            .map(|digit| HEX[(code >> (4 * digit) & 0xf) as usize]),
    );
}
