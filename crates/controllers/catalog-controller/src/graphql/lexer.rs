//! The words of a query.

use super::answer::SyntaxError;

/// What kind of word a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    End,
    Bang,
    Dollar,
    OpenParenthesis,
    CloseParenthesis,
    Spread,
    Colon,
    Equals,
    At,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    Pipe,
    CloseBrace,
    Name,
    Int,
    Float,
    String,
    BlockString,
    Ampersand,
}

impl Kind {
    /// The kind in the words of error messages.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::End => "EOF",
            Self::Bang => "!",
            Self::Dollar => "$",
            Self::OpenParenthesis => "(",
            Self::CloseParenthesis => ")",
            Self::Spread => "...",
            Self::Colon => ":",
            Self::Equals => "=",
            Self::At => "@",
            Self::OpenBracket => "[",
            Self::CloseBracket => "]",
            Self::OpenBrace => "{",
            Self::Pipe => "|",
            Self::CloseBrace => "}",
            Self::Name => "Name",
            Self::Int => "Int",
            Self::Float => "Float",
            Self::String => "String",
            Self::BlockString => "BlockString",
            Self::Ampersand => "&",
        }
    }
}

/// A word and where it stands, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

impl Token {
    fn new(kind: Kind, start: usize, end: usize, text: impl Into<String>) -> Self {
        Self {
            kind,
            start,
            end,
            text: text.into(),
        }
    }

    /// The token in the words of error messages.
    pub(super) fn describe(&self) -> String {
        if self.text.is_empty() {
            return self.kind.describe().to_owned();
        }
        format!("{} \"{}\"", self.kind.describe(), self.text)
    }
}

/// Reads the token at or after `position`.
pub(super) fn token_at(source: &str, position: usize) -> Result<Token, SyntaxError> {
    Reader { source }.token(position)
}

struct Reader<'a> {
    source: &'a str,
}

