//! Which part of the old value a part of the new one replaces.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::Value;

use crate::{ListType, Reference, Schema, Type};

/// A part of the new value and the part of the old one that it replaces.
pub(super) struct Correlation<'a> {
    schema: &'a Schema,
    old: &'a Value,
    new: &'a Value,
    /// The old items of a list whose items have keys.
    old_items: OnceCell<HashMap<String, &'a Value>>,
}

impl<'a> Correlation<'a> {
    pub(super) fn new(schema: &'a Schema, old: &'a Value, new: &'a Value) -> Self {
        Self {
            schema,
            old,
            new,
            old_items: OnceCell::new(),
        }
    }

    /// Returns a field that the schema describes and that both objects have.
    pub(super) fn field(&self, name: &str) -> Option<Correlation<'a>> {
        let (old, new) = (self.old.as_object()?.get(name)?, self.new.as_object()?.get(name)?);
        let schema = match self.schema.properties.get(name) {
            Some(property) => property.schema(),
            None => self
                .schema
                .additional_properties
                .as_ref()
                .map(Reference::schema)
                // `additionalProperties: true` describes nothing.
                .filter(|schema| schema.value_type != Type::Any || schema.preserve_unknown_fields)?,
        };
        Some(Correlation::new(schema, old, new))
    }

    /// Returns an item of a list whose items have keys, with the first old one of the same key.
    pub(super) fn item(&self, index: usize) -> Option<Correlation<'a>> {
        let keys = self.keys()?;
        let old_items = self.old.as_array()?;
        let new = self.new.as_array()?.get(index)?;
        let items = self.schema.items.as_ref()?.schema();
        let known = self.old_items.get_or_init(|| {
            let mut known = HashMap::with_capacity(old_items.len());
            for item in old_items {
                if let Some(key) = key_of(item, keys) {
                    known.entry(key).or_insert(item);
                }
            }
            known
        });
        let old = known.get(&key_of(new, keys)?)?;
        Some(Correlation::new(items, old, new))
    }

    fn keys(&self) -> Option<&'a [Box<str>]> {
        match &self.schema.list_type {
            ListType::Map(keys) => Some(keys),
            ListType::Atomic | ListType::Set => None,
        }
    }

    /// Returns whether nothing changed. An object with fields that the schema doesn't describe counts as changed, and a
    /// list whose items have keys may change its order.
    pub(super) fn is_unchanged(&self) -> bool {
        match (self.old, self.new) {
            (Value::Array(old), Value::Array(new)) => {
                if self.keys().is_none() {
                    return old == new;
                }
                old.len() == new.len()
                    && (0..new.len()).all(|index| self.item(index).is_some_and(|item| item.is_unchanged()))
            }
            (Value::Object(old), Value::Object(new)) => {
                old.len() == new.len()
                    && new
                        .keys()
                        .all(|name| self.field(name).is_some_and(|field| field.is_unchanged()))
            }
            (old, new) => old == new,
        }
    }
}

/// Returns what tells an item apart; nothing for one that lacks a key or has a key that isn't a scalar.
fn key_of(item: &Value, keys: &[Box<str>]) -> Option<String> {
    if keys.is_empty() {
        return None;
    }
    let item = item.as_object()?;
    let mut text = String::new();
    for key in keys {
        let value = item.get(key.as_ref())?;
        match value {
            Value::Bool(_) | Value::Number(_) | Value::String(_) => text.push_str(&value.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        }
        text.push('\0');
    }
    Some(text)
}
