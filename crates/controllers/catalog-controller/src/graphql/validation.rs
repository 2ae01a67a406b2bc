//! Whether a query makes sense for a catalog, with upstream's words for what doesn't.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::answer::QueryError;
use super::document::{
    Argument, Directive, Document, Field, Fragment, Literal, LiteralValue, Name, Operation, OperationKind,
    Selection, TypeReference,
};
use super::limits;
use super::merging;
use super::suggestion::did_you_mean;
use super::types::{ArgumentDefinition, QUERY, TypeDefinition, Types};

/// How many errors are reported: whoever made more mistakes than that begins with these.
const MAX_ERRORS: usize = 100;

/// Checks a query and returns what is wrong with it.
pub(super) fn check(source: &str, document: &Document, types: &Types) -> Vec<QueryError> {
    let mut check = Check {
        source,
        document,
        types,
        errors: Vec::new(),
    };
    check.names();
    for operation in &document.operations {
        check.operation(operation);
    }
    for fragment in &document.fragments {
        check.fragment(fragment);
    }
    check.cycles();
    // Fragments that contain themselves have no end, and whether their fields can be merged has no answer.
    if check.errors.is_empty() {
        if let Err(message) = limits::check_expanded(document) {
            return vec![QueryError::new(message)];
        }
        for conflict in merging::conflicts(document, types) {
            check.report(&conflict.positions, conflict.message);
        }
    }
    check.errors
}

/// A query while it is checked.
pub(super) struct Check<'a> {
    source: &'a str,
    pub(super) document: &'a Document,
    pub(super) types: &'a Types,
    errors: Vec<QueryError>,
}

