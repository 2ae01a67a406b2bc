//! The bytes of protobuf: numbers, lengths and the fields between them.

use super::error::ProtobufError;

/// A number in groups of seven bits.
pub(super) const VARINT: u8 = 0;
/// Eight bytes.
pub(crate) const FIXED64: u8 = 1;
/// A length and as many bytes.
pub(super) const DELIMITED: u8 = 2;
const START_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
/// Four bytes.
const FIXED32: u8 = 5;

/// Where a field starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tag {
    pub(super) number: u32,
    pub(super) wire: u8,
}

/// Reads a message's bytes from the front.
#[derive(Debug, Clone)]
pub(super) struct Reader<'b> {
    bytes: &'b [u8],
}

impl<'b> Reader<'b> {
    pub(super) const fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    pub(super) const fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Reads a number; like Go, it drops the bits beyond the 64th of a tenth byte and refuses an eleventh.
    pub(super) fn varint(&mut self) -> Result<u64, ProtobufError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.bytes.split_first().ok_or(ProtobufError::UnexpectedEnd)?;
            self.bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ProtobufError::IntegerOverflow)
    }

    /// Reads the next field's tag; `None` at the end of the message.
    pub(super) fn tag(&mut self, message: &'static str) -> Result<Option<Tag>, ProtobufError> {
        if self.is_at_end() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = (tag >> 3) as i32;
        let wire = (tag & 7) as u8;
        if wire == END_GROUP {
            return Err(ProtobufError::EndOfGroup { message });
        }
        if number <= 0 {
            return Err(ProtobufError::IllegalTag { message, number, tag });
        }
        Ok(Some(Tag {
            number: number as u32,
            wire,
        }))
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], ProtobufError> {
        let (taken, rest) = self
            .bytes
            .split_at_checked(length)
            .ok_or(ProtobufError::UnexpectedEnd)?;
        self.bytes = rest;
        Ok(taken)
    }

    /// Reads a length and as many bytes.
    pub(super) fn delimited(&mut self) -> Result<&'b [u8], ProtobufError> {
        let length = i64::from_ne_bytes(self.varint()?.to_ne_bytes());
        let length = usize::try_from(length).map_err(|_| ProtobufError::NegativeLength)?;
        self.take(length)
    }

    /// Reads eight bytes.
    pub(super) fn fixed64(&mut self) -> Result<[u8; 8], ProtobufError> {
        let (taken, rest) = self
            .bytes
            .split_first_chunk()
            .ok_or(ProtobufError::UnexpectedEnd)?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// Passes over a field that isn't known, whose tag was read.
    pub(super) fn skip(&mut self, tag: Tag) -> Result<(), ProtobufError> {
        let mut groups = 0_usize;
        let mut wire = tag.wire;
        loop {
            match wire {
                VARINT => drop(self.varint()?),
                FIXED64 => drop(self.take(8)?),
                DELIMITED => drop(self.delimited()?),
                START_GROUP => groups += 1,
                END_GROUP => groups = groups.checked_sub(1).ok_or(ProtobufError::UnexpectedEndOfGroup)?,
                FIXED32 => drop(self.take(4)?),
                wire => return Err(ProtobufError::IllegalWireType { wire }),
            }
            if groups == 0 {
                return Ok(());
            }
            wire = (self.varint()? & 7) as u8;
        }
    }
}

/// Writes a message from its end to its start.
///
/// A length stands before what it measures. Written backwards, it is known when its turn comes, so nothing is measured
/// beforehand and nothing is copied into place.
#[derive(Debug, Default)]
pub(crate) struct BackwardWriter {
    /// The bytes from the last to the first.
    reversed: Vec<u8>,
}

impl BackwardWriter {
    /// Returns how much was written so far, to be handed to [`close`](Self::close).
    pub(crate) const fn mark(&self) -> usize {
        self.reversed.len()
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.reversed.extend(bytes.iter().rev());
    }

    pub(crate) fn varint(&mut self, mut value: u64) {
        let mut groups = [0; 10];
        let mut count = 0;
        for group in &mut groups {
            *group = (value & 0x7f) as u8 | 0x80;
            value >>= 7;
            count += 1;
            if value == 0 {
                *group &= 0x7f;
                break;
            }
        }
        self.reversed.extend(groups.iter().take(count).rev());
    }

    pub(crate) fn tag(&mut self, number: u32, wire: u8) {
        self.varint(u64::from(number) << 3 | u64::from(wire));
    }

    /// Writes the length of what was written since the mark, and the tag of the field that it is.
    pub(crate) fn close(&mut self, number: u32, mark: usize) {
        self.varint((self.reversed.len() - mark) as u64);
        self.tag(number, DELIMITED);
    }

    /// Writes a field of bytes.
    pub(crate) fn delimited(&mut self, number: u32, bytes: &[u8]) {
        let mark = self.mark();
        self.bytes(bytes);
        self.close(number, mark);
    }

    /// Writes a field that is a number.
    pub(crate) fn number(&mut self, number: u32, value: u64) {
        self.varint(value);
        self.tag(number, VARINT);
    }

    /// Returns the bytes from the first to the last.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.reversed.reverse();
        self.reversed
    }
}
