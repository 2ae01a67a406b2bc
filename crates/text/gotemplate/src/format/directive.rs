//! Format strings: text between directives, and for each directive its operand and layout.

use super::layout::Layout;
use super::utf8;
use super::value::{Printer, integer_of};
use crate::value::Value;

/// The largest width, precision and operand index; Go calls larger ones bad.
const MAX_NUMBER: usize = 1_000_000;

/// Writes operands as a format string says, as `fmt.Sprintf` does.
///
/// It never fails: what is wrong with the format or an operand is said in the text, as `%!d(string=hi)`.
pub fn sprintf(format: &[u8], operands: &[Value]) -> Vec<u8> {
    let mut out = Vec::with_capacity(format.len() + 8 * operands.len());
    let mut reader = Reader {
        format,
        position: 0,
        operands,
        next_operand: 0,
        reordered: false,
        index_is_good: true,
    };
    while reader.position < format.len() {
        let rest = &format[reader.position..];
        let length = rest.iter().position(|&byte| byte == b'%').unwrap_or(rest.len());
        out.extend_from_slice(&rest[..length]);
        reader.position += length;
        if reader.position < format.len() {
            reader.position += 1;
            reader.directive(&mut out);
        }
    }
    // After explicit indexes it can't be told which operands were meant to be left out.
    if !reader.reordered && reader.next_operand < operands.len() {
        append_extra(&mut out, &operands[reader.next_operand..]);
    }
    out
}

fn append_extra(out: &mut Vec<u8>, operands: &[Value]) {
    out.extend_from_slice(b"%!(EXTRA ");
    for (index, operand) in operands.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(operand.type_name().as_bytes());
        if !matches!(operand, Value::Nil) {
            out.push(b'=');
            Printer::new(out, Layout::default()).argument(operand, 'v');
        }
    }
    out.push(b')');
}

struct Reader<'format> {
    format: &'format [u8],
    position: usize,
    operands: &'format [Value],
    next_operand: usize,
    /// Whether the format used an explicit index anywhere.
    reordered: bool,
    /// Whether the indexes of the current directive name operands and stand where they may.
    index_is_good: bool,
}

impl Reader<'_> {
    /// Reads the directive after its `%` and writes what it asks for.
    fn directive(&mut self, out: &mut Vec<u8>) {
        self.index_is_good = true;
        let mut layout = Layout::default();
        self.flags(&mut layout);
        let mut after_index = self.operand_index();
        self.width(&mut layout, &mut after_index, out);
        self.precision(&mut layout, &mut after_index, out);
        if !after_index {
            self.operand_index();
        }
        let Some(rest) = self.format.get(self.position..).filter(|rest| !rest.is_empty()) else {
            out.extend_from_slice(b"%!(NOVERB)");
            return;
        };
        let (verb, length) = utf8::first(rest);
        let verb = verb.unwrap_or(char::REPLACEMENT_CHARACTER);
        self.position += length;
        if verb == '%' {
            out.push(b'%');
            return;
        }
        let operand = match self.operands.get(self.next_operand) {
            _ if !self.index_is_good => return append_complaint(out, verb, "(BADINDEX)"),
            None => return append_complaint(out, verb, "(MISSING)"),
            Some(operand) => operand,
        };
        if matches!(verb, 'v' | 'w') {
            layout.go_syntax = std::mem::take(&mut layout.sharp);
            layout.field_names = std::mem::take(&mut layout.plus);
        }
        self.next_operand += 1;
        Printer::new(out, layout).argument(operand, verb);
    }

    fn peek(&self) -> Option<u8> {
        self.format.get(self.position).copied()
    }

    fn flags(&mut self, layout: &mut Layout) {
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => layout.sharp = true,
                b'0' => layout.zero = true,
                b'+' => layout.plus = true,
                b'-' => layout.minus = true,
                b' ' => layout.space = true,
                _ => return,
            }
            self.position += 1;
        }
    }

    fn width(&mut self, layout: &mut Layout, after_index: &mut bool, out: &mut Vec<u8>) {
        if self.peek() == Some(b'*') {
            self.position += 1;
            *after_index = false;
            match self.number_operand() {
                None => out.extend_from_slice(b"%!(BADWIDTH)"),
                Some(width) => {
                    layout.width = Some(width.unsigned_abs() as usize);
                    if width < 0 {
                        layout.minus = true;
                        layout.zero = false;
                    }
                }
            }
        } else {
            layout.width = self.number(self.format.len());
            if *after_index && layout.width.is_some() {
                self.index_is_good = false;
            }
        }
    }

    fn precision(&mut self, layout: &mut Layout, after_index: &mut bool, out: &mut Vec<u8>) {
        // A point that ends the format is its verb.
        if self.peek() != Some(b'.') || self.position + 1 >= self.format.len() {
            return;
        }
        self.position += 1;
        if *after_index {
            self.index_is_good = false;
        }
        *after_index = self.operand_index();
        if self.peek() == Some(b'*') {
            self.position += 1;
            *after_index = false;
            layout.precision = self
                .number_operand()
                .and_then(|precision| usize::try_from(precision).ok());
            if layout.precision.is_none() {
                out.extend_from_slice(b"%!(BADPREC)");
            }
        } else {
            layout.precision = Some(self.number(self.format.len()).unwrap_or(0));
        }
    }

    /// Reads decimal digits before `end`; a number that is too large takes all of the text until there with it.
    fn number(&mut self, end: usize) -> Option<usize> {
        let mut number = None;
        while self.position < end {
            let Some(digit @ b'0'..=b'9') = self.peek() else {
                break;
            };
            let before = number.unwrap_or(0);
            if before > MAX_NUMBER {
                self.position = end;
                return None;
            }
            number = Some(before * 10 + usize::from(digit - b'0'));
            self.position += 1;
        }
        number
    }

    /// Takes the next operand as a width or precision.
    fn number_operand(&mut self) -> Option<i64> {
        let operand = self.operands.get(self.next_operand)?;
        self.next_operand += 1;
        let number = i64::try_from(integer_of(operand)?.wide()).ok()?;
        (number.unsigned_abs() <= MAX_NUMBER as u64).then_some(number)
    }

    /// Reads an explicit index such as `[2]`; returns whether there was a well-formed one.
    fn operand_index(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.reordered = true;
        let start = self.position;
        let rest = &self.format[start..];
        let Some(length) = rest
            .iter()
            .position(|&byte| byte == b']')
            .filter(|_| rest.len() >= 3)
        else {
            self.index_is_good = false;
            self.position += 1;
            return false;
        };
        let end = start + length;
        self.position += 1;
        let index = self.number(end).filter(|_| self.position == end);
        self.position = end + 1;
        match index.and_then(|index| index.checked_sub(1)) {
            Some(index) if index < self.operands.len() => self.next_operand = index,
            _ => self.index_is_good = false,
        }
        index.is_some()
    }
}

fn append_complaint(out: &mut Vec<u8>, verb: char, complaint: &str) {
    out.extend_from_slice(b"%!");
    out.extend_from_slice(verb.encode_utf8(&mut [0; 4]).as_bytes());
    out.extend_from_slice(complaint.as_bytes());
}
