//! Standard base64, as Go's `base64.StdEncoding` reads and writes it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Decodes text in which line breaks are ignored and padding is required.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut symbols = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n'));
    loop {
        let mut group = [0u8; 4];
        let mut count = 0;
        while count < 4 {
            match symbols.next() {
                None if count == 0 => return Some(bytes),
                None => return None,
                Some(b'=') if count >= 2 => {
                    let padding_complete = count == 3 || symbols.next() == Some(b'=');
                    if !padding_complete || symbols.next().is_some() {
                        return None;
                    }
                    let [a, b, c, _] = group;
                    bytes.push(a << 2 | b >> 4);
                    if count == 3 {
                        bytes.push(b << 4 | c >> 2);
                    }
                    return Some(bytes);
                }
                Some(symbol) => {
                    group[count] = value_of(symbol)?;
                    count += 1;
                }
            }
        }
        let [a, b, c, d] = group;
        bytes.extend([a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]);
    }
}

fn value_of(symbol: u8) -> Option<u8> {
    match symbol {
        b'A'..=b'Z' => Some(symbol - b'A'),
        b'a'..=b'z' => Some(symbol - b'a' + 26),
        b'0'..=b'9' => Some(symbol - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// Encodes bytes with padding, on one line.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let symbol = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() {
                char::from(symbol)
            } else {
                '='
            });
        }
    }
    text
}
