//! JSON as Go's scanner takes it, with its words for what is wrong.

use std::borrow::Cow;

use gotemplate::format::quoted;

/// How deep JSON may be nested: Go's limit, which keeps a small body from taking a large stack.
pub(super) const DEEPEST: usize = 10_000;

/// How deep the values that are kept may be nested. Objects are dropped, compared and merged by recursion, and read back
/// from where they are stored by a reader that goes 127 levels deep: what is deeper is refused, not lost.
pub(super) const DEEPEST_KEPT: usize = 120;

/// Why text isn't JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// The text ends inside a value.
    #[error("unexpected end of JSON input")]
    End,
    /// A character doesn't belong where it stands.
    #[error("invalid character {} {place}", character_text(*.character))]
    Character {
        /// The character, one byte of it if it has several.
        character: u8,
        /// Where it stands, such as `after array element`.
        place: &'static str,
    },
}

/// Go prints a byte as the character with that number, in single quotes.
fn character_text(character: u8) -> String {
    match character {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        other => {
            let quoted = quoted(char::from(other).to_string());
            let inner = quoted
                .strip_prefix('"')
                .and_then(|text| text.strip_suffix('"'))
                .unwrap_or(&quoted);
            format!("'{inner}'")
        }
    }
}

/// What a value begins as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    Object,
    Array,
    Text,
    Number,
    True,
    False,
    Null,
}

