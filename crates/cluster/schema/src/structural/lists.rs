//! Lists whose items must differ, or have keys that differ.

use std::collections::HashMap;

use goyaml::json::{self, Escape};
use serde_json::{Map, Value};

use crate::{FieldError, FieldErrors, FieldPath, ListType, Reference, Schema};

/// Returns which items of sets, and of lists whose items have keys, are there twice.
pub fn validate(schema: &Schema, value: &Value) -> FieldErrors {
    let mut errors = FieldErrors::default();
    if let Value::Object(fields) = value {
        check_fields(schema, fields, &FieldPath::root(), &mut errors);
    }
    errors
}

fn check(schema: &Schema, value: &Value, path: &FieldPath, errors: &mut FieldErrors) {
    match value {
        Value::Object(fields) => check_fields(schema, fields, path, errors),
        Value::Array(items) => check_items(schema, items, path, errors),
        _ => {}
    }
}

/// Returns whether a list stands anywhere in the value; paths needn't be made for the rest.
fn holds_list(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Object(fields) => fields.values().any(holds_list),
        _ => false,
    }
}

fn check_fields(schema: &Schema, fields: &Map<String, Value>, path: &FieldPath, errors: &mut FieldErrors) {
    if let Some(additional) = schema.additional_properties.as_ref().map(Reference::schema) {
        for (name, field) in fields {
            if holds_list(field) {
                check(additional, field, &path.key(name), errors);
            }
        }
    }
    for (name, property) in &schema.properties {
        if let Some(field) = fields.get(name.as_ref())
            && holds_list(field)
        {
            check(property.schema(), field, &path.child(name), errors);
        }
    }
}

fn check_items(schema: &Schema, items: &[Value], path: &FieldPath, errors: &mut FieldErrors) {
    match &schema.list_type {
        ListType::Atomic => {}
        ListType::Set => {
            for index in repeated(items.iter().map(Some)) {
                if let Some(item) = items.get(index) {
                    errors.push_with(|| FieldError::duplicate(path.index(index), item));
                }
            }
        }
        ListType::Map(keys) => check_keys(keys, items, path, errors),
    }
    if let Some(item_schema) = schema.items.as_ref().map(Reference::schema) {
        for (index, item) in items.iter().enumerate() {
            if holds_list(item) {
                check(item_schema, item, &path.index(index), errors);
            }
        }
    }
}

/// Returns where values stand that were there once before; of more than two that are equal only the second.
fn repeated<'a>(values: impl ExactSizeIterator<Item = Option<&'a Value>>) -> Vec<usize> {
    let mut times: HashMap<String, usize> = HashMap::with_capacity(values.len());
    let mut repeated = Vec::new();
    for (index, value) in values.enumerate() {
        let known_by = match value {
            None => String::new(),
            // Objects and lists are compared as the server writes them, where 2 and 2.0 are the same; scalars aren't.
            Some(compound @ (Value::Object(_) | Value::Array(_))) => {
                json::to_string(compound, Escape::Html).unwrap_or_default()
            }
            Some(scalar) => format!("={scalar}"),
        };
        let count = times.entry(known_by).or_default();
        *count += 1;
        if *count == 2 {
            repeated.push(index);
        }
    }
    repeated
}

fn check_keys(keys: &[Box<str>], items: &[Value], path: &FieldPath, errors: &mut FieldErrors) {
    let foreign = items
        .iter()
        .enumerate()
        .find(|(_, item)| !item.is_null() && !item.is_object());
    if let Some((index, item)) = foreign {
        let rule = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(path.index(index), item, rule));
        return;
    }
    let found: Vec<Value> = items
        .iter()
        .map(|item| {
            let present = keys
                .iter()
                .filter_map(|key| Some((key.to_string(), item.get(key.as_ref())?.clone())));
            Value::Object(present.collect())
        })
        .collect();
    let again = match keys {
        [key] => repeated(items.iter().map(|item| item.get(key.as_ref()))),
        _ => repeated(found.iter().map(Some)),
    };
    for index in again {
        if let Some(key) = found.get(index) {
            errors.push_with(|| FieldError::duplicate(path.index(index), key));
        }
    }
}
