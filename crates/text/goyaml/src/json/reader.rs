//! JSON text into data.

use serde_json::{Map, Number, Value};

use crate::error::{Error, Mark, Stage};
use crate::go_syntax;
use crate::limits::{MAX_INPUT_BYTES, MAX_JSON_DEPTH, MAX_VALUE_DEPTH};
use crate::options::{Numbers, ReadOptions};

/// Reads one JSON value with nothing but white space around it.
pub(super) fn read(bytes: &[u8], options: ReadOptions) -> Result<Value, Error> {
    if bytes.len() > MAX_INPUT_BYTES {
        return Err(Error::new(
            Stage::JsonSyntax,
            format!(
                "input of {} bytes exceeds the limit of {MAX_INPUT_BYTES} bytes",
                bytes.len()
            ),
        ));
    }
    let mut reader = Reader {
        bytes,
        position: 0,
        numbers: options.numbers,
        most_values: options.most_values.unwrap_or(usize::MAX),
        values: 0,
        deferred: None,
    };
    let value = reader.root()?;
    match reader.deferred {
        Some(error) => Err(error),
        None => Ok(value),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    numbers: Numbers,
    most_values: usize,
    /// How many keys and values there have been.
    values: usize,
    /// An error of meaning; Go reports one only if the rest has no error of syntax.
    deferred: Option<Error>,
}

/// A collection that is not complete yet.
enum Open {
    Array(Vec<Value>),
    Object { map: Map<String, Value>, key: String },
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn count(&mut self) -> Result<(), Error> {
        self.values += 1;
        if self.values > self.most_values {
            let most = self.most_values;
            return Err(self.error(format!(
                "the document has more than {most} keys and values; leave out what isn't needed, or split it"
            )));
        }
        Ok(())
    }

    fn skip_white_space(&mut self) -> Option<u8> {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.position += 1;
        }
        self.peek()
    }

    fn error(&self, text: String) -> Error {
        let before = self.bytes.get(..self.position).unwrap_or_default();
        let line_start = before
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |index| index + 1);
        let line = before.split(|&byte| byte == b'\n').count().saturating_sub(1) as u32;
        let column = String::from_utf8_lossy(before.get(line_start..).unwrap_or_default())
            .chars()
            .count() as u32;
        Error::new(Stage::JsonSyntax, text).at(Mark { line, column })
    }

    fn unexpected<T>(&self, context: &str) -> Result<T, Error> {
        Err(match self.peek() {
            None => self.error("unexpected end of JSON input".to_owned()),
            Some(byte) => self.error(format!("invalid character {} {context}", quote_byte(byte))),
        })
    }

    /// As [`Self::unexpected`], inside of a word: there Go takes the end of the input for a space.
    fn unexpected_in_word<T>(&self, context: &str) -> Result<T, Error> {
        if self.peek().is_some() {
            return self.unexpected(context);
        }
        Err(self.error(format!("invalid character ' ' {context}")))
    }

    fn root(&mut self) -> Result<Value, Error> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.count()?;
            let mut value = match self.skip_white_space() {
                Some(opening @ (b'[' | b'{')) => {
                    if open.len() >= MAX_JSON_DEPTH {
                        return self.unexpected("exceeded max depth");
                    }
                    if open.len() >= MAX_VALUE_DEPTH && self.deferred.is_none() {
                        self.deferred = Some(self.error(format!("exceeded max depth of {MAX_VALUE_DEPTH}")));
                    }
                    self.position += 1;
                    if opening == b'[' {
                        if self.skip_white_space() != Some(b']') {
                            open.push(Open::Array(Vec::new()));
                            continue;
                        }
                        self.position += 1;
                        Value::Array(Vec::new())
                    } else {
                        if self.skip_white_space() != Some(b'}') {
                            let key = self.key()?;
                            open.push(Open::Object { map: Map::new(), key });
                            continue;
                        }
                        self.position += 1;
                        Value::Object(Map::new())
                    }
                }
                Some(b'"') => Value::String(self.text()?),
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal("true", Value::Bool(true))?,
                Some(b'f') => self.literal("false", Value::Bool(false))?,
                Some(b'n') => self.literal("null", Value::Null)?,
                _ => return self.unexpected("looking for beginning of value"),
            };
            // The value is complete; so may be the collections around it.
            loop {
                let too_deep = open.len() > MAX_VALUE_DEPTH;
                let next = self.skip_white_space();
                match open.last_mut() {
                    None => {
                        return if next.is_none() {
                            Ok(value)
                        } else {
                            self.unexpected("after top-level value")
                        };
                    }
                    Some(Open::Array(items)) => {
                        // What lies too deep is only checked, never built: dropping it would recurse.
                        if !too_deep {
                            items.push(value);
                        }
                        match next {
                            Some(b',') => {
                                self.position += 1;
                                break;
                            }
                            Some(b']') => self.position += 1,
                            _ => return self.unexpected("after array element"),
                        }
                    }
                    Some(Open::Object { map, key }) => {
                        if !too_deep {
                            map.insert(std::mem::take(key), value);
                        }
                        match next {
                            Some(b',') => {
                                self.position += 1;
                                let next_key = self.key()?;
                                if let Some(Open::Object { key, .. }) = open.last_mut() {
                                    *key = next_key;
                                }
                                break;
                            }
                            Some(b'}') => self.position += 1,
                            _ => return self.unexpected("after object key:value pair"),
                        }
                    }
                }
                value = match open.pop() {
                    Some(Open::Array(items)) => Value::Array(items),
                    Some(Open::Object { map, .. }) => Value::Object(map),
                    None => Value::Null,
                };
            }
        }
    }

    fn key(&mut self) -> Result<String, Error> {
        self.count()?;
        if self.skip_white_space() != Some(b'"') {
            return self.unexpected("looking for beginning of object key string");
        }
        let key = self.text()?;
        if self.skip_white_space() != Some(b':') {
            return self.unexpected("after object key");
        }
        self.position += 1;
        Ok(key)
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Value, Error> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                let expected = char::from(expected);
                return self.unexpected_in_word(&format!("in literal {word} (expecting '{expected}')"));
            }
            self.position += 1;
        }
        Ok(value)
    }

    fn digits(&mut self) -> bool {
        let start = self.position;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
        self.position > start
    }

    fn number(&mut self) -> Result<Value, Error> {
        let start = self.position;
        let mut whole = true;
        if self.peek() == Some(b'-') {
            self.position += 1;
        }
        if self.peek() == Some(b'0') {
            self.position += 1;
        } else if !self.digits() {
            return self.unexpected_in_word("in numeric literal");
        }
        if self.peek() == Some(b'.') {
            whole = false;
            self.position += 1;
            if !self.digits() {
                return self.unexpected_in_word("after decimal point in numeric literal");
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.position += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.position += 1;
            }
            if !self.digits() {
                return self.unexpected_in_word("in exponent of numeric literal");
            }
        }
        let text = self
            .bytes
            .get(start..self.position)
            .and_then(|text| std::str::from_utf8(text).ok());
        let text = text.unwrap_or_default();
        if whole && self.numbers == Numbers::Exact && text != "-0" {
            if let Ok(number) = text.parse::<i64>() {
                return Ok(Value::Number(number.into()));
            }
            if let Ok(number) = text.parse::<u64>() {
                return Ok(Value::Number(number.into()));
            }
        }
        if let Some(number) = text.parse().ok().and_then(Number::from_f64) {
            return Ok(Value::Number(number));
        }
        if self.deferred.is_none() {
            let text = format!("json: cannot unmarshal number {text} into Go value of type float64");
            self.deferred = Some(Error::new(Stage::Unmarshal, text));
        }
        Ok(Value::Null)
    }

    fn text(&mut self) -> Result<String, Error> {
        self.position += 1;
        let mut text = String::new();
        loop {
            let rest = self.bytes.get(self.position..).unwrap_or_default();
            let run = rest
                .iter()
                .position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\')
                .unwrap_or(rest.len());
            push_lossy(&mut text, rest.get(..run).unwrap_or_default());
            self.position += run;
            match self.peek() {
                Some(b'"') => {
                    self.position += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    self.position += 1;
                    self.escape(&mut text)?;
                }
                _ => return self.unexpected("in string literal"),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), Error> {
        let character = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\x08',
            Some(b'f') => '\x0C',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(text),
            _ => return self.unexpected_in_word("in string escape code"),
        };
        self.position += 1;
        text.push(character);
        Ok(())
    }

    /// A surrogate without its partner becomes the replacement character.
    fn unicode_escape(&mut self, text: &mut String) -> Result<(), Error> {
        let first = self.hexadecimal_digits()?;
        if !(0xD800..0xDC00).contains(&first)
            || self
                .bytes
                .get(self.position..)
                .is_none_or(|rest| !rest.starts_with(b"\\u"))
        {
            text.push(char::from_u32(first).unwrap_or('\u{FFFD}'));
            return Ok(());
        }
        let before = self.position;
        self.position += 1;
        let second = self.hexadecimal_digits()?;
        if (0xDC00..0xE000).contains(&second) {
            let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            text.push(char::from_u32(code).unwrap_or('\u{FFFD}'));
        } else {
            text.push('\u{FFFD}');
            self.position = before;
        }
        Ok(())
    }

    fn hexadecimal_digits(&mut self) -> Result<u32, Error> {
        self.position += 1;
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.unexpected_in_word("in \\u hexadecimal character escape");
            };
            code = code << 4 | digit;
            self.position += 1;
        }
        Ok(code)
    }
}

fn push_lossy(text: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(std::iter::repeat_n('\u{FFFD}', chunk.invalid().len()));
    }
}

/// Prints a byte as Go prints the character of that number.
fn quote_byte(byte: u8) -> String {
    match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        _ => {
            let quoted = go_syntax::quote(char::from(byte).encode_utf8(&mut [0; 4]));
            format!("'{}'", quoted.trim_matches('"'))
        }
    }
}
