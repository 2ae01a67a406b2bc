//! Where text goes: columns, indentation, folding, and the four ways to write a scalar.

use super::style::{Style, is_break, is_printable};

/// The output and what libyaml remembers about its end.
pub(crate) struct Layout {
    pub(crate) output: String,
    /// The column, in characters, of what is written next.
    column: usize,
    /// Lines longer than this are folded at a space.
    width: usize,
    /// Whether the output ends with white space.
    whitespace: bool,
    /// Whether the line consists of indentation and indicators such as `- ` only.
    indention: bool,
}

impl Layout {
    pub(crate) fn new(width: usize) -> Self {
        Self {
            output: String::new(),
            column: 0,
            width,
            whitespace: true,
            indention: true,
        }
    }

    pub(crate) fn in_indention(&self) -> bool {
        self.indention
    }

    fn put(&mut self, character: char) {
        self.output.push(character);
        self.column += 1;
    }

    fn put_ascii(&mut self, text: &str) {
        self.output.push_str(text);
        self.column += text.len();
    }

    fn put_break(&mut self) {
        self.output.push('\n');
        self.column = 0;
    }

    /// Writes a line break; the Unicode separators are written as themselves.
    fn write_break(&mut self, character: char) {
        self.output.push(character);
        self.column = 0;
        self.indention = true;
    }

    /// Ends the line that a value is on, unless the value did.
    pub(crate) fn end_line(&mut self) {
        self.write_indent(0);
    }

    /// Goes to the indentation, on a new line if there is something on this one.
    pub(crate) fn write_indent(&mut self, indent: usize) {
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    /// Writes an indicator after a space; `is_indention`: what follows may stand on the same line.
    pub(crate) fn write_indicator(&mut self, indicator: &str, is_indention: bool) {
        if !self.whitespace {
            self.put(' ');
        }
        self.close_with(indicator);
        self.indention &= is_indention;
    }

    /// Writes an indicator right after what stands there.
    pub(crate) fn close_with(&mut self, indicator: &str) {
        self.put_ascii(indicator);
        self.whitespace = false;
        // The caller of write_indicator narrows this; alone it ends the indentation.
    }

    pub(crate) fn end_indention(&mut self) {
        self.indention = false;
    }

    /// Writes a scalar; `fold`: long lines may be broken, which a key on one line with its value may not.
    pub(crate) fn write_scalar(&mut self, text: &str, style: Style, indent: usize, fold: bool) {
        match style {
            Style::Plain => self.write_plain(text, indent, fold),
            Style::SingleQuoted => self.write_single_quoted(text, indent, fold),
            Style::DoubleQuoted => self.write_double_quoted(text, indent, fold),
            Style::Literal => self.write_literal(text, indent),
        }
    }

    fn fits(&self, text: &str) -> bool {
        self.column + text.len() <= self.width && text.is_ascii()
    }

    fn write_plain(&mut self, text: &str, indent: usize, fold: bool) {
        if !self.whitespace {
            self.put(' ');
        }
        if self.fits(text) {
            // A plain scalar has no line breaks, so there is nothing to decide.
            self.put_ascii(text);
        } else {
            let mut after_space = false;
            let mut characters = text.chars().peekable();
            while let Some(character) = characters.next() {
                let lone_space = character == ' ' && !after_space && characters.peek() != Some(&' ');
                if lone_space && fold && self.column > self.width {
                    self.write_indent(indent);
                } else {
                    self.put(character);
                }
                after_space = character == ' ';
            }
        }
        self.whitespace = false;
        self.indention = false;
    }

    fn write_single_quoted(&mut self, text: &str, indent: usize, fold: bool) {
        self.write_indicator("'", false);
        let mut after_space = false;
        let mut after_break = false;
        let mut characters = text.char_indices().peekable();
        while let Some((index, character)) = characters.next() {
            if character == ' ' {
                let next = characters.peek().map(|&(_, next)| next);
                let lone_inner = !after_space && index > 0 && next.is_some_and(|next| next != ' ');
                if lone_inner && fold && self.column > self.width {
                    self.write_indent(indent);
                } else {
                    self.put(character);
                }
                after_space = true;
            } else if is_break(character) {
                if !after_break && character == '\n' {
                    self.put_break();
                }
                self.write_break(character);
                after_break = true;
            } else {
                if after_break {
                    self.write_indent(indent);
                }
                if character == '\'' {
                    self.put('\'');
                }
                self.put(character);
                self.indention = false;
                after_space = false;
                after_break = false;
            }
        }
        self.close_with("'");
        self.indention = false;
    }

    fn write_double_quoted(&mut self, text: &str, indent: usize, fold: bool) {
        self.write_indicator("\"", false);
        // libyaml looks for the byte order mark at the start of the string for each character.
        let escape_all = text.starts_with('\u{FEFF}');
        let mut after_space = false;
        let mut characters = text.char_indices().peekable();
        while let Some((index, character)) = characters.next() {
            if escape_all
                || !is_printable(character)
                || is_break(character)
                || matches!(character, '"' | '\\')
            {
                self.write_escape(character);
                after_space = false;
            } else if character == ' ' {
                let next = characters.peek().map(|&(_, next)| next);
                if fold && !after_space && self.column > self.width && index > 0 && next.is_some() {
                    self.write_indent(indent);
                    if next == Some(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(character);
                }
                after_space = true;
            } else {
                self.put(character);
                after_space = false;
            }
        }
        self.close_with("\"");
        self.indention = false;
    }

    fn write_escape(&mut self, character: char) {
        let short = match character {
            '\0' => "\\0",
            '\x07' => "\\a",
            '\x08' => "\\b",
            '\t' => "\\t",
            '\n' => "\\n",
            '\x0B' => "\\v",
            '\x0C' => "\\f",
            '\r' => "\\r",
            '\x1B' => "\\e",
            '"' => "\\\"",
            '\\' => "\\\\",
            '\u{85}' => "\\N",
            '\u{A0}' => "\\_",
            '\u{2028}' => "\\L",
            '\u{2029}' => "\\P",
            _ => "",
        };
        if !short.is_empty() {
            self.put_ascii(short);
            return;
        }
        let code = u32::from(character);
        let escape = match code {
            0..=0xFF => format!("\\x{code:02X}"),
            0x100..=0xFFFF => format!("\\u{code:04X}"),
            _ => format!("\\U{code:08X}"),
        };
        self.put_ascii(&escape);
    }

    fn write_literal(&mut self, text: &str, indent: usize) {
        self.write_indicator("|", false);
        if text.starts_with(|first| first == ' ' || is_break(first)) {
            self.close_with("2");
        }
        let mut from_end = text.chars().rev();
        match (from_end.next().is_some_and(is_break), from_end.next()) {
            (false, _) => self.close_with("-"),
            (true, None) => self.close_with("+"),
            (true, Some(before)) if is_break(before) => self.close_with("+"),
            (true, Some(_)) => {}
        }
        self.put_break();
        self.indention = true;
        self.whitespace = true;
        let mut after_break = true;
        for character in text.chars() {
            if is_break(character) {
                self.write_break(character);
                after_break = true;
            } else {
                if after_break {
                    self.write_indent(indent);
                }
                self.put(character);
                self.indention = false;
                after_break = false;
            }
        }
    }
}
