//! The bytes of a stream as characters: encoding, forbidden characters, and how far go-yaml has looked.

use std::borrow::Cow;

use crate::error::Error;

/// go-yaml reads this many bytes at a time; a forbidden character is noticed when its block is read.
const READ_BLOCK: usize = 512;

/// The text of a stream, up to the first character that may not stand in it.
pub(crate) struct Input<'a> {
    pub(crate) text: Cow<'a, str>,
    /// The blocks as go-yaml would have read them; `None` where nobody can tell the difference.
    pub(crate) blocks: Option<Blocks>,
}

/// Where each block of input ends in the decoded text, and what follows the last.
pub(crate) struct Blocks {
    pub(crate) ends: Vec<usize>,
    pub(crate) fault: Option<&'static str>,
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.len() > crate::limits::MAX_INPUT_BYTES {
            return Err(Error::yaml(format_args!(
                "input of {} bytes exceeds the limit of {} bytes",
                bytes.len(),
                crate::limits::MAX_INPUT_BYTES
            )));
        }
        Ok(match bytes {
            [0xFF, 0xFE, rest @ ..] => Self::from_utf16(rest, u16::from_le_bytes),
            [0xFE, 0xFF, rest @ ..] => Self::from_utf16(rest, u16::from_be_bytes),
            [0xEF, 0xBB, 0xBF, rest @ ..] => Self::from_utf8(rest, 3),
            _ => Self::from_utf8(bytes, 0),
        })
    }

    fn from_utf8(bytes: &'a [u8], byte_order_mark: usize) -> Self {
        let (text, utf8_fault) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) => {
                let (valid, _) = bytes.split_at(error.valid_up_to());
                (std::str::from_utf8(valid).unwrap_or_default(), true)
            }
        };
        let forbidden = first_forbidden(text);
        let text = text.get(..forbidden.unwrap_or(text.len())).unwrap_or_default();
        let fault = if forbidden.is_some() {
            Some(FORBIDDEN)
        } else if utf8_fault {
            Some(utf8_problem(bytes.get(text.len()..).unwrap_or_default()))
        } else {
            None
        };
        if fault.is_none() && !text.contains('\u{FEFF}') {
            return Self {
                text: Cow::Borrowed(text),
                blocks: None,
            };
        }

        // The first block holds the byte order mark too.
        let fault_end = text.len() + bytes.get(text.len()).map_or(0, |&lead| sequence_length(lead));
        let mut ends = Vec::new();
        let mut decoded = 0;
        let mut block_end = (READ_BLOCK - byte_order_mark).min(bytes.len());
        while fault.is_none() || fault_end > block_end {
            let mut end = block_end.min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            ends.push(end);
            // go-yaml knows that a sequence at the very end is incomplete only when it asks for more.
            if block_end == bytes.len() && end == text.len() {
                break;
            }
            decoded = decoded.max(end);
            block_end = (decoded + READ_BLOCK).min(bytes.len());
        }
        Self {
            text: Cow::Borrowed(text),
            blocks: Some(Blocks { ends, fault }),
        }
    }

    fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Self {
        let mut text = String::with_capacity(bytes.len());
        let mut ends = Vec::new();
        let mut fault = None;
        let mut at = 0;
        let mut block_end = READ_BLOCK - 2;
        let unit_at = |at: usize| Some(unit([*bytes.get(at)?, *bytes.get(at + 1)?]));
        while at < bytes.len() {
            let Some(first) = unit_at(at) else {
                fault = Some("incomplete UTF-16 character");
                break;
            };
            let (character, width) = match first {
                0xDC00..=0xDFFF => {
                    fault = Some("unexpected low surrogate area");
                    break;
                }
                0xD800..=0xDBFF => {
                    let Some(second) = unit_at(at + 2) else {
                        fault = Some("incomplete UTF-16 surrogate pair");
                        break;
                    };
                    let Some(Ok(character)) = char::decode_utf16([first, second]).next() else {
                        fault = Some("expected low surrogate area");
                        break;
                    };
                    (character, 4)
                }
                plain => (char::from_u32(u32::from(plain)).unwrap_or('\u{FFFD}'), 2),
            };
            if !is_allowed(character) {
                fault = Some(FORBIDDEN);
                break;
            }
            if at + width > block_end {
                ends.push(text.len());
                block_end = at + READ_BLOCK;
            }
            text.push(character);
            at += width;
        }
        if fault.is_none_or(|fault| fault.starts_with("incomplete")) {
            ends.push(text.len());
        }
        Self {
            text: Cow::Owned(text),
            blocks: Some(Blocks { ends, fault }),
        }
    }
}

const FORBIDDEN: &str = "control characters are not allowed";

fn is_allowed(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{A0}'..='\u{FFFD}' | '\u{10000}'..)
}

/// Finds the first character that YAML forbids.
fn first_forbidden(text: &str) -> Option<usize> {
    // The first look is at bytes without a branch for each; only a suspect block is decoded.
    const BLOCK: usize = 256;
    let bytes = text.as_bytes();
    let suspect = |byte: u8| matches!(byte, 0..=8 | 0x0B | 0x0C | 0x0E..=0x1F | 0x7F | 0xC2 | 0xEF);
    for (number, block) in bytes.chunks(BLOCK).enumerate() {
        if !block.iter().fold(false, |found, &byte| found | suspect(byte)) {
            continue;
        }
        let mut start = number * BLOCK;
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let mut end = (number + 1) * BLOCK;
        while end < text.len() && !text.is_char_boundary(end) {
            end += 1;
        }
        let part = text.get(start..end.min(text.len())).unwrap_or_default();
        if let Some((offset, _)) = part.char_indices().find(|&(_, character)| !is_allowed(character)) {
            return Some(start + offset);
        }
    }
    None
}

fn sequence_length(lead: u8) -> usize {
    match lead {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 1,
    }
}

/// Names what is wrong with the UTF-8 sequence at the start of `bytes`.
fn utf8_problem(bytes: &[u8]) -> &'static str {
    let lead = bytes.first().copied().unwrap_or_default();
    if (0x80..0xC0).contains(&lead) || lead >= 0xF8 {
        return "invalid leading UTF-8 octet";
    }
    let length = sequence_length(lead);
    let Some(rest) = bytes.get(1..length) else {
        return "incomplete UTF-8 octet sequence";
    };
    if rest.iter().any(|byte| byte & 0xC0 != 0x80) {
        return "invalid trailing UTF-8 octet";
    }
    let lead_bits = u32::from(lead) & (0xFF >> (length + 1));
    let value = rest
        .iter()
        .fold(lead_bits, |value, byte| value << 6 | u32::from(byte & 0x3F));
    let least = match length {
        2 => 0x80,
        3 => 0x800,
        _ => 0x1_0000,
    };
    if value < least {
        "invalid length of a UTF-8 sequence"
    } else {
        "invalid Unicode character"
    }
}
