//! What the nodes of a document mean: resolved scalars, merged mappings, keys as JSON has them.

use std::borrow::Cow;

use crate::error::Error;
use crate::numbers;
use crate::resolve::{Scalar, resolve_plain, resolve_tagged};
use crate::tree::{Kind, Node, NodeId, Tree};

/// Finds what a scalar node means.
#[inline]
pub(crate) fn meaning<'t>(tree: &'t Tree<'_>, id: NodeId) -> Result<Scalar<'t>, Error> {
    let node = tree.node(id);
    let text = tree.text(node);
    match tree.tag(id, node) {
        Some(tag) => resolve_tagged(tag, text),
        None if node.implicit => Ok(resolve_plain(text)),
        None => Ok(Scalar::Text(Cow::Borrowed(text))),
    }
}

/// Whether a key means that its value is to be merged into the mapping.
pub(crate) fn is_merge(tree: &Tree<'_>, id: NodeId, node: Node) -> bool {
    node.kind == Kind::Scalar
        && tree.text(node) == "<<"
        && (node.implicit || tree.tag(id, node) == Some("tag:yaml.org,2002:merge"))
}

/// One key of a mapping and the node of its value.
pub(crate) struct Entry<'t> {
    pub(crate) key: Scalar<'t>,
    pub(crate) value: NodeId,
}

/// Lists a mapping's entries after merging, in the order in which they are set; a later one wins.
///
/// The document must have passed the check: keys are scalars and no mapping contains itself.
pub(crate) fn entries<'t>(tree: &'t Tree<'_>, id: NodeId) -> Vec<Entry<'t>> {
    let mut list = Vec::new();
    collect(tree, id, &mut list);
    list
}

fn collect<'t>(tree: &'t Tree<'_>, id: NodeId, list: &mut Vec<Entry<'t>>) {
    for (key, value) in tree.pairs(id) {
        if is_merge(tree, key, tree.node(key)) {
            let source = tree.resolve_alias(value);
            if tree.node(value).kind == Kind::Sequence {
                // The earlier mapping has precedence, so it is set last.
                let sources: Vec<NodeId> = tree.children(source).collect();
                for source in sources.into_iter().rev() {
                    collect(tree, tree.resolve_alias(source), list);
                }
            } else {
                collect(tree, source, list);
            }
        } else if let Ok(key) = meaning(tree, tree.resolve_alias(key)) {
            list.push(Entry { key, value });
        }
    }
}

/// Lists a mapping's entries after merging, with only the last of those that Go takes for the same key.
pub(crate) fn effective_entries<'t>(tree: &'t Tree<'_>, id: NodeId) -> Vec<Entry<'t>> {
    let mut seen = std::collections::HashSet::new();
    let mut list = entries(tree, id);
    list.reverse();
    list.retain(|entry| KeyIdentity::new(&entry.key).is_none_or(|identity| seen.insert(identity)));
    list.reverse();
    list
}

/// What makes two keys the same key of a Go `map[interface{}]interface{}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum KeyIdentity {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(u64),
    Text(String),
}

impl KeyIdentity {
    /// Returns `None` for a NaN, which is never the same as anything.
    pub(crate) fn new(key: &Scalar<'_>) -> Option<Self> {
        Some(match key {
            Scalar::Null => Self::Null,
            Scalar::Bool(value) => Self::Bool(*value),
            Scalar::Int(value) => Self::Int(*value),
            Scalar::Uint(value) => Self::Uint(*value),
            Scalar::Float(value) if value.is_nan() => return None,
            // Adding zero makes one zero of the two.
            Scalar::Float(value) => Self::Float((value + 0.0).to_bits()),
            Scalar::Text(text) => Self::Text(text.clone().into_owned()),
        })
    }
}

/// Returns a key as JSON has it; JSON has no counterpart for null and for integers beyond 63 bits.
pub(crate) fn key_text<'t>(key: &Scalar<'t>) -> Option<Cow<'t, str>> {
    Some(match key {
        Scalar::Text(text) => text.clone(),
        Scalar::Int(number) => number.to_string().into(),
        Scalar::Float(number) => numbers::format_general_32(*number).into(),
        Scalar::Bool(true) => "true".into(),
        Scalar::Bool(false) => "false".into(),
        Scalar::Null | Scalar::Uint(_) => return None,
    })
}
