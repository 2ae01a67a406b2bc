//! The text of an expression, and where in it something is wrong.

use super::ast::NodeId;

/// Lines longer than this are not shown below an error.
const LONGEST_SHOWN_LINE: usize = 16_384;

/// No more errors than this are listed.
const MOST_ERRORS: usize = 100;

/// The text of an expression, and the place of every node in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Source {
    text: String,
    /// The offset of every node, in characters.
    offsets: Vec<u32>,
    /// The offset of the first character of every line, in characters.
    lines: Vec<u32>,
}

/// One thing that is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue {
    /// The line, from one.
    pub(crate) line: usize,
    /// The column, from zero.
    pub(crate) column: usize,
    /// What is wrong.
    pub(crate) message: String,
}

/// What is wrong with an expression, in the words of the API server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{shown}")]
pub(crate) struct Issues {
    shown: String,
}

impl Source {
    /// Takes the text of an expression.
    pub(crate) fn new(text: &str) -> Self {
        let mut lines = vec![0];
        for (index, character) in text.chars().enumerate() {
            if character == '\n' {
                lines.push(index as u32 + 1);
            }
        }
        Self {
            text: text.to_owned(),
            offsets: Vec::new(),
            lines,
        }
    }

    /// Says that something is wrong with the text as a whole.
    pub(crate) fn without_place(message: &str) -> Issues {
        Issues {
            shown: format!("ERROR: <input>:-1:0: {message}"),
        }
    }

    /// Places a new node at the offset and returns its name.
    pub(crate) fn place(&mut self, offset: u32) -> NodeId {
        self.offsets.push(offset);
        self.offsets.len() - 1
    }

    /// Returns where the node stands.
    pub(crate) fn offset(&self, id: NodeId) -> u32 {
        self.offsets.get(id).copied().unwrap_or_default()
    }

    /// Returns how many nodes there are.
    pub(crate) fn nodes(&self) -> usize {
        self.offsets.len()
    }

    /// Says that something is wrong with the node.
    pub(crate) fn issue(&self, id: NodeId, message: String) -> Issue {
        self.issue_at(self.offset(id), message)
    }

    /// Says that something is wrong at the offset.
    pub(crate) fn issue_at(&self, offset: u32, message: String) -> Issue {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or_default();
        Issue {
            line,
            column: (offset - start) as usize,
            message,
        }
    }

    /// Returns the issues as they are shown: sorted by place, each with its line and a mark below it.
    pub(crate) fn show(&self, mut issues: Vec<Issue>) -> Issues {
        issues.sort_by_key(|issue| (issue.line, issue.column));
        let mut shown: Vec<String> = issues
            .iter()
            .take(MOST_ERRORS)
            .map(|issue| self.show_one(issue))
            .collect();
        if issues.len() > MOST_ERRORS {
            shown.push(format!(
                "{} more errors were truncated",
                issues.len() - MOST_ERRORS
            ));
        }
        Issues {
            shown: shown.join("\n"),
        }
    }

    fn show_one(&self, issue: &Issue) -> String {
        let mut shown = format!(
            "ERROR: <input>:{}:{}: {}",
            issue.line,
            issue.column + 1,
            issue.message
        );
        let Some(line) = self.text.split('\n').nth(issue.line.wrapping_sub(1)) else {
            return shown;
        };
        if line.len() > LONGEST_SHOWN_LINE {
            return shown;
        }
        shown.push_str("\n | ");
        shown.push_str(&line.replace('\t', " "));
        shown.push_str("\n | ");
        let mut characters = line.chars();
        for character in characters.by_ref().take(issue.column) {
            // A character that takes two columns gets a wide dot.
            shown.push(if character.len_utf8() > 1 { '．' } else { '.' });
        }
        shown.push(
            if characters
                .next()
                .is_some_and(|character| character.len_utf8() > 1)
            {
                '＾'
            } else {
                '^'
            },
        );
        shown
    }
}
