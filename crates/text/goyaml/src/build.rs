//! A checked document as a `serde_json::Value`.

use serde_json::{Map, Number, Value};

use crate::meaning::{entries, is_merge, key_text, meaning};
use crate::options::Numbers;
use crate::resolve::Scalar;
use crate::tree::{Kind, NodeId, Tree};

/// Builds the value of a node; the document must have passed the check.
pub(crate) fn value(tree: &Tree<'_>, id: NodeId, numbers: Numbers) -> Value {
    let id = if tree.has_aliases {
        tree.resolve_alias(id)
    } else {
        id
    };
    match tree.node(id).kind {
        Kind::Scalar | Kind::Alias => scalar(meaning(tree, id).unwrap_or(Scalar::Null), numbers),
        Kind::Sequence => Value::Array(
            tree.children(id)
                .map(|child| value(tree, child, numbers))
                .collect(),
        ),
        Kind::Mapping => Value::Object(mapping(tree, id, numbers)),
    }
}

fn mapping(tree: &Tree<'_>, id: NodeId, numbers: Numbers) -> Map<String, Value> {
    if tree.pairs(id).any(|(key, _)| is_merge(tree, key, tree.node(key))) {
        return entries(tree, id)
            .into_iter()
            .filter_map(|entry| {
                Some((
                    key_text(&entry.key)?.into_owned(),
                    value(tree, entry.value, numbers),
                ))
            })
            .collect();
    }
    tree.pairs(id)
        .filter_map(|(key, child)| {
            let key = meaning(tree, tree.resolve_alias(key)).ok()?;
            Some((key_text(&key)?.into_owned(), value(tree, child, numbers)))
        })
        .collect()
}

fn scalar(scalar: Scalar<'_>, numbers: Numbers) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Int(value) if numbers == Numbers::Float64 => float(value as f64),
        Scalar::Uint(value) if numbers == Numbers::Float64 => float(value as f64),
        Scalar::Float(value) if numbers == Numbers::Float64 => float(value),
        Scalar::Int(value) => Value::Number(value.into()),
        Scalar::Uint(value) => Value::Number(value.into()),
        Scalar::Float(value) => whole(value).map_or_else(|| float(value), Value::Number),
        Scalar::Text(text) => Value::String(text.into_owned()),
    }
}

fn float(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// Returns the integer that a float turns into on its way through JSON text, which has no other sign of it.
pub(crate) fn whole(value: f64) -> Option<Number> {
    /// Up to here every integer is a float of its own; beyond, JSON has digits that the float does not.
    const EXACT_END: f64 = 9_007_199_254_740_992.0;
    if value.trunc() != value || (value == 0.0 && value.is_sign_negative()) || value.abs() >= 1e20 {
        None
    } else if value.abs() < EXACT_END {
        Some((value as i64).into())
    } else {
        let text = crate::numbers::format_json(value);
        text.parse::<i64>()
            .map(Number::from)
            .or_else(|_| text.parse::<u64>().map(Number::from))
            .ok()
    }
}
