//! Whether the variables of a query are defined, used and of the types that their places have.

use std::collections::{HashMap, HashSet};

use super::document::{
    Argument, Literal, LiteralValue, Operation, Selection, TypeReference, VariableDefinition,
};
use super::types::{ArgumentDefinition, TypeDefinition};
use super::validation::{Check, fits};

/// A variable in a query, and the type that its place has.
type Usage<'a> = (&'a str, usize, Option<TypeReference>);

impl<'a> Check<'a> {
    /// Checks the variables that an operation has and uses.
    pub(super) fn variables(&mut self, operation: &'a Operation, root: Option<&'a str>) {
        let mut usages = Vec::new();
        self.usages(root, &operation.selections, &mut HashSet::new(), &mut usages);
        let owner = operation.name.as_ref().map(|name| name.text.as_str());
        let in_operation = |verb: &str| match owner {
            Some(owner) => format!(" {verb} operation \"{owner}\"."),
            None => ".".to_owned(),
        };
        let mut known: HashMap<&str, &VariableDefinition> = HashMap::new();
        for variable in &operation.variables {
            let name = variable.name.text.as_str();
            if let Some(first) = known.get(name) {
                let message = format!("There can only be one variable named \"{name}\".");
                self.report(&[first.name.at, variable.name.at], message);
            }
            known.insert(name, variable);
            match self.types.named.get(variable.kind.name()) {
                None => self.unknown_type(variable.kind.name(), variable.kind_at),
                Some(TypeDefinition::Object(_)) => {
                    let message = format!(
                        "Variable \"${name}\" cannot be non-input type \"{}\".",
                        variable.kind
                    );
                    self.report(&[variable.kind_at], message);
                }
                Some(_) => self.default(name, &variable.kind, variable.default.as_ref()),
            }
            if !usages.iter().any(|(used, ..)| *used == name) {
                let message = format!("Variable \"${name}\" is never used{}", in_operation("in"));
                self.report(&[variable.at], message);
            }
        }
        for (name, at, expected) in usages {
            let Some(variable) = known.get(name) else {
                let message = format!("Variable \"${name}\" is not defined{}", in_operation("by"));
                self.report(&[at, operation.at], message);
                continue;
            };
            if let Some(expected) = expected
                && self.types.named.contains_key(variable.kind.name())
                && !is_allowed(&variable.kind, variable.default.is_some(), &expected)
            {
                let message = format!(
                    "Variable \"${name}\" of type \"{}\" used in position expecting type \"{expected}\".",
                    variable.kind
                );
                self.report(&[variable.at, at], message);
            }
        }
    }

    fn default(&mut self, name: &str, kind: &TypeReference, default: Option<&Literal>) {
        let Some(default) = default else { return };
        if let TypeReference::NonNull(inner) = kind {
            let message = format!(
                "Variable \"${name}\" of type \"{kind}\" is required and will not use the default value. Perhaps you meant \
                 to use type \"{inner}\"."
            );
            self.report(&[default.at], message);
        }
        if let Err(cause) = fits(kind, default, self.types) {
            let message = format!(
                "Variable \"${name}\" has invalid default value: {}.\n{cause}",
                default.printed()
            );
            self.report(&[default.at], message);
        }
    }

    /// Collects the variables that selections use, through fragments.
    fn usages(
        &self,
        parent: Option<&'a str>,
        selections: &'a [Selection],
        seen: &mut HashSet<&'a str>,
        found: &mut Vec<Usage<'a>>,
    ) {
        let types = self.types;
        let collect = |given: &'a [Argument], known: &[ArgumentDefinition], found: &mut Vec<Usage<'a>>| {
            for argument in given {
                let expected = known
                    .iter()
                    .find(|definition| definition.name == argument.name.text)
                    .map(|definition| definition.kind.clone());
                if let LiteralValue::Variable(name) = &argument.value.value {
                    found.push((name, argument.value.at, expected));
                    continue;
                }
                let mut inner = Vec::new();
                argument.value.variables(&mut inner);
                found.extend(inner.into_iter().map(|(name, at)| (name, at, None)));
            }
        };
        for selection in selections {
            let directives = match selection {
                Selection::Field(field) => &field.directives,
                Selection::Inline(inline) => &inline.directives,
                Selection::Spread(spread) => &spread.directives,
            };
            for directive in directives {
                let definition = types
                    .directives
                    .iter()
                    .find(|known| known.name == directive.name.text);
                let known =
                    definition.map_or(&[][..], |definition| std::slice::from_ref(&definition.argument));
                collect(&directive.arguments, known, found);
            }
            match selection {
                Selection::Field(field) => {
                    let definition = parent.and_then(|parent| types.field_of(parent, &field.name.text));
                    let known = definition
                        .as_ref()
                        .map_or(&[][..], |definition| definition.arguments.as_slice());
                    collect(&field.arguments, known, found);
                    let inner = definition
                        .as_ref()
                        .and_then(|definition| types.named.get_key_value(definition.kind.name()))
                        .map(|(name, _)| name.as_str());
                    self.usages(
                        inner,
                        field.selections.as_deref().unwrap_or_default(),
                        seen,
                        found,
                    );
                }
                Selection::Inline(inline) => {
                    let inner = inline.condition.as_ref().map_or(parent, |name| Some(&name.text));
                    self.usages(inner, &inline.selections, seen, found);
                }
                Selection::Spread(spread) => {
                    if seen.insert(&spread.name.text)
                        && let Some(fragment) = self.document.fragment(&spread.name.text)
                    {
                        let inner = Some(fragment.condition.text.as_str());
                        self.usages(inner, &fragment.selections, seen, found);
                    }
                }
            }
        }
    }
}

/// Whether a variable may stand where a type is expected; one with a default always has a value.
fn is_allowed(kind: &TypeReference, has_default: bool, expected: &TypeReference) -> bool {
    match (kind, expected) {
        (TypeReference::NonNull(kind), TypeReference::NonNull(expected))
        | (TypeReference::List(kind), TypeReference::List(expected)) => is_allowed(kind, false, expected),
        (_, TypeReference::NonNull(expected)) => has_default && is_allowed(kind, false, expected),
        (TypeReference::NonNull(kind), _) => is_allowed(kind, false, expected),
        (TypeReference::Named(kind), TypeReference::Named(expected)) => kind == expected,
        _ => false,
    }
}
