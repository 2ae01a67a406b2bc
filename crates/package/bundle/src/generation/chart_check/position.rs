//! Where something stands in a file of a chart.

use chart::schema::Step;

/// A line and a column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl std::fmt::Display for Position {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// Why a text is no JSON, and where; none where it is JSON.
pub(super) fn json_fault(text: &[u8]) -> Option<(Position, String)> {
    let fault = serde_json::from_slice::<serde_json::Value>(text).err()?;
    let whole = fault.to_string();
    let words = whole
        .rsplit_once(" at line ")
        .map_or(whole.as_str(), |(words, _)| words);
    let position = Position {
        line: fault.line().max(1),
        column: fault.column().max(1),
    };
    Some((position, words.to_owned()))
}

/// Where the value that a JSON pointer leads to is named. Its keys are looked for one after the other, so a text that has
/// the same keys elsewhere before may mislead.
pub(super) fn in_json(text: &str, pointer: &str) -> Option<Position> {
    let mut at = None;
    for key in pointer.split('/').skip(1) {
        if key.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let key = format!("\"{}\"", key.replace("~1", "/").replace("~0", "~"));
        let mut from = at.map_or(0, |at: usize| at + 1);
        loop {
            let found = from + text.get(from..)?.find(&key)?;
            from = found + key.len();
            if text[from..].trim_start().starts_with(':') {
                at = Some(found);
                break;
            }
        }
    }
    let before = &text[..at?];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    Some(Position {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    })
}

/// The line of a value in YAML, or of the last thing on the way to it that has a line of its own; none where not even the
/// first key has one.
pub(super) fn in_yaml(text: &str, path: &[Step]) -> Option<usize> {
    let mut found: Option<(usize, usize)> = None;
    let mut lines = text.lines().zip(1..).filter(|(line, _)| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with('#') && !line.starts_with("---")
    });
    'keys: for step in path {
        let Step::Key(key) = step else { break };
        let mut level = None;
        for (line, number) in lines.by_ref() {
            let indent = line.len() - line.trim_start_matches(' ').len();
            if found.is_some_and(|(_, parent)| indent <= parent) {
                break 'keys;
            }
            if indent == *level.get_or_insert(indent) && is_key(line.trim_start_matches(' '), key) {
                found = Some((number, indent));
                continue 'keys;
            }
        }
        break;
    }
    found.map(|(number, _)| number)
}

fn is_key(line: &str, key: &str) -> bool {
    let rest = match line.chars().next() {
        Some(quote @ ('"' | '\'')) => line[1..]
            .strip_prefix(key)
            .and_then(|rest| rest.strip_prefix(quote)),
        _ => line.strip_prefix(key),
    };
    rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
}
