//! Cuts template text into tokens: plain text, delimiters with trim markers, and what stands in an action.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Something the language does not allow; the token's message says what.
    Error,
    Bool,
    /// A printable ASCII character that is no other token, such as a comma.
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    EndOfInput,
    Field,
    Identifier,
    LeftDelimiter,
    LeftParenthesis,
    Number,
    Pipe,
    RawString,
    RightDelimiter,
    RightParenthesis,
    Space,
    String,
    Text,
    Variable,
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

impl TokenKind {
    fn of_keyword(word: &[u8]) -> Option<TokenKind> {
        Some(match word {
            b"." => TokenKind::Dot,
            b"block" => TokenKind::Block,
            b"break" => TokenKind::Break,
            b"continue" => TokenKind::Continue,
            b"define" => TokenKind::Define,
            b"else" => TokenKind::Else,
            b"end" => TokenKind::End,
            b"if" => TokenKind::If,
            b"range" => TokenKind::Range,
            b"nil" => TokenKind::Nil,
            b"template" => TokenKind::Template,
            b"with" => TokenKind::With,
            _ => return None,
        })
    }

    fn is_keyword(self) -> bool {
        matches!(
            self,
            TokenKind::Block
                | TokenKind::Break
                | TokenKind::Continue
                | TokenKind::Dot
                | TokenKind::Define
                | TokenKind::Else
                | TokenKind::End
                | TokenKind::If
                | TokenKind::Nil
                | TokenKind::Range
                | TokenKind::Template
                | TokenKind::With
        )
    }
}

/// A piece of the input, by position.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The line on which it starts, from 1; 0 before anything was read.
    pub(crate) line: usize,
    /// Why the input is wrong; only for [`TokenKind::Error`].
    pub(crate) message: Option<Box<str>>,
}

impl Token {
    /// The token before any was read.
    pub(crate) const NONE: Token = Token {
        kind: TokenKind::EndOfInput,
        start: 0,
        end: 0,
        line: 0,
        message: None,
    };

    pub(crate) fn text<'source>(&self, source: &'source [u8]) -> &'source [u8] {
        source.get(self.start..self.end).unwrap_or_default()
    }

    /// Describes the token as Go's parser does in its messages.
    pub(crate) fn describe(&self, source: &[u8]) -> String {
        const SHOWN: usize = 10;
        if self.kind == TokenKind::EndOfInput {
            return "EOF".into();
        }
        if let Some(message) = &self.message {
            return message.to_string();
        }
        let text = self.text(source);
        if self.kind.is_keyword() {
            return format!("<{}>", String::from_utf8_lossy(text));
        }
        if text.len() > SHOWN {
            let shown = (0..SHOWN).fold(0, |at, _| at + decode(&text[at..]).1);
            return format!("{}...", crate::format::quoted(&text[..shown]));
        }
        crate::format::quoted(text)
    }
}

/// Reads one character as Go does: a byte that is not UTF-8 counts as U+FFFD, one byte wide.
///
/// Returns no character and width 0 at the end.
pub(crate) fn decode(bytes: &[u8]) -> (Option<char>, usize) {
    let Some(&first) = bytes.first() else {
        return (None, 0);
    };
    if first < 0x80 {
        return (Some(char::from(first)), 1);
    }
    let head = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    match valid.chars().next() {
        Some(character) => (Some(character), character.len_utf8()),
        None => (Some(char::REPLACEMENT_CHARACTER), 1),
    }
}

const LEFT_DELIMITER: &[u8] = b"{{";
const RIGHT_DELIMITER: &[u8] = b"}}";
const LEFT_COMMENT: &[u8] = b"/*";
const RIGHT_COMMENT: &[u8] = b"*/";
/// The trim marker and the space that must stand beside it.
const TRIM_MARKER_LENGTH: usize = 2;

