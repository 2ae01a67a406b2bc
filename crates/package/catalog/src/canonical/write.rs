//! The canonical text of a scanned value.

use std::borrow::Cow;

use super::scan::{Kind, Node, Scan};
use super::text;

/// A collection that is being written.
struct Open {
    closing: u8,
    /// Whether keys and values follow each other, so that a comma stands before every second node only.
    is_object: bool,
    first: bool,
    rest: Rest,
}

enum Rest {
    /// The nodes from here to there, in order.
    Following { node: usize, end: usize },
    /// The keys of an object and their values, last first.
    Sorted(Vec<(usize, usize)>),
}

impl Scan {
    /// Appends the canonical form of the value that was scanned last, which stands in `bytes`.
    pub(crate) fn write(&self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut open: Vec<Open> = Vec::new();
        let mut current = Some(0);
        loop {
            if let Some(index) = current.take()
                && let Some(collection) = self.begin(index, bytes, out)
            {
                open.push(collection);
            }
            let Some(innermost) = open.last_mut() else {
                return;
            };
            let pair = match &mut innermost.rest {
                Rest::Sorted(pairs) => pairs.pop(),
                Rest::Following { node, end } => (*node < *end).then(|| {
                    let first = *node;
                    let value = if innermost.is_object {
                        self.next(first)
                    } else {
                        first
                    };
                    *node = self.next(value);
                    (first, value)
                }),
            };
            let Some((key, value)) = pair else {
                out.push(innermost.closing);
                open.pop();
                continue;
            };
            if !std::mem::take(&mut innermost.first) {
                out.push(b',');
            }
            if innermost.is_object {
                self.begin(key, bytes, out);
                out.push(b':');
            }
            current = Some(value);
        }
    }

    fn next(&self, index: usize) -> usize {
        self.nodes
            .get(index)
            .map_or(self.nodes.len(), |node| node.next as usize)
    }

    /// Writes a scalar, or the opening of a collection.
    fn begin(&self, index: usize, bytes: &[u8], out: &mut Vec<u8>) -> Option<Open> {
        let node = self.nodes.get(index)?;
        let source = source(node, bytes);
        let is_object = match node.kind {
            Kind::Verbatim => {
                out.extend_from_slice(source);
                return None;
            }
            Kind::Text => {
                text::append(&text::decode(source), out);
                return None;
            }
            Kind::Number => {
                out.extend_from_slice(number(source).as_bytes());
                return None;
            }
            Kind::Array => false,
            Kind::Object | Kind::Unordered => true,
        };
        out.push(if is_object { b'{' } else { b'[' });
        let (node_index, end) = (index + 1, node.next as usize);
        Some(Open {
            closing: if is_object { b'}' } else { b']' },
            is_object,
            first: true,
            rest: if node.kind == Kind::Unordered {
                Rest::Sorted(self.sorted(node_index, end, bytes))
            } else {
                Rest::Following {
                    node: node_index,
                    end,
                }
            },
        })
    }

    /// The entries of an object by descending key; of a repeated key only the last.
    fn sorted(&self, start: usize, end: usize, bytes: &[u8]) -> Vec<(usize, usize)> {
        let mut entries: Vec<(Cow<'_, str>, usize, usize)> = Vec::new();
        let mut index = start;
        while index < end {
            let value = self.next(index);
            let key = self
                .nodes
                .get(index)
                .map(|node| text::decode(source(node, bytes)));
            entries.push((key.unwrap_or_default(), index, value));
            index = self.next(value);
        }
        entries.sort_by(|(a, a_index, _), (b, b_index, _)| b.cmp(a).then(b_index.cmp(a_index)));
        entries.dedup_by(|later, kept| later.0 == kept.0);
        entries.into_iter().map(|(_, key, value)| (key, value)).collect()
    }
}

fn source<'a>(node: &Node, bytes: &'a [u8]) -> &'a [u8] {
    bytes
        .get(node.start as usize..node.end as usize)
        .unwrap_or_default()
}

/// A number as Go prints the float that it reads it as.
fn number(source: &[u8]) -> String {
    std::str::from_utf8(source)
        .ok()
        .and_then(|text| text.parse().ok())
        .and_then(goyaml::json::number_text)
        .unwrap_or_else(|| String::from_utf8_lossy(source).into_owned())
}
