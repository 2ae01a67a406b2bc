//! What queries can ask about the types themselves.

use serde_json::Value;

use super::document::TypeReference;
use super::execution::{Held, Node};
use super::types::{ArgumentDefinition, DirectiveDefinition, FieldDefinition, QUERY, TypeDefinition, Types};

/// A part of the types that is asked about.
pub(super) enum Described<'a> {
    Everything,
    Named(&'a str),
    Reference(TypeReference),
    Field(&'a str, &'a FieldDefinition),
    Argument(&'a ArgumentDefinition),
    Value(&'a str),
    Directive(&'a DirectiveDefinition),
}

/// A field of what is described.
pub(super) fn field<'a>(
    types: &'a Types,
    described: &Described<'a>,
    name: &str,
    with_deprecated: bool,
) -> Held<'a> {
    match described {
        Described::Everything => everything(types, name),
        Described::Named(named) => named_type(types, named, name, with_deprecated),
        Described::Reference(reference) => match reference {
            TypeReference::Named(named) => types
                .named
                .get_key_value(named)
                .map_or(Held::Value(Value::Null), |(named, _)| {
                    named_type(types, named, name, with_deprecated)
                }),
            TypeReference::List(inner) => wrapper("LIST", inner, name),
            TypeReference::NonNull(inner) => wrapper("NON_NULL", inner, name),
        },
        Described::Field(field, definition) => match name {
            "name" => text(field),
            "description" => text(""),
            "args" => arguments(&definition.arguments),
            "type" => reference(&definition.kind),
            "isDeprecated" => Held::Value(Value::Bool(definition.deprecated.is_some())),
            _ => optional(definition.deprecated),
        },
        Described::Argument(argument) => match name {
            "name" => text(argument.name),
            "description" => text(argument.description),
            "type" => reference(&argument.kind),
            _ => optional(argument.default),
        },
        Described::Value(value) => match name {
            "name" => text(value),
            "description" => text(""),
            "isDeprecated" => Held::Value(Value::Bool(false)),
            _ => Held::Value(Value::Null),
        },
        Described::Directive(directive) => {
            let is_on = |wanted: &[&str]| {
                let is_on = directive
                    .locations
                    .iter()
                    .any(|location| wanted.contains(location));
                Held::Value(Value::Bool(is_on))
            };
            match name {
                "name" => text(directive.name),
                "description" => text(directive.description),
                "locations" => Held::Value(Value::from(directive.locations.to_vec())),
                "args" => arguments(std::slice::from_ref(&directive.argument)),
                "onOperation" => is_on(&["QUERY", "MUTATION", "SUBSCRIPTION"]),
                "onFragment" => is_on(&["FRAGMENT_SPREAD", "INLINE_FRAGMENT", "FRAGMENT_DEFINITION"]),
                _ => is_on(&["FIELD"]),
            }
        }
    }
}

fn everything<'a>(types: &'a Types, name: &str) -> Held<'a> {
    match name {
        "types" => nodes(types.named.keys().map(|named| Described::Named(named))),
        "queryType" => Held::Node(Node::Described(Described::Named(QUERY))),
        "directives" => nodes(types.directives.iter().map(Described::Directive)),
        _ => Held::Value(Value::Null),
    }
}

fn named_type<'a>(types: &'a Types, named: &'a str, name: &str, with_deprecated: bool) -> Held<'a> {
    let Some(definition) = types.named.get(named) else {
        return Held::Value(Value::Null);
    };
    match (name, definition) {
        ("kind", TypeDefinition::Scalar(_)) => text("SCALAR"),
        ("kind", TypeDefinition::Enumeration(_)) => text("ENUM"),
        ("kind", TypeDefinition::Object(_)) => text("OBJECT"),
        ("name", _) => text(named),
        ("description", TypeDefinition::Scalar(description)) => text(description),
        ("description", _) => text(""),
        ("fields", TypeDefinition::Object(fields)) => {
            let fields = fields
                .iter()
                .filter(|(_, field)| with_deprecated || field.deprecated.is_none());
            nodes(fields.map(|(name, field)| Described::Field(name, field)))
        }
        ("interfaces", TypeDefinition::Object(_)) => Held::Nodes(Vec::new()),
        ("enumValues", TypeDefinition::Enumeration(values)) => {
            nodes(values.iter().map(|value| Described::Value(value)))
        }
        _ => Held::Value(Value::Null),
    }
}

fn wrapper<'a>(kind: &str, inner: &TypeReference, name: &str) -> Held<'a> {
    match name {
        "kind" => text(kind),
        "ofType" => reference(inner),
        _ => Held::Value(Value::Null),
    }
}

fn reference<'a>(kind: &TypeReference) -> Held<'a> {
    Held::Node(Node::Described(Described::Reference(kind.clone())))
}

fn arguments(arguments: &[ArgumentDefinition]) -> Held<'_> {
    nodes(arguments.iter().map(Described::Argument))
}

fn nodes<'a>(described: impl Iterator<Item = Described<'a>>) -> Held<'a> {
    Held::Nodes(described.map(Node::Described).collect())
}

fn text<'a>(text: &str) -> Held<'a> {
    Held::Value(Value::from(text))
}

fn optional<'a>(found: Option<&str>) -> Held<'a> {
    found.map_or(Held::Value(Value::Null), text)
}
