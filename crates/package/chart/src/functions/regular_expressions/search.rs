//! What Go's package regexp does with an expression: find, replace, split.

use std::ops::Range;

use gotemplate::Failure;
use regex_automata::Input;
use regex_automata::util::captures::Captures;

use crate::functions::limits::{check_items, check_text};
use crate::go_characters::{DIGIT, LETTER, first_character};
use crate::go_expression::{Expression, Haystack};

impl Expression {
    /// Returns where the expression matches, at most `limit` times unless that is negative.
    fn find_all_ranges(&self, haystack: &Haystack<'_>, limit: i64) -> Result<Vec<Range<usize>>, Failure> {
        let text = haystack.lossy.as_ref();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut ranges = Vec::new();
        let mut at = 0;
        let mut previous_end = None;
        while ranges.len() < limit && at <= text.len() {
            let Some(found) = self.regex.find(Input::new(text).range(at..)) else {
                break;
            };
            // An empty match right after another match does not count.
            let mut counts = true;
            if found.end() == at {
                counts = previous_end != Some(found.start());
                at += width(text, at).max(1);
            } else {
                at = found.end();
            }
            previous_end = Some(found.end());
            if counts {
                check_items(ranges.len())?;
                ranges.push(found.range());
            }
        }
        Ok(ranges)
    }

    pub(super) fn find_all<'text>(&self, text: &'text [u8], limit: i64) -> Result<Vec<&'text [u8]>, Failure> {
        let haystack = Haystack::new(text);
        let ranges = self.find_all_ranges(&haystack, limit)?;
        Ok(ranges.into_iter().map(|range| haystack.original(range)).collect())
    }

    /// Returns the text between matches; none for a limit of zero.
    pub(super) fn split<'text>(
        &self,
        text: &'text [u8],
        limit: i64,
    ) -> Result<Option<Vec<&'text [u8]>>, Failure> {
        if limit == 0 {
            return Ok(None);
        }
        if text.is_empty() && !self.is_empty {
            return Ok(Some(vec![text]));
        }
        let haystack = Haystack::new(text);
        let mut pieces = Vec::new();
        let (mut begin, mut end) = (0, 0);
        for found in self.find_all_ranges(&haystack, limit)? {
            if limit > 0 && pieces.len() as i64 == limit - 1 {
                break;
            }
            end = found.start;
            if found.end != 0 {
                pieces.push(haystack.original(begin..end));
            }
            begin = found.end;
        }
        if end != haystack.lossy.len() {
            pieces.push(haystack.original(begin..haystack.lossy.len()));
        }
        Ok(Some(pieces))
    }

    /// Replaces every match by a template with `$1`, `${name}` and `$$`.
    pub(super) fn replace_all(&self, text: &[u8], template: &[u8]) -> Result<Vec<u8>, Failure> {
        let haystack = Haystack::new(text);
        self.replace(&haystack, |out, captures| {
            self.expand(out, template, &haystack, captures);
        })
    }

    /// Replaces every match by the same text.
    pub(super) fn replace_all_literal(&self, text: &[u8], replacement: &[u8]) -> Result<Vec<u8>, Failure> {
        self.replace(&Haystack::new(text), |out, _| out.extend_from_slice(replacement))
    }

    fn replace(
        &self,
        haystack: &Haystack<'_>,
        mut write: impl FnMut(&mut Vec<u8>, &Captures),
    ) -> Result<Vec<u8>, Failure> {
        let text = haystack.lossy.as_ref();
        let mut captures = self.regex.create_captures();
        let mut out = Vec::with_capacity(text.len());
        let (mut done, mut at) = (0, 0);
        while at <= text.len() {
            self.regex.captures(Input::new(text).range(at..), &mut captures);
            let Some(found) = captures.get_match() else { break };
            out.extend_from_slice(haystack.original(done..found.start()));
            // An empty match right after another match is not replaced.
            if found.end() > done || found.start() == 0 {
                write(&mut out, &captures);
            }
            check_text(out.len())?;
            done = found.end();
            at = done.max(at + width(text, at).max(1));
        }
        out.extend_from_slice(haystack.original(done..text.len()));
        check_text(out.len())?;
        Ok(out)
    }

    fn expand(&self, out: &mut Vec<u8>, template: &[u8], haystack: &Haystack<'_>, captures: &Captures) {
        let mut rest = template;
        while let Some(dollar) = memchr::memchr(b'$', rest) {
            out.extend_from_slice(rest.get(..dollar).unwrap_or_default());
            rest = rest.get(dollar + 1..).unwrap_or_default();
            if let [b'$', after @ ..] = rest {
                out.push(b'$');
                rest = after;
                continue;
            }
            let Some((name, after)) = read_group_name(rest) else {
                out.push(b'$');
                continue;
            };
            rest = after;
            let matched = |index: usize| captures.get_group(index);
            let group = match group_number(name) {
                Some(number) => matched(number),
                None => self
                    .names
                    .iter()
                    .enumerate()
                    .filter(|(_, group)| group.as_deref().is_some_and(|group| group.as_bytes() == name))
                    .find_map(|(index, _)| matched(index)),
            };
            if let Some(group) = group {
                out.extend_from_slice(haystack.original(group.range()));
            }
        }
        out.extend_from_slice(rest);
    }
}

/// Returns the length of the character at that place; 0 at the end.
fn width(text: &str, at: usize) -> usize {
    text.get(at..)
        .and_then(|rest| rest.chars().next())
        .map_or(0, char::len_utf8)
}

/// Reads `name` or `{name}`; returns it and what follows.
fn read_group_name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (braced, inside) = match text {
        [b'{', inside @ ..] => (true, inside),
        _ => (false, text),
    };
    let mut size = 0;
    while let Some((character, width)) = first_character(inside.get(size..).unwrap_or_default())
        && (character == '_' || LETTER.contains(character) || DIGIT.contains(character))
    {
        size += width;
    }
    let (name, rest) = inside.split_at_checked(size)?;
    let rest = if braced { rest.strip_prefix(b"}")? } else { rest };
    (!name.is_empty()).then_some((name, rest))
}

/// Returns the number that a group name is, unless it has leading zeros or is too large for any group.
fn group_number(name: &[u8]) -> Option<usize> {
    // Longer numbers are names to Go, which no group can have, so both mean nothing.
    const MAX_DIGITS: usize = 9;
    if name.len() > MAX_DIGITS || (name.len() > 1 && name.starts_with(b"0")) {
        return None;
    }
    if !name.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(name).ok()?.parse().ok()
}
