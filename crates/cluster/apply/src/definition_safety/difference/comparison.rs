//! Two values side by side, with a count of what is equal in them.

use std::cell::RefCell;
use std::collections::HashMap;

use super::super::kind::Kind;
use super::super::typed::Typed;
use super::edit_script::{Edit, Likeness, edit_script};

/// Two values at the same place; either may be missing, where an element was added or removed.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    /// What both are.
    pub(crate) kind: &'static Kind,
    /// The first value.
    pub(crate) old: Option<&'a Typed>,
    /// The second value.
    pub(crate) new: Option<&'a Typed>,
    /// How many leaves are equal.
    pub(crate) same: usize,
    /// How many leaves differ.
    pub(crate) different: usize,
    /// How many nodes are below.
    pub(crate) below: usize,
    /// How many levels are below.
    pub(crate) depth: usize,
    /// Fields, elements or entries, with their names or keys.
    pub(crate) parts: Vec<(String, Node<'a>)>,
    /// What both point to.
    pub(crate) pointed: Option<Box<Node<'a>>>,
}

/// Compares two values.
pub(crate) fn compare<'a>(kind: &'static Kind, old: &'a Typed, new: &'a Typed) -> Node<'a> {
    Comparison::default().compare(kind, Some(old), Some(new))
}

/// Remembers how alike elements of lists are: they are compared once to find those that belong together, and lists
/// within lists would double the work with every level.
#[derive(Default)]
struct Comparison {
    known: RefCell<HashMap<(*const Typed, *const Typed), Likeness>>,
}

impl Comparison {
    fn compare<'a>(&self, kind: &'static Kind, old: Option<&'a Typed>, new: Option<&'a Typed>) -> Node<'a> {
        let mut node = Node {
            kind,
            old,
            new,
            same: 0,
            different: 0,
            below: 0,
            depth: 0,
            parts: Vec::new(),
            pointed: None,
        };
        let (Some(old), Some(new)) = (old, new) else {
            node.different = 1;
            return node;
        };
        match (kind, old, new) {
            (Kind::Pointer(to), Typed::Pointer(Some(old)), Typed::Pointer(Some(new))) => {
                let pointed = self.compare(to, Some(old), Some(new));
                node.count(&pointed);
                node.pointed = Some(Box::new(pointed));
            }
            (Kind::List(_, element), Typed::List(Some(old)), Typed::List(Some(new))) => {
                let likeness = |x: usize, y: usize| self.likeness(element, old.get(x), new.get(y));
                let (mut x, mut y) = (0, 0);
                for edit in edit_script(old.len(), new.len(), likeness) {
                    let one = (edit != Edit::Inserted).then(|| old.get(x)).flatten();
                    let other = (edit != Edit::Removed).then(|| new.get(y)).flatten();
                    x += usize::from(edit != Edit::Inserted);
                    y += usize::from(edit != Edit::Removed);
                    node.add(String::new(), self.compare(element, one, other));
                }
            }
            (Kind::Map(_, element), Typed::Map(Some(old)), Typed::Map(Some(new))) => {
                let mut keys: Vec<&String> = old.keys().chain(new.keys()).collect();
                keys.sort();
                keys.dedup();
                for key in keys {
                    node.add(key.clone(), self.compare(element, old.get(key), new.get(key)));
                }
            }
            (Kind::Structure(structure), Typed::Structure(old), Typed::Structure(new)) => {
                for (field, (old, new)) in structure.fields.iter().zip(old.iter().zip(new)) {
                    node.add(
                        field.name.to_owned(),
                        self.compare(field.kind, Some(old), Some(new)),
                    );
                }
            }
            _ if old == new => node.same = 1,
            _ => node.different = 1,
        }
        node
    }

    fn likeness(&self, kind: &'static Kind, old: Option<&Typed>, new: Option<&Typed>) -> Likeness {
        let address = |value: Option<&Typed>| value.map_or(std::ptr::null(), std::ptr::from_ref);
        let pair = (address(old), address(new));
        if let Some(known) = self.known.borrow().get(&pair) {
            return *known;
        }
        let node = self.compare(kind, old, new);
        let likeness = Likeness {
            same: node.same,
            different: node.different,
        };
        self.known.borrow_mut().insert(pair, likeness);
        likeness
    }
}

impl<'a> Node<'a> {
    fn count(&mut self, part: &Node<'a>) {
        self.same += part.same;
        self.different += part.different;
        self.below += part.below + 1;
        self.depth = self.depth.max(part.depth + 1);
    }

    fn add(&mut self, name: String, part: Node<'a>) {
        self.count(&part);
        self.parts.push((name, part));
    }
}
