//! Sets of fields, and what is done with two of them.
//!
//! A set is a tree of path elements. A field that is a member doesn't make its children members, nor the other way
//! round: who owns `.metadata.labels` owns that there are labels, who owns `.metadata.labels.app` owns one of them.

use std::cmp::Ordering;

use super::element::{FieldPath, PathElement};

/// A set of fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Set {
    /// Sorted by element, each at most once, each a member or with members below it.
    pub(super) nodes: Vec<Node>,
}

/// What a set has at and below one path element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) element: PathElement,
    pub(super) member: bool,
    pub(super) children: Set,
}

impl Node {
    fn is_needed(&self) -> bool {
        self.member || !self.children.is_empty()
    }
}

impl Set {
    /// Returns the set of these fields.
    pub fn of<'a>(paths: impl IntoIterator<Item = &'a FieldPath>) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(path);
        }
        set
    }

    /// Adds a field. Its parents don't become members; the empty path (the whole object) is never one.
    pub fn insert(&mut self, path: &FieldPath) {
        let Some((last, parents)) = path.0.split_last() else {
            return;
        };
        let mut set = self;
        for element in parents {
            set = &mut set.descend(element).children;
        }
        set.descend(last).member = true;
    }

    /// Returns the node of an element, made if there is none. The caller must make it needed.
    fn descend(&mut self, element: &PathElement) -> &mut Node {
        let position = match self.position(element) {
            Ok(position) => position,
            Err(position) => {
                let node = Node {
                    element: element.clone(),
                    member: false,
                    children: Self::default(),
                };
                self.nodes.insert(position, node);
                position
            }
        };
        &mut self.nodes[position]
    }

    fn position(&self, element: &PathElement) -> Result<usize, usize> {
        // Most sets are built in order.
        match self.nodes.last() {
            Some(last) if last.element < *element => Err(self.nodes.len()),
            _ => self.nodes.binary_search_by(|node| node.element.cmp(element)),
        }
    }

    /// Adds an element with what is below it, unless there is nothing to add.
    pub(super) fn attach(&mut self, element: &PathElement, member: bool, children: Self) {
        if member || !children.is_empty() {
            self.attach_node(Node {
                element: element.clone(),
                member,
                children,
            });
        }
    }

    /// Adds the field `name` of an object with what is below it, unless there is nothing to add.
    pub(super) fn attach_field(&mut self, name: &str, member: bool, children: Self) {
        if member || !children.is_empty() {
            self.attach_node(Node {
                element: PathElement::field(name),
                member,
                children,
            });
        }
    }

    pub(super) fn attach_node(&mut self, node: Node) {
        match self.position(&node.element) {
            Err(position) => self.nodes.insert(position, node),
            Ok(position) => {
                let present = &mut self.nodes[position];
                present.member |= node.member;
                present.children.add(node.children);
            }
        }
    }

    /// Returns whether no field is a member.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns how many fields are members.
    pub fn len(&self) -> usize {
        self.nodes
            .iter()
            .map(|node| usize::from(node.member) + node.children.len())
            .sum()
    }

    /// Returns whether a field is a member.
    pub fn has(&self, path: &FieldPath) -> bool {
        let Some((last, parents)) = path.0.split_last() else {
            return false;
        };
        let mut set = self;
        for element in parents {
            let Some(children) = set.below(element) else {
                return false;
            };
            set = children;
        }
        set.has_element(last)
    }

    /// Returns whether the child that an element names is a member.
    pub fn has_element(&self, element: &PathElement) -> bool {
        self.node(element).is_some_and(|node| node.member)
    }

    /// Returns what the set has below an element: the paths that begin with it, without it.
    pub fn below(&self, element: &PathElement) -> Option<&Self> {
        self.node(element).map(|node| &node.children)
    }

    pub(super) fn node(&self, element: &PathElement) -> Option<&Node> {
        self.position(element)
            .ok()
            .and_then(|position| self.nodes.get(position))
    }

    pub(super) fn field_node(&self, name: &str) -> Option<&Node> {
        let found = self.nodes.binary_search_by(|node| match &node.element {
            PathElement::Field(field) => (**field).cmp(name),
            _ => Ordering::Greater,
        });
        found.ok().and_then(|position| self.nodes.get(position))
    }

    /// Adds the fields of another set.
    pub fn add(&mut self, other: Self) {
        if self.is_empty() {
            *self = other;
            return;
        }
        if other.is_empty() {
            return;
        }
        let mine = std::mem::take(&mut self.nodes);
        self.nodes.reserve(mine.len() + other.nodes.len());
        let (mut mine, mut theirs) = (mine.into_iter().peekable(), other.nodes.into_iter().peekable());
        loop {
            let order = match (mine.peek(), theirs.peek()) {
                (Some(left), Some(right)) => left.element.cmp(&right.element),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            match order {
                Ordering::Less => self.nodes.extend(mine.next()),
                Ordering::Greater => self.nodes.extend(theirs.next()),
                Ordering::Equal => {
                    if let (Some(mut left), Some(right)) = (mine.next(), theirs.next()) {
                        left.member |= right.member;
                        left.children.add(right.children);
                        self.nodes.push(left);
                    }
                }
            }
        }
    }

    /// Returns the fields of both sets.
    pub fn union(mut self, other: Self) -> Self {
        self.add(other);
        self
    }

    /// Returns the fields that are members of both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        let mut out = Self::default();
        self.each_pair(other, |mine, theirs| {
            let member = mine.member && theirs.member;
            let children = mine.children.intersection(&theirs.children);
            if member || !children.is_empty() {
                out.nodes.push(Node {
                    element: mine.element.clone(),
                    member,
                    children,
                });
            }
        });
        out
    }

    fn each_pair<'a>(&'a self, other: &'a Self, mut visit: impl FnMut(&'a Node, &'a Node)) {
        let (mut mine, mut theirs) = (self.nodes.iter().peekable(), other.nodes.iter().peekable());
        while let (Some(left), Some(right)) = (mine.peek(), theirs.peek()) {
            match left.element.cmp(&right.element) {
                Ordering::Less => drop(mine.next()),
                Ordering::Greater => drop(theirs.next()),
                Ordering::Equal => {
                    visit(left, right);
                    mine.next();
                    theirs.next();
                }
            }
        }
    }

    /// Removes the fields of another set. A field stays when only its parent is in the other set. Returns whether
    /// anything was removed.
    pub fn subtract(&mut self, other: &Self) -> bool {
        self.retain_against(other, |mine, theirs| {
            let mut changed = mine.member && theirs.member;
            mine.member &= !theirs.member;
            changed |= mine.children.subtract(&theirs.children);
            changed
        })
    }

    /// Removes the fields of another set with everything below them. Returns whether anything was removed.
    pub fn subtract_deeply(&mut self, other: &Self) -> bool {
        self.retain_against(other, |mine, theirs| {
            if theirs.member {
                mine.member = false;
                mine.children = Self::default();
                return true;
            }
            mine.children.subtract_deeply(&theirs.children)
        })
    }

    fn retain_against(&mut self, other: &Self, mut reduce: impl FnMut(&mut Node, &Node) -> bool) -> bool {
        if self.is_empty() || other.is_empty() {
            return false;
        }
        let mut changed = false;
        let mut theirs = other.nodes.iter().peekable();
        self.nodes.retain_mut(|mine| {
            while theirs.peek().is_some_and(|node| node.element < mine.element) {
                theirs.next();
            }
            match theirs.peek() {
                Some(node) if node.element == mine.element => {
                    changed |= reduce(mine, node);
                    mine.is_needed()
                }
                _ => true,
            }
        });
        changed
    }

    /// Returns the fields that aren't in another set.
    pub fn difference(mut self, other: &Self) -> Self {
        self.subtract(other);
        self
    }

    /// Returns the fields that are neither in another set nor below one of its fields.
    pub fn difference_deeply(mut self, other: &Self) -> Self {
        self.subtract_deeply(other);
        self
    }

    /// Returns the members that have no members below them.
    pub fn leaves(&self) -> Self {
        let nodes = self.nodes.iter().filter_map(|node| {
            let children = node.children.leaves();
            let member = node.member && children.is_empty();
            (member || !children.is_empty()).then(|| Node {
                element: node.element.clone(),
                member,
                children,
            })
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// Calls `visit` for every member: those of one level first, then those below each of them.
    pub fn each(&self, visit: &mut impl FnMut(&FieldPath)) {
        self.each_below(&mut FieldPath::default(), visit);
    }

    fn each_below(&self, prefix: &mut FieldPath, visit: &mut impl FnMut(&FieldPath)) {
        for node in self.nodes.iter().filter(|node| node.member) {
            prefix.0.push(node.element.clone());
            visit(prefix);
            prefix.0.pop();
        }
        for node in self.nodes.iter().filter(|node| !node.children.is_empty()) {
            prefix.0.push(node.element.clone());
            node.children.each_below(prefix, visit);
            prefix.0.pop();
        }
    }

    /// Returns every member, in the order of [`Set::each`].
    pub fn paths(&self) -> Vec<FieldPath> {
        let mut paths = Vec::new();
        self.each(&mut |path| paths.push(path.clone()));
        paths
    }
}
