//! Which characters a part of an address has as they are, and which as `%` and two digits.

use gotemplate::format::quoted;

/// A part of a address, which decides on the characters that it may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Host,
    Zone,
    Path,
    /// One segment of a path.
    Segment,
    User,
    Fragment,
}

/// Returns whether a character of a part is written as `%` and two digits.
fn is_escaped(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return false;
    }
    match part {
        Part::Host | Part::Zone => !b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Part::Path => !b"$&+,/:;=@".contains(&byte),
        Part::Segment => !b"$&+=:@".contains(&byte),
        Part::User => !b"$&+,;=".contains(&byte),
        Part::Fragment => !b"$&+,/:;=?@!()*".contains(&byte),
    }
}

/// Returns whether text, as it is, can stand for a part: nothing is left in it that must be escaped.
pub(super) fn is_encoded(text: &[u8], part: Part) -> bool {
    text.iter()
        .all(|byte| b"!$&'()*+,;=:@[]%".contains(byte) || !is_escaped(*byte, part))
}

/// Writes a part with its escapes.
pub(super) fn encode(text: &[u8], part: Part) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(text.len());
    for byte in text {
        if is_escaped(*byte, part) {
            encoded.extend(format!("%{byte:02X}").bytes());
        } else {
            encoded.push(*byte);
        }
    }
    encoded
}

/// Resolves the escapes of a part, and refuses characters that it must not have.
pub(super) fn decode(text: &[u8], part: Part) -> Result<Vec<u8>, String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        if first != b'%' {
            if matches!(part, Part::Host | Part::Zone) && first < 0x80 && is_escaped(first, part) {
                return Err(format!("invalid character {} in host name", quoted([first])));
            }
            decoded.push(first);
            rest = after;
            continue;
        }
        let invalid = |escape: &[u8]| format!("invalid URL escape {}", quoted(escape));
        let digit = |at: usize| rest.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(1), digit(2)) else {
            return Err(invalid(rest.get(..3).unwrap_or(rest)));
        };
        let byte = (high << 4 | low) as u8;
        // A host may escape what is not ASCII, and the percent sign of a zone; a zone also a space.
        let refused = match part {
            Part::Host => high < 8 && byte != b'%',
            Part::Zone => byte != b'%' && byte != b' ' && is_escaped(byte, Part::Host),
            Part::Path | Part::Segment | Part::User | Part::Fragment => false,
        };
        if refused {
            return Err(invalid(&rest[..3]));
        }
        decoded.push(byte);
        rest = &rest[3..];
    }
    Ok(decoded)
}
