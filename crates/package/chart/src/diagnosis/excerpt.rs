//! Lines of a text with a place marked in them.

use crate::explanation::{HIDDEN, is_secret_name};

/// How many characters of a line are shown.
const MAX_LINE: usize = 160;

/// How many characters are shown before the marked place of a line that is too long.
const LEAD: usize = 60;

/// How many lines of a rendered document are shown before the one that is meant.
const LINES_BEFORE: usize = 2;

/// Some lines of a text, one of them meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The text's name, with the place as Helm writes it.
    pub title: String,
    /// The number of the first line that is shown, from 1.
    pub first_line: usize,
    /// The number of the line that is meant.
    pub line: usize,
    /// The lines, without anything that would move a terminal's cursor.
    pub lines: Vec<String>,
    /// How many characters stand before the marked one in the line that is meant.
    pub caret: Option<usize>,
    /// What is to be said about the place.
    pub label: Option<String>,
}

impl Excerpt {
    /// Shows one line of a text that people write, with a mark at a column, which counts characters from 1. None where the
    /// text has no such line.
    pub fn at(name: &str, source: &[u8], line: usize, column: usize) -> Option<Self> {
        let text = source.split(|byte| *byte == b'\n').nth(line.checked_sub(1)?)?;
        let text = printable(text);
        // A mark beyond the line's end stands right behind it.
        let before = column.saturating_sub(1).min(text.chars().count());
        let (shown, caret) = shorten(&text, Some(before));
        Some(Self {
            title: format!("{name}:{line}:{column}"),
            first_line: line,
            line,
            lines: vec![shown],
            caret,
            label: None,
        })
    }

    /// Shows one line of a template; `column` counts bytes from 0. None where the text has no such line.
    pub(super) fn new(name: &str, source: &[u8], line: usize, column: Option<usize>) -> Option<Self> {
        let text = source.split(|byte| *byte == b'\n').nth(line.checked_sub(1)?)?;
        let before = column.map(|column| {
            String::from_utf8_lossy(&text[..column.min(text.len())])
                .chars()
                .count()
        });
        let (shown, caret) = shorten(&printable(text), before);
        let title = match column {
            Some(column) => format!("{name}:{line}:{column}"),
            None => format!("{name}:{line}"),
        };
        Some(Self {
            title,
            first_line: line,
            line,
            lines: vec![shown],
            caret,
            label: None,
        })
    }

    /// Shows a line of a rendered document with what stands around it, but nothing that may be secret.
    pub(super) fn of_rendered(name: &str, document: &[u8], line: usize) -> Option<Self> {
        let first = line.saturating_sub(LINES_BEFORE).max(1);
        let mut names_a_secret = false;
        let lines: Vec<String> = document
            .split(|byte| *byte == b'\n')
            .take(line + 1)
            .map(|text| without_secret(&printable(text), &mut names_a_secret))
            .skip(first - 1)
            .map(|text| shorten(&text, None).0)
            .collect();
        let title = format!("{name}, rendered, line {line}");
        (lines.len() > line - first).then_some(Self {
            title,
            first_line: first,
            line,
            lines,
            caret: None,
            label: None,
        })
    }

    /// The same, with something to be said about the place.
    #[must_use]
    pub fn labelled(self, label: Option<String>) -> Self {
        Self { label, ..self }
    }
}

/// Replaces what would not show as one character.
fn printable(text: &[u8]) -> String {
    String::from_utf8_lossy(text.strip_suffix(b"\r").unwrap_or(text))
        .chars()
        .map(|character| match character {
            '\t' => ' ',
            character if character.is_control() => '\u{fffd}',
            character => character,
        })
        .collect()
}

/// Hides the value in a line of YAML where its key says that it is secret, or where the line before names one, as the
/// variables of containers do.
fn without_secret(line: &str, names_a_secret: &mut bool) -> String {
    let was_named = std::mem::take(names_a_secret);
    let Some((key, value)) = line.split_once(':') else {
        return line.to_owned();
    };
    let is_quote_or_space = |character: char| matches!(character, ' ' | '-' | '"' | '\'');
    let name = key.trim_matches(is_quote_or_space);
    *names_a_secret = name == "name" && is_secret_name(value.trim_matches(is_quote_or_space));
    let is_secret = is_secret_name(name) || (was_named && name == "value");
    if is_secret && !value.trim().is_empty() {
        format!("{key}: {HIDDEN}")
    } else {
        line.to_owned()
    }
}

/// Cuts a line so that the marked place stays in it.
fn shorten(line: &str, caret: Option<usize>) -> (String, Option<usize>) {
    let length = line.chars().count();
    if length <= MAX_LINE {
        return (line.to_owned(), caret);
    }
    let start = caret.map_or(0, |caret| caret.saturating_sub(LEAD));
    let mut shown: String = line.chars().skip(start).take(MAX_LINE).collect();
    if start + MAX_LINE < length {
        shown.push('…');
    }
    if start == 0 {
        (shown, caret)
    } else {
        (format!("…{shown}"), caret.map(|caret| caret - start + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_bytes_and_carets_are_characters() {
        let excerpt = Excerpt::new("a", "x\nä\tb{{ .c }}\r\n".as_bytes(), 2, Some(7)).expect("a line");
        assert_eq!(
            (excerpt.lines.as_slice(), excerpt.caret),
            (&["ä b{{ .c }}".to_owned()][..], Some(6))
        );
        assert_eq!(excerpt.title, "a:2:7");
        assert_eq!(Excerpt::new("a", b"x", 2, None), None);
        assert_eq!(Excerpt::new("a", b"x", 0, None), None);
    }

    #[test]
    fn in_texts_that_people_write_columns_are_characters_from_one() {
        let excerpt = Excerpt::at("a", "x\nä\tb: c\n".as_bytes(), 2, 3).expect("a line");
        assert_eq!(
            (excerpt.title.as_str(), excerpt.lines[0].as_str(), excerpt.caret),
            ("a:2:3", "ä b: c", Some(2))
        );
        assert_eq!(
            Excerpt::at("a", b"x", 1, 9).and_then(|excerpt| excerpt.caret),
            Some(1)
        );
        assert_eq!(Excerpt::at("a", b"x", 2, 1), None);
    }

    #[test]
    fn a_long_line_is_cut_around_its_place() {
        let line = format!("{}^{}", "a".repeat(1000), "b".repeat(1000));
        let excerpt = Excerpt::new("a", line.as_bytes(), 1, Some(1000)).expect("a line");
        let caret = excerpt.caret.expect("a place");
        assert_eq!(excerpt.lines[0].chars().nth(caret), Some('^'));
        assert_eq!(excerpt.lines[0].chars().count(), MAX_LINE + 2);
    }

    #[test]
    fn a_rendered_line_is_shown_without_secrets() {
        let document = b"env:\n- name: DB_PASSWORD\n  value: hunter2\nadminToken: abc: def\nport: 80";
        let excerpt = Excerpt::of_rendered("a", document, 4).expect("lines");
        assert_eq!(
            excerpt.lines,
            ["- name: DB_PASSWORD", "  value: …", "adminToken: …", "port: 80"]
        );
    }

    #[test]
    fn a_rendered_line_is_shown_with_its_neighbours() {
        let excerpt = Excerpt::of_rendered("a", b"1\n2\n3\n4\n5", 4).expect("lines");
        assert_eq!(
            (excerpt.first_line, excerpt.lines.as_slice()),
            (2, &["2", "3", "4", "5"].map(str::to_owned)[..])
        );
        assert_eq!(Excerpt::of_rendered("a", b"1", 3), None);
    }
}
