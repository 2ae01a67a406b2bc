//! Go literals back to text and characters.

use super::utf8;

/// A literal that Go's grammar does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid syntax")]
pub struct UnquoteError;

/// What one character or escape of a literal stands for.
enum Unquoted {
    /// A character, in UTF-8 where it is text.
    Character(char),
    /// A byte, which need not be UTF-8.
    Byte(u8),
}

/// Returns the text of a whole literal in double quotes, back quotes or single quotes, as `strconv.Unquote` does.
pub fn unquote(literal: &[u8]) -> Result<Vec<u8>, UnquoteError> {
    let [delimiter, inside @ .., last] = literal else {
        return Err(UnquoteError);
    };
    if delimiter != last {
        return Err(UnquoteError);
    }
    match delimiter {
        b'`' if inside.contains(&b'`') => Err(UnquoteError),
        // Go drops carriage returns from raw strings, so that line ends don't depend on the editor.
        b'`' => Ok(inside.iter().copied().filter(|&byte| byte != b'\r').collect()),
        b'"' => unquote_characters(inside, b'"').map(|(text, _)| text),
        b'\'' => match unquote_characters(inside, b'\'')? {
            // Go takes empty single quotes for empty text, although its own grammar has no such literal.
            (text, 0 | 1) => Ok(text),
            _ => Err(UnquoteError),
        },
        _ => Err(UnquoteError),
    }
}

/// Returns the text and the number of characters that it was written with.
fn unquote_characters(mut inside: &[u8], delimiter: u8) -> Result<(Vec<u8>, usize), UnquoteError> {
    let mut text = Vec::with_capacity(inside.len());
    let mut count = 0;
    while let Some(&byte) = inside.first() {
        if byte == b'\n' {
            return Err(UnquoteError);
        }
        let (unquoted, rest) = read(inside, delimiter)?;
        match unquoted {
            Unquoted::Byte(byte) => text.push(byte),
            Unquoted::Character(character) => {
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        inside = rest;
        count += 1;
    }
    Ok((text, count))
}

/// Returns the code point or byte value of the first character or escape of a literal's inside, and what comes
/// after it, as `strconv.UnquoteChar` does.
///
/// `delimiter` is the quote that ends the literal: it must not stand unescaped, and no other may be escaped.
pub fn unquote_char(inside: &[u8], delimiter: u8) -> Result<(u32, &[u8]), UnquoteError> {
    let (unquoted, rest) = read(inside, delimiter)?;
    let value = match unquoted {
        Unquoted::Character(character) => u32::from(character),
        Unquoted::Byte(byte) => u32::from(byte),
    };
    Ok((value, rest))
}

fn read(inside: &[u8], delimiter: u8) -> Result<(Unquoted, &[u8]), UnquoteError> {
    match inside {
        [] | [b'\\'] => Err(UnquoteError),
        [byte, ..] if *byte == delimiter && matches!(delimiter, b'\'' | b'"') => Err(UnquoteError),
        [b'\\', letter, rest @ ..] => escape(*letter, rest, delimiter),
        [byte, rest @ ..] if byte.is_ascii() => Ok((Unquoted::Byte(*byte), rest)),
        _ => {
            let (character, length) = utf8::first(inside);
            let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
            Ok((
                Unquoted::Character(character),
                inside.get(length..).unwrap_or_default(),
            ))
        }
    }
}

fn escape(letter: u8, rest: &[u8], delimiter: u8) -> Result<(Unquoted, &[u8]), UnquoteError> {
    let byte = match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'\\' => b'\\',
        b'\'' | b'"' if letter == delimiter => letter,
        b'x' => {
            let (code, rest) = digits(rest, 2, 16)?;
            return Ok((Unquoted::Byte(code as u8), rest));
        }
        b'u' | b'U' => {
            let (code, rest) = digits(rest, if letter == b'u' { 4 } else { 8 }, 16)?;
            let character = char::from_u32(code).ok_or(UnquoteError)?;
            return Ok((Unquoted::Character(character), rest));
        }
        b'0'..=b'7' => {
            let (code, rest) = digits(rest, 2, 8)?;
            let code = u32::from(letter - b'0') << 6 | code;
            return u8::try_from(code)
                .map(|byte| (Unquoted::Byte(byte), rest))
                .map_err(|_| UnquoteError);
        }
        _ => return Err(UnquoteError),
    };
    Ok((Unquoted::Byte(byte), rest))
}

/// Reads exactly `count` (at most 8) digits.
fn digits(text: &[u8], count: usize, base: u32) -> Result<(u32, &[u8]), UnquoteError> {
    let (digits, rest) = text.split_at_checked(count).ok_or(UnquoteError)?;
    let mut code = 0;
    for &digit in digits {
        code = code * base + char::from(digit).to_digit(base).ok_or(UnquoteError)?;
    }
    Ok((code, rest))
}
