//! Equality and order of values as structured merge knows them.
//!
//! A whole number equals the floating point number of the same size, because the two forms of a field set (read from
//! `FieldsV1`, taken from an object) hold numbers differently.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

/// Returns whether two values are the same, whatever form their numbers have.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => number_order(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

/// Returns the order of two values: numbers, text, booleans, lists, objects, nulls.
pub(super) fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => number_order(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => list_order(left, right),
        (Value::Object(left), Value::Object(right)) => object_order(left, right),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn number_order(left: &Number, right: &Number) -> Ordering {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => float(left).partial_cmp(&float(right)).unwrap_or(Ordering::Equal),
    }
}

/// Returns a number as Go holds what doesn't fit into an int64.
pub(super) fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

fn list_order(left: &[Value], right: &[Value]) -> Ordering {
    left.iter()
        .zip(right)
        .map(|(left, right)| order(left, right))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| left.len().cmp(&right.len()))
}

/// The first key that only one of the two has decides, unless one of them has come to its end before.
fn object_order(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    let keys = left
        .keys()
        .chain(right.keys().filter(|key| !left.contains_key(key.as_str())));
    let mut keys: Vec<&String> = keys.collect();
    keys.sort();
    for (position, key) in keys.into_iter().enumerate() {
        let order = match (left.get(key), right.get(key)) {
            _ if position == left.len() => Ordering::Less,
            _ if position == right.len() => Ordering::Greater,
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
            (Some(left), Some(right)) => order(left, right),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_whole_number_equals_the_float_of_the_same_size() {
        assert!(same(&json!({"a": [1, 2.0]}), &json!({"a": [1.0, 2]})));
        assert!(!same(&json!({"a": 1}), &json!({"a": 1, "b": null})));
        assert!(!same(&json!(null), &json!({})));
    }

    #[test]
    fn values_of_different_types_are_ordered_by_their_type() {
        let sorted = [
            json!(-1),
            json!(1.5),
            json!(2),
            json!("a"),
            json!(false),
            json!(true),
            json!([1]),
            json!([1, 0]),
        ];
        let rest = [json!({}), json!({"a": 1}), json!(null)];
        let all: Vec<Value> = sorted.into_iter().chain(rest).collect();
        for (position, left) in all.iter().enumerate() {
            for (other, right) in all.iter().enumerate() {
                assert_eq!(order(left, right), position.cmp(&other), "{left} and {right}");
            }
        }
    }
}
