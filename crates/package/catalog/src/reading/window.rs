//! The part of a stream that is being looked at.

use std::io::{self, Read};

/// How much is read at once; much larger than most objects, so that few are cut and looked at twice.
const CHUNK_BYTES: usize = 256 << 10;

/// A buffer over a stream, from which bytes are consumed once they have been understood.
pub(super) struct Window<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Where the bytes that are not consumed yet start and end in the buffer.
    start: usize,
    end: usize,
    consumed: usize,
    at_end: bool,
}

impl<R: Read> Window<R> {
    /// Looks at a stream; `buffer` is one that was used before, or a new one.
    pub(super) fn new(reader: R, buffer: Vec<u8>) -> Self {
        Self {
            reader,
            buffer,
            start: 0,
            end: 0,
            consumed: 0,
            at_end: false,
        }
    }

    /// Gives the buffer back, for the next stream.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// The bytes that are not consumed yet.
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// How many bytes of the stream have been consumed.
    pub(super) fn offset(&self) -> usize {
        self.consumed
    }

    /// Whether nothing follows the bytes of the window.
    pub(super) fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Takes `count` bytes out of the window.
    pub(super) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.consumed += count;
    }

    /// Reads on, so that the window holds at least one byte more, or the stream has ended.
    ///
    /// The window at least doubles, so that looking at a growing object again and again stays cheap.
    pub(super) fn grow(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let wanted = (self.end * 2).max(CHUNK_BYTES);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        while self.end < wanted && !self.at_end {
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.reader.read(room) {
                Ok(0) => self.at_end = true,
                Ok(count) => self.end += count.min(room.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