impl<'a> Check<'a> {
    pub(super) fn report(&mut self, positions: &[usize], message: impl Into<String>) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(QueryError::at(self.source, positions, message));
        }
    }

    /// Operations and fragments have names of their own, and every fragment is used.
    fn names(&mut self) {
        let document = self.document;
        let several = document.operations.len() > 1;
        let mut known: HashMap<&str, usize> = HashMap::new();
        for operation in &document.operations {
            let (name, at) = match &operation.name {
                Some(name) => (name.text.as_str(), name.at),
                None => ("", operation.at),
            };
            if operation.name.is_none() && several {
                self.report(
                    &[operation.at],
                    "This anonymous operation must be the only defined operation.",
                );
            }
            if let Some(first) = known.get(name) {
                let message = format!("There can only be one operation named \"{name}\".");
                self.report(&[*first, at], message);
            } else {
                known.insert(name, at);
            }
        }
        let mut used = HashSet::new();
        for operation in &document.operations {
            self.spread(&operation.selections, &mut used);
        }
        let mut known: HashMap<&str, usize> = HashMap::new();
        for Fragment { name, at, .. } in &document.fragments {
            if let Some(first) = known.get(name.text.as_str()) {
                let message = format!("There can only be one fragment named \"{}\".", name.text);
                self.report(&[*first, name.at], message);
            } else {
                known.insert(&name.text, name.at);
            }
            if !used.contains(name.text.as_str()) {
                self.report(&[*at], format!("Fragment \"{}\" is never used.", name.text));
            }
        }
    }

    /// Collects the fragments that selections lead to.
    fn spread(&self, selections: &'a [Selection], used: &mut HashSet<&'a str>) {
        for selection in selections {
            match selection {
                Selection::Field(field) => self.spread(field.selections.as_deref().unwrap_or_default(), used),
                Selection::Inline(inline) => self.spread(&inline.selections, used),
                Selection::Spread(spread) => {
                    if used.insert(&spread.name.text)
                        && let Some(fragment) = self.document.fragment(&spread.name.text)
                    {
                        self.spread(&fragment.selections, used);
                    }
                }
            }
        }
    }

    fn operation(&mut self, operation: &'a Operation) {
        let (root, location) = match operation.kind {
            OperationKind::Query => (Some(QUERY), "QUERY"),
            OperationKind::Mutation => (None, "MUTATION"),
            OperationKind::Subscription => (None, "SUBSCRIPTION"),
        };
        self.directives(&operation.directives, location);
        self.selections(root, &operation.selections);
        self.variables(operation, root);
    }

    fn fragment(&mut self, fragment: &'a Fragment) {
        self.directives(&fragment.directives, "FRAGMENT_DEFINITION");
        let parent = self.condition(&fragment.condition, |name| {
            format!(
                "Fragment \"{}\" cannot condition on non composite type \"{name}\".",
                fragment.name.text
            )
        });
        self.selections(parent, &fragment.selections);
    }

    /// The type that a fragment is for, if it is one that has fields.
    fn condition(&mut self, condition: &'a Name, refusal: impl FnOnce(&str) -> String) -> Option<&'a str> {
        let name = condition.text.as_str();
        match self.types.named.get(name) {
            Some(TypeDefinition::Object(_)) => return Some(name),
            Some(_) => self.report(&[condition.at], refusal(name)),
            None => self.unknown_type(name, condition.at),
        }
        None
    }

    pub(super) fn unknown_type(&mut self, name: &str, at: usize) {
        let known = self.types.named.keys().map(String::as_str);
        let message = format!("Unknown type \"{name}\".{}", did_you_mean(name, known));
        self.report(&[at], message);
    }

    fn selections(&mut self, parent: Option<&'a str>, selections: &'a [Selection]) {
        for selection in selections {
            match selection {
                Selection::Field(field) => self.field(parent, field),
                Selection::Inline(inline) => {
                    self.directives(&inline.directives, "INLINE_FRAGMENT");
                    let mut inner = parent;
                    if let Some(condition) = &inline.condition {
                        inner = self.condition(condition, |name| {
                            format!("Fragment cannot condition on non composite type \"{name}\".")
                        });
                        self.possible("Fragment", parent, &condition.text, inline.at);
                    }
                    self.selections(inner, &inline.selections);
                }
                Selection::Spread(spread) => {
                    self.directives(&spread.directives, "FRAGMENT_SPREAD");
                    let name = &spread.name.text;
                    let Some(fragment) = self.document.fragment(name) else {
                        self.report(&[spread.name.at], format!("Unknown fragment \"{name}\"."));
                        continue;
                    };
                    let what = format!("Fragment \"{name}\"");
                    self.possible(&what, parent, &fragment.condition.text, spread.at);
                }
            }
        }
    }

    /// An object has one type, so a fragment for another one can't be meant for it.
    fn possible(&mut self, what: &str, parent: Option<&str>, inner: &str, at: usize) {
        if let Some(parent) = parent
            && parent != inner
            && self.types.named.contains_key(inner)
        {
            let message = format!(
                "{what} cannot be spread here as objects of type \"{parent}\" can never be of type \"{inner}\"."
            );
            self.report(&[at], message);
        }
    }

    fn field(&mut self, parent: Option<&'a str>, field: &'a Field) {
        self.directives(&field.directives, "FIELD");
        let name = field.name.text.as_str();
        let types = self.types;
        let definition = parent.and_then(|parent| types.field_of(parent, name));
        let Some(definition) = definition else {
            if let Some(parent) = parent {
                let known = types
                    .fields(parent)
                    .into_iter()
                    .flat_map(BTreeMap::keys)
                    .map(String::as_str);
                let message = format!(
                    "Cannot query field \"{name}\" on type \"{parent}\".{}",
                    did_you_mean(name, known)
                );
                self.report(&[field.at], message);
            }
            self.selections(None, field.selections.as_deref().unwrap_or_default());
            return;
        };
        let parent = parent.unwrap_or_default();
        self.arguments(&field.arguments, &definition.arguments, |unknown, hint| {
            format!("Unknown argument \"{unknown}\" on field \"{name}\" of type \"{parent}\".{hint}")
        });
        for required in &definition.arguments {
            let is_given = field
                .arguments
                .iter()
                .any(|given| given.name.text == required.name);
            if matches!(required.kind, TypeReference::NonNull(_)) && !is_given {
                let message = format!(
                    "Field \"{name}\" argument \"{}\" of type \"{}\" is required but not provided.",
                    required.name, required.kind
                );
                self.report(&[field.at], message);
            }
        }
        let is_composite = types.fields(definition.kind.name()).is_some();
        match &field.selections {
            Some(_) if !is_composite => {
                let message = format!(
                    "Field \"{name}\" of type \"{}\" must not have a sub selection.",
                    definition.kind
                );
                self.report(&[field.selections_at], message);
            }
            Some(selections) => {
                // The types outlive the definition, which may have been made for this one question.
                let inner = types
                    .named
                    .get_key_value(definition.kind.name())
                    .map(|(name, _)| name.as_str());
                self.selections(inner, selections);
            }
            None if is_composite => {
                let message = format!(
                    "Field \"{name}\" of type \"{}\" must have a sub selection.",
                    definition.kind
                );
                self.report(&[field.at], message);
            }
            None => {}
        }
    }

    fn arguments(
        &mut self,
        given: &'a [Argument],
        known: &[ArgumentDefinition],
        unknown: impl Fn(&str, &str) -> String,
    ) {
        let mut names: HashMap<&str, usize> = HashMap::new();
        for argument in given {
            let name = argument.name.text.as_str();
            if let Some(first) = names.get(name) {
                let message = format!("There can be only one argument named \"{name}\".");
                self.report(&[*first, argument.name.at], message);
            } else {
                names.insert(name, argument.name.at);
            }
            let Some(definition) = known.iter().find(|definition| definition.name == name) else {
                let hint = did_you_mean(name, known.iter().map(|definition| definition.name));
                self.report(&[argument.at], unknown(name, &hint));
                continue;
            };
            if let Err(cause) = fits(&definition.kind, &argument.value, self.types) {
                let message = format!(
                    "Argument \"{name}\" has invalid value {}.\n{cause}",
                    argument.value.printed()
                );
                self.report(&[argument.value.at], message);
            }
        }
    }

    fn directives(&mut self, directives: &'a [Directive], location: &str) {
        let types = self.types;
        for directive in directives {
            let name = directive.name.text.as_str();
            let Some(definition) = types.directives.iter().find(|known| known.name == name) else {
                self.report(&[directive.at], format!("Unknown directive \"{name}\"."));
                continue;
            };
            if !definition.locations.contains(&location) {
                let message = format!("Directive \"{name}\" may not be used on {location}.");
                self.report(&[directive.at], message);
            }
            let argument = &definition.argument;
            self.arguments(
                &directive.arguments,
                std::slice::from_ref(argument),
                |unknown, hint| format!("Unknown argument \"{unknown}\" on directive \"@{name}\".{hint}"),
            );
            let is_given = directive
                .arguments
                .iter()
                .any(|given| given.name.text == argument.name);
            if matches!(argument.kind, TypeReference::NonNull(_)) && !is_given {
                let message = format!(
                    "Directive \"@{name}\" argument \"{}\" of type \"{}\" is required but not provided.",
                    argument.name, argument.kind
                );
                self.report(&[directive.at], message);
            }
        }
    }

    /// No fragment contains itself.
    fn cycles(&mut self) {
        let document = self.document;
        let mut done = HashSet::new();
        for fragment in &document.fragments {
            self.follow(fragment, &mut Vec::new(), &mut done);
        }
    }

    /// Follows a fragment to those that it holds. `path` has the fragments that lead here, each with the place of the
    /// spread that leads on.
    fn follow(
        &mut self,
        fragment: &'a Fragment,
        path: &mut Vec<(&'a str, usize)>,
        done: &mut HashSet<&'a str>,
    ) {
        if !done.insert(&fragment.name.text) {
            return;
        }
        let mut spreads = Vec::new();
        direct_spreads(&fragment.selections, &mut spreads);
        for (name, at) in spreads {
            path.push((&fragment.name.text, at));
            if let Some(begin) = path.iter().position(|(earlier, _)| *earlier == name) {
                let cycle = &path[begin..];
                let via: Vec<&str> = cycle.iter().skip(1).map(|(name, _)| *name).collect();
                let via = if via.is_empty() {
                    String::new()
                } else {
                    format!(" via {}", via.join(", "))
                };
                let positions: Vec<usize> = cycle.iter().map(|(_, at)| *at).collect();
                let message = format!("Cannot spread fragment \"{name}\" within itself{via}.");
                self.report(&positions, message);
            } else if let Some(next) = self.document.fragment(name) {
                self.follow(next, path, done);
            }
            path.pop();
        }
    }
}

fn direct_spreads<'a>(selections: &'a [Selection], found: &mut Vec<(&'a str, usize)>) {
    for selection in selections {
        match selection {
            Selection::Field(field) => direct_spreads(field.selections.as_deref().unwrap_or_default(), found),
            Selection::Inline(inline) => direct_spreads(&inline.selections, found),
            Selection::Spread(spread) => found.push((&spread.name.text, spread.at)),
        }
    }
}

/// Checks that a value fits a type; variables are checked where they are defined.
pub(super) fn fits(kind: &TypeReference, literal: &Literal, types: &Types) -> Result<(), String> {
    let name = match (kind, &literal.value) {
        (_, LiteralValue::Variable(_)) => return Ok(()),
        (TypeReference::List(inner), LiteralValue::List(items)) => {
            return items.iter().try_for_each(|item| {
                fits(inner, item, types).map_err(|cause| format!("In element #1: {cause}"))
            });
        }
        (TypeReference::NonNull(inner) | TypeReference::List(inner), _) => {
            return fits(inner, literal, types);
        }
        (TypeReference::Named(name), _) => name,
    };
    let is_fine = match (name.as_str(), &literal.value) {
        ("Int", LiteralValue::Int(text)) => text.parse::<i64>().is_ok(),
        ("Float", LiteralValue::Int(_) | LiteralValue::Float(_))
        | ("String", LiteralValue::Text(_))
        | ("Boolean", LiteralValue::Boolean(_)) => true,
        (_, LiteralValue::Enum(value)) => {
            matches!(types.named.get(name), Some(TypeDefinition::Enumeration(values)) if values.contains(&value.as_str()))
        }
        _ => false,
    };
    if is_fine {
        return Ok(());
    }
    Err(format!("Expected type \"{name}\", found {}.", literal.printed()))
}
