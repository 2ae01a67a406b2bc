//! What Go says of JSON that it can't read into an object.

use serde_json::Value;

/// Returns Go's words for text that isn't a JSON object, `null` counting as one.
pub(super) fn object_fault(text: &[u8]) -> Option<String> {
    match serde_json::from_slice::<Value>(text) {
        Ok(Value::Object(_) | Value::Null) => None,
        Ok(other) => Some(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            goyaml::json::kind_word(&other)
        )),
        Err(_) => Some(syntax_fault(text)),
    }
}

/// Where a reader of JSON is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Object,
    Array,
}

/// Returns Go's words for the first sign that is wrong.
fn syntax_fault(text: &[u8]) -> String {
    Scanner { text, at: 0 }
        .run()
        .err()
        .unwrap_or_else(|| "unexpected end of JSON input".to_owned())
}

struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
}

type Scanned = Result<(), String>;

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Says what is wrong inside a word, a number or an escape, which Go lets the end of text end like a space.
    fn wrong_within(&self, context: &str) -> String {
        let sign = shown(self.peek().unwrap_or(b' '));
        format!("invalid character {sign} {context}")
    }

    fn wrong(&self, context: &str) -> String {
        match self.peek() {
            None => "unexpected end of JSON input".to_owned(),
            Some(byte) => format!("invalid character {} {context}", shown(byte)),
        }
    }

    fn run(&mut self) -> Scanned {
        let mut open: Vec<Inside> = Vec::new();
        'value: loop {
            self.space();
            match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    self.space();
                    if self.peek() == Some(b'}') {
                        self.at += 1;
                    } else {
                        open.push(Inside::Object);
                        self.key("looking for beginning of object key string")?;
                        continue 'value;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    self.space();
                    if self.peek() == Some(b']') {
                        self.at += 1;
                    } else {
                        open.push(Inside::Array);
                        continue 'value;
                    }
                }
                Some(b'"') => self.string()?,
                Some(b't') => self.literal("true")?,
                Some(b'f') => self.literal("false")?,
                Some(b'n') => self.literal("null")?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                _ => return Err(self.wrong("looking for beginning of value")),
            }
            loop {
                self.space();
                match (open.last(), self.peek()) {
                    (None, None) => return Ok(()),
                    (None, Some(_)) => return Err(self.wrong("after top-level value")),
                    (Some(Inside::Object), Some(b',')) => {
                        self.at += 1;
                        self.space();
                        self.key("looking for beginning of object key string")?;
                        continue 'value;
                    }
                    (Some(Inside::Array), Some(b',')) => {
                        self.at += 1;
                        continue 'value;
                    }
                    (Some(Inside::Object), Some(b'}')) | (Some(Inside::Array), Some(b']')) => {
                        self.at += 1;
                        open.pop();
                    }
                    (Some(Inside::Object), _) => return Err(self.wrong("after object key:value pair")),
                    (Some(Inside::Array), _) => return Err(self.wrong("after array element")),
                }
            }
        }
    }

    fn key(&mut self, context: &str) -> Scanned {
        if self.peek() != Some(b'"') {
            return Err(self.wrong(context));
        }
        self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.wrong("after object key"));
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Scanned {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => self.at += 1,
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                                    return Err(self.wrong_within("in \\u hexadecimal character escape"));
                                }
                                self.at += 1;
                            }
                        }
                        _ => return Err(self.wrong_within("in string escape code")),
                    }
                }
                None | Some(0..=0x1f) => return Err(self.wrong("in string literal")),
                Some(_) => self.at += 1,
            }
        }
    }

    fn literal(&mut self, word: &str) -> Scanned {
        self.at += 1;
        for expected in word.bytes().skip(1) {
            if self.peek() != Some(expected) {
                let expected = shown(expected);
                return Err(self.wrong_within(&format!("in literal {word} (expecting {expected})")));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn digits(&mut self, context: &str) -> Scanned {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.wrong_within(context));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Scanned {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(())
    }
}

/// Returns a sign as Go quotes it.
fn shown(byte: u8) -> String {
    match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\n' => "'\\n'".to_owned(),
        b'\t' => "'\\t'".to_owned(),
        b'\r' => "'\\r'".to_owned(),
        b'\\' => "'\\\\'".to_owned(),
        0x20..=0x7e => format!("'{}'", char::from(byte)),
        0x07 => "'\\a'".to_owned(),
        0x08 => "'\\b'".to_owned(),
        0x0c => "'\\f'".to_owned(),
        0x0b => "'\\v'".to_owned(),
        0..=0x1f | 0x7f => format!("'\\x{byte:02x}'"),
        // Go takes the byte for a code point here.
        _ => match char::from(byte) {
            letter if gotemplate::format::is_print(letter) => format!("'{letter}'"),
            letter => format!("'\\u{:04x}'", u32::from(letter)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::object_fault;

    #[test]
    fn text_that_is_no_object_is_told_in_go_words() {
        assert_eq!(object_fault(b"{\"a\": 1}"), None);
        for (text, expected) in [
            ("", "unexpected end of JSON input"),
            ("x", "invalid character 'x' looking for beginning of value"),
            (
                "{x",
                "invalid character 'x' looking for beginning of object key string",
            ),
            ("{} x", "invalid character 'x' after top-level value"),
            ("nope", "invalid character 'o' in literal null (expecting 'u')"),
            (
                "[]",
                "json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
        ] {
            assert_eq!(object_fault(text.as_bytes()).as_deref(), Some(expected), "{text}");
        }
    }
}
