//! A new package, as `opm init` makes it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::objects::{Icon, Package};

/// Why there is no new package; the texts are opm's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InitError {
    /// The icon's file is empty.
    #[error("detect icon mediatype: Empty buffer")]
    EmptyIcon,
    /// The icon is something else, or its kind is not known.
    #[error("detected invalid type {}: not an image", gotemplate::format::quoted(.0))]
    NotAnImage(&'static str),
}

/// Makes an `olm.package`; the icon's type is told by its bytes.
///
/// # Errors
///
/// When the icon is no image.
pub fn init(
    name: &str,
    default_channel: &str,
    description: Option<&[u8]>,
    icon: Option<&[u8]>,
) -> Result<Package, InitError> {
    let icon = icon.map(|bytes| {
        Ok(Icon {
            media_type: image_type(bytes)?.to_owned(),
            data: STANDARD.encode(bytes),
        })
    });
    Ok(Package {
        name: name.to_owned(),
        default_channel: default_channel.to_owned(),
        icon: icon.transpose()?,
        description: String::from_utf8_lossy(description.unwrap_or_default()).into_owned(),
        properties: Vec::new(),
    })
}

/// The media type of an image.
fn image_type(bytes: &[u8]) -> Result<&'static str, InitError> {
    if bytes.is_empty() {
        return Err(InitError::EmptyIcon);
    }
    let found = if is_svg(bytes) {
        "image/svg+xml"
    } else {
        media_type(bytes)
    };
    if found.starts_with("image/") {
        Ok(found)
    } else {
        Err(InitError::NotAnImage(found))
    }
}

/// The media type of a file by its first bytes; empty if they are not known.
fn media_type(bytes: &[u8]) -> &'static str {
    const TIFF: [&[u8]; 2] = [b"II*\0", b"MM\0*"];
    /// How a file starts, how long it is at least, and what it is then.
    const STARTS: &[(&[u8], usize, &str)] = &[
        (b"\xff\xd8\xff", 3, "image/jpeg"),
        (b"\0\0\0\x0cjP  \r\n\x87\n\0", 13, "image/jp2"),
        (b"\x89PNG", 4, "image/png"),
        (b"GIF", 3, "image/gif"),
        (b"II\xbc", 3, "image/vnd.ms-photo"),
        (b"8BPS", 4, "image/vnd.adobe.photoshop"),
        (b"\0\0\x01\0", 4, "image/vnd.microsoft.icon"),
        (b"AC10", 4, "image/vnd.dwg"),
        (b"BM", 2, "image/bmp"),
        (b"%PDF", 4, "application/pdf"),
        (b"PK\x03\x04", 4, "application/zip"),
        (b"\x1f\x8b\x08", 3, "application/gzip"),
    ];
    if bytes.len() > 10 && TIFF.iter().any(|start| bytes.starts_with(start)) {
        return if bytes.get(8..11) == Some(b"CR\x02") {
            "image/x-canon-cr2"
        } else {
            "image/tiff"
        };
    }
    if bytes.get(8..12) == Some(b"WEBP") {
        return "image/webp";
    }
    if is_heif(bytes) {
        return "image/heif";
    }
    let start = STARTS
        .iter()
        .find(|(start, length, _)| bytes.len() >= *length && bytes.starts_with(start));
    start.map_or("", |(_, _, media_type)| media_type)
}

/// Whether a file is in the ISO base media format and of a brand that means HEIF.
fn is_heif(bytes: &[u8]) -> bool {
    if bytes.len() < 16 || bytes.get(4..8) != Some(b"ftyp") {
        return false;
    }
    let length = bytes
        .first_chunk::<4>()
        .map_or(0, |length| u32::from_be_bytes(*length) as usize);
    let brands = bytes.get(16..length).unwrap_or_default();
    match bytes.get(8..12) {
        Some(b"heic") => true,
        Some(b"mif1" | b"msf1") => brands.chunks_exact(4).any(|brand| brand == b"heic"),
        _ => false,
    }
}

/// Whether text is one SVG element, perhaps behind an XML declaration and a document type.
fn is_svg(bytes: &[u8]) -> bool {
    /// Text does not start with control characters; so many characters are looked at.
    const LOOKED_AT: usize = 24;
    let looks_binary = bytes
        .get(..LOOKED_AT)
        .is_some_and(|start| start.iter().any(|byte| *byte <= 8));
    if looks_binary {
        return false;
    }
    let text = without_comments(&String::from_utf8_lossy(bytes).to_ascii_lowercase());
    let text = text.trim();
    let text = behind_tag(text, "<?xml").map_or(text, str::trim_start);
    let text = behind_tag(text, "<!doctype svg").map_or(text, str::trim_start);
    behind_tag(text, "<svg")
        .and_then(|content| content.strip_suffix("</svg>"))
        .is_some_and(|content| !content.contains('*'))
}

/// What follows a tag that starts with `start`, if the text does.
fn behind_tag<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    let (_, behind) = text.strip_prefix(start)?.split_once('>')?;
    Some(behind)
}

fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        let Some((_, behind)) = comment.split_once("-->") else {
            break;
        };
        kept.push_str(before);
        rest = behind;
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_icons_type_is_told_by_its_bytes() {
        for (bytes, expected) in [
            (b"\x89PNG\r\n".as_slice(), Ok("image/png")),
            (b"\xff\xd8\xff\xe0", Ok("image/jpeg")),
            (b"GIF89a", Ok("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Ok("image/webp")),
            (b"<svg></svg>", Ok("image/svg+xml")),
            (
                b"<?xml version=\"1.0\"?>\n<!-- a -- comment -->\n<!DOCTYPE svg x>\n<SVG a=\"b\"><g/></SVG>\n",
                Ok("image/svg+xml"),
            ),
            (b"<svg>*</svg>", Err(InitError::NotAnImage(""))),
            (b"%PDF-1.4", Err(InitError::NotAnImage("application/pdf"))),
            (b"text", Err(InitError::NotAnImage(""))),
            (b"", Err(InitError::EmptyIcon)),
        ] {
            assert_eq!(image_type(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_new_package_has_what_it_was_given() {
        let package = init("a", "stable", Some(b"# A\n"), Some(b"GIF89a")).expect("a package");
        assert_eq!(package.description, "# A\n");
        assert_eq!(package.icon.expect("an icon").data, "R0lGODlh");
    }
}
