//! Plain, quoted and block scalars.

use super::{Scanner, Span, TokenKind};
use crate::error::Error;

/// A scalar's value as it grows: a range of the input for as long as nothing in it has to change.
struct Value {
    /// Where the part of the input begins that is not in the scratch text yet.
    pending: usize,
    scratch_start: usize,
    owned: bool,
}

impl Value {
    /// Moves the pending part up to `end` into the scratch text.
    fn flush(&mut self, scanner: &mut Scanner<'_>, end: usize) {
        self.owned = true;
        if let Some(part) = scanner.input.text.get(self.pending..end) {
            scanner.scratch.push_str(part);
        }
        self.pending = end;
    }

    fn finish(mut self, scanner: &mut Scanner<'_>, end: usize) -> Span {
        if self.owned {
            self.flush(scanner, end);
            Span {
                start: self.scratch_start as u32,
                end: scanner.scratch.len() as u32,
                in_scratch: true,
            }
        } else {
            Span {
                start: self.pending as u32,
                end: end as u32,
                in_scratch: false,
            }
        }
    }
}

impl Scanner<'_> {
    fn start_value(&self) -> Value {
        Value {
            pending: self.position,
            scratch_start: self.scratch.len(),
            owned: false,
        }
    }

    /// Adds the folded form of the line breaks that were passed: one break is a space.
    fn fold_breaks(&mut self, first: &str) {
        if first == "\n" && self.breaks.is_empty() {
            self.scratch.push(' ');
        } else {
            if first != "\n" {
                self.scratch.push_str(first);
            }
            self.scratch.push_str(&self.breaks);
        }
        self.breaks.clear();
    }

    // ---- Plain ----

    pub(super) fn fetch_plain_scalar(&mut self) -> Result<(), Error> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;

        let start = self.mark;
        let mut end_mark = self.mark;
        let mut value = self.start_value();
        let mut end = self.position;
        let mut first_break = None;
        let indent = self.indent + 1;
        self.breaks.clear();
        loop {
            self.ensure(4)?;
            if self.at_document_indicator() || self.byte(0) == b'#' {
                break;
            }
            let word = self.position;
            self.skip_plain_word(&mut value, &mut first_break, end)?;
            if self.position > word {
                end = self.position;
                end_mark = self.mark;
            }
            if !(self.is_blank(0) || self.is_break(0)) {
                break;
            }
            self.ensure(1)?;
            while self.is_blank(0) || self.is_break(0) {
                if self.is_blank(0) {
                    if first_break.is_some() && (self.mark.column as i32) < indent && self.byte(0) == b'\t' {
                        return self.error("found a tab character that violates indentation");
                    }
                    self.skip_ascii(1);
                } else {
                    self.ensure(2)?;
                    let line_break = self.take_break();
                    if first_break.is_none() {
                        first_break = Some(line_break);
                    } else {
                        self.breaks.push_str(line_break);
                    }
                }
                self.ensure(1)?;
            }
            if self.flow_level == 0 && (self.mark.column as i32) < indent {
                break;
            }
        }
        if first_break.is_some() {
            self.simple_key_allowed = true;
        }
        let text = value.finish(self, end);
        self.push_text(TokenKind::Scalar { plain: true }, start, text, Span::default());
        if let Some(token) = self.tokens.back_mut() {
            token.end = end_mark;
        }
        Ok(())
    }

    /// Passes the characters up to the next blank, line break or indicator that ends a plain scalar.
    fn skip_plain_word(
        &mut self,
        value: &mut Value,
        first_break: &mut Option<&'static str>,
        end: usize,
    ) -> Result<(), Error> {
        let in_flow = self.flow_level > 0;
        let mut begun = false;
        loop {
            // Letters and digits need no second look; near the end of a read block each character counts.
            let fast_end = self.input.text.len().min(self.read_up_to.saturating_sub(12));
            let run = self
                .input
                .text
                .as_bytes()
                .get(self.position..fast_end)
                .and_then(|rest| rest.iter().position(|&byte| !PLAIN_SAFE[usize::from(byte)]));
            let run = run.unwrap_or_else(|| fast_end.saturating_sub(self.position));
            let byte = self.byte(run);
            let stops = run == 0
                && (self.is_blank_or_end(0)
                    || (byte == b':' && self.is_blank_or_end(1))
                    || (in_flow && matches!(byte, b',' | b'?' | b'[' | b']' | b'{' | b'}')));
            if stops {
                return Ok(());
            }
            if !begun {
                begun = true;
                if let Some(first) = first_break.take() {
                    value.flush(self, end);
                    self.fold_breaks(first);
                    value.pending = self.position;
                }
            }
            if run == 0 {
                self.skip();
            } else {
                self.skip_ascii(run);
            }
            self.ensure(2)?;
        }
    }

    // ---- Quoted ----

    pub(super) fn fetch_quoted_scalar(&mut self, single: bool) -> Result<(), Error> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;

        let start = self.mark;
        let quote = if single { b'\'' } else { b'"' };
        self.skip_ascii(1);
        let mut value = self.start_value();
        self.breaks.clear();
        loop {
            self.ensure(4)?;
            if self.at_document_indicator() {
                return self.error("found unexpected document indicator");
            }
            if self.at_end() {
                return self.error("found unexpected end of stream");
            }
            let mut first_break = self.skip_quoted_word(single, &mut value)?;
            self.ensure(1)?;
            if self.byte(0) == quote {
                break;
            }
            let word_end = self.position;
            while self.is_blank(0) || self.is_break(0) {
                if self.is_blank(0) {
                    self.skip_ascii(1);
                } else {
                    self.ensure(2)?;
                    let line_break = self.take_break();
                    if first_break.is_none() {
                        value.flush(self, word_end);
                        first_break = Some(line_break);
                    } else {
                        self.breaks.push_str(line_break);
                    }
                }
                self.ensure(1)?;
            }
            if let Some(first) = first_break {
                self.fold_breaks(first);
                value.pending = self.position;
            }
        }
        let text = value.finish(self, self.position);
        self.skip_ascii(1);
        self.push_text(TokenKind::Scalar { plain: false }, start, text, Span::default());
        Ok(())
    }

    /// Passes a word inside quotes. Returns `Some("")` after an escaped line break, which joins two lines.
    fn skip_quoted_word(&mut self, single: bool, value: &mut Value) -> Result<Option<&'static str>, Error> {
        while !self.is_blank_or_end(0) {
            match self.byte(0) {
                b'\'' if single => {
                    if self.byte(1) != b'\'' {
                        return Ok(None);
                    }
                    value.flush(self, self.position + 1);
                    self.skip_ascii(2);
                    value.pending = self.position;
                }
                b'"' if !single => return Ok(None),
                b'\\' if !single => {
                    value.flush(self, self.position);
                    if self.is_break(1) {
                        self.ensure(3)?;
                        self.skip_ascii(1);
                        self.skip_break();
                        value.pending = self.position;
                        return Ok(Some(""));
                    }
                    self.scan_escape()?;
                    value.pending = self.position;
                }
                _ => self.skip(),
            }
            self.ensure(2)?;
        }
        Ok(None)
    }

    fn scan_escape(&mut self) -> Result<(), Error> {
        let (character, code_length) = match self.byte(1) {
            b'0' => ('\0', 0),
            b'a' => ('\x07', 0),
            b'b' => ('\x08', 0),
            b't' | b'\t' => ('\t', 0),
            b'n' => ('\n', 0),
            b'v' => ('\x0B', 0),
            b'f' => ('\x0C', 0),
            b'r' => ('\r', 0),
            b'e' => ('\x1B', 0),
            b' ' => (' ', 0),
            b'"' => ('"', 0),
            b'\'' => ('\'', 0),
            b'\\' => ('\\', 0),
            b'N' => ('\u{85}', 0),
            b'_' => ('\u{A0}', 0),
            b'L' => ('\u{2028}', 0),
            b'P' => ('\u{2029}', 0),
            b'x' => ('\0', 2),
            b'u' => ('\0', 4),
            b'U' => ('\0', 8),
            _ => return self.error("found unknown escape character"),
        };
        self.skip_ascii(2);
        if code_length == 0 {
            self.scratch.push(character);
            return Ok(());
        }
        self.ensure(code_length)?;
        let mut code: u32 = 0;
        for offset in 0..code_length {
            let Some(digit) = char::from(self.byte(offset)).to_digit(16) else {
                return self.error("did not find expected hexdecimal number");
            };
            code = code << 4 | digit;
        }
        let Some(character) = char::from_u32(code) else {
            return self.error("found invalid Unicode character escape code");
        };
        self.scratch.push(character);
        self.skip_ascii(code_length);
        Ok(())
    }

    // ---- Block ----

    pub(super) fn fetch_block_scalar(&mut self, literal: bool) -> Result<(), Error> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;

        let start = self.mark;
        self.skip_ascii(1);
        self.ensure(1)?;
        let (keep, increment) = self.scan_block_header()?;
        self.end_line()?;

        let scratch_start = self.scratch.len();
        let mut indent = increment.map(|increment| self.indent.max(0) as u32 + increment);
        self.breaks.clear();
        self.skip_block_breaks(&mut indent)?;
        self.ensure(1)?;
        let mut line_break = "";
        let mut after_indented = false;
        while Some(self.mark.column) == indent && !self.at_end() {
            let indented = self.is_blank(0);
            if !literal && !after_indented && !indented && line_break == "\n" {
                if self.breaks.is_empty() {
                    self.scratch.push(' ');
                }
            } else {
                self.scratch.push_str(line_break);
            }
            self.scratch.push_str(&self.breaks);
            self.breaks.clear();
            after_indented = indented;
            self.take_line()?;
            self.ensure(2)?;
            line_break = self.take_break();
            self.skip_block_breaks(&mut indent)?;
        }
        if keep != Chomping::Strip {
            self.scratch.push_str(line_break);
        }
        if keep == Chomping::Keep {
            self.scratch.push_str(&self.breaks);
        }
        let text = Span {
            start: scratch_start as u32,
            end: self.scratch.len() as u32,
            in_scratch: true,
        };
        self.push_text(TokenKind::Scalar { plain: false }, start, text, Span::default());
        Ok(())
    }

    /// Scans what may follow `|` or `>`: how to treat the last line break, and the indentation.
    fn scan_block_header(&mut self) -> Result<(Chomping, Option<u32>), Error> {
        let mut chomping = self.scan_chomping();
        self.ensure(1)?;
        let mut increment = None;
        if self.byte(0).is_ascii_digit() {
            if self.byte(0) == b'0' {
                return self.error("found an indentation indicator equal to 0");
            }
            increment = Some(u32::from(self.byte(0) - b'0'));
            self.skip_ascii(1);
            self.ensure(1)?;
            if chomping.is_none() {
                chomping = self.scan_chomping();
            }
        }
        self.ensure(1)?;
        while self.is_blank(0) {
            self.skip_ascii(1);
            self.ensure(1)?;
        }
        Ok((chomping.unwrap_or(Chomping::Clip), increment))
    }

    fn scan_chomping(&mut self) -> Option<Chomping> {
        let chomping = match self.byte(0) {
            b'+' => Chomping::Keep,
            b'-' => Chomping::Strip,
            _ => return None,
        };
        self.skip_ascii(1);
        Some(chomping)
    }

    /// Copies the rest of the line into the scratch text.
    fn take_line(&mut self) -> Result<(), Error> {
        loop {
            let fast_end = self.input.text.len().min(self.read_up_to.saturating_sub(12));
            let rest = self.input.text.get(self.position..fast_end).unwrap_or_default();
            let run = rest
                .as_bytes()
                .iter()
                .position(|&byte| matches!(byte, b'\n' | b'\r' | 0xC2 | 0xE2))
                .unwrap_or(rest.len());
            if let Some(part) = rest.get(..run).filter(|part| !part.is_empty()) {
                self.scratch.push_str(part);
                self.mark.column += part.chars().count() as u32;
                self.position += run;
            }
            self.ensure(1)?;
            if self.is_break_or_end(0) {
                return Ok(());
            }
            let length = super::position::character_length(self.byte(0));
            if let Some(part) = self.input.text.get(self.position..self.position + length) {
                self.scratch.push_str(part);
            }
            self.skip();
            self.ensure(1)?;
        }
    }

    /// Passes indentation and empty lines; finds the indentation if the header did not give it.
    fn skip_block_breaks(&mut self, indent: &mut Option<u32>) -> Result<(), Error> {
        let limit = indent.unwrap_or(u32::MAX);
        let mut deepest = 0;
        loop {
            self.ensure(1)?;
            while self.mark.column < limit && self.byte(0) == b' ' {
                self.skip_ascii(1);
                self.ensure(1)?;
            }
            deepest = deepest.max(self.mark.column);
            if self.mark.column < limit && self.byte(0) == b'\t' {
                return self.error("found a tab character where an indentation space is expected");
            }
            if !self.is_break(0) {
                break;
            }
            self.ensure(2)?;
            let line_break = self.take_break();
            self.breaks.push_str(line_break);
        }
        if indent.is_none() {
            *indent = Some(deepest.max((self.indent + 1) as u32).max(1));
        }
        Ok(())
    }
}

/// What happens to the line breaks at the end of a block scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

/// Bytes that a plain scalar passes without looking at their neighbours.
static PLAIN_SAFE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let character = byte as u8;
        table[byte] = character.is_ascii_alphanumeric()
            || matches!(
                character,
                b'.' | b'-'
                    | b'_'
                    | b'/'
                    | b'='
                    | b'+'
                    | b'('
                    | b')'
                    | b'"'
                    | b'\''
                    | b'$'
                    | b'%'
                    | b'@'
                    | b'*'
                    | b';'
                    | b'<'
                    | b'>'
                    | b'|'
                    | b'&'
                    | b'!'
                    | b'~'
                    | b'^'
                    | b'\\'
                    | b'`'
                    | b'#'
            );
        byte += 1;
    }
    table
};
