//! The picture of a package.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A picture, and what tells it from another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Icon {
    /// The media type.
    pub(super) media_type: String,
    /// The picture.
    pub(super) bytes: Vec<u8>,
    /// The package, channel and version that it is of.
    pub(super) tag: String,
}

/// What is shown for a package without a picture: a box.
const BOX: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><path fill="#6a6e73" d="M32 4 8 16v32l24 12 24-12V16zm0 5 16 8-16 8-16-8zM12 21l18 9v22l-18-9zm40 0v22l-18 9V30z"/></svg>"##;

impl Icon {
    /// Reads a picture in base64; where there is none, it is a box.
    pub(super) fn new(media_type: &str, base64: &str, tag: String) -> Self {
        match STANDARD.decode(base64) {
            Ok(bytes) if !bytes.is_empty() => Self {
                media_type: media_type.to_owned(),
                bytes,
                tag,
            },
            _ => Self {
                media_type: "image/svg+xml".to_owned(),
                bytes: BOX.as_bytes().to_vec(),
                tag,
            },
        }
    }
}
