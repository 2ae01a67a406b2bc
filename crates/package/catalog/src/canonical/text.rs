//! JSON strings: where they end, what they say, and how Go writes them.

use std::borrow::Cow;

use super::Malformed;

/// A string as it stands in the source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Literal {
    /// The index behind the closing quote.
    pub(crate) end: usize,
    /// Whether the bytes between the quotes are the string itself: valid UTF-8 without escapes.
    pub(crate) plain: bool,
    /// Whether Go would write the string just so.
    pub(crate) canonical: bool,
}

/// The high bit of every byte of a word.
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
/// The low bit of every byte of a word.
const LOW_BITS: u64 = 0x0101_0101_0101_0101;

/// Marks (by its high bit, at least) every byte that ends a run of ordinary ASCII: quote, backslash, control, non-ASCII.
///
/// A borrow may mark a byte too many above a marked one, never one too few, so the lowest mark is always right.
fn special_bytes(word: u64) -> u64 {
    let zero_in = |word: u64| word.wrapping_sub(LOW_BITS) & !word;
    let quotes = zero_in(word ^ (LOW_BITS * 0x22));
    let backslashes = zero_in(word ^ (LOW_BITS * 0x5C));
    let controls = word.wrapping_sub(LOW_BITS * 0x20) & !word;
    (quotes | backslashes | controls | word) & HIGH_BITS
}

/// Returns how many bytes of ordinary ASCII text `bytes` starts with.
fn ordinary_run(bytes: &[u8]) -> usize {
    let mut chunks = bytes.chunks_exact(8);
    let mut run = 0;
    for chunk in chunks.by_ref() {
        let word = chunk
            .try_into()
            .map_or(HIGH_BITS, |chunk: [u8; 8]| u64::from_le_bytes(chunk));
        let marks = special_bytes(word);
        if marks != 0 {
            return run + marks.trailing_zeros() as usize / 8;
        }
        run += 8;
    }
    let rest = chunks.remainder();
    let tail = rest
        .iter()
        .position(|&byte| !(0x20..0x80).contains(&byte) || byte == b'"' || byte == b'\\');
    run + tail.unwrap_or(rest.len())
}

/// Finds the end of the string that starts with the quote at `start`.
pub(crate) fn literal(bytes: &[u8], start: usize) -> Result<Literal, Malformed> {
    let mut found = Literal {
        end: start + 1,
        plain: true,
        canonical: true,
    };
    loop {
        let rest = bytes.get(found.end..).unwrap_or_default();
        found.end += ordinary_run(rest);
        match bytes.get(found.end) {
            Some(b'"') => {
                found.end += 1;
                return Ok(found);
            }
            Some(b'\\') => {
                found.plain = false;
                let (length, canonical) = escape(bytes, found.end)?;
                found.canonical &= canonical;
                found.end += length;
            }
            Some(0x80..) => {
                let rest = bytes.get(found.end..).unwrap_or_default();
                let run = rest.iter().position(u8::is_ascii).unwrap_or(rest.len());
                let run = rest.get(..run).unwrap_or_default();
                if std::str::from_utf8(run).is_err() {
                    found.plain = false;
                    found.canonical = false;
                } else if found.canonical && has_line_separator(run) {
                    found.canonical = false;
                }
                found.end += run.len();
            }
            Some(_) => return Err(Malformed::Syntax(found.end)),
            None => return Err(Malformed::Truncated),
        }
    }
}

/// Whether valid UTF-8 has one of the two characters that Go always escapes, U+2028 and U+2029.
fn has_line_separator(text: &[u8]) -> bool {
    text.windows(3)
        .any(|window| matches!(window, [0xE2, 0x80, 0xA8 | 0xA9]))
}

/// Returns the length of the escape at `start`, and whether Go would write it so.
fn escape(bytes: &[u8], start: usize) -> Result<(usize, bool), Malformed> {
    let rest = bytes.get(start..).unwrap_or_default();
    match rest.get(1) {
        Some(b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f') => Ok((2, true)),
        Some(b'/') => Ok((2, false)),
        Some(b'u') => {
            for index in 2..6 {
                match rest.get(index) {
                    Some(byte) if byte.is_ascii_hexdigit() => {}
                    Some(_) => return Err(Malformed::Syntax(start + index)),
                    None => return Err(Malformed::Truncated),
                }
            }
            let canonical = match rest.get(2..6) {
                Some(b"2028" | b"2029") => true,
                Some([b'0', b'0', b'0', low]) => matches!(low, b'0'..=b'7' | b'b' | b'e' | b'f'),
                Some([b'0', b'0', b'1', low]) => matches!(low, b'0'..=b'9' | b'a'..=b'f'),
                _ => false,
            };
            Ok((6, canonical))
        }
        Some(_) => Err(Malformed::Syntax(start + 1)),
        None => Err(Malformed::Truncated),
    }
}

/// Decodes the string whose literal, quotes included, is `literal`.
///
/// A byte that is not UTF-8, and a surrogate without its partner, becomes the replacement character.
pub(crate) fn decode(literal: &[u8]) -> Cow<'_, str> {
    let inner = literal
        .get(1..literal.len().saturating_sub(1))
        .unwrap_or_default();
    if memchr::memchr(b'\\', inner).is_none()
        && let Ok(text) = std::str::from_utf8(inner)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    loop {
        let run = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        let (before, after) = rest.split_at(run);
        for chunk in before.utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(std::iter::repeat_n(
                char::REPLACEMENT_CHARACTER,
                chunk.invalid().len(),
            ));
        }
        if after.is_empty() {
            return Cow::Owned(text);
        }
        let (character, length) = decode_escape(after);
        text.push(character);
        rest = after.get(length..).unwrap_or_default();
    }
}

fn decode_escape(bytes: &[u8]) -> (char, usize) {
    let character = match bytes.get(1) {
        Some(b'b') => '\x08',
        Some(b'f') => '\x0C',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let Some(first) = code_unit(bytes) else {
                return (char::REPLACEMENT_CHARACTER, 6);
            };
            if let Some(character) = char::from_u32(first) {
                return (character, 6);
            }
            let second = bytes
                .get(6..)
                .filter(|rest| rest.starts_with(b"\\u"))
                .and_then(code_unit);
            return match second {
                Some(second @ 0xDC00..0xE000) if first < 0xDC00 => {
                    let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                    (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
                }
                _ => (char::REPLACEMENT_CHARACTER, 6),
            };
        }
        Some(&byte) => char::from(byte),
        None => char::REPLACEMENT_CHARACTER,
    };
    (character, 2)
}

/// The number of a `\uXXXX` that `bytes` starts with.
fn code_unit(bytes: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(bytes.get(2..6)?).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

/// Writes a string as Go's encoder without HTML escapes does.
pub(crate) fn append(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut written = 0;
    for (index, character) in text.char_indices() {
        let code;
        let escape: &[u8] = match character {
            '"' => b"\\\"",
            '\\' => b"\\\\",
            '\n' => b"\\n",
            '\r' => b"\\r",
            '\t' => b"\\t",
            '\x08' => b"\\b",
            '\x0C' => b"\\f",
            '\u{2028}' => b"\\u2028",
            '\u{2029}' => b"\\u2029",
            '\0'..='\x1F' => {
                code = format!("\\u{:04x}", u32::from(character));
                code.as_bytes()
            }
            _ => continue,
        };
        out.extend_from_slice(bytes.get(written..index).unwrap_or_default());
        out.extend_from_slice(escape);
        written = index + character.len_utf8();
    }
    out.extend_from_slice(bytes.get(written..).unwrap_or_default());
    out.push(b'"');
}
