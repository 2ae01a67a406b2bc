//! The check of an expression's types.

use std::sync::Arc;

use schema::structural::name_rules::is_reserved_word;

use super::functions::{self, Function};
use super::types::Type;
use super::unify::{Mapping, most_general};
use super::{DeclaredKind, literals};
use crate::syntax::ast::{Comprehension, operator};
use crate::syntax::parse::with_stack;
use crate::syntax::{Expression, Issue, Issues, Kind, Literal, NodeId, Source};

/// The variables that an expression may read, and their types.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    variables: Vec<(Arc<str>, Type)>,
}

impl Scope {
    /// Adds a variable.
    pub(crate) fn with(mut self, name: &str, of: Type) -> Self {
        self.variables.push((name.into(), of));
        self
    }
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reference {
    /// A variable.
    Variable,
    /// The name of a type.
    TypeName(Arc<str>),
}

/// An expression that has a meaning.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The tree, in which functions with dots in their names are plain calls.
    pub(crate) tree: Expression,
    /// The text it comes from.
    pub(crate) source: Source,
    types: Vec<Type>,
    overloads: Vec<Vec<&'static str>>,
    /// What the names stand for.
    pub(crate) references: Vec<Option<Reference>>,
}

impl Checked {
    /// Returns the type of a node.
    pub(crate) fn type_of(&self, id: NodeId) -> &Type {
        self.types.get(id).unwrap_or(&Type::Dyn)
    }

    /// Returns the overloads that a call may mean.
    pub(crate) fn overloads_of(&self, id: NodeId) -> &[&'static str] {
        self.overloads.get(id).map_or(&[], Vec::as_slice)
    }

    /// Returns the type of the whole expression.
    pub(crate) fn result_type(&self) -> &Type {
        self.type_of(self.tree.id)
    }

    /// Returns whether the expression reads the variable.
    pub(crate) fn reads(&self, name: &str) -> bool {
        let mut found = false;
        self.tree.walk(&mut |node| {
            if let Kind::Identifier(identifier) = &node.kind {
                found |= &**identifier == name
                    && self.references.get(node.id).and_then(Option::as_ref) == Some(&Reference::Variable);
            }
        });
        found
    }
}

/// Checks an expression.
pub(crate) fn check(mut tree: Expression, source: Source, scope: &Scope) -> Result<Checked, Issues> {
    let mut walk = Checker {
        types: vec![None; source.nodes()],
        overloads: vec![Vec::new(); source.nodes()],
        references: vec![None; source.nodes()],
        source: &source,
        issues: Vec::new(),
        mapping: Mapping::default(),
        variables: scope.variables.clone(),
    };
    walk.check(&mut tree);
    let Checker {
        types,
        overloads,
        references,
        issues,
        mapping,
        ..
    } = walk;
    let types = types
        .into_iter()
        .map(|found| found.map_or(Type::Dyn, |found| mapping.substitute(&found, true)))
        .collect();
    if !issues.is_empty() {
        return Err(source.show(issues));
    }
    let checked = Checked {
        tree,
        source,
        types,
        overloads,
        references,
    };
    let issues = literals::check(&checked);
    if issues.is_empty() {
        Ok(checked)
    } else {
        Err(checked.source.show(issues))
    }
}

struct Checker<'a> {
    types: Vec<Option<Type>>,
    overloads: Vec<Vec<&'static str>>,
    references: Vec<Option<Reference>>,
    source: &'a Source,
    issues: Vec<Issue>,
    mapping: Mapping,
    variables: Vec<(Arc<str>, Type)>,
}

/// Returns the type that the name of a type stands for.
fn type_named(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "google.protobuf.Duration" | "duration" => Type::Duration,
        "int" => Type::Int,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "null_type" => Type::Null,
        "string" => Type::String,
        "google.protobuf.Timestamp" | "timestamp" => Type::Timestamp,
        "type" => Type::Type(Arc::new(Type::Dyn)),
        "uint" => Type::Uint,
        "net.IP" => Type::Opaque("net.IP"),
        "net.CIDR" => Type::Opaque("net.CIDR"),
        "optional_type" => Type::optional(Type::Dyn),
        _ => return None,
    })
}

