//! Text made safe for HTML, JavaScript and URLs, as text/template's `html`, `js` and `urlquery` do it.

use crate::format::is_print;

/// The digits of escapes.
const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Writes text as HTML shows it: quotes, `&`, `<` and `>` as references, NUL as U+FFFD.
pub fn html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            other => out.push(other),
        }
    }
    out
}

/// Writes text as the inside of a JavaScript string.
pub fn javascript(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' | '\'' | '"' => out.extend_from_slice(&[b'\\', character as u8]),
                '<' | '>' | '&' | '=' | '\0'..='\u{1f}' => append_code_point(&mut out, character),
                // Go leaves DEL as it is.
                '\u{7f}' => out.push(0x7f),
                other if is_print(other) => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
                other => append_code_point(&mut out, other),
            }
        }
        // Go takes a bad byte for the printable U+FFFD, but copies the byte.
        out.extend_from_slice(chunk.invalid());
    }
    out
}

fn append_code_point(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(format!("\\u{:04X}", u32::from(character)).as_bytes());
}

/// Writes text as a value in a URL's query: spaces as `+`, other than letters, digits and `-_.~` as `%XX`.
pub fn url_query(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            b' ' => out.push(b'+'),
            b'-' | b'_' | b'.' | b'~' => out.push(byte),
            _ if byte.is_ascii_alphanumeric() => out.push(byte),
            _ => out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{html, javascript, url_query};

    /// Text, then what Go's `HTMLEscapeString`, `JSEscapeString` and `QueryEscape` make of it.
    type Row = (&'static [u8], &'static [u8], &'static [u8], &'static [u8]);

    const ROWS: &[Row] = &[];

    #[test]
    fn special_characters_are_escaped_as_go_escapes_them() {
        for (text, as_html, as_javascript, as_query) in ROWS {
            assert_eq!(html(text), *as_html, "html of {text:?}");
            assert_eq!(javascript(text), *as_javascript, "javascript of {text:?}");
            assert_eq!(url_query(text), *as_query, "url query of {text:?}");
        }
    }
}
