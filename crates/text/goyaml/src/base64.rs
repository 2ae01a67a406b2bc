//! Standard base64, as Go's `base64.StdEncoding` reads and writes it.

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, Engine as _, GeneralPurpose, GeneralPurposeConfig};

/// Go requires the padding, but not that the bits which it leaves over are zero.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes text in which line breaks are ignored and padding is required.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let symbols: Vec<u8> = text
        .bytes()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    ENGINE.decode(symbols).ok()
}

/// Encodes bytes with padding, on one line.
pub(crate) fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_required_and_line_breaks_and_left_over_bits_are_not_looked_at() {
        for (text, expected) in [
            ("", Some(&b""[..])),
            ("QUI=", Some(b"AB")),
            ("QQ==", Some(b"A")),
            ("QR==", Some(b"A")),
            ("Q\r\nQ=\n=", Some(b"A")),
            ("QQ=", None),
            ("QQ", None),
            ("QQ==QQ==", None),
            ("Q===", None),
            ("QQ= =", None),
            ("Q-==", None),
        ] {
            assert_eq!(decode(text).as_deref(), expected, "{text:?}");
        }
        assert_eq!(encode(b"AB"), "QUI=");
    }
}
