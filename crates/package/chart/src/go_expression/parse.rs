//! Go's regular expression syntax, read into the form that the `regex` crates execute, with Go's error messages.

use regex_syntax::hir::{Capture, Class, ClassUnicode, Hir, Look, Repetition};

use super::character_syntax::check_utf8;
use super::classes::{add_range, folded};
use super::error::{Defect, SyntaxError};
use crate::go_characters::first_character;

/// The largest count of a repetition, and the largest product of counts that are nested: Go's limit.
const MAX_REPETITIONS: u32 = 1000;

/// How deep an expression may be nested: Go's limit.
const MAX_HEIGHT: usize = 1000;

/// A parsed expression.
pub(super) struct Syntax {
    pub(super) hir: Hir,
    /// The names of the groups; the whole match is group 0, and without a name, as are unnamed groups.
    pub(super) names: Vec<Option<String>>,
}

/// Parses an expression.
pub(super) fn parse(expression: &[u8]) -> Result<Syntax, SyntaxError> {
    let root = Frame {
        group: Group::Root,
        outer: Flags::default(),
        alternatives: Vec::new(),
        sequence: Vec::new(),
    };
    let parser = Parser {
        whole: expression,
        at: 0,
        flags: Flags::default(),
        open: vec![],
        frame: root,
        names: vec![None],
        last_repeat: None,
    };
    parser.parse()
}

/// The flags that `(?…)` sets.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of Go's flag letters")]
pub(super) struct Flags {
    pub(super) fold_case: bool,
    multi_line: bool,
    dot_matches_newline: bool,
    prefer_fewer: bool,
}

/// A part of the expression that is complete.
struct Node {
    hir: Hir,
    /// How many levels of operators it has.
    height: usize,
    /// The largest product of nested counts in it.
    copies: u32,
}

impl Node {
    fn leaf(hir: Hir) -> Node {
        Node {
            hir,
            height: 1,
            copies: 1,
        }
    }

    fn combined(nodes: Vec<Node>, combine: fn(Vec<Hir>) -> Hir) -> Node {
        let operator = usize::from(nodes.len() > 1);
        let height = nodes.iter().map(|node| node.height).max().unwrap_or_default() + operator;
        let copies = nodes.iter().map(|node| node.copies).max().unwrap_or(1);
        Node {
            hir: combine(nodes.into_iter().map(|node| node.hir).collect()),
            height: height.max(1),
            copies,
        }
    }
}

#[derive(Clone, Copy)]
enum Group {
    Root,
    Plain,
    Capturing(u32),
}

/// A group that is being read.
struct Frame {
    group: Group,
    /// The flags that hold again after it.
    outer: Flags,
    alternatives: Vec<Node>,
    sequence: Vec<Node>,
}

impl Frame {
    fn end_alternative(&mut self) {
        let sequence = std::mem::take(&mut self.sequence);
        self.alternatives.push(Node::combined(sequence, Hir::concat));
    }

    fn into_node(mut self) -> Node {
        self.end_alternative();
        Node::combined(self.alternatives, Hir::alternation)
    }
}

/// An expression being read.
pub(super) struct Parser<'expression> {
    pub(super) whole: &'expression [u8],
    pub(super) at: usize,
    pub(super) flags: Flags,
    /// The groups around the one that is being read.
    open: Vec<Frame>,
    frame: Frame,
    names: Vec<Option<String>>,
    /// Where the repetition operator that ends here began.
    last_repeat: Option<usize>,
}

impl<'expression> Parser<'expression> {
    fn parse(mut self) -> Result<Syntax, SyntaxError> {
        while let Some(&byte) = self.rest().first() {
            let last_repeat = self.last_repeat.take();
            match byte {
                b'(' if self.rest().starts_with(b"(?") => self.parse_perl_group()?,
                b'(' => {
                    self.at += 1;
                    self.open_capture(None);
                }
                b')' => self.close_group()?,
                b'|' => {
                    self.at += 1;
                    self.frame.end_alternative();
                }
                b'^' => self.look(
                    1,
                    if self.flags.multi_line {
                        Look::StartLF
                    } else {
                        Look::Start
                    },
                ),
                b'$' => self.look(
                    1,
                    if self.flags.multi_line {
                        Look::EndLF
                    } else {
                        Look::End
                    },
                ),
                b'.' => {
                    self.at += 1;
                    let mut class = ClassUnicode::empty();
                    if !self.flags.dot_matches_newline {
                        add_range(&mut class, u32::from('\n'), u32::from('\n'));
                    }
                    class.negate();
                    self.push_class(class);
                }
                b'[' => self.parse_class()?,
                b'*' => self.repeat(1, 0, None, last_repeat, false)?,
                b'+' => self.repeat(1, 1, None, last_repeat, false)?,
                b'?' => self.repeat(1, 0, Some(1), last_repeat, false)?,
                b'{' => self.parse_counted_repeat(last_repeat)?,
                b'\\' => self.parse_escape()?,
                _ => {
                    let character = self.next_character()?;
                    self.literal(u32::from(character));
                }
            }
        }
        if !self.open.is_empty() {
            return Err(SyntaxError::new(Defect::MissingParenthesis, self.whole));
        }
        let node = self.frame.into_node();
        check_height(&node, self.whole)?;
        Ok(Syntax {
            hir: node.hir,
            names: self.names,
        })
    }

