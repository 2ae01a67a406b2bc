//! A TOML text, read character by character, with the places and complaints of `BurntSushi`'s lexer.

/// What [`Characters::next`] gives at the end; the character itself is not allowed in a text.
pub(super) const END: char = '\0';

/// A complaint about a text, with the line it is about.
#[derive(Debug)]
pub(super) struct Complaint {
    pub(super) line: usize,
    pub(super) message: String,
}

/// A text and a place in it.
#[derive(Clone)]
pub(super) struct Characters<'a> {
    input: &'a [u8],
    /// Where the present item starts.
    start: usize,
    position: usize,
    line: usize,
    at_end: bool,
}

impl<'a> Characters<'a> {
    pub(super) fn new(input: &'a [u8]) -> Characters<'a> {
        Characters {
            input,
            start: 0,
            position: 0,
            line: 1,
            at_end: false,
        }
    }

    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// Reads a character; refuses what no TOML text may contain.
    pub(super) fn next(&mut self) -> Result<char, Complaint> {
        let rest = self.input.get(self.position..).unwrap_or_default();
        let Some(first) = rest.first() else {
            self.at_end = true;
            return Ok(END);
        };
        if *first == b'\n' {
            self.line += 1;
        }
        let Some(character) = first_character(rest) else {
            return Err(self.complain_here(format!("invalid UTF-8 byte: 0x{first:02x}")));
        };
        let is_control = character.is_ascii_control() && !matches!(character, '\t' | '\r' | '\n');
        if is_control || character == '\r' && rest.get(1) != Some(&b'\n') {
            let message = format!("TOML files cannot contain control characters: '0x{:02x}'", *first);
            return Err(self.complain_here(message));
        }
        self.position += character.len_utf8();
        Ok(character)
    }

    /// Goes back by one character.
    pub(super) fn back(&mut self) {
        if self.at_end {
            self.at_end = false;
            return;
        }
        let before = self.input.get(..self.position).unwrap_or_default();
        let width = before
            .iter()
            .rev()
            .take_while(|byte| **byte & 0xc0 == 0x80)
            .count()
            + 1;
        self.position = self.position.saturating_sub(width);
        if self.input.get(self.position) == Some(&b'\n') {
            self.line -= 1;
        }
    }

    /// Reads a character if it is the wanted one.
    pub(super) fn accept(&mut self, wanted: char) -> Result<bool, Complaint> {
        let accepted = self.next()? == wanted;
        if !accepted {
            self.back();
        }
        Ok(accepted)
    }

    /// Returns the next character without reading it.
    pub(super) fn peek(&mut self) -> Result<char, Complaint> {
        let character = self.next()?;
        self.back();
        Ok(character)
    }

    /// Reads over spaces and tabs, and starts a new item.
    pub(super) fn skip_blanks(&mut self) -> Result<(), Complaint> {
        while is_blank(self.next()?) {}
        self.back();
        self.start_item();
        Ok(())
    }

    /// Starts a new item here.
    pub(super) fn start_item(&mut self) {
        self.start = self.position;
    }

    /// Returns the present item's text.
    pub(super) fn item(&self) -> &'a [u8] {
        self.input.get(self.start..self.position).unwrap_or_default()
    }

    /// Returns the present item's text and starts a new one.
    pub(super) fn take_item(&mut self) -> &'a [u8] {
        let item = self.item();
        self.start_item();
        item
    }

    /// Complains about this place; at the end of the text, the line counts as the one before.
    pub(super) fn complain(&self, message: impl Into<String>) -> Complaint {
        if self.at_end {
            self.complain_before(message)
        } else {
            self.complain_here(message)
        }
    }

    /// Complains about the line before this place, for what a line's end made wrong.
    pub(super) fn complain_before(&self, message: impl Into<String>) -> Complaint {
        Complaint {
            line: self.line - 1,
            message: message.into(),
        }
    }

    fn complain_here(&self, message: impl Into<String>) -> Complaint {
        Complaint {
            line: self.line,
            message: message.into(),
        }
    }
}

fn first_character(bytes: &[u8]) -> Option<char> {
    let first = bytes.get(..4).unwrap_or(bytes);
    match std::str::from_utf8(first) {
        Ok(text) => text.chars().next(),
        Err(error) => {
            let valid = first.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).ok()?.chars().next()
        }
    }
}

pub(super) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

pub(super) fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r')
}

pub(super) fn is_bare_key(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}
