//! The tree of an expression.

use std::sync::Arc;

/// Names one node of a tree, so that what is known about it (its place, its type) can stand beside the tree.
pub(crate) type NodeId = usize;

/// One node of an expression.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    /// Which node it is.
    pub(crate) id: NodeId,
    /// What it says.
    pub(crate) kind: Kind,
}

/// A value that is written out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

/// What a node says.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Literal(Literal),
    Identifier(Arc<str>),
    /// `operand.field`; with `test`, whether there is one.
    Select {
        operand: Box<Expression>,
        field: Arc<str>,
        test: bool,
    },
    Call {
        function: Arc<str>,
        target: Option<Box<Expression>>,
        arguments: Vec<Expression>,
    },
    List {
        elements: Vec<Expression>,
        /// For each element, whether it is an optional that vanishes when it has no value.
        optional: Vec<bool>,
    },
    Map {
        entries: Vec<Entry>,
    },
    /// `Name{field: value}`.
    Struct {
        name: Arc<str>,
        fields: Vec<Field>,
    },
    Comprehension(Box<Comprehension>),
}

/// One entry of a map that is written out.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: Expression,
    pub(crate) value: Expression,
    pub(crate) optional: bool,
}

/// One field of an object that is written out.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) value: Expression,
}

/// A loop over a list or a map that folds what it sees into one value.
#[derive(Debug, Clone)]
pub(crate) struct Comprehension {
    pub(crate) range: Expression,
    pub(crate) variable: Arc<str>,
    /// The second variable of the two-variable form: the values of a map, or the items of a list.
    pub(crate) second_variable: Option<Arc<str>>,
    pub(crate) accumulator: Arc<str>,
    pub(crate) start: Expression,
    pub(crate) condition: Expression,
    pub(crate) step: Expression,
    pub(crate) result: Expression,
}

/// The names of operators, as functions.
pub(crate) mod operator {
    pub(crate) const CONDITIONAL: &str = "_?_:_";
    pub(crate) const AND: &str = "_&&_";
    pub(crate) const OR: &str = "_||_";
    pub(crate) const NOT: &str = "!_";
    pub(crate) const EQUALS: &str = "_==_";
    pub(crate) const NOT_EQUALS: &str = "_!=_";
    pub(crate) const ADD: &str = "_+_";
    pub(crate) const INDEX: &str = "_[_]";
    pub(crate) const OPTIONAL_INDEX: &str = "_[?_]";
    pub(crate) const OPTIONAL_SELECT: &str = "_?._";
    pub(crate) const NOT_STRICTLY_FALSE: &str = "@not_strictly_false";
    pub(crate) const MAP_INSERT: &str = "cel.@mapInsert";
    pub(crate) const SORT_BY_KEYS: &str = "@sortByAssociatedKeys";
}

/// The variable into which comprehensions fold. No expression can spell it.
pub(crate) const ACCUMULATOR: &str = "@result";

impl Expression {
    /// Returns the dotted name that the node spells: `a.b.c`.
    pub(crate) fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            Kind::Identifier(name) => Some(name.to_string()),
            Kind::Select {
                operand,
                field,
                test: false,
            } => {
                let mut name = operand.qualified_name()?;
                name.push('.');
                name.push_str(field);
                Some(name)
            }
            _ => None,
        }
    }

    /// Calls `visit` for the node and every node below it, outer ones first.
    pub(crate) fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Expression)) {
        visit(self);
        match &self.kind {
            Kind::Literal(_) | Kind::Identifier(_) => {}
            Kind::Select { operand, .. } => operand.walk(visit),
            Kind::Call {
                target, arguments, ..
            } => {
                if let Some(target) = target {
                    target.walk(visit);
                }
                for argument in arguments {
                    argument.walk(visit);
                }
            }
            Kind::List { elements, .. } => {
                for element in elements {
                    element.walk(visit);
                }
            }
            Kind::Map { entries } => {
                for entry in entries {
                    entry.key.walk(visit);
                    entry.value.walk(visit);
                }
            }
            Kind::Struct { fields, .. } => {
                for field in fields {
                    field.value.walk(visit);
                }
            }
            Kind::Comprehension(comprehension) => {
                comprehension.range.walk(visit);
                comprehension.start.walk(visit);
                comprehension.condition.walk(visit);
                comprehension.step.walk(visit);
                comprehension.result.walk(visit);
            }
        }
    }
}
