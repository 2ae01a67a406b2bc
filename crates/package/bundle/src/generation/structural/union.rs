//! One structural schema for what either of two accepts.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{INT_OR_STRING, MAXIMUM_DEPTH, PRESERVE, anything};

/// The schema that accepts what either does.
pub(super) fn union(left: Map<String, Value>, right: Map<String, Value>, depth: usize) -> Map<String, Value> {
    if left == right {
        return left;
    }
    let nullable = [&left, &right].iter().any(|side| side.contains_key("nullable"));
    let type_of = |side: &Map<String, Value>| {
        if side.contains_key(INT_OR_STRING) {
            return Some("int-or-string".to_owned());
        }
        side.get("type").and_then(Value::as_str).map(str::to_owned)
    };
    let both = match (type_of(&left).as_deref(), type_of(&right).as_deref()) {
        (Some("object"), Some("object")) if depth < MAXIMUM_DEPTH => union_of_objects(left, right, depth),
        (Some("array"), Some("array")) if depth < MAXIMUM_DEPTH => {
            let items = |side: &Map<String, Value>| match side.get("items") {
                Some(Value::Object(items)) => items.clone(),
                _ => anything(&Value::Null),
            };
            let items = union(items(&left), items(&right), depth + 1);
            Map::from_iter([
                ("type".to_owned(), Value::from("array")),
                ("items".to_owned(), Value::Object(items)),
            ])
        }
        (Some("integer" | "number"), Some("integer" | "number")) => {
            let same = left.get("type") == right.get("type");
            let name = if same { left.get("type").cloned() } else { None };
            Map::from_iter([("type".to_owned(), name.unwrap_or_else(|| "number".into()))])
        }
        (Some("string"), Some("string")) => {
            let mut both = Map::from_iter([("type".to_owned(), Value::from("string"))]);
            if let (Some(Value::Array(own)), Some(Value::Array(added))) =
                (left.get("enum"), right.get("enum"))
            {
                let mut choices = own.clone();
                choices.extend(added.iter().filter(|choice| !own.contains(choice)).cloned());
                both.insert("enum".into(), Value::Array(choices));
            }
            both
        }
        (Some("boolean"), Some("boolean")) => Map::from_iter([("type".to_owned(), Value::from("boolean"))]),
        (Some("int-or-string" | "integer" | "string"), Some("int-or-string" | "integer" | "string")) => {
            Map::from_iter([(INT_OR_STRING.to_owned(), Value::Bool(true))])
        }
        _ => anything(&Value::Null),
    };
    let mut both = both;
    if nullable {
        both.insert("nullable".into(), true.into());
    }
    both
}

fn union_of_objects(left: Map<String, Value>, right: Map<String, Value>, depth: usize) -> Map<String, Value> {
    let mut both = Map::from_iter([("type".to_owned(), Value::from("object"))]);
    let others = |side: &Map<String, Value>| side.get("additionalProperties").cloned();
    match (others(&left), others(&right)) {
        (None, None) => {}
        (Some(Value::Object(own)), Some(Value::Object(added))) => {
            let others = union(own, added, depth + 1);
            both.insert("additionalProperties".into(), Value::Object(others));
            return both;
        }
        _ => {
            both.insert(PRESERVE.into(), true.into());
            return both;
        }
    }
    let open = [&left, &right].iter().any(|side| side.contains_key(PRESERVE));
    let properties = |side: &mut Map<String, Value>| match side.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    let required = |side: &Map<String, Value>| -> BTreeSet<String> {
        let names = side.get("required").and_then(Value::as_array);
        names
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let common: Vec<String> = required(&left).intersection(&required(&right)).cloned().collect();
    let (mut left, mut right) = (left, right);
    let mut merged = properties(&mut left);
    for (name, added) in properties(&mut right) {
        let value = match (merged.remove(&name), added) {
            (Some(Value::Object(own)), Value::Object(added)) => Value::Object(union(own, added, depth + 1)),
            (None, added) => added,
            (Some(_), _) => Value::Object(anything(&Value::Null)),
        };
        merged.insert(name, value);
    }
    if !merged.is_empty() {
        both.insert("properties".into(), Value::Object(merged));
    }
    if open {
        both.insert(PRESERVE.into(), true.into());
    }
    if !common.is_empty() {
        both.insert("required".into(), json!(common));
    }
    both
}
