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

/// Returns the index at which Go gives up on text that [`decode`] refuses.
pub(crate) fn corrupt_at(text: &str) -> usize {
    let bytes = text.as_bytes();
    let skip_line_breaks = |mut index: usize| {
        while matches!(bytes.get(index), Some(b'\r' | b'\n')) {
            index += 1;
        }
        index
    };
    let mut index = 0;
    let mut symbols = 0;
    while let Some(&byte) = bytes.get(index) {
        match byte {
            b'\r' | b'\n' => {}
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => symbols = (symbols + 1) % 4,
            b'=' if symbols == 2 => {
                let second = skip_line_breaks(index + 1);
                return match bytes.get(second) {
                    None => bytes.len(),
                    Some(b'=') => skip_line_breaks(second + 1),
                    Some(_) => second - 1,
                };
            }
            b'=' if symbols == 3 => return skip_line_breaks(index + 1),
            _ => return index,
        }
        index += 1;
    }
    bytes.len() - symbols
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

    #[test]
    fn the_place_of_an_error_is_the_one_that_go_names() {
        for (text, expected) in [
            ("!!!!", 0),
            ("QQ=", 3),
            ("QQ", 0),
            ("QUJDQ", 4),
            ("QUJD\nQQ", 5),
            ("QQ==QQ==", 4),
            ("Q===", 1),
            ("QQ= =", 2),
            ("QQ=\n=x", 5),
            ("QUI=x", 4),
            ("Q-==", 1),
        ] {
            assert_eq!(decode(text), None, "{text:?}");
            assert_eq!(corrupt_at(text), expected, "{text:?}");
        }
    }
}
