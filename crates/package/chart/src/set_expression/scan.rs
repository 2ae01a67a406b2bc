//! The text of an expression, read character by character.

use super::Stop;

/// What is left of an expression.
pub(super) struct Scan<'a> {
    rest: &'a str,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.skip(character.len_utf8());
        Some(character)
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Reads up to one of the stops, which is consumed; a backslash takes away the meaning of what follows it.
    pub(super) fn until(&mut self, stops: &[char]) -> (String, Option<char>) {
        let mut text = String::new();
        while let Some(character) = self.next() {
            if stops.contains(&character) {
                return (text, Some(character));
            }
            if character == '\\' {
                match self.next() {
                    Some(escaped) => text.push(escaped),
                    None => break,
                }
            } else {
                text.push(character);
            }
        }
        (text, None)
    }

    /// Reads up to one of the stops, which is consumed; backslashes are text.
    pub(super) fn until_literal(&mut self, stops: &[char]) -> (&'a str, Option<char>) {
        match self.rest.find(stops) {
            Some(at) => {
                let text = &self.rest[..at];
                self.skip(at);
                (text, self.next())
            }
            None => (std::mem::take(&mut self.rest), None),
        }
    }
}

/// The fault of text between an index and what may follow it, printed as a Go slice of runes.
pub(super) fn unexpected_after_index<T>(text: &str) -> Result<T, Stop> {
    let runes: Vec<String> = text
        .chars()
        .map(|character| match character {
            '\'' => "'\\''".to_owned(),
            '"' => "'\"'".to_owned(),
            _ => {
                let quoted = gotemplate::format::quoted(character.encode_utf8(&mut [0; 4]));
                format!("'{}'", &quoted[1..quoted.len() - 1])
            }
        })
        .collect();
    Stop::fault(format!(
        "unexpected data at end of array index: [{}]",
        runes.join(" ")
    ))
}