/// A place in the text.
pub(super) struct Scanner<'t> {
    bytes: &'t [u8],
    at: usize,
    depth: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(bytes: &'t [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            depth: 0,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, SyntaxError> {
        let byte = self.peek().ok_or(SyntaxError::End)?;
        self.at += 1;
        Ok(byte)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Returns what the next value begins as, and stays at its first byte.
    pub(super) fn begin(&mut self) -> Result<Begin, SyntaxError> {
        self.skip_space();
        match self.peek().ok_or(SyntaxError::End)? {
            b'{' => Ok(Begin::Object),
            b'[' => Ok(Begin::Array),
            b'"' => Ok(Begin::Text),
            b'-' | b'0'..=b'9' => Ok(Begin::Number),
            b't' => Ok(Begin::True),
            b'f' => Ok(Begin::False),
            b'n' => Ok(Begin::Null),
            character => Err(SyntaxError::Character {
                character,
                place: "looking for beginning of value",
            }),
        }
    }

    /// Checks that nothing follows.
    pub(super) fn end(&mut self) -> Result<(), SyntaxError> {
        self.skip_space();
        match self.peek() {
            None => Ok(()),
            Some(character) => Err(SyntaxError::Character {
                character,
                place: "after top-level value",
            }),
        }
    }

    /// Steps over the bracket that opens an object or array.
    pub(super) fn open(&mut self) -> Result<(), SyntaxError> {
        self.open_within(DEEPEST)
    }

    /// Steps over the bracket that opens an object or array which is kept.
    pub(super) fn open_kept(&mut self) -> Result<(), SyntaxError> {
        self.open_within(DEEPEST_KEPT)
    }

    fn open_within(&mut self, deepest: usize) -> Result<(), SyntaxError> {
        let character = self.next()?;
        self.depth += 1;
        if self.depth > deepest {
            return Err(SyntaxError::Character {
                character,
                place: "exceeded max depth",
            });
        }
        Ok(())
    }

    /// Returns the next key of an object and steps over its colon, or `None` behind the closing bracket.
    pub(super) fn key(&mut self, is_first: bool) -> Result<Option<Cow<'t, str>>, SyntaxError> {
        self.skip_space();
        if !is_first {
            match self.next()? {
                b'}' => return Ok(self.close()),
                b',' => self.skip_space(),
                character => {
                    return Err(SyntaxError::Character {
                        character,
                        place: "after object key:value pair",
                    });
                }
            }
        }
        match self.peek().ok_or(SyntaxError::End)? {
            b'}' if is_first => {
                self.at += 1;
                return Ok(self.close());
            }
            b'"' => {}
            character => {
                return Err(SyntaxError::Character {
                    character,
                    place: "looking for beginning of object key string",
                });
            }
        }
        let key = self.text()?;
        self.skip_space();
        match self.next()? {
            b':' => Ok(Some(key)),
            character => Err(SyntaxError::Character {
                character,
                place: "after object key",
            }),
        }
    }

    /// Returns whether an array has another item, and stands before it.
    pub(super) fn item(&mut self, is_first: bool) -> Result<bool, SyntaxError> {
        self.skip_space();
        let character = self.peek().ok_or(SyntaxError::End)?;
        match (is_first, character) {
            (_, b']') => {
                self.at += 1;
                self.depth -= 1;
                Ok(false)
            }
            (true, _) => Ok(true),
            (false, b',') => {
                self.at += 1;
                Ok(true)
            }
            (false, character) => Err(SyntaxError::Character {
                character,
                place: "after array element",
            }),
        }
    }

    fn close<T>(&mut self) -> Option<T> {
        self.depth -= 1;
        None
    }

    /// Steps over one of the words `true`, `false` and `null`.
    pub(super) fn word(&mut self, word: Begin) -> Result<(), SyntaxError> {
        let places: &[(u8, &'static str)] = match word {
            Begin::True => &[
                (b'r', "in literal true (expecting 'r')"),
                (b'u', "in literal true (expecting 'u')"),
                (b'e', "in literal true (expecting 'e')"),
            ],
            Begin::False => &[
                (b'a', "in literal false (expecting 'a')"),
                (b'l', "in literal false (expecting 'l')"),
                (b's', "in literal false (expecting 's')"),
                (b'e', "in literal false (expecting 'e')"),
            ],
            _ => &[
                (b'u', "in literal null (expecting 'u')"),
                (b'l', "in literal null (expecting 'l')"),
                (b'l', "in literal null (expecting 'l')"),
            ],
        };
        self.at += 1;
        for (expected, place) in places {
            let character = self.next()?;
            if character != *expected {
                return Err(SyntaxError::Character { character, place });
            }
        }
        Ok(())
    }

    /// Returns a number as it is written.
    pub(super) fn number(&mut self) -> Result<&'t str, SyntaxError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.next()? {
            b'0' => {}
            b'1'..=b'9' => self.digits(),
            character => {
                return Err(SyntaxError::Character {
                    character,
                    place: "in numeric literal",
                });
            }
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digit("after decimal point in numeric literal")?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digit("in exponent of numeric literal")?;
        }
        Ok(self.since(start))
    }

    fn digit(&mut self, place: &'static str) -> Result<(), SyntaxError> {
        let character = self.next()?;
        if !character.is_ascii_digit() {
            return Err(SyntaxError::Character { character, place });
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn since(&self, start: usize) -> &'t str {
        self.bytes
            .get(start..self.at)
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }

    /// Returns a string without quotes and escapes. What isn't UTF-8 becomes U+FFFD.
    pub(super) fn text(&mut self) -> Result<Cow<'t, str>, SyntaxError> {
        self.at += 1;
        let start = self.at;
        let plain = self.plain()?;
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(String::from_utf8_lossy(plain));
        }
        self.at = start;
        let mut unescaped = Vec::new();
        loop {
            unescaped.extend_from_slice(self.plain()?);
            if self.next()? == b'"' {
                let text = String::from_utf8(unescaped)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                return Ok(Cow::Owned(text));
            }
            self.escape(&mut unescaped)?;
        }
    }

    /// Returns the bytes before the next quote or backslash, and stands at it.
    fn plain(&mut self) -> Result<&'t [u8], SyntaxError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest
            .iter()
            .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))
            .ok_or(SyntaxError::End)?;
        self.at += length;
        match rest.get(length) {
            Some(character @ 0..=0x1f) => Err(SyntaxError::Character {
                character: *character,
                place: "in string literal",
            }),
            _ => Ok(rest.get(..length).unwrap_or_default()),
        }
    }

    fn escape(&mut self, unescaped: &mut Vec<u8>) -> Result<(), SyntaxError> {
        let plain = match self.next()? {
            plain @ (b'"' | b'\\' | b'/') => plain,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let character = self.hexadecimal()?;
                let character = self.paired(character)?;
                unescaped.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            character => {
                return Err(SyntaxError::Character {
                    character,
                    place: "in string escape code",
                });
            }
        };
        unescaped.push(plain);
        Ok(())
    }

    /// Returns the character of a code, and for the first half of a pair takes the second half with it. Half a pair
    /// becomes U+FFFD.
    fn paired(&mut self, first: u32) -> Result<char, SyntaxError> {
        if !(0xd800..0xdc00).contains(&first) || self.bytes.get(self.at..self.at + 2) != Some(b"\\u") {
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let back = self.at;
        self.at += 2;
        let second = self.hexadecimal()?;
        if (0xdc00..0xe000).contains(&second) {
            let both = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return Ok(char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        self.at = back;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hexadecimal(&mut self) -> Result<u32, SyntaxError> {
        let mut code = 0;
        for _ in 0..4 {
            let character = self.next()?;
            let digit = char::from(character).to_digit(16).ok_or(SyntaxError::Character {
                character,
                place: "in \\u hexadecimal character escape",
            })?;
            code = code * 16 + digit;
        }
        Ok(code)
    }

    /// Steps over a value and returns its text.
    pub(super) fn skip(&mut self) -> Result<&'t [u8], SyntaxError> {
        self.skip_space();
        let start = self.at;
        // Whether each open bracket is that of an object, and whether it is fresh.
        let mut open: Vec<bool> = Vec::new();
        loop {
            let mut is_first = false;
            match self.begin()? {
                bracket @ (Begin::Object | Begin::Array) => {
                    self.open()?;
                    open.push(bracket == Begin::Object);
                    is_first = true;
                }
                Begin::Text => {
                    self.text()?;
                }
                Begin::Number => {
                    self.number()?;
                }
                word => self.word(word)?,
            }
            loop {
                let has_next = match open.last() {
                    None => return Ok(self.bytes.get(start..self.at).unwrap_or_default()),
                    Some(true) => self.key(is_first)?.is_some(),
                    Some(false) => self.item(is_first)?,
                };
                if has_next {
                    break;
                }
                open.pop();
                is_first = false;
            }
        }
    }
}
