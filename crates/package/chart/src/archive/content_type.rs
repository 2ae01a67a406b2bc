//! What a file seems to be, judged by its first bytes as Go's `http.DetectContentType` does.

/// How many bytes are looked at.
pub(super) const SNIFF_LENGTH: usize = 512;

const HTML_TAGS: &[&str] = &[
    "<!DOCTYPE HTML",
    "<HTML",
    "<HEAD",
    "<SCRIPT",
    "<IFRAME",
    "<H1",
    "<DIV",
    "<FONT",
    "<TABLE",
    "<A",
    "<STYLE",
    "<TITLE",
    "<B",
    "<BODY",
    "<BR",
    "<P",
    "<!--",
];

/// Starts of files; a `?` in a masked signature stands for any byte.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\xfe\xff??", "text/plain; charset=utf-16be"),
    (b"\xff\xfe??", "text/plain; charset=utf-16le"),
    (b"\xef\xbb\xbf?", "text/plain; charset=utf-8"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"\x00\x00\x02\x00", "image/x-icon"),
    (b"BM", "image/bmp"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"RIFF????WEBPVP", "image/webp"),
    (b"\x89PNG\x0d\x0a\x1a\x0a", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"FORM????AIFF", "audio/aiff"),
    (b"ID3", "audio/mpeg"),
    (b"OggS\x00", "application/ogg"),
    (b"MThd\x00\x00\x00\x06", "audio/midi"),
    (b"RIFF????AVI ", "video/avi"),
    (b"RIFF????WAVE", "audio/wave"),
    (b"", "video/mp4"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (
        b"??????????????????????????????????LP",
        "application/vnd.ms-fontobject",
    ),
    (b"\x00\x01\x00\x00", "font/ttf"),
    (b"OTTO", "font/otf"),
    (b"ttcf", "font/collection"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x1f\x8b\x08", "application/x-gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07\x00", "application/x-rar-compressed"),
    (b"Rar!\x1a\x07\x01\x00", "application/x-rar-compressed"),
    (b"\x00asm", "application/wasm"),
];

/// Names the type of a file that starts with `data`.
pub(super) fn detect(data: &[u8]) -> &'static str {
    let is_space = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ');
    let content = &data[data.iter().take_while(|byte| is_space(**byte)).count()..];
    if HTML_TAGS
        .iter()
        .any(|tag| starts_with_tag(content, tag.as_bytes()))
    {
        return "text/html; charset=utf-8";
    }
    if content.starts_with(b"<?xml") {
        return "text/xml; charset=utf-8";
    }
    for (signature, content_type) in SIGNATURES {
        let found = if signature.is_empty() {
            is_mp4(data)
        } else {
            fits(data, signature)
        };
        if found {
            return content_type;
        }
    }
    let is_binary = |byte: &u8| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    if content.iter().any(is_binary) {
        "application/octet-stream"
    } else {
        "text/plain; charset=utf-8"
    }
}

fn fits(data: &[u8], signature: &[u8]) -> bool {
    data.len() >= signature.len()
        && data
            .iter()
            .zip(signature)
            .all(|(given, expected)| *expected == b'?' || given == expected)
}

fn starts_with_tag(content: &[u8], tag: &[u8]) -> bool {
    content.len() > tag.len()
        && content
            .iter()
            .zip(tag)
            .all(|(given, expected)| given.to_ascii_uppercase() == *expected)
        && matches!(content[tag.len()], b' ' | b'>')
}

/// An ISO base media file: a box of type `ftyp` with a brand that starts with `mp4`.
fn is_mp4(data: &[u8]) -> bool {
    let Some(Ok(size)) = data.get(..4).map(<[u8; 4]>::try_from) else {
        return false;
    };
    let size = u32::from_be_bytes(size) as usize;
    if data.len() < 12 || data.len() < size || !size.is_multiple_of(4) || &data[4..8] != b"ftyp" {
        return false;
    }
    // The second word is the minor version, not a brand.
    (8..size)
        .step_by(4)
        .filter(|start| *start != 12)
        .any(|start| data.get(start..start + 3) == Some(b"mp4"))
}
