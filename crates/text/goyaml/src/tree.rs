//! A document as go-yaml keeps it before it decides what the values mean.
//!
//! Nodes lie in one list in the order of the text; a collection knows where it ends, so that a reader can
//! step over it. Text stays in the input wherever it reads as written there.

use std::collections::HashMap;

use crate::error::{Error, Mark};
use crate::parser::{Event, Parser, Properties};
use crate::scanner::Span;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Scalar,
    Alias,
    Sequence,
    Mapping,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    start: u32,
    end: u32,
    pub(crate) line: u32,
    /// Where a collection ends in the list, or the node that an alias stands for.
    link: u32,
    pub(crate) kind: Kind,
    in_scratch: bool,
    tagged: bool,
    /// The value decides its own type.
    pub(crate) implicit: bool,
}

/// A node's place in its tree.
pub(crate) type NodeId = u32;

pub(crate) struct Tree<'a> {
    input: std::borrow::Cow<'a, str>,
    scratch: String,
    nodes: Vec<Node>,
    /// Sorted by node.
    tags: Vec<(NodeId, String)>,
    pub(crate) line: u32,
    pub(crate) has_aliases: bool,
}

pub(crate) const ROOT: NodeId = 0;

impl Node {
    /// Where a scalar's text begins in the input; none where there is none, or it had to be decoded.
    pub(crate) fn start_in_input(self) -> Option<usize> {
        (!self.in_scratch && self.end > self.start).then_some(self.start as usize)
    }

    /// Returns the 0-based column at which a collection begins, in characters.
    pub(crate) fn collection_column(self) -> Option<usize> {
        matches!(self.kind, Kind::Sequence | Kind::Mapping).then_some(self.start as usize)
    }

    /// Returns the node that an alias stands for.
    pub(crate) fn alias_target(self) -> NodeId {
        self.link
    }
}

impl Tree<'_> {
    pub(crate) fn null() -> Tree<'static> {
        Tree {
            input: "".into(),
            scratch: String::new(),
            nodes: vec![EMPTY],
            tags: Vec::new(),
            line: 0,
            has_aliases: false,
        }
    }

    pub(crate) fn node(&self, id: NodeId) -> Node {
        self.nodes.get(id as usize).copied().unwrap_or(EMPTY)
    }

    pub(crate) fn text(&self, node: Node) -> &str {
        let source: &str = if node.in_scratch {
            &self.scratch
        } else {
            &self.input
        };
        source
            .get(node.start as usize..node.end as usize)
            .unwrap_or_default()
    }

    /// The whole text that the tree was read from, decoded.
    pub(crate) fn input(&self) -> &str {
        &self.input
    }

    pub(crate) fn tag(&self, id: NodeId, node: Node) -> Option<&str> {
        if !node.tagged {
            return None;
        }
        let index = self.tags.binary_search_by_key(&id, |&(tagged, _)| tagged).ok()?;
        self.tags.get(index).map(|(_, tag)| tag.as_str())
    }

    /// Follows aliases to a node that is none.
    pub(crate) fn resolve_alias(&self, mut id: NodeId) -> NodeId {
        // An alias stands for a node that begins before it, so this ends.
        while self.node(id).kind == Kind::Alias {
            let target = self.node(id).link;
            if target >= id {
                break;
            }
            id = target;
        }
        id
    }

    /// Returns where the list goes on after the node.
    pub(crate) fn after(&self, id: NodeId) -> NodeId {
        let node = self.node(id);
        match node.kind {
            Kind::Scalar | Kind::Alias => id + 1,
            Kind::Sequence | Kind::Mapping => node.link.max(id + 1),
        }
    }

    /// Iterates over a sequence's items, or over a mapping's keys and values in turn.
    pub(crate) fn children(&self, id: NodeId) -> Children<'_> {
        Children {
            tree: self,
            next: id + 1,
            end: self.after(id),
        }
    }

    /// Iterates over a mapping's keys and values.
    pub(crate) fn pairs(&self, id: NodeId) -> impl Iterator<Item = (NodeId, NodeId)> {
        let mut children = self.children(id);
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }
}

const EMPTY: Node = Node {
    start: 0,
    end: 0,
    line: 0,
    link: 0,
    kind: Kind::Scalar,
    in_scratch: false,
    tagged: false,
    implicit: true,
};

