//! Tokens into events: where nodes begin and end, and which anchor and tag they carry.

use crate::error::{Error, Mark};
use crate::input::Input;
use crate::scanner::{Scanner, Span, Token, TokenKind};

/// What a node's properties say, before its content is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Properties {
    pub(crate) anchor: Option<Span>,
    /// The tag with its handle resolved; empty if there is none.
    pub(crate) tag: String,
}

#[derive(Debug)]
pub(crate) enum Event {
    StreamEnd,
    DocumentStart {
        mark: Mark,
    },
    DocumentEnd,
    Alias {
        name: Span,
        mark: Mark,
    },
    /// `implicit`: the value decides its own type.
    Scalar {
        properties: Properties,
        text: Span,
        implicit: bool,
        mark: Mark,
    },
    SequenceStart {
        properties: Properties,
        mark: Mark,
    },
    SequenceEnd,
    MappingStart {
        properties: Properties,
        mark: Mark,
    },
    MappingEnd,
}

#[derive(Debug, Clone, Copy)]
enum State {
    StreamStart,
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceEntry { first: bool },
    IndentlessSequenceEntry,
    BlockMappingKey { first: bool },
    BlockMappingValue,
    FlowSequenceEntry { first: bool },
    FlowSequenceEntryMappingKey,
    FlowSequenceEntryMappingValue,
    FlowSequenceEntryMappingEnd,
    FlowMappingKey { first: bool },
    FlowMappingValue,
    FlowMappingEmptyValue,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    Block,
    BlockOrIndentless,
    Flow,
}

