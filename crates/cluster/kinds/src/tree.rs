//! Objects as trees of JSON: how fields are found, made and set.
//!
//! An object that comes here was read into its kind before, so a field of the wrong type can't happen; it is then left
//! as it is.

use serde_json::{Map, Value};

/// The fields of an object or of a part of it.
pub(crate) type Fields = Map<String, Value>;

/// Reads and writes fields the way Go's types hold them: a field that is missing, `null` or empty was never set.
pub(crate) trait Tree {
    /// Returns a part that is an object, if it is there.
    fn part(&self, name: &str) -> Option<&Fields>;

    /// Returns a part that is an object, if it is there, to change it.
    fn part_mut(&mut self, name: &str) -> Option<&mut Fields>;

    /// Returns a part that is an object, which is made where it is missing.
    fn part_or_new(&mut self, name: &str) -> &mut Fields;

    /// Returns the items of a list that are objects.
    fn items<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Fields>;

    /// Returns the items of a list that are objects, to change them.
    fn items_mut<'a>(&'a mut self, name: &str) -> impl Iterator<Item = &'a mut Fields>;

    /// Returns a text; empty where it is missing.
    fn text(&self, name: &str) -> &str;

    /// Returns a whole number; 0 where it is missing.
    fn number(&self, name: &str) -> i64;

    /// Returns whether a field is true.
    fn flag(&self, name: &str) -> bool;

    /// Returns whether a field is missing or `null`.
    fn is_unset(&self, name: &str) -> bool;

    /// Returns whether a field is missing, `null`, or the zero of its type.
    fn is_zero(&self, name: &str) -> bool;

    /// Sets a field that is missing or `null`.
    fn set_if_unset(&mut self, name: &str, value: impl Into<Value>);

    /// Sets a field that is missing, `null`, or the zero of its type.
    fn set_if_zero(&mut self, name: &str, value: impl Into<Value>);

    /// Sets a field.
    fn set(&mut self, name: &str, value: impl Into<Value>);

    /// Makes a field what it is in another object, also where it is missing there.
    fn take_from(&mut self, other: Option<&Fields>, name: &str);
}

impl Tree for Fields {
    fn part(&self, name: &str) -> Option<&Fields> {
        self.get(name)?.as_object()
    }

    fn part_mut(&mut self, name: &str) -> Option<&mut Fields> {
        self.get_mut(name)?.as_object_mut()
    }

    fn part_or_new(&mut self, name: &str) -> &mut Fields {
        let value = self.entry(name).or_insert(Value::Null);
        object_of(value)
    }

    fn items<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Fields> {
        let items = self.get(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_object)
    }

    fn items_mut<'a>(&'a mut self, name: &str) -> impl Iterator<Item = &'a mut Fields> {
        let items = self.get_mut(name).and_then(Value::as_array_mut);
        items.into_iter().flatten().filter_map(Value::as_object_mut)
    }

    fn text(&self, name: &str) -> &str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, name: &str) -> i64 {
        self.get(name).and_then(Value::as_i64).unwrap_or_default()
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    fn is_unset(&self, name: &str) -> bool {
        self.get(name).is_none_or(Value::is_null)
    }

    fn is_zero(&self, name: &str) -> bool {
        match self.get(name) {
            None | Some(Value::Null) => true,
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::Number(number)) => number.as_i64() == Some(0),
            Some(Value::Bool(value)) => !value,
            Some(Value::Array(items)) => items.is_empty(),
            Some(Value::Object(fields)) => fields.is_empty(),
        }
    }

    fn set_if_unset(&mut self, name: &str, value: impl Into<Value>) {
        if self.is_unset(name) {
            self.set(name, value);
        }
    }

    fn set_if_zero(&mut self, name: &str, value: impl Into<Value>) {
        if self.is_zero(name) {
            self.set(name, value);
        }
    }

    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.insert(name.to_owned(), value.into());
    }

    fn take_from(&mut self, other: Option<&Fields>, name: &str) {
        match other.and_then(|other| other.get(name)) {
            Some(value) => self.set(name, value.clone()),
            None => {
                self.remove(name);
            }
        }
    }
}

/// Returns the value as an object, which it becomes where it is anything else.
pub(crate) fn object_of(value: &mut Value) -> &mut Fields {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(fields) => fields,
        _ => unreachable!("the value was made an object above"),
    }
}

/// Returns whether two values are the same for Kubernetes, to which an empty list is no list.
pub(crate) fn same(one: Option<&Value>, other: Option<&Value>) -> bool {
    let is_nothing = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    match (one, other) {
        (None, None) => true,
        (Some(value), None) | (None, Some(value)) => is_nothing(value),
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            one == other
                || (one.iter().all(|(name, value)| same(Some(value), other.get(name)))
                    && other
                        .iter()
                        .all(|(name, value)| one.contains_key(name) || is_nothing(value)))
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| same(Some(one), Some(other)))
        }
        (Some(one), Some(other)) => one == other || (is_nothing(one) && is_nothing(other)),
    }
}
