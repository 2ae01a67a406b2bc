//! What a query is answered with: data and errors, in the form and the words of upstream's library.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

/// The answer to a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// What was asked for; nothing when the query can't be answered at all.
    pub data: Option<Value>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<QueryError>,
}

impl Answer {
    /// An answer without data.
    pub(super) fn refusal(errors: Vec<QueryError>) -> Self {
        Self { data: None, errors }
    }
}

/// Something that is wrong with a query, or that went wrong while it was answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryError {
    /// What is wrong.
    pub message: String,
    /// Which places of the query are meant.
    pub locations: Vec<Location>,
    /// Which field of the answer is meant: names, and numbers in lists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<Value>,
}

impl QueryError {
    /// An error that is about no place in particular.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            locations: Vec::new(),
            path: Vec::new(),
        }
    }

    /// An error about places of the query, given in bytes.
    pub(super) fn at(source: &str, positions: &[usize], message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            locations: positions
                .iter()
                .map(|position| Location::of(source, *position))
                .collect(),
            path: Vec::new(),
        }
    }
}

/// A place in a query, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The line.
    pub line: usize,
    /// The byte within the line.
    pub column: usize,
}

impl Location {
    fn of(source: &str, position: usize) -> Self {
        let before = source.get(..position).unwrap_or(source);
        let line = lines(before).count();
        let begun = lines(before).last().map_or(0, str::len);
        Self {
            line,
            column: begun + 1,
        }
    }
}

/// The lines of a text, whichever way they end; an empty text has one.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = text.find(['\n', '\r']) else {
            rest = None;
            return Some(text);
        };
        let after = &text[end..];
        let skipped = if after.starts_with("\r\n") { 2 } else { 1 };
        rest = Some(&after[skipped..]);
        Some(&text[..end])
    })
}

/// Why a text is no query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) position: usize,
    pub(super) description: String,
}

impl SyntaxError {
    pub(super) fn at(position: usize, description: impl Into<String>) -> Self {
        Self {
            position,
            description: description.into(),
        }
    }

    /// The whole message: where, what, and the lines around it.
    pub(super) fn message(&self, source: &str) -> String {
        let Location { line, column } = Location::of(source, self.position);
        let all: Vec<&str> = lines(source).collect();
        let width = (line + 1).to_string().len();
        let numbered = |number: usize| {
            let text = all.get(number.wrapping_sub(1)).copied().unwrap_or_default();
            format!("{number:>width$}: {}\n", printable(text))
        };
        let mut message = format!("Syntax Error GraphQL ({line}:{column}) {}\n\n", self.description);
        if line >= 2 {
            message.push_str(&numbered(line - 1));
        }
        message.push_str(&numbered(line));
        message.push_str(&" ".repeat(1 + width + column));
        message.push_str("^\n");
        if line < all.len() {
            message.push_str(&numbered(line + 1));
        }
        message
    }
}

fn printable(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for character in line.chars() {
        if character < ' ' {
            let _ = write!(text, "\\u{:04X}", u32::from(character));
        } else {
            text.push(character);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_syntax_error_shows_its_place() {
        let error = SyntaxError::at(5, "Expected Name, found {");
        assert_eq!(
            error.message("{ a\n{\n}"),
            "Syntax Error GraphQL (2:2) Expected Name, found {\n\n1: { a\n2: {\n    ^\n3: }\n"
        );
    }

    #[test]
    fn places_are_counted_from_one_whatever_ends_a_line() {
        let source = "a\r\nb\rc\nd";
        let at = |position| {
            let Location { line, column } = Location::of(source, position);
            (line, column)
        };
        assert_eq!(
            [at(0), at(3), at(5), at(7), at(8)],
            [(1, 1), (2, 1), (3, 1), (4, 1), (4, 2)]
        );
    }
}
