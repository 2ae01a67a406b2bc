//! Where Go's JSON scanner stops, counted as its errors count: bytes read, the offending one included.

/// How deep Go lets JSON be nested.
const MAXIMUM_DEPTH: usize = 10_000;

/// The number of bytes after which text is found not to be JSON; nothing when it is.
pub(super) fn first_fault(bytes: &[u8]) -> Option<usize> {
    let mut scanner = Scanner { bytes, at: 0 };
    scanner.document().err()
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    /// The fault at the present byte, or at the end when there is none left.
    fn fault(&self) -> usize {
        (self.at + 1).min(self.bytes.len())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, accepted: impl Fn(u8) -> bool) -> Result<u8, usize> {
        match self.peek() {
            Some(byte) if accepted(byte) => {
                self.at += 1;
                Ok(byte)
            }
            _ => Err(self.fault()),
        }
    }

    fn document(&mut self) -> Result<(), usize> {
        // The closing brackets that are awaited; a loop instead of recursion, as input decides the depth.
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.space();
            match self.peek() {
                Some(byte @ (b'{' | b'[')) => {
                    self.at += 1;
                    if open.len() >= MAXIMUM_DEPTH {
                        return Err(self.at);
                    }
                    let close = if byte == b'{' { b'}' } else { b']' };
                    self.space();
                    if self.peek() == Some(close) {
                        self.at += 1;
                    } else {
                        open.push(close);
                        if close == b'}' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => self.string()?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal(b"true")?,
                Some(b'f') => self.literal(b"false")?,
                Some(b'n') => self.literal(b"null")?,
                _ => return Err(self.fault()),
            }
            if !self.after_value(&mut open)? {
                return Ok(());
            }
        }
    }

    /// Goes on to where the next value begins; false at the end of the text.
    fn after_value(&mut self, open: &mut Vec<u8>) -> Result<bool, usize> {
        loop {
            self.space();
            let Some(close) = open.last().copied() else {
                return if self.at == self.bytes.len() {
                    Ok(false)
                } else {
                    Err(self.fault())
                };
            };
            match self.expect(|byte| byte == b',' || byte == close)? {
                b',' if close == b'}' => {
                    self.key()?;
                    return Ok(true);
                }
                b',' => return Ok(true),
                _ => {
                    open.pop();
                }
            }
        }
    }

    fn key(&mut self) -> Result<(), usize> {
        self.space();
        if self.peek() != Some(b'"') {
            return Err(self.fault());
        }
        self.string()?;
        self.space();
        self.expect(|byte| byte == b':').map(|_| ())
    }

    fn string(&mut self) -> Result<(), usize> {
        self.at += 1;
        loop {
            match self.expect(|byte| byte >= 0x20)? {
                b'"' => return Ok(()),
                b'\\' => {
                    let escape = self.expect(|byte| b"bfnrt\\/\"u".contains(&byte))?;
                    if escape == b'u' {
                        for _ in 0..4 {
                            self.expect(|byte| byte.is_ascii_hexdigit())?;
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Result<(), usize> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.expect(|byte| byte.is_ascii_digit())? != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.expect(|byte| byte.is_ascii_digit())?;
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.expect(|byte| byte.is_ascii_digit())?;
            self.digits();
        }
        Ok(())
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), usize> {
        word.iter()
            .try_for_each(|expected| self.expect(|byte| byte == *expected).map(|_| ()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_fault_is_counted_from_the_start() {
        for (text, fault) in [
            ("[{", Some(2)),
            ("", Some(0)),
            ("{\"a\": tru}", Some(10)),
            ("[1, 2] x", Some(8)),
            ("[01]", Some(3)),
            ("{\"a\" 1}", Some(6)),
            ("{a:1}", Some(2)),
            ("[1,]", Some(4)),
            ("{\"a\":1,}", Some(8)),
            ("\"\\q\"", Some(3)),
            (" [1, {\"a\": [true, null, -1.5e+3]}] ", None),
        ] {
            assert_eq!(first_fault(text.as_bytes()), fault, "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_reader_about_what_is_json(text in "[\\[\\]{}:,\"0-9a\\\\ untrefals.-]{0,24}") {
            let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(first_fault(text.as_bytes()).is_none(), is_json);
        }
    }
}
