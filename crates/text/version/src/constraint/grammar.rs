//! How a constraint is written: comparators apart by spaces or commas, versions with wildcards, hyphen ranges.

use crate::identifiers::is_allowed;

/// One comparator as it is written: an operator, which may be nothing, and a version.
pub(super) struct Term<'a> {
    pub(super) operator: &'a str,
    pub(super) pattern: Pattern<'a>,
}

/// A version as it may stand in a constraint, with numbers missing or wild.
#[derive(Clone, Copy)]
pub(super) struct Pattern<'a> {
    pub(super) text: &'a str,
    pub(super) major: &'a str,
    pub(super) minor: Option<&'a str>,
    pub(super) patch: Option<&'a str>,
    /// The pre-release with its hyphen, or nothing.
    pub(super) prerelease: &'a str,
}

/// The operators, the longer before those that they begin with.
const OPERATORS: [&str; 11] = ["!=", ">=", "=>", "<=", "=<", "~>", "=", ">", "<", "~", "^"];

/// Splits one alternative into its comparators; `None` where it does not follow the grammar.
pub(super) fn terms(group: &str) -> Option<Vec<Term<'_>>> {
    let mut terms = Vec::new();
    let mut rest = skip_spaces(group);
    loop {
        let operator = OPERATORS
            .into_iter()
            .find(|operator| rest.starts_with(operator))
            .unwrap_or("");
        rest = skip_spaces(rest.strip_prefix(operator)?);
        let pattern = Pattern::at_start(rest)?;
        rest = rest.strip_prefix(pattern.text)?;
        terms.push(Term { operator, pattern });

        let behind = skip_spaces(rest);
        if behind.is_empty() {
            return Some(terms);
        }
        rest = match behind.strip_prefix(',') {
            Some(next) => skip_spaces(next),
            None if behind.len() < rest.len() => behind,
            None => return None,
        };
    }
}

/// Rewrites every `1.2 - 2.0` into `>= 1.2, <= 2.0 `.
///
/// Masterminds does it in the text, each time at the first place where the same words stand; since error
/// messages show the result, it is done the same way here.
pub(super) fn rewrite_hyphen_ranges(text: &str) -> String {
    let mut rewritten = text.to_owned();
    let mut rest = text;
    while let Some((found, from, to, behind)) = first_hyphen_range(rest) {
        rewritten = rewritten.replacen(found, &format!(">= {from}, <= {to} "), 1);
        rest = behind;
    }
    rewritten
}

/// Finds the first hyphen range: its whole text with the spaces around it, both versions, and what follows.
fn first_hyphen_range(text: &str) -> Option<(&str, &str, &str, &str)> {
    // Every hyphen range has a space and a hyphen, and looking for them is much cheaper than trying.
    if !text.contains(" -") && !text.contains(['\t', '\n', '\x0c', '\r']) {
        return None;
    }
    text.char_indices().find_map(|(start, _)| {
        let here = &text[start..];
        let from = Pattern::at_start(skip_spaces(here))?;
        let behind_from = skip_spaces(here).strip_prefix(from.text)?;
        let hyphen = skip_some_spaces(behind_from)?.strip_prefix('-')?;
        let to = Pattern::at_start(skip_some_spaces(hyphen)?)?;
        let behind = skip_spaces(skip_spaces(hyphen).strip_prefix(to.text)?);
        Some((&here[..here.len() - behind.len()], from.text, to.text, behind))
    })
}

impl<'a> Pattern<'a> {
    /// Reads the longest version that `text` starts with.
    fn at_start(text: &'a str) -> Option<Self> {
        let digits = text.strip_prefix('v').unwrap_or(text);
        let (major, rest) = split_run(digits, is_number_or_wild)?;
        let (minor, rest) = dotted_number(rest);
        let (patch, rest) = if minor.is_some() {
            dotted_number(rest)
        } else {
            (None, rest)
        };
        let behind = skip_identifiers(rest, '-');
        let prerelease = &rest[..rest.len() - behind.len()];
        let behind = skip_identifiers(behind, '+');
        Some(Self {
            text: &text[..text.len() - behind.len()],
            major,
            minor,
            patch,
            prerelease,
        })
    }
}

fn dotted_number(text: &str) -> (Option<&str>, &str) {
    let number = text
        .strip_prefix('.')
        .and_then(|rest| split_run(rest, is_number_or_wild));
    number.map_or((None, text), |(number, rest)| (Some(number), rest))
}

/// Skips `mark` and the dotted identifiers behind it; without an identifier nothing is skipped.
fn skip_identifiers(text: &str, mark: char) -> &str {
    let Some((_, mut rest)) = text
        .strip_prefix(mark)
        .and_then(|rest| split_run(rest, is_allowed))
    else {
        return text;
    };
    while let Some((_, next)) = rest
        .strip_prefix('.')
        .and_then(|rest| split_run(rest, is_allowed))
    {
        rest = next;
    }
    rest
}

/// Splits off the longest run of bytes that fit; `None` if there are none.
fn split_run(text: &str, fits: fn(u8) -> bool) -> Option<(&str, &str)> {
    let length = text.bytes().take_while(|&byte| fits(byte)).count();
    // Only ASCII fits, so the end of the run is the end of a character.
    (length > 0).then(|| text.split_at(length))
}

/// Returns whether `byte` may stand in a number of a pattern; a single bar may, as it may for Masterminds.
fn is_number_or_wild(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'x' | b'X' | b'*' | b'|')
}

fn skip_spaces(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\x0c', '\r'])
}

fn skip_some_spaces(text: &str) -> Option<&str> {
    let behind = skip_spaces(text);
    (behind.len() < text.len()).then_some(behind)
}
