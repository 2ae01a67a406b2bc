//! One pass over JSON text that finds where a value ends and which parts of it are canonical already.

use super::text::{self, Literal};
use super::{Malformed, OutOfRange};

/// How deep JSON text may be nested, as in Go's encoding/json.
pub(crate) const MAX_DEPTH: usize = goyaml::limits::MAX_JSON_DEPTH;

/// What a node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A value, or a key, whose source bytes are its canonical form.
    Verbatim,
    /// A string, or a key, that has to be written anew.
    Text,
    /// A number that has to be written anew.
    Number,
    /// An array; its items follow.
    Array,
    /// An object whose keys are in order; keys and values follow in turn.
    Object,
    /// An object whose keys are not in order, or not unique.
    Unordered,
}

/// A part of a value that is not canonical, or a canonical part inside one that is not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) start: u32,
    pub(super) end: u32,
    /// The index behind the node's last descendant.
    pub(super) next: u32,
}

/// A field of the outermost object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    /// Where its key stands, quotes included.
    pub(crate) key: (usize, usize),
    /// Where its value stands.
    pub(crate) value: (usize, usize),
}

struct Frame {
    node: usize,
    is_object: bool,
    canonical: bool,
    sorted: bool,
    /// Where the last key stands, and whether its bytes can be compared as they are.
    key: Option<(usize, usize, bool)>,
}

/// The structure of one JSON value; can be used again for the next, which saves its allocations.
#[derive(Default)]
pub(crate) struct Scan {
    pub(super) nodes: Vec<Node>,
    frames: Vec<Frame>,
    /// The fields of the value if it is an object, in the order in which they stand.
    pub(crate) fields: Vec<Field>,
    /// The first number that no float can hold.
    pub(crate) out_of_range: Option<OutOfRange>,
}

