//! Protobuf messages written by hand: every field of `api.Registry`'s answers is a text or a message.

/// The wire type of texts and messages.
const LENGTH_DELIMITED: u32 = 2;

/// Appends a text; an empty one is not written, as proto3 has it.
pub(super) fn text(out: &mut Vec<u8>, field: u32, text: &str) {
    if !text.is_empty() {
        element(out, field, text.as_bytes());
    }
}

/// Appends an element of a repeated field, or a message; also if it is empty.
pub(super) fn element(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    varint(out, u64::from(field << 3 | LENGTH_DELIMITED));
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a message whose fields are texts, numbered from 1.
pub(super) fn texts(out: &mut Vec<u8>, field: u32, texts: &[&str]) {
    let mut message = Vec::new();
    for (number, value) in (1..).zip(texts) {
        text(&mut message, number, value);
    }
    element(out, field, &message);
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::grpc::messages::{GroupVersionKind, Package};

    #[test]
    fn messages_read_as_they_were_written() {
        let mut out = Vec::new();
        text(&mut out, 1, &"long ".repeat(1000));
        text(&mut out, 3, "");
        element(&mut out, 4, b"");
        let package = Package::decode(out.as_slice()).unwrap();
        assert_eq!(package.name.len(), 5000);
        assert_eq!(package.default_channel_name, "");
        assert!(package.deprecation.is_some());

        let mut out = Vec::new();
        texts(&mut out, 7, &["g", "", "K"]);
        // A tag and a length of one byte each stand before the message itself.
        let api = GroupVersionKind::decode(&out[2..]).unwrap();
        assert_eq!(
            (api.group.as_str(), api.version.as_str(), api.kind.as_str()),
            ("g", "", "K")
        );
    }
}