pub(crate) struct Parser<'a> {
    pub(crate) scanner: Scanner<'a>,
    state: State,
    /// Where to go on after each open node.
    states: Vec<State>,
    tag_prefixes: Vec<(String, String)>,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(input: Input<'a>) -> Self {
        Self {
            scanner: Scanner::new(input),
            state: State::StreamStart,
            states: Vec::new(),
            tag_prefixes: Vec::new(),
        }
    }

    pub(crate) fn next_event(&mut self) -> Result<Event, Error> {
        match self.state {
            State::StreamStart => {
                self.scanner.peek()?;
                self.scanner.skip_token();
                self.state = State::ImplicitDocumentStart;
                self.next_event()
            }
            State::ImplicitDocumentStart => self.document_start(true),
            State::DocumentStart => self.document_start(false),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(Context::Block),
            State::BlockSequenceEntry { first } => self.block_sequence_entry(first),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockMappingKey { first } => self.block_mapping_key(first),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceEntry { first } => self.flow_sequence_entry(first),
            State::FlowSequenceEntryMappingKey => self.flow_sequence_entry_mapping_key(),
            State::FlowSequenceEntryMappingValue => self.flow_sequence_entry_mapping_value(),
            State::FlowSequenceEntryMappingEnd => {
                self.scanner.peek()?;
                self.state = State::FlowSequenceEntry { first: false };
                Ok(Event::MappingEnd)
            }
            State::FlowMappingKey { first } => self.flow_mapping_key(first),
            State::FlowMappingValue => self.flow_mapping_value(),
            State::FlowMappingEmptyValue => {
                let token = self.scanner.peek()?;
                Ok(self.empty_scalar(State::FlowMappingKey { first: false }, token.start))
            }
            State::End => Ok(Event::StreamEnd),
        }
    }

    fn take_next(&mut self) -> Result<Token, Error> {
        self.scanner.skip_token();
        self.scanner.peek()
    }

    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    fn empty_scalar(&mut self, next: State, mark: Mark) -> Event {
        self.state = next;
        Event::Scalar {
            properties: Properties::default(),
            text: Span::default(),
            implicit: true,
            mark,
        }
    }

    fn node_then(&mut self, next: State, context: Context) -> Result<Event, Error> {
        self.states.push(next);
        self.node(context)
    }

    // ---- Documents ----

    fn document_start(&mut self, implicit: bool) -> Result<Event, Error> {
        let mut token = self.scanner.peek()?;
        if !implicit {
            while token.kind == TokenKind::DocumentEnd {
                token = self.take_next()?;
            }
        }
        let mark = token.start;
        match token.kind {
            TokenKind::StreamEnd => {
                self.scanner.skip_token();
                self.state = State::End;
                Ok(Event::StreamEnd)
            }
            TokenKind::VersionDirective { .. } | TokenKind::TagDirective | TokenKind::DocumentStart => {
                self.explicit_document_start(mark)
            }
            _ if implicit => {
                self.process_directives()?;
                self.states.push(State::DocumentEnd);
                self.state = State::BlockNode;
                Ok(Event::DocumentStart { mark })
            }
            _ => self.explicit_document_start(mark),
        }
    }

    fn explicit_document_start(&mut self, mark: Mark) -> Result<Event, Error> {
        self.process_directives()?;
        let token = self.scanner.peek()?;
        if token.kind != TokenKind::DocumentStart {
            return Err(Error::parser(
                "did not find expected <document start>",
                token.start,
            ));
        }
        self.scanner.skip_token();
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        Ok(Event::DocumentStart { mark })
    }

    fn document_content(&mut self) -> Result<Event, Error> {
        let token = self.scanner.peek()?;
        match token.kind {
            TokenKind::VersionDirective { .. }
            | TokenKind::TagDirective
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd => {
                self.pop_state();
                Ok(self.empty_scalar(self.state, token.start))
            }
            _ => self.node(Context::Block),
        }
    }

    fn document_end(&mut self) -> Result<Event, Error> {
        if self.scanner.peek()?.kind == TokenKind::DocumentEnd {
            self.scanner.skip_token();
        }
        self.tag_prefixes.clear();
        self.state = State::DocumentStart;
        Ok(Event::DocumentEnd)
    }

    fn process_directives(&mut self) -> Result<(), Error> {
        let mut version_seen = false;
        let mut token = self.scanner.peek()?;
        loop {
            match token.kind {
                TokenKind::VersionDirective { .. } if version_seen => {
                    return Err(Error::parser("found duplicate %YAML directive", token.start));
                }
                TokenKind::VersionDirective { major: 1, minor: 1 } => version_seen = true,
                TokenKind::VersionDirective { .. } => {
                    return Err(Error::parser("found incompatible YAML document", token.start));
                }
                TokenKind::TagDirective => {
                    let handle = self.scanner.text(token.text).to_owned();
                    if self.tag_prefixes.iter().any(|(known, _)| *known == handle) {
                        return Err(Error::parser("found duplicate %TAG directive", token.start));
                    }
                    let prefix = self.scanner.text(token.suffix).to_owned();
                    self.tag_prefixes.push((handle, prefix));
                }
                _ => return Ok(()),
            }
            token = self.take_next()?;
        }
    }

    fn resolve_tag(&self, token: &Token) -> Result<String, Error> {
        let handle = self.scanner.text(token.text);
        let suffix = self.scanner.text(token.suffix);
        if handle.is_empty() {
            return Ok(suffix.to_owned());
        }
        let declared = self
            .tag_prefixes
            .iter()
            .find(|(known, _)| known == handle)
            .map(|(_, prefix)| prefix.as_str());
        let prefix = declared.or(match handle {
            "!" => Some("!"),
            "!!" => Some("tag:yaml.org,2002:"),
            _ => None,
        });
        match prefix.map(|prefix| format!("{prefix}{suffix}")) {
            Some(tag) if !tag.is_empty() => Ok(tag),
            _ => Err(Error::parser("found undefined tag handle", token.start)),
        }
    }

    // ---- Nodes ----

    fn node(&mut self, context: Context) -> Result<Event, Error> {
        let mut token = self.scanner.peek()?;
        let mark = token.start;
        if token.kind == TokenKind::Alias {
            self.pop_state();
            self.scanner.skip_token();
            return Ok(Event::Alias {
                name: token.text,
                mark,
            });
        }

        let mut properties = Properties::default();
        let mut tag = None;
        if token.kind == TokenKind::Anchor {
            properties.anchor = Some(token.text);
            token = self.take_next()?;
            if token.kind == TokenKind::Tag {
                tag = Some(token);
                token = self.take_next()?;
            }
        } else if token.kind == TokenKind::Tag {
            tag = Some(token);
            token = self.take_next()?;
            if token.kind == TokenKind::Anchor {
                properties.anchor = Some(token.text);
                token = self.take_next()?;
            }
        }
        if let Some(tag) = tag {
            properties.tag = self.resolve_tag(&tag)?;
        }

        let block = context != Context::Flow;
        match token.kind {
            TokenKind::BlockEntry if context == Context::BlockOrIndentless => {
                self.state = State::IndentlessSequenceEntry;
                Ok(Event::SequenceStart { properties, mark })
            }
            TokenKind::Scalar { plain } => {
                let implicit = (properties.tag.is_empty() && plain) || properties.tag == "!";
                self.pop_state();
                self.scanner.skip_token();
                Ok(Event::Scalar {
                    properties,
                    text: token.text,
                    implicit,
                    mark,
                })
            }
            TokenKind::FlowSequenceStart => {
                self.state = State::FlowSequenceEntry { first: true };
                Ok(Event::SequenceStart { properties, mark })
            }
            TokenKind::FlowMappingStart => {
                self.state = State::FlowMappingKey { first: true };
                Ok(Event::MappingStart { properties, mark })
            }
            TokenKind::BlockSequenceStart if block => {
                self.state = State::BlockSequenceEntry { first: true };
                Ok(Event::SequenceStart { properties, mark })
            }
            TokenKind::BlockMappingStart if block => {
                self.state = State::BlockMappingKey { first: true };
                Ok(Event::MappingStart { properties, mark })
            }
            _ if properties.anchor.is_some() || !properties.tag.is_empty() => {
                let implicit = properties.tag.is_empty();
                self.pop_state();
                Ok(Event::Scalar {
                    properties,
                    text: Span::default(),
                    implicit,
                    mark,
                })
            }
            _ => Err(Error::parser("did not find expected node content", token.start)),
        }
    }

    // ---- Block collections ----

    fn block_sequence_entry(&mut self, first: bool) -> Result<Event, Error> {
        if first {
            self.scanner.peek()?;
            self.scanner.skip_token();
        }
        let token = self.scanner.peek()?;
        match token.kind {
            TokenKind::BlockEntry => {
                let next = State::BlockSequenceEntry { first: false };
                match self.take_next()?.kind {
                    TokenKind::BlockEntry | TokenKind::BlockEnd => Ok(self.empty_scalar(next, token.end)),
                    _ => self.node_then(next, Context::Block),
                }
            }
            TokenKind::BlockEnd => {
                self.pop_state();
                self.scanner.skip_token();
                Ok(Event::SequenceEnd)
            }
            _ => Err(Error::parser("did not find expected '-' indicator", token.start)),
        }
    }

    fn indentless_sequence_entry(&mut self) -> Result<Event, Error> {
        let token = self.scanner.peek()?;
        if token.kind != TokenKind::BlockEntry {
            self.pop_state();
            return Ok(Event::SequenceEnd);
        }
        let next = State::IndentlessSequenceEntry;
        match self.take_next()?.kind {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                Ok(self.empty_scalar(next, token.end))
            }
            _ => self.node_then(next, Context::Block),
        }
    }

    fn block_mapping_key(&mut self, first: bool) -> Result<Event, Error> {
        if first {
            self.scanner.peek()?;
            self.scanner.skip_token();
        }
        let token = self.scanner.peek()?;
        match token.kind {
            TokenKind::Key => self.block_mapping_part(token.end, State::BlockMappingValue),
            TokenKind::BlockEnd => {
                self.pop_state();
                self.scanner.skip_token();
                Ok(Event::MappingEnd)
            }
            _ => Err(Error::parser("did not find expected key", token.start)),
        }
    }

    fn block_mapping_value(&mut self) -> Result<Event, Error> {
        let token = self.scanner.peek()?;
        let next = State::BlockMappingKey { first: false };
        if token.kind == TokenKind::Value {
            self.block_mapping_part(token.end, next)
        } else {
            Ok(self.empty_scalar(next, token.start))
        }
    }

    /// What follows `?` or `:`, which may be nothing.
    fn block_mapping_part(&mut self, indicator_end: Mark, next: State) -> Result<Event, Error> {
        match self.take_next()?.kind {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                Ok(self.empty_scalar(next, indicator_end))
            }
            _ => self.node_then(next, Context::BlockOrIndentless),
        }
    }

    // ---- Flow collections ----

    fn flow_sequence_entry(&mut self, first: bool) -> Result<Event, Error> {
        if first {
            self.scanner.peek()?;
            self.scanner.skip_token();
        }
        let mut token = self.scanner.peek()?;
        if token.kind != TokenKind::FlowSequenceEnd {
            if !first {
                if token.kind != TokenKind::FlowEntry {
                    return Err(Error::parser("did not find expected ',' or ']'", token.start));
                }
                token = self.take_next()?;
            }
            if token.kind == TokenKind::Key {
                self.state = State::FlowSequenceEntryMappingKey;
                self.scanner.skip_token();
                return Ok(Event::MappingStart {
                    properties: Properties::default(),
                    mark: token.start,
                });
            }
            if token.kind != TokenKind::FlowSequenceEnd {
                return self.node_then(State::FlowSequenceEntry { first: false }, Context::Flow);
            }
        }
        self.pop_state();
        self.scanner.skip_token();
        Ok(Event::SequenceEnd)
    }

    fn flow_sequence_entry_mapping_key(&mut self) -> Result<Event, Error> {
        let token = self.scanner.peek()?;
        let next = State::FlowSequenceEntryMappingValue;
        if matches!(
            token.kind,
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd
        ) {
            // go-yaml drops this token too, so `[? , a]` is not what it seems.
            self.scanner.skip_token();
            Ok(self.empty_scalar(next, token.end))
        } else {
            self.node_then(next, Context::Flow)
        }
    }

    fn flow_sequence_entry_mapping_value(&mut self) -> Result<Event, Error> {
        let mut token = self.scanner.peek()?;
        let next = State::FlowSequenceEntryMappingEnd;
        if token.kind == TokenKind::Value {
            token = self.take_next()?;
            if !matches!(token.kind, TokenKind::FlowEntry | TokenKind::FlowSequenceEnd) {
                return self.node_then(next, Context::Flow);
            }
        }
        Ok(self.empty_scalar(next, token.start))
    }

    fn flow_mapping_key(&mut self, first: bool) -> Result<Event, Error> {
        if first {
            self.scanner.peek()?;
            self.scanner.skip_token();
        }
        let mut token = self.scanner.peek()?;
        if token.kind != TokenKind::FlowMappingEnd {
            if !first {
                if token.kind != TokenKind::FlowEntry {
                    return Err(Error::parser("did not find expected ',' or '}'", token.start));
                }
                token = self.take_next()?;
            }
            if token.kind == TokenKind::Key {
                let token = self.take_next()?;
                let next = State::FlowMappingValue;
                return match token.kind {
                    TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd => {
                        Ok(self.empty_scalar(next, token.start))
                    }
                    _ => self.node_then(next, Context::Flow),
                };
            }
            if token.kind != TokenKind::FlowMappingEnd {
                return self.node_then(State::FlowMappingEmptyValue, Context::Flow);
            }
        }
        self.pop_state();
        self.scanner.skip_token();
        Ok(Event::MappingEnd)
    }

    fn flow_mapping_value(&mut self) -> Result<Event, Error> {
        let mut token = self.scanner.peek()?;
        let next = State::FlowMappingKey { first: false };
        if token.kind == TokenKind::Value {
            token = self.take_next()?;
            if !matches!(token.kind, TokenKind::FlowEntry | TokenKind::FlowMappingEnd) {
                return self.node_then(next, Context::Flow);
            }
        }
        Ok(self.empty_scalar(next, token.start))
    }
}
