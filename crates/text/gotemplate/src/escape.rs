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

    const ROWS: &[Row] = &[
        (b"", b"", b"", b""),
        (b"plain text", b"plain text", b"plain text", b"plain+text"),
        (
            b"<a href=\"x\">'&'</a>",
            b"&lt;a href=&#34;x&#34;&gt;&#39;&amp;&#39;&lt;/a&gt;",
            b"\\u003Ca href\\u003D\\\"x\\\"\\u003E\\'\\u0026\\'\\u003C/a\\u003E",
            b"%3Ca+href%3D%22x%22%3E%27%26%27%3C%2Fa%3E",
        ),
        (b"a\x00b", b"a\xef\xbf\xbdb", b"a\\u0000b", b"a%00b"),
        (b"back\\slash", b"back\\slash", b"back\\\\slash", b"back%5Cslash"),
        (
            b"tab\tnew\nline\r",
            b"tab\tnew\nline\r",
            b"tab\\u0009new\\u000Aline\\u000D",
            b"tab%09new%0Aline%0D",
        ),
        (
            b"\xc3\xa9\xe4\xb8\x96\xf0\x9f\x98\x80",
            b"\xc3\xa9\xe4\xb8\x96\xf0\x9f\x98\x80",
            b"\xc3\xa9\xe4\xb8\x96\xf0\x9f\x98\x80",
            b"%C3%A9%E4%B8%96%F0%9F%98%80",
        ),
        (
            b"\xe2\x80\xa8\xc2\xad\xf3\xa0\x80\x81",
            b"\xe2\x80\xa8\xc2\xad\xf3\xa0\x80\x81",
            b"\\u2028\\u00AD\\uE0001",
            b"%E2%80%A8%C2%AD%F3%A0%80%81",
        ),
        (b"\xff\xe2\x82", b"\xff\xe2\x82", b"\xff\xe2\x82", b"%FF%E2%82"),
        (b"\x7f\x1f", b"\x7f\x1f", b"\x7f\\u001F", b"%7F%1F"),
        (
            b"a=b&c=d e+f%20/?#~_-.",
            b"a=b&amp;c=d e+f%20/?#~_-.",
            b"a\\u003Db\\u0026c\\u003Dd e+f%20/?#~_-.",
            b"a%3Db%26c%3Dd+e%2Bf%2520%2F%3F%23~_-.",
        ),
    ];

    #[test]
    fn special_characters_are_escaped_as_go_escapes_them() {
        for (text, as_html, as_javascript, as_query) in ROWS {
            assert_eq!(html(text), *as_html, "html of {text:?}");
            assert_eq!(javascript(text), *as_javascript, "javascript of {text:?}");
            assert_eq!(url_query(text), *as_query, "url query of {text:?}");
        }
    }
}
