//! The range of what an expression can cost, from the sizes that its schema allows.
//!
//! Every node has a path through the declared types where that is known (`self`, `spec`, `@items`), and from it the
//! largest size that its value can have.

use std::collections::HashMap;
use std::sync::Arc;

use super::calls;
use super::range::Range;
use crate::check::declared::KEY;
use crate::check::{Checked, Declared, DeclaredKind, Type};
use crate::syntax::ast::{ACCUMULATOR, Comprehension};
use crate::syntax::parse::with_stack;
use crate::syntax::{Expression, Kind, Literal, NodeId};

/// A path through declared types. The first part is a variable.
pub(super) type Path = Vec<Arc<str>>;

/// Estimates what a checked expression costs. `root` is what its variable declares.
pub(crate) fn estimate(checked: &Checked, root: &Arc<Declared>) -> Range {
    let mut estimator = Estimator {
        checked,
        root,
        paths: HashMap::new(),
        locals: Vec::new(),
        sizes: HashMap::new(),
        entry_sizes: HashMap::new(),
    };
    estimator.cost(&checked.tree)
}

pub(super) struct Estimator<'a> {
    checked: &'a Checked,
    root: &'a Arc<Declared>,
    paths: HashMap<NodeId, Path>,
    locals: Vec<Local>,
    sizes: HashMap<NodeId, Range>,
    entry_sizes: HashMap<NodeId, EntrySize>,
}

struct Local {
    name: Arc<str>,
    path: Path,
    size: Option<Range>,
    entry_size: Option<EntrySize>,
}

/// The sizes of what a list or a map holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntrySize {
    is_list: bool,
    key: Range,
    value: Range,
}

impl EntrySize {
    pub(super) fn union(self, other: Self) -> Self {
        Self {
            is_list: self.is_list,
            key: self.key.union(other.key),
            value: self.value.union(other.value),
        }
    }
}

/// A node as a call sees it.
pub(super) struct Node<'a> {
    pub(super) expression: &'a Expression,
    pub(super) path: Path,
    pub(super) of: Type,
    pub(super) size: Option<Range>,
}

impl<'a> Estimator<'a> {
    fn cost(&mut self, node: &'a Expression) -> Range {
        with_stack(|| self.cost_here(node))
    }

