//! Text into tokens, with libyaml's idea of indentation and of keys that only their colon gives away.
//!
//! `position` looks at the text, `structure` follows indentation and keys, `names` scans directives, anchors and tags,
//! `scalars` scans values; this file holds the queue of tokens and the decisions about what comes next.

mod names;
mod position;
mod scalars;
mod structure;

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::error::{Error, Mark};
use crate::input::Input;
use crate::limits::MAX_FLOW_LEVEL;

/// A piece of text: a range of the input, or of the scratch text where the input had to be changed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) in_scratch: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    StreamStart,
    StreamEnd,
    VersionDirective { major: u8, minor: u8 },
    TagDirective,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias,
    Anchor,
    Tag,
    Scalar { plain: bool },
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: Mark,
    pub(crate) end: Mark,
    /// A scalar's value, an anchor's name, or a tag's handle.
    pub(crate) text: Span,
    /// A tag's suffix, or the prefix that a directive gives to a handle.
    pub(crate) suffix: Span,
}

/// A token that turns out to be a key if a colon follows it on its line.
#[derive(Debug, Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    /// Whether the queue waits for the colon; go-yaml forgets to wait after an empty flow collection.
    awaited: bool,
    required: bool,
    token_number: usize,
    mark: Mark,
}

pub(crate) struct Scanner<'a> {
    input: Input<'a>,
    /// Values that differ from their source text: folded lines, escapes.
    pub(crate) scratch: String,
    /// Line breaks that a scalar has passed but not yet taken in.
    breaks: String,

    position: usize,
    mark: Mark,
    /// How much of the text go-yaml would have read by now, and where its buffer begins.
    read_up_to: usize,
    next_block: usize,
    padding: usize,
    buffer_start: usize,

    started: bool,
    tokens: VecDeque<Token>,
    tokens_taken: usize,
    token_ready: bool,

    indent: i32,
    indents: Vec<i32>,
    flow_level: usize,
    simple_key_allowed: bool,
    /// One candidate for each open flow level; their token numbers rise.
    simple_keys: Vec<SimpleKey>,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(input: Input<'a>) -> Self {
        let read_up_to = if input.blocks.is_some() { 0 } else { usize::MAX };
        Self {
            input,
            scratch: String::new(),
            breaks: String::new(),
            position: 0,
            mark: Mark::default(),
            read_up_to,
            next_block: 0,
            padding: 0,
            buffer_start: 0,
            started: false,
            tokens: VecDeque::new(),
            tokens_taken: 0,
            token_ready: false,
            indent: -1,
            indents: Vec::new(),
            flow_level: 0,
            simple_key_allowed: true,
            simple_keys: vec![SimpleKey::default()],
        }
    }

    /// Returns the text that `span` stands for.
    pub(crate) fn text(&self, span: Span) -> &str {
        let source: &str = if span.in_scratch {
            &self.scratch
        } else {
            &self.input.text
        };
        source
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default()
    }

    /// Returns the text that the spans of the input point into.
    pub(crate) fn shared_input(&self) -> Cow<'a, str> {
        self.input.text.clone()
    }

    /// Hands over the scratch text of the document that just ended.
    pub(crate) fn take_scratch(&mut self) -> String {
        if self
            .tokens
            .iter()
            .any(|token| token.text.in_scratch || token.suffix.in_scratch)
        {
            self.scratch.clone()
        } else {
            std::mem::take(&mut self.scratch)
        }
    }

    /// Returns the next token without taking it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Token, Error> {
        if !self.token_ready {
            self.fetch_more_tokens()?;
        }
        // fetch_more_tokens leaves at least one token in the queue.
        self.tokens
            .front()
            .copied()
            .ok_or_else(|| Error::yaml("attempted to go past the end of stream"))
    }

    #[inline]
    pub(crate) fn skip_token(&mut self) {
        self.token_ready = false;
        self.tokens_taken += 1;
        self.tokens.pop_front();
    }

    // ---- The queue of tokens ----

    fn fetch_more_tokens(&mut self) -> Result<(), Error> {
        while self.tokens.is_empty() || self.front_may_be_key()? {
            self.fetch_next_token()?;
        }
        self.token_ready = true;
        Ok(())
    }

    /// Whether the first token in the queue waits for the colon that would make it a key.
    fn front_may_be_key(&mut self) -> Result<bool, Error> {
        let first = match self.simple_keys.last() {
            // Most tokens are scanned outside of flow collections.
            Some(key) if self.simple_keys.len() == 1 => {
                if !(key.possible && key.awaited) || key.token_number != self.tokens_taken {
                    return Ok(false);
                }
                0
            }
            _ => self
                .simple_keys
                .partition_point(|key| key.token_number < self.tokens_taken),
        };
        for index in first..self.simple_keys.len() {
            let Some(&key) = self.simple_keys.get(index) else {
                break;
            };
            if key.token_number != self.tokens_taken {
                break;
            }
            if key.possible && key.awaited {
                return self.simple_key_is_valid(index);
            }
        }
        Ok(false)
    }

    fn push(&mut self, kind: TokenKind, start: Mark) {
        self.push_text(kind, start, Span::default(), Span::default());
    }

    fn push_text(&mut self, kind: TokenKind, start: Mark, text: Span, suffix: Span) {
        self.tokens.push_back(Token {
            kind,
            start,
            end: self.mark,
            text,
            suffix,
        });
    }

    fn insert(&mut self, token_number: usize, kind: TokenKind, mark: Mark) {
        let index = token_number
            .saturating_sub(self.tokens_taken)
            .min(self.tokens.len());
        let token = Token {
            kind,
            start: mark,
            end: mark,
            text: Span::default(),
            suffix: Span::default(),
        };
        self.tokens.insert(index, token);
    }

    fn next_token_number(&self) -> usize {
        self.tokens_taken + self.tokens.len()
    }

    fn fetch_next_token(&mut self) -> Result<(), Error> {
        self.ensure(1)?;
        if !self.started {
            self.started = true;
            self.push(TokenKind::StreamStart, self.mark);
            return Ok(());
        }
        self.skip_to_next_token()?;
        self.unroll_indent(self.mark.column as i32);
        self.ensure(4)?;

        if self.at_end() {
            return self.fetch_stream_end();
        }
        let byte = self.byte(0);
        if self.mark.column == 0 {
            if byte == b'%' {
                return self.fetch_directive();
            }
            if self.at_document_indicator() {
                let kind = if byte == b'-' {
                    TokenKind::DocumentStart
                } else {
                    TokenKind::DocumentEnd
                };
                return self.fetch_document_indicator(kind);
            }
        }
        let in_flow = self.flow_level > 0;
        match byte {
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if self.is_blank_or_end(1) => self.fetch_block_entry(),
            b'?' if in_flow || self.is_blank_or_end(1) => self.fetch_key(),
            b':' if in_flow || self.is_blank_or_end(1) => self.fetch_value(),
            b'*' => self.fetch_anchor(TokenKind::Alias),
            b'&' => self.fetch_anchor(TokenKind::Anchor),
            b'!' => self.fetch_tag(),
            b'|' if !in_flow => self.fetch_block_scalar(true),
            b'>' if !in_flow => self.fetch_block_scalar(false),
            b'\'' => self.fetch_quoted_scalar(true),
            b'"' => self.fetch_quoted_scalar(false),
            b' ' | b'\t' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => {
                self.error("found character that cannot start any token")
            }
            _ => self.fetch_plain_scalar(),
        }
    }

    fn skip_to_next_token(&mut self) -> Result<(), Error> {
        loop {
            self.ensure(1)?;
            if self.mark.column == 0 && self.buffer_starts_with_byte_order_mark() {
                self.skip();
            }
            self.ensure(1)?;
            // A tab may separate tokens, but it may not indent a key.
            while self.byte(0) == b' '
                || (self.byte(0) == b'\t' && (self.flow_level > 0 || !self.simple_key_allowed))
            {
                self.skip_ascii(1);
                self.ensure(1)?;
            }
            if self.byte(0) == b'#' {
                self.skip_line_rest()?;
            }
            if !self.is_break(0) {
                return Ok(());
            }
            self.ensure(2)?;
            self.skip_break();
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    fn skip_line_rest(&mut self) -> Result<(), Error> {
        while !self.is_break_or_end(0) {
            self.skip();
            self.ensure(1)?;
        }
        Ok(())
    }

    /// Skips a comment and the line break, where nothing else may stand.
    fn end_line(&mut self) -> Result<(), Error> {
        if self.byte(0) == b'#' {
            self.skip_line_rest()?;
        }
        if !self.is_break_or_end(0) {
            return self.error("did not find expected comment or line break");
        }
        if self.is_break(0) {
            self.ensure(2)?;
            self.skip_break();
        }
        Ok(())
    }

    // ---- One token each ----

    fn fetch_stream_end(&mut self) -> Result<(), Error> {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.push(TokenKind::StreamEnd, self.mark);
        Ok(())
    }

    fn fetch_document_indicator(&mut self, kind: TokenKind) -> Result<(), Error> {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.mark;
        self.skip_ascii(3);
        self.push(kind, start);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind) -> Result<(), Error> {
        self.save_simple_key()?;
        let token_number = self.next_token_number();
        self.simple_keys.push(SimpleKey {
            token_number,
            mark: self.mark,
            ..SimpleKey::default()
        });
        self.flow_level += 1;
        if self.flow_level > MAX_FLOW_LEVEL {
            return self.error(&format!("exceeded max depth of {MAX_FLOW_LEVEL}"));
        }
        self.simple_key_allowed = true;
        self.push_indicator(kind);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind) -> Result<(), Error> {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            let inner = self.simple_keys.pop();
            if let (Some(inner), Some(outer)) = (inner, self.simple_keys.last_mut()) {
                outer.awaited &= inner.token_number != outer.token_number;
            }
        }
        self.simple_key_allowed = false;
        self.push_indicator(kind);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), Error> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::FlowEntry);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), Error> {
        // In a flow collection it is an error too, but the parser can say more about it.
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.error("block sequence entries are not allowed in this context");
            }
            self.roll_indent(self.mark.column, None, TokenKind::BlockSequenceStart, self.mark)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), Error> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.error("mapping keys are not allowed in this context");
            }
            self.roll_indent(self.mark.column, None, TokenKind::BlockMappingStart, self.mark)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.push_indicator(TokenKind::Key);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), Error> {
        let last = self.simple_keys.len().saturating_sub(1);
        let key = self.simple_keys.get(last).copied().unwrap_or_default();
        if self.simple_key_is_valid(last)? {
            self.insert(key.token_number, TokenKind::Key, key.mark);
            self.roll_indent(
                key.mark.column,
                Some(key.token_number),
                TokenKind::BlockMappingStart,
                key.mark,
            )?;
            if let Some(key) = self.simple_keys.last_mut() {
                key.possible = false;
            }
            self.simple_key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.simple_key_allowed {
                    return self.error("mapping values are not allowed in this context");
                }
                self.roll_indent(self.mark.column, None, TokenKind::BlockMappingStart, self.mark)?;
            }
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.push_indicator(TokenKind::Value);
        Ok(())
    }

    fn push_indicator(&mut self, kind: TokenKind) {
        let start = self.mark;
        self.skip_ascii(1);
        self.push(kind, start);
    }
}