fn is_space_byte(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_space(character: Option<char>) -> bool {
    matches!(character, Some(' ' | '\t' | '\r' | '\n'))
}

fn is_alphanumeric(character: Option<char>) -> bool {
    character.is_some_and(|character| {
        character == '_' || crate::format::is_letter(character) || crate::format::is_decimal_digit(character)
    })
}

fn has_left_trim_marker(input: &[u8]) -> bool {
    matches!(input, [b'-', space, ..] if is_space_byte(*space))
}

fn has_right_trim_marker(input: &[u8]) -> bool {
    matches!(input, [space, b'-', ..] if is_space_byte(*space))
}

fn count_lines(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

fn leading_space(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_space_byte(**byte)).count()
}

fn trailing_space(text: &[u8]) -> usize {
    text.iter().rev().take_while(|byte| is_space_byte(**byte)).count()
}

/// A lexer over one template file.
pub(crate) struct Lexer<'source> {
    input: &'source [u8],
    position: usize,
    start: usize,
    at_end: bool,
    parenthesis_depth: usize,
    line: usize,
    start_line: usize,
    inside_action: bool,
    failed: bool,
}

impl<'source> Lexer<'source> {
    pub(crate) fn new(input: &'source [u8]) -> Lexer<'source> {
        Lexer {
            input,
            position: 0,
            start: 0,
            at_end: false,
            parenthesis_depth: 0,
            line: 1,
            start_line: 1,
            inside_action: false,
            failed: false,
        }
    }

    /// Reads the next token; after an error, only the end of input comes.
    pub(crate) fn next_token(&mut self) -> Token {
        if self.failed {
            return self.token_without_text(TokenKind::EndOfInput);
        }
        if self.inside_action {
            self.inside_action()
        } else {
            self.text()
        }
    }

    fn token_without_text(&self, kind: TokenKind) -> Token {
        Token {
            kind,
            start: self.position,
            end: self.position,
            line: self.start_line,
            message: None,
        }
    }

    fn rest(&self) -> &'source [u8] {
        &self.input[self.position..]
    }

    fn next(&mut self) -> Option<char> {
        let (character, width) = decode(self.rest());
        if character.is_none() {
            self.at_end = true;
        }
        self.position += width;
        if character == Some('\n') {
            self.line += 1;
        }
        character
    }

    fn peek(&self) -> Option<char> {
        decode(self.rest()).0
    }

    /// Takes back the character that `next` returned.
    fn backup(&mut self, character: Option<char>) {
        let Some(character) = character else { return };
        let width = if character == char::REPLACEMENT_CHARACTER
            && !self.input[..self.position].ends_with("\u{FFFD}".as_bytes())
        {
            1
        } else {
            character.len_utf8()
        };
        self.position -= width.min(self.position);
        if character == '\n' {
            self.line -= 1;
        }
    }

    fn emit(&mut self, kind: TokenKind) -> Token {
        let token = Token {
            kind,
            start: self.start,
            end: self.position,
            line: self.start_line,
            message: None,
        };
        self.start = self.position;
        self.start_line = self.line;
        token
    }

    fn ignore(&mut self) {
        self.line += count_lines(&self.input[self.start..self.position]);
        self.start = self.position;
        self.start_line = self.line;
    }

    fn fail(&mut self, message: impl Into<Box<str>>) -> Token {
        self.failed = true;
        Token {
            kind: TokenKind::Error,
            start: self.start,
            end: self.start,
            line: self.start_line,
            message: Some(message.into()),
        }
    }

    fn accept(&mut self, valid: &[u8]) -> bool {
        match self.rest().first() {
            Some(byte) if valid.contains(byte) => {
                self.position += 1;
                true
            }
            _ => false,
        }
    }

    fn accept_run(&mut self, valid: &[u8]) {
        while self.accept(valid) {}
    }

    fn text(&mut self) -> Token {
        loop {
            let Some(offset) = memchr::memmem::find(self.rest(), LEFT_DELIMITER) else {
                self.position = self.input.len();
                if self.position > self.start {
                    self.line += count_lines(&self.input[self.start..self.position]);
                    return self.emit(TokenKind::Text);
                }
                return self.emit(TokenKind::EndOfInput);
            };
            if offset > 0 {
                self.position += offset;
                let delimiter_end = self.position + LEFT_DELIMITER.len();
                let trimmed = if has_left_trim_marker(&self.input[delimiter_end..]) {
                    trailing_space(&self.input[self.start..self.position])
                } else {
                    0
                };
                self.position -= trimmed;
                self.line += count_lines(&self.input[self.start..self.position]);
                let token = self.emit(TokenKind::Text);
                self.position += trimmed;
                self.ignore();
                if token.end > token.start {
                    return token;
                }
            }
            if let Some(token) = self.left_delimiter() {
                return token;
            }
        }
    }