impl Reader<'_> {
    fn byte(&self, position: usize) -> Option<u8> {
        self.source.as_bytes().get(position).copied()
    }

    fn character(&self, position: usize) -> Option<char> {
        self.source.get(position..)?.chars().next()
    }

    fn slice(&self, start: usize, end: usize) -> &str {
        self.source.get(start..end).unwrap_or_default()
    }

    fn token(&self, from: usize) -> Result<Token, SyntaxError> {
        let start = self.after_ignored(from);
        let Some(character) = self.character(start) else {
            return Ok(Token::new(Kind::End, start, start, ""));
        };
        let kind = match character {
            '!' => Kind::Bang,
            '$' => Kind::Dollar,
            '&' => Kind::Ampersand,
            '(' => Kind::OpenParenthesis,
            ')' => Kind::CloseParenthesis,
            ':' => Kind::Colon,
            '=' => Kind::Equals,
            '@' => Kind::At,
            '[' => Kind::OpenBracket,
            ']' => Kind::CloseBracket,
            '{' => Kind::OpenBrace,
            '|' => Kind::Pipe,
            '}' => Kind::CloseBrace,
            '.' if self.slice(start, start + 3) == "..." => {
                return Ok(Token::new(Kind::Spread, start, start + 3, ""));
            }
            '_' | 'a'..='z' | 'A'..='Z' => return Ok(self.name(start)),
            '-' | '0'..='9' => return self.number(start),
            '"' if self.slice(start, start + 3) == "\"\"\"" => return self.block_string(start),
            '"' => return self.string(start),
            control if control < ' ' => {
                return Err(SyntaxError::at(
                    start,
                    format!("Invalid character {}", shown(Some(control))),
                ));
            }
            other => {
                return Err(SyntaxError::at(
                    start,
                    format!("Unexpected character {}.", shown(Some(other))),
                ));
            }
        };
        Ok(Token::new(kind, start, start + 1, ""))
    }

    /// Skips white space, commas and comments.
    fn after_ignored(&self, from: usize) -> usize {
        let mut position = from;
        while let Some(character) = self.character(position) {
            match character {
                '\u{feff}' | '\t' | ' ' | '\n' | '\r' | ',' => position += character.len_utf8(),
                '#' => {
                    let is_comment = |character: &char| *character >= ' ' || *character == '\t';
                    let rest = self.source.get(position..).unwrap_or_default();
                    position += rest
                        .chars()
                        .take_while(is_comment)
                        .map(char::len_utf8)
                        .sum::<usize>();
                }
                _ => break,
            }
        }
        position
    }

    fn name(&self, start: usize) -> Token {
        let mut end = start + 1;
        while self
            .byte(end)
            .is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        {
            end += 1;
        }
        Token::new(Kind::Name, start, end, self.slice(start, end))
    }

    fn number(&self, start: usize) -> Result<Token, SyntaxError> {
        let mut position = start;
        let mut kind = Kind::Int;
        if self.byte(position) == Some(b'-') {
            position += 1;
        }
        if self.byte(position) == Some(b'0') {
            position += 1;
            if self.byte(position).is_some_and(|byte| byte.is_ascii_digit()) {
                let digit = shown(self.character(position));
                return Err(SyntaxError::at(
                    position,
                    format!("Invalid number, unexpected digit after 0: {digit}."),
                ));
            }
        } else {
            position = self.digits(position)?;
        }
        if self.byte(position) == Some(b'.') {
            kind = Kind::Float;
            position = self.digits(position + 1)?;
        }
        if matches!(self.byte(position), Some(b'e' | b'E')) {
            kind = Kind::Float;
            position += 1;
            if matches!(self.byte(position), Some(b'+' | b'-')) {
                position += 1;
            }
            position = self.digits(position)?;
        }
        Ok(Token::new(kind, start, position, self.slice(start, position)))
    }

    fn digits(&self, start: usize) -> Result<usize, SyntaxError> {
        let mut end = start;
        while self.byte(end).is_some_and(|byte| byte.is_ascii_digit()) {
            end += 1;
        }
        if end == start {
            let found = shown(self.character(start));
            return Err(SyntaxError::at(
                start,
                format!("Invalid number, expected digit but got: {found}."),
            ));
        }
        Ok(end)
    }

    fn string(&self, start: usize) -> Result<Token, SyntaxError> {
        let mut text = String::new();
        let mut position = start + 1;
        loop {
            match self.character(position) {
                Some('"') => return Ok(Token::new(Kind::String, start, position + 1, text)),
                None | Some('\n' | '\r') => return Err(SyntaxError::at(position, "Unterminated string.")),
                Some('\\') => {
                    let (escaped, end) = self.escape(position)?;
                    text.push(escaped);
                    position = end;
                }
                Some(control) if control < ' ' && control != '\t' => {
                    return Err(SyntaxError::at(
                        position,
                        format!("Invalid character within String: {}.", shown(Some(control))),
                    ));
                }
                Some(character) => {
                    text.push(character);
                    position += character.len_utf8();
                }
            }
        }
    }

    /// Reads an escape sequence and returns what it stands for and where it ends.
    fn escape(&self, start: usize) -> Result<(char, usize), SyntaxError> {
        let letter = self.character(start + 1);
        let plain = match letter {
            Some('"') => '"',
            Some('/') => '/',
            Some('\\') => '\\',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let digits: String = self
                    .source
                    .get(start + 2..)
                    .unwrap_or_default()
                    .chars()
                    .take(4)
                    .collect();
                let is_code = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                let code = is_code
                    .then(|| u32::from_str_radix(&digits, 16).ok())
                    .flatten()
                    .ok_or_else(|| {
                        SyntaxError::at(
                            start + 1,
                            format!("Invalid character escape sequence: \\u{digits}"),
                        )
                    })?;
                // Half of a surrogate pair is no character, and Go writes the replacement character for it.
                return Ok((
                    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
                    start + 6,
                ));
            }
            other => {
                let other = other.map(String::from).unwrap_or_default();
                return Err(SyntaxError::at(
                    start + 1,
                    format!("Invalid character escape sequence: \\\\{other}."),
                ));
            }
        };
        Ok((plain, start + 2))
    }

    fn block_string(&self, start: usize) -> Result<Token, SyntaxError> {
        let mut raw = String::new();
        let mut position = start + 3;
        loop {
            let rest = self.source.get(position..).unwrap_or_default();
            if rest.starts_with("\"\"\"") {
                return Ok(Token::new(
                    Kind::BlockString,
                    start,
                    position + 3,
                    without_indentation(&raw),
                ));
            }
            if rest.starts_with("\\\"\"\"") {
                raw.push_str("\"\"\"");
                position += 4;
                continue;
            }
            match rest.chars().next() {
                None => return Err(SyntaxError::at(position, "Unterminated string.")),
                Some(control) if control < ' ' && !matches!(control, '\t' | '\n' | '\r') => {
                    return Err(SyntaxError::at(
                        position,
                        format!("Invalid character within String: {}.", shown(Some(control))),
                    ));
                }
                Some(character) => {
                    raw.push(character);
                    position += character.len_utf8();
                }
            }
        }
    }
}