    fn cost_here(&mut self, node: &'a Expression) -> Range {
        match &node.kind {
            Kind::Literal(_) => Range::ZERO,
            Kind::Identifier(name) => {
                let path = match self.local(name) {
                    Some(local) => local.path.clone(),
                    None => vec![name.clone()],
                };
                self.paths.insert(node.id, path);
                Range::exactly(1)
            }
            Kind::Select {
                operand, test: true, ..
            } => self.cost(operand),
            Kind::Select { operand, field, .. } => {
                let mut cost = self.cost(operand);
                if matches!(
                    self.checked.type_of(operand.id),
                    Type::Map(_) | Type::Struct(_) | Type::Parameter(_)
                ) {
                    cost = cost.plus(Range::exactly(1));
                }
                let mut path = self.path(operand);
                path.push(field.clone());
                self.paths.insert(node.id, path);
                cost
            }
            Kind::Call {
                function,
                target,
                arguments,
            } => self.call(node, function, target.as_deref(), arguments),
            Kind::List { elements, .. } => {
                let mut cost = Range::ZERO;
                let mut value = if elements.is_empty() {
                    Range::ZERO
                } else {
                    Range::between(u64::MAX, 0)
                };
                for element in elements {
                    cost = cost.plus(self.cost(element));
                    value = value.union(self.size_or_unknown(element));
                }
                self.entry_sizes.insert(
                    node.id,
                    EntrySize {
                        is_list: true,
                        key: Range::exactly(1),
                        value,
                    },
                );
                cost.plus(Range::exactly(super::LIST))
            }
            Kind::Map { entries } => {
                let mut cost = Range::ZERO;
                let start = if entries.is_empty() {
                    Range::ZERO
                } else {
                    Range::between(u64::MAX, 0)
                };
                let (mut key, mut value) = (start, start);
                for entry in entries {
                    cost = cost.plus(self.cost(&entry.key)).plus(self.cost(&entry.value));
                    key = key.union(self.size_or_unknown(&entry.key));
                    value = value.union(self.size_or_unknown(&entry.value));
                }
                self.entry_sizes.insert(
                    node.id,
                    EntrySize {
                        is_list: false,
                        key,
                        value,
                    },
                );
                cost.plus(Range::exactly(super::MAP))
            }
            Kind::Struct { fields, .. } => {
                let mut cost = Range::exactly(super::OBJECT);
                for field in fields {
                    cost = cost.plus(self.cost(&field.value));
                }
                cost
            }
            Kind::Comprehension(comprehension) => {
                if is_bind(comprehension) {
                    self.bind(node, comprehension)
                } else {
                    self.fold(node, comprehension)
                }
            }
        }
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| &*local.name == name)
    }

    pub(super) fn path(&self, node: &Expression) -> Path {
        if let Kind::Identifier(name) = &node.kind
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths.get(&node.id).cloned().unwrap_or_default()
    }

    pub(super) fn node(&mut self, expression: &'a Expression) -> Node<'a> {
        let mut path = self.path(expression);
        if path
            .first()
            .is_some_and(|first| &**first == ACCUMULATOR || &**first == "__result__")
        {
            path.clear();
        }
        let size = self.size(expression);
        Node {
            expression,
            path,
            of: self.checked.type_of(expression.id).clone(),
            size,
        }
    }

    /// Returns the largest size that the declared types allow at a path.
    pub(super) fn declared_size(&self, path: &[Arc<str>]) -> Option<Range> {
        let (_, rest) = path.split_first()?;
        let mut current = self.root;
        for part in rest {
            current = match (&current.kind, &**part) {
                (DeclaredKind::List(inner) | DeclaredKind::Map(inner), "@items" | "@values") => inner,
                (DeclaredKind::Map(_), "@keys") => &KEY,
                (DeclaredKind::Object(fields), name) => fields.get(name)?,
                _ => return None,
            };
        }
        Some(Range::between(0, current.most_elements as u64))
    }

    pub(super) fn size(&mut self, node: &Expression) -> Option<Range> {
        if let Some(size) = self.sizes.get(&node.id) {
            return Some(*size);
        }
        match &node.kind {
            Kind::Literal(literal) => {
                return Some(Range::exactly(match literal {
                    Literal::String(text) => text.chars().count() as u64,
                    Literal::Bytes(bytes) => bytes.len() as u64,
                    _ => 1,
                }));
            }
            Kind::List { elements, .. } => return Some(Range::exactly(elements.len() as u64)),
            Kind::Map { entries } => return Some(Range::exactly(entries.len() as u64)),
            _ => {}
        }
        if let Some(size) = self.declared_size(&self.path(node)) {
            self.sizes.insert(node.id, size);
            return Some(size);
        }
        if is_scalar(self.checked.type_of(node.id)) {
            return Some(Range::exactly(1));
        }
        match &node.kind {
            Kind::Identifier(name) => self.local(name).and_then(|local| local.size),
            _ => None,
        }
    }

    pub(super) fn size_or_unknown(&mut self, node: &Expression) -> Range {
        self.size(node).unwrap_or(Range::UNKNOWN)
    }

    pub(super) fn entry_size(&self, node: &Expression) -> Option<EntrySize> {
        if let Some(size) = self.entry_sizes.get(&node.id) {
            return Some(*size);
        }
        match &node.kind {
            Kind::Identifier(name) => self.local(name).and_then(|local| local.entry_size),
            _ => None,
        }
    }

    pub(super) fn set_entry_size(&mut self, id: NodeId, size: Option<EntrySize>) {
        if let Some(size) = size {
            self.entry_sizes.insert(id, size);
        }
    }

    fn set_size(&mut self, id: NodeId, size: Option<Range>) {
        if let Some(size) = size {
            self.sizes.insert(id, size);
        }
    }

    fn copy_sizes(&mut self, to: NodeId, from: &Expression) {
        let size = self.size(from);
        self.set_size(to, size);
        let size = self.entry_size(from);
        self.set_entry_size(to, size);
    }

    fn call(
        &mut self,
        node: &'a Expression,
        function: &str,
        target: Option<&'a Expression>,
        arguments: &'a [Expression],
    ) -> Range {
        if let ("dyn", [argument]) = (function, arguments) {
            let cost = self.cost(argument);
            self.copy_sizes(node.id, argument);
            return cost.plus(Range::exactly(1));
        }
        let mut costs = Vec::with_capacity(arguments.len());
        let mut nodes = Vec::with_capacity(arguments.len());
        for argument in arguments {
            costs.push(self.cost(argument));
            nodes.push(self.node(argument));
        }
        let checked = self.checked;
        let overloads = checked.overloads_of(node.id);
        if overloads.is_empty() {
            return Range::ZERO;
        }
        let mut sum = Range::ZERO;
        let target = target.map(|target| {
            sum = self.cost(target);
            self.node(target)
        });
        let mut cost = Range::between(u64::MAX, 0);
        let mut size: Option<Range> = None;
        for overload in overloads {
            let (one, one_size) =
                calls::cost(self, node.id, function, overload, target.as_ref(), &nodes, &costs);
            cost = cost.union(one);
            size = match (size, one_size) {
                (Some(size), Some(other)) => Some(size.union(other)),
                (size, other) => size.or(other),
            };
            let part = match *overload {
                "index_list" => Some("@items"),
                "index_map" => Some("@values"),
                _ => None,
            };
            if let (Some(part), Some(operand)) = (part, arguments.first()) {
                size = self.entry_size(operand).map(|entry| entry.value);
                let mut path = self.path(operand);
                path.push(part.into());
                self.paths.insert(node.id, path);
            }
            if size.is_none() {
                size = self.size(node);
            }
        }
        self.set_size(node.id, size);
        sum.plus(cost)
    }

    /// Adds a variable of a comprehension: `keys` says whether it gets the keys or the values of its range.
    fn push_variable(&mut self, name: &Arc<str>, range: &Expression, keys: Option<bool>) {
        let entry = self.entry_size(range);
        let is_list = match entry {
            Some(entry) => entry.is_list,
            None => matches!(self.checked.type_of(range.id), Type::List(_)),
        };
        let keys = keys.unwrap_or(!is_list);
        let part = match (keys, is_list) {
            (true, true) => "@indices",
            (true, false) => "@keys",
            (false, true) => "@items",
            (false, false) => "@values",
        };
        let mut path = self.path(range);
        path.push(part.into());
        let size = entry.map(|entry| if keys { entry.key } else { entry.value });
        self.locals.push(Local {
            name: name.clone(),
            path,
            size,
            entry_size: None,
        });
    }

    fn push_bound(&mut self, name: &Arc<str>, value: &Expression) {
        let (path, entry_size) = (self.path(value), self.entry_size(value));
        let size = self.size(value);
        self.locals.push(Local {
            name: name.clone(),
            path,
            size,
            entry_size,
        });
    }

    fn fold(&mut self, node: &'a Expression, comprehension: &'a Comprehension) -> Range {
        let mut sum = self
            .cost(&comprehension.range)
            .plus(self.cost(&comprehension.start));
        let outside = self.locals.len();
        self.push_bound(&comprehension.accumulator, &comprehension.start);
        let inside = self.locals.len();
        match &comprehension.second_variable {
            Some(second) => {
                self.push_variable(&comprehension.variable, &comprehension.range, Some(true));
                self.push_variable(second, &comprehension.range, Some(false));
            }
            None => self.push_variable(&comprehension.variable, &comprehension.range, None),
        }
        let condition = self.cost(&comprehension.condition);
        let step = self.cost(&comprehension.step);
        self.locals.truncate(inside);
        sum = sum.plus(self.cost(&comprehension.result));
        self.locals.truncate(outside);
        let rounds = self.size_or_unknown(&comprehension.range);
        sum = sum.plus(rounds.times(step.plus(condition)));
        match &comprehension.start.kind {
            Kind::Literal(_) => {
                let size = self.size(&comprehension.start);
                self.set_size(node.id, size);
            }
            Kind::List { .. } | Kind::Map { .. } => {
                self.set_size(node.id, Some(rounds));
                let entry = self.entry_size(&comprehension.step);
                self.set_entry_size(node.id, entry);
            }
            _ => {}
        }
        sum
    }

    fn bind(&mut self, node: &'a Expression, comprehension: &'a Comprehension) -> Range {
        let sum = self
            .cost(&comprehension.range)
            .plus(self.cost(&comprehension.start));
        self.push_bound(&comprehension.accumulator, &comprehension.start);
        let sum = sum.plus(self.cost(&comprehension.result));
        self.locals.pop();
        self.copy_sizes(node.id, &comprehension.result);
        sum
    }
}

/// Returns whether a comprehension only binds a name.
fn is_bind(comprehension: &Comprehension) -> bool {
    matches!(&comprehension.range.kind, Kind::List { elements, .. } if elements.is_empty())
        && matches!(comprehension.condition.kind, Kind::Literal(Literal::Bool(false)))
}

/// Returns whether values of a type always have the same size.
fn is_scalar(of: &Type) -> bool {
    match of {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        Type::Optional(inner) => is_scalar(inner),
        _ => false,
    }
}
