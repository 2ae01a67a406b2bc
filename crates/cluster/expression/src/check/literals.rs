//! Checks of what is written out in an expression: durations, times, patterns, format strings, and that a list or a map
//! holds one kind of thing.

use std::collections::HashSet;

use super::{Checked, Type};
use crate::library::format_string::{Clause, interpolate};
use crate::library::{regular, time};
use crate::syntax::{Expression, Issue, Kind, Literal, NodeId};

/// Returns what is wrong with the literals of an expression.
pub(super) fn check(checked: &Checked) -> Vec<Issue> {
    let mut issues = Vec::new();
    // The arguments of `format` may be of several types.
    let mut exempt: HashSet<NodeId> = HashSet::new();
    checked.tree.walk(&mut |node| {
        if let Kind::Call { function, .. } = &node.kind
            && &**function == "format"
            && !exempt.contains(&node.id)
        {
            node.walk(&mut |inner| {
                exempt.insert(inner.id);
            });
        }
    });
    checked.tree.walk(&mut |node| match &node.kind {
        Kind::Call {
            function,
            target,
            arguments,
        } => {
            if let [
                Expression {
                    id,
                    kind: Kind::Literal(literal),
                },
                ..,
            ] = arguments.as_slice()
                && !is_sound(function, literal)
            {
                issues.push(checked.source.issue(*id, format!("invalid {function} argument")));
            }
            if let (
                "format",
                Some(Expression {
                    kind: Kind::Literal(Literal::String(format)),
                    ..
                }),
                [
                    Expression {
                        kind: Kind::List { elements, .. },
                        ..
                    },
                ],
            ) = (&**function, target.as_deref(), arguments.as_slice())
            {
                issues.extend(check_format(checked, node.id, format, elements));
            }
        }
        Kind::List { elements, optional } if !exempt.contains(&node.id) => {
            let types = elements
                .iter()
                .zip(optional)
                .map(|(element, optional)| (element.id, *optional));
            issues.extend(check_same(checked, types));
        }
        Kind::Map { entries } if !exempt.contains(&node.id) => {
            let keys = check_same(checked, entries.iter().map(|entry| (entry.key.id, false)));
            let values = check_same(
                checked,
                entries.iter().map(|entry| (entry.value.id, entry.optional)),
            );
            issues.extend(keys.or(values));
        }
        _ => {}
    });
    issues
}

fn is_sound(function: &str, literal: &Literal) -> bool {
    match (function, literal) {
        ("duration", Literal::String(text)) => time::parse_go_duration(text).is_some(),
        // Upstream refuses a number here, though the function takes one.
        ("duration", Literal::Int(_)) => false,
        ("timestamp", Literal::String(text)) => time::parse_rfc3339(text).is_some_and(time::in_range),
        ("timestamp", Literal::Int(seconds)) => {
            jiff::Timestamp::from_second(*seconds).is_ok_and(time::in_range)
        }
        ("matches", Literal::String(pattern)) => regular::compile(pattern).is_ok(),
        _ => true,
    }
}

fn check_same(checked: &Checked, nodes: impl Iterator<Item = (NodeId, bool)>) -> Option<Issue> {
    let mut first: Option<Type> = None;
    for (id, optional) in nodes {
        let of = checked.type_of(id);
        let of = if optional { of.unwrap_optional().0 } else { of };
        match &first {
            None => first = Some(of.clone()),
            Some(first) if is_equivalent(first, of) => {}
            Some(first) => {
                return Some(
                    checked
                        .source
                        .issue(id, format!("expected type '{first}' but found '{of}'")),
                );
            }
        }
    }
    None
}

/// Returns whether two types are the same, when parts of unknown type are left out.
fn is_equivalent(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::List(one), Type::List(other)) | (Type::Optional(one), Type::Optional(other)) => {
            is_equivalent(one, other)
        }
        (Type::Map(one), Type::Map(other)) => {
            is_equivalent(&one.0, &other.0) && is_equivalent(&one.1, &other.1)
        }
        (Type::Type(_), Type::Type(_)) => true,
        (one, other) => one == other,
    }
}

/// What is wrong with a format string, and where, if that is known.
struct Wrong {
    at: Option<NodeId>,
    message: String,
}

impl From<String> for Wrong {
    fn from(message: String) -> Self {
        Self { at: None, message }
    }
}

fn check_format(checked: &Checked, call: NodeId, format: &str, arguments: &[Expression]) -> Option<Issue> {
    let mut seen = 0;
    let result = interpolate(
        format,
        arguments.len(),
        |index, clause| -> Result<String, Wrong> {
            seen = index + 1;
            let argument = arguments
                .get(index)
                .ok_or_else(|| format!("index {index} out of range"))?;
            match refused(checked, argument, clause) {
                None => Ok(String::new()),
                Some(bad) => Err(Wrong {
                    at: Some(bad),
                    message: format!(
                        "error during formatting: {}",
                        clause.refusal(checked.type_of(bad).runtime_name())
                    ),
                }),
            }
        },
    );
    match result {
        Err(wrong) => Some(checked.source.issue(wrong.at.unwrap_or(call), wrong.message)),
        Ok(_) if arguments.len() > seen => {
            let message = format!(
                "too many arguments supplied to string.format (expected {seen}, got {})",
                arguments.len()
            );
            Some(checked.source.issue(call, message))
        }
        Ok(_) => None,
    }
}

/// Returns the node that a clause can't write.
fn refused(checked: &Checked, argument: &Expression, clause: Clause) -> Option<NodeId> {
    let of = checked.type_of(argument.id);
    let fits = match (clause, of) {
        (_, Type::Dyn) => true,
        (Clause::Text, of) => matches!(
            of,
            Type::List(_)
                | Type::Map(_)
                | Type::Int
                | Type::Uint
                | Type::Double
                | Type::Bool
                | Type::String
                | Type::Timestamp
                | Type::Bytes
                | Type::Duration
                | Type::Type(_)
                | Type::Null
        ),
        (Clause::Decimal | Clause::Octal, of) => matches!(of, Type::Int | Type::Uint),
        (Clause::Fixed(_) | Clause::Scientific(_), of) => matches!(of, Type::Double | Type::String),
        (Clause::Binary, of) => matches!(of, Type::Int | Type::Uint | Type::Bool),
        (Clause::Hexadecimal { .. }, of) => matches!(of, Type::Int | Type::Uint | Type::String | Type::Bytes),
    };
    if !fits {
        return Some(argument.id);
    }
    if clause != Clause::Text {
        return None;
    }
    match &argument.kind {
        Kind::List { elements, .. } => elements
            .iter()
            .find_map(|element| refused(checked, element, clause)),
        Kind::Map { entries } => entries.iter().find_map(|entry| {
            refused(checked, &entry.key, clause).or_else(|| refused(checked, &entry.value, clause))
        }),
        _ => None,
    }
}
