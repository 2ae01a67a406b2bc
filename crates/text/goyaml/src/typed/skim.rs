//! Whether JSON text fits a Go type, without reading it into data.

/// How deep a type may lead into the text; a type that contains itself could lead as deep as the text goes.
const MAX_TYPED_DEPTH: usize = 64;

/// Well-formed JSON text that is looked at, but not copied; where it is not well-formed, looking stops with `None`.
pub struct Skimmer<'a> {
    text: &'a [u8],
    position: usize,
    depth: usize,
}

impl<'a> Skimmer<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            position: 0,
            depth: 0,
        }
    }

    /// Returns the first byte of what follows, behind white space.
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.position)? {
                b' ' | b'\t' | b'\r' | b'\n' => self.position += 1,
                byte => return Some(*byte),
            }
        }
    }

    fn take(&mut self, expected: u8) -> Option<()> {
        (self.peek()? == expected).then(|| self.position += 1)
    }

    /// Passes over a null, if there is one.
    pub fn null(&mut self) -> bool {
        self.peek() == Some(b'n') && self.scalar().is_some()
    }

    /// Passes over a string and returns what stands between its quotes, escapes and all.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let start = self.position;
        loop {
            let rest = self.text.get(self.position..)?;
            self.position += memchr::memchr2(b'"', b'\\', rest)?;
            match self.text.get(self.position)? {
                b'"' => {
                    let content = self.text.get(start..self.position)?;
                    self.position += 1;
                    return Some(content);
                }
                _ => self.position += 2,
            }
        }
    }

    /// Passes over a number or a word and returns it.
    pub fn scalar(&mut self) -> Option<&'a [u8]> {
        self.peek()?;
        let rest = self.text.get(self.position..)?;
        let length = rest
            .iter()
            .position(|byte| !matches!(byte, b'+' | b'-' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E'))
            .unwrap_or(rest.len());
        self.position += length;
        rest.get(..length).filter(|scalar| !scalar.is_empty())
    }

    /// Passes over any value and returns it.
    pub fn skip(&mut self) -> Option<&'a [u8]> {
        let mut depth = 0_usize;
        self.peek()?;
        let start = self.position;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.position += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.position += 1;
                }
                b',' | b':' if depth > 0 => {
                    self.position += 1;
                    continue;
                }
                _ => {
                    self.scalar()?;
                }
            }
            if depth == 0 {
                return self.text.get(start..self.position);
            }
        }
    }

    /// Passes over an array, or null; `element` has to pass over each element.
    pub fn array(&mut self, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.null() {
            return Some(());
        }
        self.enter(b'[')?;
        if self.peek()? != b']' {
            loop {
                element(self)?;
                match self.peek()? {
                    b',' => self.position += 1,
                    _ => break,
                }
            }
        }
        self.leave(b']')
    }

    /// Passes over an object, or null; `entry` gets each key and has to pass over its value.
    ///
    /// A key with escapes ends it with `None`, because it may be a field's name in disguise.
    pub fn object(&mut self, mut entry: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        if self.null() {
            return Some(());
        }
        self.enter(b'{')?;
        if self.peek()? != b'}' {
            loop {
                let key = self.string()?;
                if memchr::memchr(b'\\', key).is_some() {
                    return None;
                }
                self.take(b':')?;
                entry(self, key)?;
                match self.peek()? {
                    b',' => self.position += 1,
                    _ => break,
                }
            }
        }
        self.leave(b'}')
    }

    fn enter(&mut self, opening: u8) -> Option<()> {
        self.take(opening)?;
        self.depth += 1;
        (self.depth <= MAX_TYPED_DEPTH).then_some(())
    }

    fn leave(&mut self, closing: u8) -> Option<()> {
        self.depth -= 1;
        self.take(closing)
    }
}

/// Whether `key` could be taken for the field `name` although it is not equal to it.
pub fn resembles(name: &str, key: &[u8]) -> bool {
    // Letters outside of ASCII take several bytes, so a key with one may be longer.
    (name.len() == key.len() && name.as_bytes().eq_ignore_ascii_case(key)) || !key.is_ascii()
}
