//! Keys of several parts, and how they are written.

use gotemplate::Text;

/// Writes one part: bare where that is allowed, in quotes otherwise.
pub(super) fn write_part(out: &mut Vec<u8>, part: &[u8]) {
    let bare = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !part.is_empty() && part.iter().all(bare) {
        out.extend_from_slice(part);
    } else {
        write_quoted(out, part);
    }
}

/// Writes all parts with dots between them.
pub(super) fn write_key(out: &mut Vec<u8>, key: &[Text]) {
    for (index, part) in key.iter().enumerate() {
        if index > 0 {
            out.push(b'.');
        }
        write_part(out, part);
    }
}

/// Returns all parts with dots between them.
pub(super) fn dotted(key: &[Text]) -> String {
    let mut out = Vec::new();
    write_key(&mut out, key);
    String::from_utf8_lossy(&out).into_owned()
}

/// Writes text in double quotes.
pub(super) fn write_quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for byte in text {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0..0x20 | 0x7f => out.extend(format!("\\u{byte:04x}").bytes()),
            _ => out.push(*byte),
        }
    }
    out.push(b'"');
}