/// Takes the indentation that all lines but the first share away, and blank lines at both ends.
fn without_indentation(raw: &str) -> String {
    let lines: Vec<&str> = super::answer::lines(raw).collect();
    let indentation = |line: &str| {
        line.bytes()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count()
    };
    let shared = lines
        .iter()
        .skip(1)
        .filter(|line| indentation(line) < line.len())
        .map(|line| indentation(line))
        .min()
        .unwrap_or(0);
    let cut: Vec<&str> = lines
        .iter()
        .enumerate()
        .map(|(number, line)| {
            if number == 0 {
                line
            } else {
                line.get(shared..).unwrap_or(line)
            }
        })
        .collect();
    let is_blank = |line: &&&str| indentation(line) == line.len();
    let leading = cut.iter().take_while(is_blank).count();
    let trailing = cut.iter().skip(leading).rev().take_while(is_blank).count();
    cut.get(leading..cut.len() - trailing)
        .unwrap_or_default()
        .join("\n")
}

/// A character in the words of error messages.
fn shown(character: Option<char>) -> String {
    match character {
        None => "<EOF>".to_owned(),
        Some(printable @ ' '..='~') => format!("\"{printable}\""),
        Some(other) => format!("\"\\\\u{:04X}\"", u32::from(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Result<Vec<(Kind, String)>, String> {
        let mut found = Vec::new();
        let mut position = 0;
        loop {
            let token = token_at(source, position).map_err(|error| error.description)?;
            if token.kind == Kind::End {
                return Ok(found);
            }
            position = token.end;
            found.push((token.kind, token.text));
        }
    }

    #[test]
    fn texts_lose_their_escapes_and_blocks_their_indentation() {
        assert_eq!(
            kinds(r#""a\n\u0041\"" # comment, with ,"#),
            Ok(vec![(Kind::String, "a\nA\"".to_owned())])
        );
        let block = "\"\"\"\n    one\n      two\n  \n\"\"\"";
        assert_eq!(
            kinds(block),
            Ok(vec![(Kind::BlockString, "one\n  two".to_owned())])
        );
    }

    #[test]
    fn what_is_no_word_is_refused_in_upstreams_words() {
        for (source, expected) in [
            ("01", "Invalid number, unexpected digit after 0: \"1\"."),
            ("1.", "Invalid number, expected digit but got: <EOF>."),
            ("-x", "Invalid number, expected digit but got: \"x\"."),
            ("\"a", "Unterminated string."),
            ("\"\\q\"", "Invalid character escape sequence: \\\\q."),
            ("\u{1}", "Invalid character \"\\\\u0001\""),
            ("?", "Unexpected character \"?\"."),
            ("..", "Unexpected character \".\"."),
            ("ä", "Unexpected character \"\\\\u00E4\"."),
        ] {
            assert_eq!(kinds(source), Err(expected.to_owned()), "{source}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_fail_otherwise(source in "\\PC*") {
            let _ = kinds(&source);
        }
    }
}