impl Checker<'_> {
    fn report(&mut self, id: NodeId, message: String) {
        let issue = self.source.issue(id, message);
        self.issues.push(issue);
    }

    fn set(&mut self, id: NodeId, of: Type) {
        if let Some(slot) = self.types.get_mut(id) {
            *slot = Some(of);
        }
    }

    fn get(&self, id: NodeId) -> Type {
        self.types.get(id).cloned().flatten().unwrap_or(Type::Error)
    }

    fn undeclared(&mut self, id: NodeId, name: &str) {
        self.set(id, Type::Error);
        self.report(id, format!("undeclared reference to '{name}' (in container '')"));
    }

    fn mismatch(&mut self, id: NodeId, expected: &Type, found: &Type) {
        self.report(id, format!("expected type '{expected}' but found '{found}'"));
    }

    fn check(&mut self, node: &mut Expression) {
        with_stack(|| self.check_here(node));
    }

    fn check_here(&mut self, node: &mut Expression) {
        let id = node.id;
        match &mut node.kind {
            Kind::Literal(literal) => {
                let of = match literal {
                    Literal::Null => Type::Null,
                    Literal::Bool(_) => Type::Bool,
                    Literal::Int(_) => Type::Int,
                    Literal::Uint(_) => Type::Uint,
                    Literal::Double(_) => Type::Double,
                    Literal::String(_) => Type::String,
                    Literal::Bytes(_) => Type::Bytes,
                };
                self.set(id, of);
            }
            Kind::Identifier(name) => {
                let name = name.clone();
                let bare = name.strip_prefix('.').unwrap_or(&name);
                match self.lookup(bare) {
                    Some((of, reference)) => {
                        self.refer(id, of, reference);
                        node.kind = Kind::Identifier(bare.into());
                    }
                    None => self.undeclared(id, &name),
                }
            }
            Kind::Select { .. } => self.select(node),
            Kind::Call { .. } => self.call(node),
            Kind::List { elements, optional } => {
                let mut joined = None;
                for (element, optional) in elements.iter_mut().zip(optional) {
                    self.check(element);
                    let of = self.element_type(element.id, *optional);
                    joined = Some(self.join(joined, of));
                }
                let item = joined.unwrap_or_else(|| self.mapping.fresh());
                self.set(id, Type::list(item));
            }
            Kind::Map { entries } => {
                let mut joined: Option<(Type, Type)> = None;
                for entry in entries {
                    self.check(&mut entry.key);
                    let (key, value) = joined.map_or((None, None), |(key, value)| (Some(key), Some(value)));
                    let of = self.get(entry.key.id);
                    let key = self.join(key, of);
                    self.check(&mut entry.value);
                    let of = self.element_type(entry.value.id, entry.optional);
                    joined = Some((key, self.join(value, of)));
                }
                let (key, value) = match joined {
                    Some(joined) => joined,
                    None => (self.mapping.fresh(), self.mapping.fresh()),
                };
                self.set(id, Type::map(key, value));
            }
            Kind::Struct { name, .. } => {
                let name = name.clone();
                match self.lookup(&name) {
                    None => self.undeclared(id, &name),
                    Some((Type::Type(of), _)) => {
                        self.set(id, (*of).clone());
                        let shown = of.runtime_name().to_owned();
                        self.report(id, format!("'{shown}' is not a message type"));
                    }
                    Some((of, _)) => {
                        let shown = of.to_string();
                        self.set(id, Type::Error);
                        self.report(id, format!("'{shown}' is not a type"));
                    }
                }
            }
            Kind::Comprehension(comprehension) => self.comprehension(id, comprehension),
        }
    }

    fn refer(&mut self, id: NodeId, of: Type, reference: Reference) {
        self.set(id, of);
        if let Some(slot) = self.references.get_mut(id) {
            *slot = Some(reference);
        }
    }

    fn lookup(&self, name: &str) -> Option<(Type, Reference)> {
        if let Some((_, of)) = self.variables.iter().rev().find(|(known, _)| &**known == name) {
            return Some((of.clone(), Reference::Variable));
        }
        let of = type_named(name)?;
        Some((Type::Type(Arc::new(of)), Reference::TypeName(name.into())))
    }

    /// Returns the type that an element brings to its list: an optional one brings what it holds.
    fn element_type(&mut self, id: NodeId, optional: bool) -> Type {
        let of = self.get(id);
        if !optional {
            return of;
        }
        let (inner, is_optional) = of.unwrap_optional();
        let inner = inner.clone();
        if !is_optional && !inner.is_dyn() {
            self.mismatch(id, &Type::optional(inner.clone()), &inner);
        }
        inner
    }

    fn join(&mut self, before: Option<Type>, next: Type) -> Type {
        match before {
            None => next,
            Some(before) if self.mapping.assignable(&before, &next) => most_general(before, next),
            Some(_) => Type::Dyn,
        }
    }

    fn select(&mut self, node: &mut Expression) {
        let id = node.id;
        if let Some(name) = node.qualified_name() {
            let bare = name.strip_prefix('.').unwrap_or(&name).to_owned();
            if let Some((of, reference)) = self.lookup(&bare) {
                self.refer(id, of, reference);
                node.kind = Kind::Identifier(bare.into());
                return;
            }
        }
        let Kind::Select { operand, field, test } = &mut node.kind else {
            return;
        };
        let (field, test) = (field.clone(), *test);
        let of = self.select_field(id, operand, &field, false);
        let of = if test {
            Type::Bool
        } else {
            self.mapping.substitute(&of, false)
        };
        self.set(id, of);
    }

    fn select_field(&mut self, id: NodeId, operand: &mut Expression, field: &str, optional: bool) -> Type {
        self.check(operand);
        let of = self.mapping.substitute(&self.get(operand.id), false);
        let (target, is_optional) = of.unwrap_optional();
        let result = match target {
            Type::Map(both) => both.1.clone(),
            Type::Struct(object) => match object.declared.as_deref() {
                None => {
                    self.report(id, format!("unexpected failed resolution of '{}'", object.name));
                    Type::Error
                }
                Some(declared) => match Self::field_type(&object.name, &declared.kind, field) {
                    Some(of) => of,
                    None => {
                        self.report(id, format!("undefined field '{field}'"));
                        Type::Error
                    }
                },
            },
            Type::Parameter(_) => {
                self.mapping.assignable(&Type::Dyn, target);
                Type::Dyn
            }
            other => {
                if !other.is_dyn_or_error() {
                    self.report(id, format!("type '{other}' does not support field selection"));
                }
                Type::Dyn
            }
        };
        if is_optional || optional {
            Type::optional(result)
        } else {
            result
        }
    }

    fn field_type(object: &str, declared: &DeclaredKind, field: &str) -> Option<Type> {
        let DeclaredKind::Object(fields) = declared else {
            return None;
        };
        if let Some(found) = fields.get(field) {
            return Some(found.named(&format!("{object}.{field}")));
        }
        // A field that is called like a reserved word can be spelled plainly too.
        if is_reserved_word(field) {
            let escaped = format!("__{field}__");
            return Some(fields.get(&*escaped)?.named(&format!("{object}.{escaped}")));
        }
        None
    }

    fn call(&mut self, node: &mut Expression) {
        let id = node.id;
        let Kind::Call {
            function,
            target,
            arguments,
        } = &mut node.kind
        else {
            return;
        };
        if &**function == operator::OPTIONAL_SELECT {
            if let [
                operand,
                Expression {
                    kind: Kind::Literal(Literal::String(field)),
                    ..
                },
            ] = arguments.as_mut_slice()
            {
                let field = field.clone();
                let of = self.select_field(id, operand, &field, true);
                let of = self.mapping.substitute(&of, false);
                self.set(id, of);
                self.resolve_to(id, vec!["select_optional_field"]);
            }
            return;
        }
        for argument in arguments.iter_mut() {
            self.check(argument);
        }
        let name = function.strip_prefix('.').unwrap_or(function).to_owned();
        let Some(receiver) = target else {
            match functions::function(&name) {
                Some(found) => self.resolve(id, found, None, arguments),
                None => self.undeclared(id, &name),
            }
            return;
        };
        if let Some(prefix) = receiver.qualified_name() {
            let qualified = format!("{}.{name}", prefix.strip_prefix('.').unwrap_or(&prefix));
            if let Some(found) = functions::function(&qualified) {
                *function = qualified.into();
                *target = None;
                self.resolve(id, found, None, arguments);
                return;
            }
        }
        self.check(receiver);
        match functions::function(&name) {
            Some(found) => self.resolve(id, found, Some(receiver.id), arguments),
            None => self.undeclared(id, &name),
        }
    }

    fn resolve_to(&mut self, id: NodeId, overloads: Vec<&'static str>) {
        if let Some(slot) = self.overloads.get_mut(id) {
            *slot = overloads;
        }
    }

    fn resolve(
        &mut self,
        id: NodeId,
        function: &'static Function,
        target: Option<NodeId>,
        arguments: &[Expression],
    ) {
        let found: Vec<Type> = target
            .into_iter()
            .chain(arguments.iter().map(|argument| argument.id))
            .map(|id| self.get(id))
            .collect();
        if matches!(function.name, operator::AND | operator::OR) {
            let mut wrong = false;
            for (argument, of) in arguments.iter().zip(&found) {
                if !self.mapping.assignable(of, &Type::Bool) {
                    let of = of.clone();
                    self.mismatch(argument.id, &Type::Bool, &of);
                    wrong = true;
                }
            }
            self.set(id, if wrong { Type::Error } else { Type::Bool });
            let overload = if function.name == operator::AND {
                "logical_and"
            } else {
                "logical_or"
            };
            self.resolve_to(id, vec![overload]);
            return;
        }
        let mut matching = Vec::new();
        let mut result: Option<Type> = None;
        for overload in function
            .overloads
            .iter()
            .filter(|overload| overload.member == target.is_some())
        {
            let (wanted, gives) = overload.instantiate(|| self.mapping.fresh());
            if !self.mapping.assignable_all(&found, &wanted) {
                continue;
            }
            matching.push(overload.id);
            let gives = self.mapping.substitute(&gives, false);
            result = Some(match result {
                None => gives,
                Some(before) if before.is_dyn() || before == gives => before,
                Some(_) => Type::Dyn,
            });
        }
        match result {
            Some(result) => {
                self.set(id, result);
                self.resolve_to(id, matching);
            }
            None => {
                let shown: Vec<String> = found
                    .iter()
                    .map(|of| self.mapping.substitute(of, true).to_string())
                    .collect();
                let signature = match (target, shown.split_first()) {
                    (Some(_), Some((first, rest))) => format!("{first}.({})", rest.join(", ")),
                    _ => format!("({})", shown.join(", ")),
                };
                self.set(id, Type::Error);
                self.report(
                    id,
                    format!(
                        "found no matching overload for '{}' applied to '{signature}'",
                        function.name
                    ),
                );
            }
        }
    }

    fn comprehension(&mut self, id: NodeId, comprehension: &mut Comprehension) {
        self.check(&mut comprehension.range);
        self.check(&mut comprehension.start);
        let range = self.mapping.substitute(&self.get(comprehension.range.id), false);
        let folded = self.get(comprehension.start.id);
        let outside = self.variables.len();
        self.variables
            .push((comprehension.accumulator.clone(), folded.clone()));
        let (first, second) = match &range {
            Type::List(item) if comprehension.second_variable.is_some() => (Type::Int, (**item).clone()),
            Type::List(item) => ((**item).clone(), Type::Dyn),
            Type::Map(both) => (both.0.clone(), both.1.clone()),
            Type::Dyn | Type::Error | Type::Parameter(_) => {
                self.mapping.assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.report(comprehension.range.id, message);
                (Type::Error, Type::Error)
            }
        };
        let inside = self.variables.len();
        self.variables.push((comprehension.variable.clone(), first));
        if let Some(name) = &comprehension.second_variable {
            self.variables.push((name.clone(), second));
        }
        self.check(&mut comprehension.condition);
        self.assert(comprehension.condition.id, &Type::Bool);
        self.check(&mut comprehension.step);
        self.assert(comprehension.step.id, &folded);
        self.variables.truncate(inside);
        self.check(&mut comprehension.result);
        self.variables.truncate(outside);
        let of = self.mapping.substitute(&self.get(comprehension.result.id), false);
        self.set(id, of);
    }

    fn assert(&mut self, id: NodeId, expected: &Type) {
        let found = self.get(id);
        if !self.mapping.assignable(expected, &found) {
            self.mismatch(id, expected, &found);
        }
    }
}