impl Scan {
    /// Reads the value at `start` and returns the index behind it.
    pub(crate) fn value(&mut self, bytes: &[u8], start: usize) -> Result<usize, Malformed> {
        self.nodes.clear();
        self.frames.clear();
        self.fields.clear();
        self.out_of_range = None;
        let mut position = start;
        loop {
            let mut end = match bytes.get(position) {
                Some(&opening @ (b'{' | b'[')) => {
                    if self.frames.len() >= MAX_DEPTH {
                        return Err(Malformed::Syntax(position));
                    }
                    let is_object = opening == b'{';
                    self.frames.push(Frame {
                        node: self.nodes.len(),
                        is_object,
                        canonical: true,
                        sorted: true,
                        key: None,
                    });
                    self.push(Kind::Verbatim, position, position);
                    position = self.skip_white_space(bytes, position + 1);
                    let closing = if is_object { b'}' } else { b']' };
                    if bytes.get(position) != Some(&closing) {
                        if is_object {
                            position = self.key(bytes, position)?;
                        }
                        continue;
                    }
                    self.close(position + 1)
                }
                Some(b'"') => {
                    let literal = text::literal(bytes, position)?;
                    self.scalar(literal.canonical, Kind::Text, position, literal.end)
                }
                Some(b'-' | b'0'..=b'9') => self.number(bytes, position)?,
                Some(b't') => self.word(bytes, position, b"true")?,
                Some(b'f') => self.word(bytes, position, b"false")?,
                Some(b'n') => self.word(bytes, position, b"null")?,
                Some(_) => return Err(Malformed::Syntax(position)),
                None => return Err(Malformed::Truncated),
            };
            // The value is complete; so may be the collections around it.
            loop {
                if self.frames.is_empty() {
                    return Ok(end);
                }
                self.end_of_value(end);
                position = self.skip_white_space(bytes, end);
                let Some(frame) = self.frames.last() else {
                    return Ok(end);
                };
                match (bytes.get(position), frame.is_object) {
                    (Some(b','), is_object) => {
                        position = self.skip_white_space(bytes, position + 1);
                        if is_object {
                            position = self.key(bytes, position)?;
                        }
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => end = self.close(position + 1),
                    (Some(_), _) => return Err(Malformed::Syntax(position)),
                    (None, _) => return Err(Malformed::Truncated),
                }
            }
        }
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        self.nodes.push(Node {
            kind,
            start: start as u32,
            end: end as u32,
            next: self.nodes.len() as u32 + 1,
        });
    }

    fn scalar(&mut self, canonical: bool, otherwise: Kind, start: usize, end: usize) -> usize {
        let kind = if canonical { Kind::Verbatim } else { otherwise };
        self.push(kind, start, end);
        if !canonical && let Some(frame) = self.frames.last_mut() {
            frame.canonical = false;
        }
        end
    }

    fn skip_white_space(&mut self, bytes: &[u8], start: usize) -> usize {
        let mut position = start;
        while matches!(bytes.get(position), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            position += 1;
        }
        if position > start
            && let Some(frame) = self.frames.last_mut()
        {
            frame.canonical = false;
        }
        position
    }

    /// Notes where a value of the outermost object ends.
    fn end_of_value(&mut self, end: usize) {
        if self.frames.len() == 1
            && let Some(field) = self.fields.last_mut()
        {
            field.value.1 = end;
        }
    }

    /// Completes the innermost collection; a canonical one is a single node.
    fn close(&mut self, end: usize) -> usize {
        let Some(frame) = self.frames.pop() else {
            return end;
        };
        let canonical = frame.canonical && frame.sorted;
        if canonical {
            self.nodes.truncate(frame.node + 1);
        }
        let next = self.nodes.len() as u32;
        if let Some(node) = self.nodes.get_mut(frame.node) {
            node.end = end as u32;
            node.next = next;
            node.kind = match (canonical, frame.is_object, frame.sorted) {
                (true, ..) => Kind::Verbatim,
                (false, false, _) => Kind::Array,
                (false, true, true) => Kind::Object,
                (false, true, false) => Kind::Unordered,
            };
        }
        if !canonical && let Some(outer) = self.frames.last_mut() {
            outer.canonical = false;
        }
        end
    }

    /// Reads a key and its colon, and returns where the value starts.
    fn key(&mut self, bytes: &[u8], start: usize) -> Result<usize, Malformed> {
        match bytes.get(start) {
            Some(b'"') => {}
            Some(_) => return Err(Malformed::Syntax(start)),
            None => return Err(Malformed::Truncated),
        }
        let Literal {
            end,
            plain,
            canonical,
        } = text::literal(bytes, start)?;
        let colon = self.skip_white_space(bytes, end);
        match bytes.get(colon) {
            Some(b':') => {}
            Some(_) => return Err(Malformed::Syntax(colon)),
            None => return Err(Malformed::Truncated),
        }
        if let Some(frame) = self.frames.last_mut()
            && let Some((last_start, last_end, last_plain)) = frame.key.replace((start, end, plain))
            && frame.sorted
        {
            let last = bytes.get(last_start..last_end).unwrap_or_default();
            let this = bytes.get(start..end).unwrap_or_default();
            frame.sorted = if plain && last_plain {
                unquoted(last) < unquoted(this)
            } else {
                text::decode(last) < text::decode(this)
            };
        }
        self.scalar(canonical, Kind::Text, start, end);
        let value = self.skip_white_space(bytes, colon + 1);
        if self.frames.len() == 1 {
            self.fields.push(Field {
                key: (start, end),
                value: (value, value),
            });
        }
        Ok(value)
    }

    fn word(&mut self, bytes: &[u8], start: usize, word: &[u8]) -> Result<usize, Malformed> {
        let rest = bytes.get(start..).unwrap_or_default();
        if rest.starts_with(word) {
            return Ok(self.scalar(true, Kind::Verbatim, start, start + word.len()));
        }
        let equal = rest.iter().zip(word).take_while(|(a, b)| a == b).count();
        Err(if equal == rest.len() {
            Malformed::Truncated
        } else {
            Malformed::Syntax(start + equal)
        })
    }

    fn number(&mut self, bytes: &[u8], start: usize) -> Result<usize, Malformed> {
        let end = number_end(bytes, start)?;
        let text = bytes.get(start..end).unwrap_or_default();
        if is_small_integer(text) {
            return Ok(self.scalar(true, Kind::Verbatim, start, end));
        }
        let number = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse::<f64>().ok())
            .unwrap_or(f64::INFINITY);
        if number.is_infinite() && self.out_of_range.is_none() {
            self.out_of_range = Some(OutOfRange {
                number: String::from_utf8_lossy(text).into_owned(),
                end,
            });
        }
        Ok(self.scalar(false, Kind::Number, start, end))
    }
}

/// A string literal's content.
fn unquoted(literal: &[u8]) -> &[u8] {
    literal
        .get(1..literal.len().saturating_sub(1))
        .unwrap_or_default()
}

/// Whether a float holds the integer exactly, and Go prints it as it stands.
fn is_small_integer(text: &[u8]) -> bool {
    /// Every integer of so many digits is below 2^53.
    const EXACT_DIGITS: usize = 15;
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    digits.len() <= EXACT_DIGITS && digits.iter().all(u8::is_ascii_digit)
}

/// Returns the index behind the number at `start`.
fn number_end(bytes: &[u8], start: usize) -> Result<usize, Malformed> {
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        let run = rest.iter().position(|byte| !byte.is_ascii_digit());
        match (run.unwrap_or(rest.len()), rest.is_empty()) {
            (0, true) => Err(Malformed::Truncated),
            (0, false) => Err(Malformed::Syntax(from)),
            (run, _) => Ok(from + run),
        }
    };
    let mut position = start + usize::from(bytes.get(start) == Some(&b'-'));
    position = if bytes.get(position) == Some(&b'0') {
        position + 1
    } else {
        digits(position)?
    };
    if bytes.get(position) == Some(&b'.') {
        position = digits(position + 1)?;
    }
    if matches!(bytes.get(position), Some(b'e' | b'E')) {
        position += 1;
        if matches!(bytes.get(position), Some(b'+' | b'-')) {
            position += 1;
        }
        position = digits(position)?;
    }
    Ok(position)
}