    pub(super) fn rest(&self) -> &'expression [u8] {
        self.whole.get(self.at..).unwrap_or_default()
    }

    pub(super) fn error<T>(&self, defect: Defect, start: usize) -> Result<T, SyntaxError> {
        Err(SyntaxError::new(
            defect,
            self.whole.get(start..self.at).unwrap_or_default(),
        ))
    }

    pub(super) fn next_character(&mut self) -> Result<char, SyntaxError> {
        let rest = self.rest();
        match first_character(rest) {
            Some((char::REPLACEMENT_CHARACTER, 1)) => Err(SyntaxError::new(Defect::Utf8, rest)),
            Some((character, size)) => {
                self.at += size;
                Ok(character)
            }
            // Callers look whether there is something; Go decodes nothing as a broken character of no width.
            None => Ok(char::REPLACEMENT_CHARACTER),
        }
    }

    fn push(&mut self, hir: Hir) {
        self.frame.sequence.push(Node::leaf(hir));
    }

    pub(super) fn push_class(&mut self, class: ClassUnicode) {
        self.push(Hir::class(Class::Unicode(class)));
    }

    fn look(&mut self, size: usize, look: Look) {
        self.at += size;
        self.push(Hir::look(look));
    }

    fn literal(&mut self, code_point: u32) {
        let mut class = ClassUnicode::empty();
        add_range(&mut class, code_point, code_point);
        self.push_class(folded(class, self.flags.fold_case));
    }

    fn open_group(&mut self, group: Group) {
        let frame = Frame {
            group,
            outer: self.flags,
            alternatives: Vec::new(),
            sequence: Vec::new(),
        };
        self.open.push(std::mem::replace(&mut self.frame, frame));
    }

    fn open_capture(&mut self, name: Option<String>) {
        let index = self.names.len() as u32;
        self.names.push(name);
        self.open_group(Group::Capturing(index));
    }

    fn close_group(&mut self) -> Result<(), SyntaxError> {
        let Some(outer) = self.open.pop() else {
            return Err(SyntaxError::new(Defect::UnexpectedParenthesis, self.whole));
        };
        self.at += 1;
        let frame = std::mem::replace(&mut self.frame, outer);
        self.flags = frame.outer;
        let group = frame.group;
        let mut node = frame.into_node();
        if let Group::Capturing(index) = group {
            node.hir = Hir::capture(Capture {
                index,
                name: None,
                sub: Box::new(node.hir),
            });
            node.height += 1;
        }
        check_height(&node, self.whole)?;
        self.frame.sequence.push(node);
        Ok(())
    }

    /// Reads what follows `(?`: a name, flags, or flags and a group.
    fn parse_perl_group(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let rest = self.rest();
        let name_at = match rest {
            [b'(', b'?', b'P', b'<', _, ..] => 4,
            [b'(', b'?', b'<', _, ..] => 3,
            _ => return self.parse_flags(),
        };
        let Some(end) = memchr::memchr(b'>', rest) else {
            check_utf8(rest)?;
            return Err(SyntaxError::new(Defect::NamedCapture, rest));
        };
        let name = rest.get(name_at..end).unwrap_or_default();
        check_utf8(name)?;
        self.at = start + end + 1;
        if name.is_empty()
            || !name
                .iter()
                .all(|&byte| byte == b'_' || byte.is_ascii_alphanumeric())
        {
            return self.error(Defect::NamedCapture, start);
        }
        self.open_capture(Some(String::from_utf8_lossy(name).into_owned()));
        Ok(())
    }

    fn parse_flags(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        self.at += 2;
        let mut flags = self.flags;
        let (mut value, mut seen) = (true, false);
        while !self.rest().is_empty() {
            let flag = match self.next_character()? {
                'i' => &mut flags.fold_case,
                'm' => &mut flags.multi_line,
                's' => &mut flags.dot_matches_newline,
                'U' => &mut flags.prefer_fewer,
                '-' if value => {
                    (value, seen) = (false, false);
                    continue;
                }
                end @ (':' | ')') if value || seen => {
                    if end == ':' {
                        self.open_group(Group::Plain);
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => break,
            };
            *flag = value;
            seen = true;
        }
        self.error(Defect::PerlSyntax, start)
    }

    /// Applies a repetition operator of `size` bytes to what stands before it.
    fn repeat(
        &mut self,
        size: usize,
        min: u32,
        max: Option<u32>,
        last_repeat: Option<usize>,
        counted: bool,
    ) -> Result<(), SyntaxError> {
        let start = self.at;
        self.at += size;
        let mut greedy = !self.flags.prefer_fewer;
        if self.rest().first() == Some(&b'?') {
            self.at += 1;
            greedy = !greedy;
        }
        if let Some(last) = last_repeat {
            return self.error(Defect::NestedRepetition, last);
        }
        let Some(node) = self.frame.sequence.pop() else {
            return self.error(Defect::MissingArgument, start);
        };
        let copies = match max.unwrap_or(min) {
            count if counted && count > 0 => node.copies.saturating_mul(count),
            _ if counted && max == Some(0) => 1,
            _ => node.copies,
        };
        if counted && (min >= 2 || max.is_some_and(|max| max >= 2)) && copies > MAX_REPETITIONS {
            return self.error(Defect::RepeatCount, start);
        }
        let hir = Hir::repetition(Repetition {
            min,
            max,
            greedy,
            sub: Box::new(node.hir),
        });
        let node = Node {
            hir,
            height: node.height + 1,
            copies,
        };
        check_height(&node, self.whole)?;
        self.frame.sequence.push(node);
        self.last_repeat = Some(start);
        Ok(())
    }

    /// Reads `{min}`, `{min,}` or `{min,max}`; anything else is an ordinary brace.
    fn parse_counted_repeat(&mut self, last_repeat: Option<usize>) -> Result<(), SyntaxError> {
        let Some((min, max, size)) = read_counts(self.rest()) else {
            self.at += 1;
            self.literal(u32::from('{'));
            return Ok(());
        };
        if min > MAX_REPETITIONS || max.is_some_and(|max| max > MAX_REPETITIONS || min > max) {
            let start = self.at;
            self.at += size;
            return self.error(Defect::RepeatCount, start);
        }
        self.repeat(size, min, max, last_repeat, true)
    }

    /// Reads a backslash and what belongs to it, outside of a class.
    fn parse_escape(&mut self) -> Result<(), SyntaxError> {
        match self.rest().get(1) {
            Some(b'A') => self.look(2, Look::Start),
            Some(b'z') => self.look(2, Look::End),
            Some(b'b') => self.look(2, Look::WordAscii),
            Some(b'B') => self.look(2, Look::WordAsciiNegate),
            Some(b'C') => {
                let start = self.at;
                self.at += 2;
                return self.error(Defect::Escape, start);
            }
            Some(b'Q') => {
                self.at += 2;
                while !self.rest().is_empty() {
                    if self.rest().starts_with(br"\E") {
                        self.at += 2;
                        break;
                    }
                    let character = self.next_character()?;
                    self.literal(u32::from(character));
                }
            }
            _ => {
                if let Some(class) = self.parse_class_escape()? {
                    self.push_class(class);
                } else {
                    let code_point = self.parse_character_escape()?;
                    self.literal(code_point);
                }
            }
        }
        Ok(())
    }
}

fn check_height(node: &Node, whole: &[u8]) -> Result<(), SyntaxError> {
    if node.height > MAX_HEIGHT {
        return Err(SyntaxError::new(Defect::TooDeep, whole));
    }
    Ok(())
}

/// Reads counts in braces: least, most if there is one, and the length of it all.
fn read_counts(text: &[u8]) -> Option<(u32, Option<u32>, usize)> {
    let inside = text.strip_prefix(b"{")?;
    let (min, rest) = read_count(inside)?;
    let (max, rest) = match rest {
        [b',', rest @ ..] if rest.starts_with(b"}") => (None, rest),
        [b',', rest @ ..] => {
            let (max, rest) = read_count(rest)?;
            (Some(max), rest)
        }
        _ => (Some(min), rest),
    };
    let rest = rest.strip_prefix(b"}")?;
    Some((min, max, text.len() - rest.len()))
}

/// Reads a number without leading zeros; what is far too large stays too large.
fn read_count(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at(digits);
    if number.is_empty() || (number.len() > 1 && number.starts_with(b"0")) {
        return None;
    }
    let number = std::str::from_utf8(number).ok()?;
    Some((number.parse().unwrap_or(u32::MAX), rest))
}
