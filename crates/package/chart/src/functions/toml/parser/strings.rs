//! The four kinds of strings, and escapes.

use gotemplate::format::quoted;
use gotemplate::{Text, Value};

use super::{Complaint, END, Parser, Step, Stop, is_line_end};

impl<'a> Parser<'a> {
    /// Reads up to the closing quote; returns the text with its escapes, and its line.
    pub(super) fn string(&mut self) -> Step<(&'a [u8], usize)> {
        loop {
            match self.input.next()? {
                END => return self.complain("unexpected EOF; expected '\"'"),
                character if is_line_end(character) => return self.line_end_in_string(),
                '\\' => self.escape()?,
                '"' => {
                    self.input.back();
                    let (text, line) = (self.input.take_item(), self.input.line());
                    self.input.next()?;
                    self.input.start_item();
                    return Ok((text, line));
                }
                _ => {}
            }
        }
    }

    pub(super) fn raw_string(&mut self) -> Step<&'a [u8]> {
        loop {
            match self.input.next()? {
                END => return self.complain("unexpected EOF; expected \"'\""),
                character if is_line_end(character) => return self.line_end_in_string(),
                '\'' => {
                    self.input.back();
                    let text = self.input.take_item();
                    self.input.next()?;
                    self.input.start_item();
                    return Ok(text);
                }
                _ => {}
            }
        }
    }

    fn line_end_in_string<T>(&self) -> Step<T> {
        Err(self
            .input
            .complain_before("strings cannot contain newlines")
            .into())
    }

    pub(super) fn multi_line_string(&mut self) -> Step<Value> {
        loop {
            match self.input.next()? {
                END => return self.complain("unexpected EOF; expected '\"\"\"'"),
                '\\' if is_line_end(self.input.peek()?) => {
                    self.input.next()?;
                }
                '\\' => self.escape()?,
                '"' => {
                    if let Some(text) = self.closing_quotes('"')? {
                        let line = self.line_of_closed;
                        let text = without_escaped_line_ends(without_first_line_end(text));
                        return Ok(Value::String(unescaped(&text, line)?));
                    }
                }
                _ => {}
            }
        }
    }

    pub(super) fn multi_line_raw_string(&mut self) -> Step<Value> {
        loop {
            match self.input.next()? {
                END => return self.complain("unexpected EOF; expected \"'''\""),
                '\'' => {
                    if let Some(text) = self.closing_quotes('\'')? {
                        return Ok(Value::string(without_first_line_end(text)));
                    }
                }
                _ => {}
            }
        }
    }

    /// After a quote, reads two more that end the string; quotes right before those belong to the text.
    fn closing_quotes(&mut self, quote: char) -> Step<Option<&'a [u8]>> {
        if !self.input.accept(quote)? {
            return Ok(None);
        }
        if !self.input.accept(quote)? {
            self.input.back();
            return Ok(None);
        }
        if self.input.peek()? == quote {
            let item = self.input.item();
            let five: String = std::iter::repeat_n(quote, 5).collect();
            let escaped = quote == '"' && item.ends_with(format!("\\{five}").as_bytes());
            if item.ends_with(five.as_bytes()) && !escaped {
                let six: String = std::iter::repeat_n(quote, 6).collect();
                let outer = if quote == '"' { '\'' } else { '"' };
                return self.complain(format!("unexpected {outer}{six}{outer}"));
            }
            self.input.back();
            self.input.back();
            return Ok(None);
        }
        for _ in 0..3 {
            self.input.back();
        }
        self.line_of_closed = self.input.line();
        let text = self.input.take_item();
        for _ in 0..3 {
            self.input.next()?;
        }
        self.input.start_item();
        Ok(Some(text))
    }

    /// Checks an escape; its meaning comes later.
    fn escape(&mut self) -> Step<()> {
        let character = self.input.next()?;
        let (digits, name) = match character {
            'b' | 't' | 'n' | 'f' | 'r' | '"' | ' ' | '\t' | '\\' => return Ok(()),
            'u' => (4, "four"),
            'U' => (8, "eight"),
            _ => return self.complain(format!("invalid escape in string '\\{character}'")),
        };
        for _ in 0..digits {
            if !self.input.next()?.is_ascii_hexdigit() {
                let so_far = quoted(self.input.item());
                return self.complain(format!(
                    "expected {name} hexadecimal digits after '\\{character}', but got {so_far} instead"
                ));
            }
        }
        Ok(())
    }
}

/// Replaces escapes by what they mean.
pub(super) fn unescaped(text: &[u8], line: usize) -> Step<Text> {
    if !text.contains(&b'\\') {
        return Ok(text.into());
    }
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    let wrong = |message: String| Err(Stop::Complaint(Complaint { line, message }));
    while let Some(character) = rest.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        let digits = match rest.next() {
            Some('b') => {
                out.push('\u{8}');
                continue;
            }
            Some('t') => {
                out.push('\t');
                continue;
            }
            Some('n') => {
                out.push('\n');
                continue;
            }
            Some('f') => {
                out.push('\u{c}');
                continue;
            }
            Some('r') => {
                out.push('\r');
                continue;
            }
            Some(plain @ ('"' | '\\')) => {
                out.push(plain);
                continue;
            }
            Some('u') => 4,
            Some('U') => 8,
            other => return wrong(format!("invalid escape: '\\{}'", other.unwrap_or_default())),
        };
        let spelled: String = rest.by_ref().take(digits).collect();
        match u32::from_str_radix(&spelled, 16).ok().and_then(char::from_u32) {
            Some(meant) => out.push(meant),
            None => return wrong(format!("Escaped character '\\u{spelled}' is not valid UTF-8.")),
        }
    }
    Ok(out.into())
}

fn without_first_line_end(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\n")
        .or_else(|| text.strip_prefix(b"\r\n"))
        .unwrap_or(text)
}

/// Takes out each backslash before a line end, with all white space that follows.
fn without_escaped_line_ends(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        if first == b'\\' {
            if let [b'\\', next @ ..] = after {
                out.extend_from_slice(b"\\\\");
                rest = next;
                continue;
            }
            let blanks = after.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
            let (white, next) = after.split_at(blanks);
            if white.contains(&b'\n') {
                rest = next;
                continue;
            }
        }
        out.push(first);
        rest = after;
    }
    out
}
