//! `.helmignore`: which files of a chart's directory do not belong to the chart.

use thiserror::Error;

use crate::metadata::base_name;
use crate::path_pattern::{BadPattern, matches};

/// The name of the file with the rules.
pub const FILE_NAME: &str = ".helmignore";

/// The longest line that Helm reads.
const MAX_LINE: usize = 64 * 1024;

/// Rules, in the order in which they are tried.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Vec<Rule>,
}

/// One line of the file.
#[derive(Clone, Debug)]
struct Rule {
    pattern: String,
    scope: Scope,
    /// A path that does *not* match is ignored. That is how Helm reads `!`, and charts depend on it.
    negated: bool,
    directories_only: bool,
}

/// What a pattern is compared with.
#[derive(Clone, Copy, Debug)]
enum Scope {
    WholePath,
    LastElement,
}

/// A `.helmignore` that cannot be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum IgnoreError {
    /// A rule has two stars next to each other, which other tools read as "any depth".
    #[error("double-star (**) syntax is not supported")]
    DoubleStar,
    /// A rule is no pattern.
    #[error(transparent)]
    BadPattern(#[from] BadPattern),
    /// A line is longer than Helm reads.
    #[error("bufio.Scanner: token too long")]
    LineTooLong,
}

impl Rules {
    /// Reads the rules of a `.helmignore` and adds the built-in one: no dot files below `templates/`.
    pub fn parse(content: &[u8]) -> Result<Self, IgnoreError> {
        let mut rules = Self::default();
        let content = content
            .strip_prefix(crate::archive::BYTE_ORDER_MARK)
            .unwrap_or(content);
        for line in content.split(|byte| *byte == b'\n') {
            if line.len() >= MAX_LINE {
                return Err(IgnoreError::LineTooLong);
            }
            rules.add(&String::from_utf8_lossy(line))?;
        }
        rules.add("templates/.?*")?;
        Ok(rules)
    }

    fn add(&mut self, line: &str) -> Result<(), IgnoreError> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.contains("**") {
            return Err(IgnoreError::DoubleStar);
        }
        // Only the part of a pattern that "abc" leads to is checked, as in Helm.
        matches(line, "abc")?;
        let (negated, pattern) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        let (directories_only, pattern) = pattern
            .strip_suffix('/')
            .map_or((false, pattern), |rest| (true, rest));
        let (scope, pattern) = match pattern.strip_prefix('/') {
            // Every use of a rooted rule takes off one more slash in Helm; from the second on there is none left.
            Some(rest) => (Scope::WholePath, rest.trim_start_matches('/')),
            None if pattern.contains('/') => (Scope::WholePath, pattern),
            None => (Scope::LastElement, pattern),
        };
        self.rules.push(Rule {
            pattern: pattern.to_owned(),
            scope,
            negated,
            directories_only,
        });
        Ok(())
    }

    /// Tells whether the file or directory at `path`, relative to the chart, is left out.
    pub fn ignore(&self, path: &str, is_directory: bool) -> bool {
        if matches!(path, "" | "." | "./") {
            return false;
        }
        for rule in &self.rules {
            let subject = match rule.scope {
                Scope::WholePath => path,
                Scope::LastElement => base_name(path),
            };
            let applies = !rule.directories_only || is_directory;
            let matched = || matches(&rule.pattern, subject).unwrap_or(false);
            if rule.negated {
                if !applies || !matched() {
                    return true;
                }
            } else if applies && matched() {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_ignore_what_helm_ignores() {
        let rows: &[(&str, &str, bool, bool)] = &[
            ("helm.txt", "helm.txt", false, true),
            ("helm.*", "helm.txt", false, true),
            ("helm.*", "rudder.txt", false, false),
            ("*.txt", "tiller.txt", false, true),
            ("*.txt", "cargo/a.txt", false, true),
            ("cargo/*.txt", "cargo/a.txt", false, true),
            ("cargo/*.txt", "mast/a.txt", false, false),
            ("ru[c-e]?er.txt", "rudder.txt", false, true),
            ("templates/.?*", "templates/.dotfile", false, true),
            ("cargo/", "cargo", true, true),
            ("cargo/", "cargo", false, false),
            ("cargo/", "mast/cargo", true, true),
            ("helm.txt/", "helm.txt", false, false),
            ("!helm.txt", "helm.txt", false, false),
            ("!helm.txt", "tiller.txt", false, true),
            ("!*.txt", "cargo", true, true),
            ("!cargo/", "mast/a.txt", false, true),
            ("/a.txt", "a.txt", false, true),
            ("/a.txt", "cargo/a.txt", false, false),
            ("/cargo/a.txt", "cargo/a.txt", false, true),
            ("a.txt\n!b.txt", "a.txt", false, true),
            ("# a.txt", "a.txt", false, false),
            ("\u{feff}a.txt", "a.txt", false, true),
            ("", "templates/.hidden", false, true),
            ("", ".hidden", false, false),
            ("*", ".", true, false),
        ];
        for (content, path, is_directory, expected) in rows {
            let rules = Rules::parse(content.as_bytes()).unwrap();
            assert_eq!(rules.ignore(path, *is_directory), *expected, "{content:?} {path}");
        }
    }

    #[test]
    fn faulty_rules_are_refused() {
        assert_eq!(
            Rules::parse(b"a/**/b").unwrap_err().to_string(),
            "double-star (**) syntax is not supported"
        );
        assert_eq!(
            Rules::parse(b"[").unwrap_err().to_string(),
            "syntax error in pattern"
        );
    }
}
