//! Go's words for JSON that cannot be read into a map, with the place marked in the text.

use super::Error;
use super::scan::Scan;

/// How a place in a text is marked.
const MARK: &str = " <==";

/// Checks that a scanned value is an object, or null, with numbers that a float can hold.
pub(super) fn check(scan: &Scan, value: &[u8]) -> Result<(), Error> {
    let (kind, offset) = match value.first() {
        Some(b'{' | b'n') => {
            return match &scan.out_of_range {
                None => Ok(()),
                Some(number) => Err(Error::Mismatch(with_place(
                    &format!(
                        "json: cannot unmarshal number {} into Go value of type float64",
                        number.number
                    ),
                    value,
                    number.end + 1,
                ))),
            };
        }
        Some(b'[') => ("array", 1),
        Some(b'"') => ("string", value.len()),
        Some(b't' | b'f') => ("bool", value.len()),
        _ => ("number", value.len()),
    };
    let message = format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}");
    Err(Error::Mismatch(with_place(&message, value, offset)))
}

/// Adds the text to a message about it, indented, with a mark before the byte at `offset`.
fn with_place(message: &str, text: &[u8], offset: usize) -> String {
    if text.is_empty() || offset > text.len() {
        return message.to_owned();
    }
    let pretty = indented(text);
    let place = if offset == text.len() {
        pretty.len()
    } else {
        match place_in(&pretty, text, offset) {
            Some(place) => place,
            None => return message.to_owned(),
        }
    };
    let (before, after) = pretty.split_at(place.min(pretty.len()));
    let gap = if offset == text.len() { "" } else { " " };
    format!(
        "{message} at offset {offset} (indicated by{MARK})\n{}{MARK}{gap}{}",
        String::from_utf8_lossy(before),
        String::from_utf8_lossy(after),
    )
}

/// Finds the byte of the indented text that stands for the one at `offset` of the original.
fn place_in(pretty: &[u8], text: &[u8], offset: usize) -> Option<usize> {
    let mut place = 0;
    for byte in text.get(..offset)? {
        place += memchr::memchr(*byte, pretty.get(place..)?)? + 1;
    }
    Some(place)
}

/// Indents valid JSON by four spaces a level, as `json.Indent` does.
pub(crate) fn indented(text: &[u8]) -> Vec<u8> {
    const INDENT: &[u8] = b"    ";
    let mut out = Vec::with_capacity(text.len() * 2);
    let mut depth = 0_usize;
    let mut position = 0;
    let mut just_opened = false;
    let new_line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        for _ in 0..depth {
            out.extend_from_slice(INDENT);
        }
    };
    while let Some(&byte) = text.get(position) {
        let mut length = 1;
        if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            position += 1;
            continue;
        }
        if just_opened && !matches!(byte, b'}' | b']') {
            depth += 1;
            new_line(&mut out, depth);
        }
        match byte {
            b'}' | b']' => {
                if !just_opened {
                    depth = depth.saturating_sub(1);
                    new_line(&mut out, depth);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                new_line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            b'"' => {
                let end = super::text::literal(text, position).map_or(text.len(), |literal| literal.end);
                length = end.saturating_sub(position).max(1);
                out.extend_from_slice(text.get(position..position + length).unwrap_or_default());
            }
            _ => out.push(byte),
        }
        just_opened = matches!(byte, b'{' | b'[');
        position += length;
    }
    out
}
