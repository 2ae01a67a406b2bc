//! A document as it is written: which node stands where, for messages about texts that people write.

use crate::documents::Document;
use crate::tree::{Kind, NodeId, ROOT, Tree};

/// A node of a document, with its place in the text.
#[derive(Clone, Copy)]
pub struct Written<'d> {
    tree: &'d Tree<'d>,
    /// Where it stands.
    id: NodeId,
    /// What is there: the same, or what an alias stands for.
    content: NodeId,
}

impl Document<'_> {
    /// The document's outermost node.
    pub fn written(&self) -> Written<'_> {
        Written::new(&self.tree, ROOT)
    }
}

impl<'d> Written<'d> {
    fn new(tree: &'d Tree<'d>, id: NodeId) -> Self {
        Self {
            tree,
            id,
            content: tree.resolve_alias(id),
        }
    }

    /// The line, from 1.
    pub fn line(self) -> usize {
        self.tree.node(self.id).line as usize + 1
    }

    /// The column, from 1, in characters; that of the line's first text where the reader doesn't keep the node's own.
    pub fn column(self) -> usize {
        let node = self.tree.node(self.id);
        if let Some(column) = node.collection_column() {
            return column + 1;
        }
        let input = self.tree.input();
        let line = input.split('\n').nth(node.line as usize).unwrap_or_default();
        let indentation = line.chars().take_while(|character| *character == ' ').count();
        let Some(start) = node.start_in_input() else {
            return indentation + 1;
        };
        let before = input.get(..start).unwrap_or_default();
        let before = before.rsplit('\n').next().unwrap_or_default();
        // The text of a scalar begins behind its quote, and the name of an alias behind its asterisk.
        let before = before.strip_suffix(['"', '\'', '*']).unwrap_or(before);
        before.chars().count() + 1
    }

    /// The text of a scalar.
    pub fn scalar(self) -> Option<&'d str> {
        let node = self.tree.node(self.content);
        (node.kind == Kind::Scalar).then(|| self.tree.text(node))
    }

    /// The keys and values of a mapping, in the order of the text.
    pub fn entries(self) -> Option<impl Iterator<Item = (Self, Self)>> {
        let is_mapping = self.tree.node(self.content).kind == Kind::Mapping;
        let pairs = self.tree.pairs(self.content);
        is_mapping
            .then(|| pairs.map(move |(key, value)| (Self::new(self.tree, key), Self::new(self.tree, value))))
    }

    /// The items of a sequence.
    pub fn items(self) -> Option<impl Iterator<Item = Self>> {
        let is_sequence = self.tree.node(self.content).kind == Kind::Sequence;
        let children = self.tree.children(self.content);
        is_sequence.then(|| children.map(move |item| Self::new(self.tree, item)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every scalar of a text with its place.
    fn places(text: &str) -> Vec<(String, usize, usize)> {
        fn collect(node: Written<'_>, places: &mut Vec<(String, usize, usize)>) {
            if let Some(text) = node.scalar() {
                places.push((text.to_owned(), node.line(), node.column()));
            }
            for item in node.items().into_iter().flatten() {
                collect(item, places);
            }
            for (key, value) in node.entries().into_iter().flatten() {
                collect(key, places);
                collect(value, places);
            }
        }
        let document = crate::documents(text.as_bytes())
            .next()
            .expect("a document")
            .expect("YAML");
        let mut places = Vec::new();
        collect(document.written(), &mut places);
        places
    }

    #[test]
    fn every_scalar_has_the_place_where_it_begins() {
        let text = "# ä\na: 1\nlist:\n- b: 'two'\n  \"c\": &x three\n- *x\nflow: {ü: [5, \"s\\tx\"]}\n";
        let expected = [
            ("a", 2, 1),
            ("1", 2, 4),
            ("list", 3, 1),
            ("b", 4, 3),
            ("two", 4, 6),
            ("c", 5, 3),
            ("three", 5, 11),
            ("three", 6, 3),
            ("flow", 7, 1),
            ("ü", 7, 8),
            ("5", 7, 12),
            // What had to be decoded isn't in the text as it is.
            ("s\tx", 7, 1),
        ];
        let expected: Vec<_> = expected
            .map(|(text, line, column)| (text.to_owned(), line, column))
            .to_vec();
        assert_eq!(places(text), expected);
    }

    #[test]
    fn a_collection_has_the_place_where_it_begins() {
        let text = "a: {b: 1}\nc:\n  - [2]\n  - d: 3\n";
        let document = crate::documents(text.as_bytes())
            .next()
            .expect("a document")
            .expect("YAML");
        let place = |node: Written<'_>| (node.line(), node.column());
        let values: Vec<Written<'_>> = document
            .written()
            .entries()
            .expect("a map")
            .map(|(_, value)| value)
            .collect();
        let [map, list] = values.as_slice() else {
            panic!("two values")
        };
        let items: Vec<_> = list.items().expect("a list").map(place).collect();
        assert_eq!((place(*map), place(*list)), ((1, 4), (3, 3)));
        assert_eq!(items, [(3, 5), (4, 5)]);
    }

    #[test]
    fn what_is_no_collection_has_nothing_in_it() {
        let document = crate::documents(b"a").next().expect("a document").expect("YAML");
        let node = document.written();
        assert!(node.items().is_none() && node.entries().is_none());
        assert_eq!((node.scalar(), node.line(), node.column()), (Some("a"), 1, 1));
    }
}