    /// Reads `{{`; a comment is passed over, and gives no token.
    fn left_delimiter(&mut self) -> Option<Token> {
        self.position += LEFT_DELIMITER.len();
        let after_marker = if has_left_trim_marker(self.rest()) {
            TRIM_MARKER_LENGTH
        } else {
            0
        };
        if self.input[self.position + after_marker..].starts_with(LEFT_COMMENT) {
            self.position += after_marker;
            self.ignore();
            return self.comment();
        }
        let token = self.emit(TokenKind::LeftDelimiter);
        self.inside_action = true;
        self.position += after_marker;
        self.ignore();
        self.parenthesis_depth = 0;
        Some(token)
    }

    fn comment(&mut self) -> Option<Token> {
        self.position += LEFT_COMMENT.len();
        let Some(offset) = memchr::memmem::find(self.rest(), RIGHT_COMMENT) else {
            return Some(self.fail("unclosed comment"));
        };
        self.position += offset + RIGHT_COMMENT.len();
        let Some(trim) = self.at_right_delimiter() else {
            return Some(self.fail("comment ends before closing delimiter"));
        };
        if trim {
            self.position += TRIM_MARKER_LENGTH;
        }
        self.position += RIGHT_DELIMITER.len();
        if trim {
            self.position += leading_space(self.rest());
        }
        self.ignore();
        None
    }

    /// Returns whether a right delimiter stands here, and whether it trims.
    fn at_right_delimiter(&self) -> Option<bool> {
        let rest = self.rest();
        if has_right_trim_marker(rest) && rest[TRIM_MARKER_LENGTH..].starts_with(RIGHT_DELIMITER) {
            return Some(true);
        }
        rest.starts_with(RIGHT_DELIMITER).then_some(false)
    }

    fn right_delimiter(&mut self) -> Token {
        let trim = self.at_right_delimiter() == Some(true);
        if trim {
            self.position += TRIM_MARKER_LENGTH;
            self.ignore();
        }
        self.position += RIGHT_DELIMITER.len();
        let token = self.emit(TokenKind::RightDelimiter);
        if trim {
            self.position += leading_space(self.rest());
            self.ignore();
        }
        self.inside_action = false;
        token
    }

    fn inside_action(&mut self) -> Token {
        if self.at_right_delimiter().is_some() {
            if self.parenthesis_depth == 0 {
                return self.right_delimiter();
            }
            return self.fail("unclosed left paren");
        }
        let next = self.next();
        let Some(character) = next else {
            return self.fail("unclosed action");
        };
        match character {
            ' ' | '\t' | '\r' | '\n' => {
                self.backup(next);
                self.space()
            }
            '=' => self.emit(TokenKind::Assign),
            ':' => {
                if self.next() == Some('=') {
                    self.emit(TokenKind::Declare)
                } else {
                    self.fail("expected :=")
                }
            }
            '|' => self.emit(TokenKind::Pipe),
            '"' => self.quoted(b'"', TokenKind::String, "unterminated quoted string"),
            '`' => self.raw_quoted(),
            '$' => self.field_or_variable(TokenKind::Variable),
            '\'' => self.quoted(b'\'', TokenKind::CharConstant, "unterminated character constant"),
            '.' if self.rest().first().is_some_and(|byte| !byte.is_ascii_digit()) => {
                self.field_or_variable(TokenKind::Field)
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.backup(next);
                self.number()
            }
            '(' => {
                self.parenthesis_depth += 1;
                self.emit(TokenKind::LeftParenthesis)
            }
            ')' => match self.parenthesis_depth.checked_sub(1) {
                Some(depth) => {
                    self.parenthesis_depth = depth;
                    self.emit(TokenKind::RightParenthesis)
                }
                None => self.fail("unexpected right paren"),
            },
            _ if is_alphanumeric(next) => {
                self.backup(next);
                self.identifier()
            }
            ' '..='~' => self.emit(TokenKind::Char),
            _ => self.fail(format!(
                "unrecognized character in action: {}",
                unicode_notation(next)
            )),
        }
    }

