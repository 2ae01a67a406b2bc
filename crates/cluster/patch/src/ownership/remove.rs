//! An object without some of its fields, or with only some of them.

use serde_json::{Map, Value};

use super::set::Set;
use super::shape::{Chosen, ItemNames, ListShape, MapShape, Shape};

/// Returns an object without the fields of a set. An object or a list that loses everything becomes null.
pub fn remove_items(value: &Value, fields: &Set, shape: Shape<'_>) -> Value {
    walk(value, fields, shape, false)
}

/// Returns an object with only the fields of a set. The set should have only leaves: an object that is itself in it is
/// searched for the names beside it, as upstream does.
pub fn extract_items(value: &Value, fields: &Set, shape: Shape<'_>) -> Value {
    walk(value, fields, shape, true)
}

fn walk(value: &Value, fields: &Set, shape: Shape<'_>, extract: bool) -> Value {
    match (shape.atom().deduced(Some(value)).chosen(), value) {
        (Chosen::Map(shape), Value::Object(map)) => match (map.is_empty() || shape.atomic, extract) {
            (true, true) => value.clone(),
            (true, false) => Value::Null,
            (false, _) => object(map, fields, &shape, extract),
        },
        (Chosen::List(shape), Value::Array(items)) => {
            let whole = items.is_empty() || matches!(shape.names, ItemNames::Atomic);
            match (whole, extract) {
                (true, true) => value.clone(),
                (true, false) => Value::Null,
                (false, _) => list(items, fields, &shape, extract),
            }
        }
        (Chosen::Scalar(_), _) => value.clone(),
        _ => Value::Null,
    }
}

fn object(map: &Map<String, Value>, fields: &Set, shape: &MapShape<'_>, extract: bool) -> Value {
    let mut out = Map::new();
    for (name, value) in map {
        let node = fields.field_node(name);
        if node.is_some_and(|node| node.member) {
            if extract {
                out.insert(name.clone(), walk(value, fields, shape.field(name), extract));
            }
            continue;
        }
        match node {
            Some(node) => {
                out.insert(
                    name.clone(),
                    walk(value, &node.children, shape.field(name), extract),
                );
            }
            None if extract => {}
            None => {
                out.insert(name.clone(), value.clone());
            }
        }
    }
    if out.is_empty() {
        Value::Null
    } else {
        Value::Object(out)
    }
}

fn list(items: &[Value], fields: &Set, shape: &ListShape<'_>, extract: bool) -> Value {
    let item_shape = shape.item.shape();
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        let node = shape.name_item(item).ok().and_then(|name| fields.node(&name));
        match node {
            Some(node) if node.member && !extract => {}
            Some(node) if !node.children.is_empty() => {
                out.push(walk(item, &node.children, item_shape, extract));
            }
            None if extract => {}
            _ => out.push(item.clone()),
        }
    }
    if out.is_empty() {
        Value::Null
    } else {
        Value::Array(out)
    }
}
