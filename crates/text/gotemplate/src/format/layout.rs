//! What a directive says about the form of its operand, and the padding that follows from it.

use super::utf8;
use super::value::Printer;

/// Padding and precision stop adding bytes once the output is this long: `%1000000d` asks for a megabyte with
/// nine characters, so a small template could otherwise ask for all of the memory. No cluster takes a manifest
/// that comes near it.
pub(super) const MAX_PADDED_OUTPUT: usize = 64 << 20;

/// Flags, width and precision of one directive.
#[derive(Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one for each flag of a directive, each free of the others"
)]
pub(super) struct Layout {
    /// The least number of characters.
    pub(super) width: Option<usize>,
    /// Digits or characters, as the verb takes it.
    pub(super) precision: Option<usize>,
    /// `-`: padding on the right.
    pub(super) minus: bool,
    /// `+`: always a sign; ASCII only for `%+q`.
    pub(super) plus: bool,
    /// `#`: the alternate form.
    pub(super) sharp: bool,
    /// A space: room for the sign; spaces between bytes for `% x`.
    pub(super) space: bool,
    /// `0`: zeros as padding on the left.
    pub(super) zero: bool,
    /// `%+v`: field names.
    pub(super) field_names: bool,
    /// `%#v`: Go syntax.
    pub(super) go_syntax: bool,
}

impl Printer<'_> {
    /// Writes a byte `count` times, within [`MAX_PADDED_OUTPUT`].
    pub(super) fn fill(&mut self, byte: u8, count: usize) {
        let room = MAX_PADDED_OUTPUT.saturating_sub(self.out.len());
        self.out.resize(self.out.len() + count.min(room), byte);
    }

    /// Writes padding of the kind that the flags ask for.
    pub(super) fn padding(&mut self, count: usize) {
        let byte = if self.layout.zero && !self.layout.minus {
            b'0'
        } else {
            b' '
        };
        self.fill(byte, count);
    }

    /// Writes text in its width.
    pub(super) fn padded(&mut self, text: &[u8]) {
        let Some(width) = self.layout.width else {
            self.out.extend_from_slice(text);
            return;
        };
        let missing = width.saturating_sub(utf8::count(text));
        if self.layout.minus {
            self.out.extend_from_slice(text);
            self.padding(missing);
        } else {
            self.padding(missing);
            self.out.extend_from_slice(text);
        }
    }

    /// Writes text in its width; zeros are no padding for it.
    pub(super) fn padded_with_spaces(&mut self, text: &[u8]) {
        let zero = std::mem::replace(&mut self.layout.zero, false);
        self.padded(text);
        self.layout.zero = zero;
    }
}
