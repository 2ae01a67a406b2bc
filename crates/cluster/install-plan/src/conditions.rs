//! Lists of conditions in a status: found by type, replaced in their place, kept in their order.

use serde_json::{Map, Value, json};

/// Returns a condition of a status.
pub fn get<'a>(status: &'a Value, condition_type: &str) -> Option<&'a Value> {
    let conditions = status.get("conditions")?.as_array()?;
    conditions
        .iter()
        .find(|condition| field(condition, "type") == condition_type)
}

/// Returns whether a condition of a status is `True`.
pub fn is_true(status: &Value, condition_type: &str) -> bool {
    get(status, condition_type).is_some_and(|condition| field(condition, "status") == "True")
}

/// Returns a text of a condition; empty where there is none.
pub fn field<'a>(condition: &'a Value, name: &str) -> &'a str {
    condition.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Makes a condition; an empty reason or message is left out.
pub fn condition(condition_type: &str, status: &str, reason: &str, message: &str) -> Value {
    let mut fields = Map::new();
    fields.insert("type".to_owned(), Value::from(condition_type));
    fields.insert("status".to_owned(), Value::from(status));
    for (name, text) in [("reason", reason), ("message", message)] {
        if !text.is_empty() {
            fields.insert(name.to_owned(), Value::from(text));
        }
    }
    Value::Object(fields)
}

/// Returns whether two conditions say the same, whenever they began.
pub fn say_the_same(one: &Value, other: &Value) -> bool {
    ["type", "status", "reason", "message"]
        .iter()
        .all(|name| field(one, name) == field(other, name))
}

/// Puts a condition in the place of the one of its type, or at the end.
pub fn set(status: &mut Value, condition: Value) {
    let wanted = field(&condition, "type").to_owned();
    let fields = apply::object::as_map(status);
    let list = fields.entry("conditions").or_insert_with(|| json!([]));
    if !list.is_array() {
        *list = json!([]);
    }
    if let Value::Array(conditions) = list {
        match conditions
            .iter_mut()
            .find(|existing| field(existing, "type") == wanted)
        {
            Some(existing) => *existing = condition,
            None => conditions.push(condition),
        }
    }
}

/// Takes conditions out of a status; a list that becomes empty goes too.
pub fn remove(status: &mut Value, condition_types: &[&str]) {
    let Some(fields) = status.as_object_mut() else {
        return;
    };
    let Some(Value::Array(conditions)) = fields.get_mut("conditions") else {
        return;
    };
    conditions.retain(|condition| !condition_types.contains(&field(condition, "type")));
    if conditions.is_empty() {
        fields.remove("conditions");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_keeps_its_place() {
        let mut status = json!(null);
        set(&mut status, condition("A", "True", "R", "m"));
        set(&mut status, condition("B", "False", "", ""));
        set(&mut status, condition("A", "False", "R", ""));
        assert_eq!(
            status,
            json!({"conditions": [
                {"type": "A", "status": "False", "reason": "R"},
                {"type": "B", "status": "False"},
            ]})
        );
        assert!(!is_true(&status, "A"));
        remove(&mut status, &["A", "B", "C"]);
        assert_eq!(status, json!({}));
    }
}