    fn space(&mut self) -> Token {
        let mut count = 0;
        while is_space(self.peek()) {
            self.next();
            count += 1;
        }
        let before = self.position - 1;
        if has_right_trim_marker(&self.input[before..])
            && self.input[before + TRIM_MARKER_LENGTH..].starts_with(RIGHT_DELIMITER)
        {
            self.backup(Some(char::from(self.input[before])));
            if count == 1 {
                return self.right_delimiter();
            }
        }
        self.emit(TokenKind::Space)
    }

    fn identifier(&mut self) -> Token {
        let last = self.run_of_alphanumerics();
        let word = &self.input[self.start..self.position];
        if !self.at_terminator() {
            return self.fail(format!("bad character {}", unicode_notation(last)));
        }
        match word {
            b"true" | b"false" => self.emit(TokenKind::Bool),
            _ => self.emit(TokenKind::of_keyword(word).unwrap_or(TokenKind::Identifier)),
        }
    }

    /// Passes over letters and digits; returns the character that ended the run.
    fn run_of_alphanumerics(&mut self) -> Option<char> {
        loop {
            let next = self.next();
            if !is_alphanumeric(next) {
                self.backup(next);
                return next;
            }
        }
    }

    fn field_or_variable(&mut self, kind: TokenKind) -> Token {
        if self.at_terminator() {
            let kind = if kind == TokenKind::Variable {
                kind
            } else {
                TokenKind::Dot
            };
            return self.emit(kind);
        }
        let last = self.run_of_alphanumerics();
        if !self.at_terminator() {
            return self.fail(format!("bad character {}", unicode_notation(last)));
        }
        self.emit(kind)
    }

    fn at_terminator(&self) -> bool {
        match self.peek() {
            None | Some(' ' | '\t' | '\r' | '\n' | '.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(_) => self.rest().starts_with(RIGHT_DELIMITER),
        }
    }

    fn quoted(&mut self, quote: u8, kind: TokenKind, unterminated: &str) -> Token {
        loop {
            match self.next() {
                Some('\\') if !matches!(self.next(), None | Some('\n')) => {}
                None | Some('\\' | '\n') => return self.fail(unterminated),
                Some(character) if character == char::from(quote) => return self.emit(kind),
                Some(_) => {}
            }
        }
    }

    fn raw_quoted(&mut self) -> Token {
        loop {
            match self.next() {
                None => return self.fail("unterminated raw quoted string"),
                Some('`') => return self.emit(TokenKind::RawString),
                Some(_) => {}
            }
        }
    }

    fn number(&mut self) -> Token {
        let bad = |lexer: &mut Self| {
            let text = crate::format::quoted(&lexer.input[lexer.start..lexer.position]);
            lexer.fail(format!("bad number syntax: {text}"))
        };
        if !self.scan_number() {
            return bad(self);
        }
        if matches!(self.peek(), Some('+' | '-')) {
            if !self.scan_number() || self.input[self.position - 1] != b'i' {
                return bad(self);
            }
            return self.emit(TokenKind::Complex);
        }
        self.emit(TokenKind::Number)
    }

    fn scan_number(&mut self) -> bool {
        const DECIMAL: &[u8] = b"0123456789_";
        const HEXADECIMAL: &[u8] = b"0123456789abcdefABCDEF_";
        self.accept(b"+-");
        let mut digits = DECIMAL;
        if self.accept(b"0") {
            if self.accept(b"xX") {
                digits = HEXADECIMAL;
            } else if self.accept(b"oO") {
                digits = b"01234567_";
            } else if self.accept(b"bB") {
                digits = b"01_";
            }
        }
        self.accept_run(digits);
        if self.accept(b".") {
            self.accept_run(digits);
        }
        if (digits == DECIMAL && self.accept(b"eE")) || (digits == HEXADECIMAL && self.accept(b"pP")) {
            self.accept(b"+-");
            self.accept_run(DECIMAL);
        }
        self.accept(b"i");
        if is_alphanumeric(self.peek()) {
            self.next();
            return false;
        }
        true
    }
}

/// Writes a character as Go's `%#U` does.
fn unicode_notation(character: Option<char>) -> String {
    let Some(character) = character else {
        return "U+FFFFFFFFFFFFFFFF".into();
    };
    let code = format!("U+{:04X}", u32::from(character));
    if crate::format::is_print(character) {
        format!("{code} '{character}'")
    } else {
        code
    }
}
