//! Regular expressions in Go's syntax, with Go's errors.
//!
//! They are parsed here, since the syntax differs in small ways everywhere, and run by the automata of the regex crates.

mod character_syntax;
mod classes;
mod error;
mod parse;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use regex_automata::meta::{Config, Regex};
use regex_syntax::hir::{Class, Hir, HirKind};

use self::error::Defect;
pub use self::error::SyntaxError;
use self::parse::parse;
use crate::go_characters::characters;

/// How large the automaton of one expression may be; Go allows about as much.
const MAX_AUTOMATON_BYTES: usize = 64 * 1024 * 1024;

/// A compiled regular expression.
#[derive(Debug)]
pub struct Expression {
    pub(crate) regex: Regex,
    /// The names of its groups, of which the first is the whole match.
    pub(crate) names: Vec<Option<String>>,
    pub(crate) is_empty: bool,
    /// About how many states its automaton has, by which the work of a search is estimated.
    pub(crate) size: usize,
}

impl Expression {
    /// Compiles an expression.
    ///
    /// # Errors
    ///
    /// What Go says of text that is no expression.
    pub fn new(expression: &[u8]) -> Result<Expression, SyntaxError> {
        let syntax = parse(expression)?;
        let config = Config::new().nfa_size_limit(Some(MAX_AUTOMATON_BYTES));
        let regex = Regex::builder().configure(config).build_from_hir(&syntax.hir);
        // The expression is sound by now, so size is all that can stand in its way.
        let regex = regex.map_err(|_| SyntaxError::new(Defect::TooLarge, expression))?;
        Ok(Expression {
            regex,
            names: syntax.names,
            is_empty: expression.is_empty(),
            size: size(&syntax.hir),
        })
    }

    /// Tells whether some part of a text matches.
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.regex.is_match(Haystack::new(text).lossy.as_ref())
    }

    /// Returns the first match; nothing where there is none.
    pub fn find<'text>(&self, text: &'text [u8]) -> &'text [u8] {
        let haystack = Haystack::new(text);
        let found = self.regex.find(haystack.lossy.as_ref());
        found.map_or(&[], |found| haystack.original(found.range()))
    }

    /// Returns the matches that don't overlap, at most so many of them.
    pub fn find_up_to<'text>(&self, text: &'text [u8], limit: usize) -> Vec<&'text [u8]> {
        let haystack = Haystack::new(text);
        let found = self.regex.find_iter(haystack.lossy.as_ref()).take(limit);
        found.map(|found| haystack.original(found.range())).collect()
    }
}

/// Estimates how many states an automaton needs.
fn size(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(Class::Bytes(_)) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Unicode(class)) => class.ranges().len(),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1) as usize;
            size(&repetition.sub).saturating_mul(times)
        }
        HirKind::Capture(capture) => size(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts
            .iter()
            .fold(1, |sum: usize, part| sum.saturating_add(size(part))),
    }
}

/// A text to search in; each byte that is not UTF-8 is searched as U+FFFD, which is how Go sees it.
pub(crate) struct Haystack<'text> {
    text: &'text [u8],
    pub(crate) lossy: Cow<'text, str>,
    /// Where in the searched text the replaced bytes are.
    broken: Vec<usize>,
}

impl<'text> Haystack<'text> {
    pub(crate) fn new(text: &'text [u8]) -> Haystack<'text> {
        if let Ok(valid) = std::str::from_utf8(text) {
            return Haystack {
                text,
                lossy: Cow::Borrowed(valid),
                broken: Vec::new(),
            };
        }
        let mut lossy = String::with_capacity(text.len());
        let mut broken = Vec::new();
        for (character, size) in characters(text) {
            if size < character.len_utf8() {
                broken.push(lossy.len());
            }
            lossy.push(character);
        }
        Haystack {
            text,
            lossy: Cow::Owned(lossy),
            broken,
        }
    }

    /// Returns the original text of a range of the searched text.
    pub(crate) fn original(&self, range: Range<usize>) -> &'text [u8] {
        // A replaced byte has become three.
        let position = |at: usize| at - 2 * self.broken.partition_point(|&broken| broken < at);
        self.text
            .get(position(range.start)..position(range.end))
            .unwrap_or_default()
    }
}
