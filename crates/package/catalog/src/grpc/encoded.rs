//! Answers that the store holds in their encoded form, so that nothing is decoded only to be encoded again.

use bytes::{Buf, BufMut, Bytes};
use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, encode_key, encode_varint, skip_field};

/// A protobuf message whose fields are encoded already.
///
/// It stands for `Bundle` and `Package` where the server sends them; clients use the messages themselves.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Encoded {
    /// Parts of the message, one after the other.
    parts: [Bytes; 2],
}

impl Encoded {
    /// The whole message in one piece.
    pub(super) fn whole(message: Bytes) -> Self {
        Self {
            parts: [message, Bytes::new()],
        }
    }

    /// The message in two pieces.
    pub(super) fn of(parts: [Bytes; 2]) -> Self {
        Self { parts }
    }
}

impl prost::Message for Encoded {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        for part in &self.parts {
            buffer.put_slice(part);
        }
    }

    fn encoded_len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    /// Keeps a field as it came.
    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        // Neither message has fields of another kind.
        if wire_type != WireType::LengthDelimited {
            return skip_field(wire_type, tag, buffer, context);
        }
        let mut field = Bytes::new();
        prost::encoding::bytes::merge(wire_type, &mut field, buffer, context)?;
        let length = field.len();
        let mut message = Vec::with_capacity(self.encoded_len() + length);
        self.encode_raw(&mut message);
        encode_key(tag, wire_type, &mut message);
        encode_varint(length as u64, &mut message);
        message.extend_from_slice(&field);
        *self = Self::whole(message.into());
        Ok(())
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::grpc::messages::Bundle;

    #[test]
    fn an_encoded_message_is_read_as_what_it_stands_for() {
        let bundle = Bundle {
            csv_name: "foo.v1.0.0".into(),
            skips: vec!["a".into(), String::new()],
            ..Bundle::default()
        };
        let message = bundle.encode_to_vec();
        let (first, second) = message.split_at(12);
        let encoded = Encoded::of([Bytes::copy_from_slice(first), Bytes::copy_from_slice(second)]);
        assert_eq!(encoded.encoded_len(), message.len());
        assert_eq!(Bundle::decode(encoded.encode_to_vec().as_slice()), Ok(bundle));
        assert_eq!(
            Encoded::decode(message.as_slice()),
            Ok(Encoded::whole(message.into()))
        );
    }
}
