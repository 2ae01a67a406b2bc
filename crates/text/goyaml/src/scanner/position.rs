//! The text at the scanner's position, and how much of it go-yaml would have read.

use super::Scanner;
use crate::error::Error;
use crate::input::Blocks;

impl Scanner<'_> {
    #[inline]
    pub(super) fn byte(&self, offset: usize) -> u8 {
        self.input
            .text
            .as_bytes()
            .get(self.position + offset)
            .copied()
            .unwrap_or(0)
    }

    #[inline]
    pub(super) fn at_end(&self) -> bool {
        self.position >= self.input.text.len()
    }

    /// Returns how many bytes the line break at `offset` has, or 0.
    #[inline]
    pub(super) fn break_length(&self, offset: usize) -> usize {
        match self.byte(offset) {
            b'\r' if self.byte(offset + 1) == b'\n' => 2,
            b'\n' | b'\r' => 1,
            0xC2 if self.byte(offset + 1) == 0x85 => 2,
            0xE2 if self.byte(offset + 1) == 0x80 && matches!(self.byte(offset + 2), 0xA8 | 0xA9) => 3,
            _ => 0,
        }
    }

    #[inline]
    pub(super) fn is_break(&self, offset: usize) -> bool {
        self.break_length(offset) > 0
    }

    #[inline]
    pub(super) fn is_blank(&self, offset: usize) -> bool {
        matches!(self.byte(offset), b' ' | b'\t')
    }

    /// Whether a line ends at `offset`.
    #[inline]
    pub(super) fn is_break_or_end(&self, offset: usize) -> bool {
        self.byte(offset) == 0 || self.is_break(offset)
    }

    /// Whether a word ends at `offset`.
    #[inline]
    pub(super) fn is_blank_or_end(&self, offset: usize) -> bool {
        self.is_blank(offset) || self.is_break_or_end(offset)
    }

    #[inline]
    pub(super) fn skip(&mut self) {
        let lead = self.byte(0);
        self.position += character_length(lead);
        self.mark.column += 1;
    }

    pub(super) fn skip_ascii(&mut self, count: usize) {
        self.position += count;
        self.mark.column += count as u32;
    }

    pub(super) fn skip_break(&mut self) {
        self.take_break();
    }

    /// Passes a line break and returns what it means: the Unicode separators stand for themselves.
    pub(super) fn take_break(&mut self) -> &'static str {
        let length = self.break_length(0);
        let meaning = match (length, self.byte(2)) {
            (0, _) => return "",
            (3, 0xA8) => "\u{2028}",
            (3, _) => "\u{2029}",
            _ => "\n",
        };
        self.position += length;
        self.mark.line += 1;
        self.mark.column = 0;
        meaning
    }

    pub(super) fn at_document_indicator(&self) -> bool {
        self.mark.column == 0
            && matches!(
                (self.byte(0), self.byte(1), self.byte(2)),
                (b'-', b'-', b'-') | (b'.', b'.', b'.')
            )
            && self.is_blank_or_end(3)
    }

    /// Does what go-yaml does when it wants `count` more characters: read a block and look at all of it.
    #[inline]
    pub(super) fn ensure(&mut self, count: usize) -> Result<(), Error> {
        if self.position.saturating_add(4 * count) <= self.read_up_to {
            Ok(())
        } else {
            self.read_blocks(count)
        }
    }

    #[cold]
    pub(super) fn read_blocks(&mut self, count: usize) -> Result<(), Error> {
        let Some(Blocks { ends, fault }) = &self.input.blocks else {
            return Ok(());
        };
        let text: &str = &self.input.text;
        let unread = |up_to: usize| {
            text.get(self.position..up_to)
                .map_or(0, |part| part.chars().take(count).count())
        };
        if unread(self.read_up_to) + self.padding >= count {
            return Ok(());
        }
        self.buffer_start = self.position;
        while unread(self.read_up_to) < count {
            if let Some(&end) = ends.get(self.next_block) {
                self.read_up_to = end;
                self.next_block += 1;
            } else if let Some(fault) = fault {
                return Err(Error::yaml(fault).at(self.mark));
            } else {
                self.padding += 1;
                break;
            }
        }
        Ok(())
    }

    /// go-yaml looks for a byte order mark at the start of its buffer, not at the position.
    pub(super) fn buffer_starts_with_byte_order_mark(&self) -> bool {
        self.input.blocks.is_some()
            && self
                .input
                .text
                .as_bytes()
                .get(self.buffer_start..)
                .is_some_and(|rest| rest.starts_with(b"\xEF\xBB\xBF"))
    }

    pub(super) fn error<T>(&self, problem: &str) -> Result<T, Error> {
        Err(Error::scanner(problem, self.mark))
    }
}

/// Returns how many bytes the character that starts with `lead` has; the text is known to be UTF-8.
#[inline]
pub(super) fn character_length(lead: u8) -> usize {
    match lead {
        0..=0x7F => 1,
        0x80..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    }
}