pub(crate) struct Children<'t> {
    tree: &'t Tree<'t>,
    next: NodeId,
    end: NodeId,
}

impl Iterator for Children<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        if self.next >= self.end {
            return None;
        }
        let id = self.next;
        self.next = self.tree.after(id);
        Some(id)
    }
}

/// Gathers the nodes of one document.
struct Composer {
    nodes: Vec<Node>,
    tags: Vec<(NodeId, String)>,
    anchors: HashMap<String, NodeId>,
    open: Vec<NodeId>,
    has_aliases: bool,
}

impl Composer {
    fn add(&mut self, kind: Kind, text: Span, implicit: bool, mark: Mark, tag: String) -> NodeId {
        let id = self.nodes.len() as NodeId;
        let tagged = !tag.is_empty();
        if tagged {
            self.tags.push((id, tag));
        }
        let Span {
            start,
            end,
            in_scratch,
        } = text;
        self.nodes.push(Node {
            start,
            end,
            line: mark.line,
            link: 0,
            kind,
            in_scratch,
            tagged,
            implicit,
        });
        id
    }

    fn open(&mut self, parser: &Parser<'_>, kind: Kind, properties: &Properties, mark: Mark) {
        // A collection has no text, so its column is kept there.
        let place = Span {
            start: mark.column,
            end: mark.column,
            in_scratch: false,
        };
        // go-yaml ignores the tag of a collection.
        let id = self.add(kind, place, true, mark, String::new());
        self.anchor(parser, properties, id);
        self.open.push(id);
    }

    fn close(&mut self) {
        let end = self.nodes.len() as NodeId;
        if let Some(node) = self.open.pop().and_then(|id| self.nodes.get_mut(id as usize)) {
            node.link = end;
        }
    }

    fn anchor(&mut self, parser: &Parser<'_>, properties: &Properties, id: NodeId) {
        if let Some(anchor) = properties.anchor {
            self.anchors.insert(parser.scanner.text(anchor).to_owned(), id);
        }
    }
}

/// Reads the next document of a stream; `None` at the stream's end. Gives up at more than `most` nodes.
pub(crate) fn compose<'a>(parser: &mut Parser<'a>, most: Option<usize>) -> Result<Option<Tree<'a>>, Error> {
    let line = loop {
        match parser.next_event()? {
            Event::StreamEnd => return Ok(None),
            Event::DocumentStart { mark } => break mark.line,
            _ => {}
        }
    };
    let mut composer = Composer {
        nodes: Vec::new(),
        tags: Vec::new(),
        anchors: HashMap::new(),
        open: Vec::new(),
        has_aliases: false,
    };
    loop {
        if let Some(most) = most
            && composer.nodes.len() > most
        {
            return Err(Error::too_many_values(most));
        }
        match parser.next_event()? {
            Event::Scalar {
                properties,
                text,
                implicit,
                mark,
            } => {
                let id = composer.nodes.len() as NodeId;
                composer.anchor(parser, &properties, id);
                composer.add(Kind::Scalar, text, implicit, mark, properties.tag);
            }
            Event::Alias { name, mark } => {
                let text = parser.scanner.text(name);
                let Some(&target) = composer.anchors.get(text) else {
                    return Err(Error::yaml(format_args!("unknown anchor '{text}' referenced")).at(mark));
                };
                composer.has_aliases = true;
                let id = composer.add(Kind::Alias, name, true, mark, String::new());
                if let Some(node) = composer.nodes.get_mut(id as usize) {
                    node.link = target;
                }
            }
            Event::SequenceStart { properties, mark } => {
                composer.open(parser, Kind::Sequence, &properties, mark);
            }
            Event::MappingStart { properties, mark } => {
                composer.open(parser, Kind::Mapping, &properties, mark);
            }
            Event::SequenceEnd | Event::MappingEnd => composer.close(),
            Event::DocumentStart { .. } => {}
            Event::DocumentEnd | Event::StreamEnd => break,
        }
    }
    let Composer {
        nodes,
        tags,
        has_aliases,
        ..
    } = composer;
    Ok(Some(Tree {
        input: parser.scanner.shared_input(),
        scratch: parser.scanner.take_scratch(),
        nodes,
        tags,
        line,
        has_aliases,
    }))
}
