//! Which old value belongs to which new one.

use std::collections::HashMap;

use schema::{ListType, Reference, Schema};
use serde_json::{Map, Value};

/// A new value, and the old one in its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Correlated<'a> {
    new: &'a Value,
    old: &'a Value,
    schema: &'a Schema,
}

/// What is known of the old value while going down: the pair at this place, or the nearest one above.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ratchet<'a> {
    current: Option<Correlated<'a>>,
    above: Option<Correlated<'a>>,
}

impl<'a> Ratchet<'a> {
    /// Starts at the root of an update.
    pub(super) fn new(new: &'a Value, old: &'a Value, schema: &'a Schema) -> Self {
        Self {
            current: Some(Correlated { new, old, schema }),
            above: None,
        }
    }

    /// Returns whether what is wrong at this place was wrong before, so that it is let through.
    pub(super) fn is_unchanged(&self) -> bool {
        self.current.or(self.above).is_some_and(Correlated::is_equal)
    }

    /// Goes down to a field.
    pub(super) fn key(self, name: &str) -> Self {
        match self.current {
            None => self,
            // Both objects were converted to the same version, so these tell nothing.
            Some(_) if self.above.is_none() && matches!(name, "apiVersion" | "kind") => Self::default(),
            Some(pair) => Self {
                current: pair.key(name),
                above: Some(pair),
            },
        }
    }

    /// Goes down to an item.
    pub(super) fn index(self, index: usize) -> Self {
        match self.current {
            None => self,
            Some(pair) => Self {
                current: pair.index(index),
                above: Some(pair),
            },
        }
    }

    /// Stays, but below an `allOf`, where only what is above counts.
    pub(super) fn in_all_of(self) -> Self {
        Self {
            current: None,
            above: self.above,
        }
    }
}

impl Correlated<'_> {
    fn key(self, name: &str) -> Option<Self> {
        let (new, old) = (self.new.as_object()?.get(name)?, self.old.as_object()?.get(name)?);
        let schema = self
            .schema
            .properties
            .get(name)
            .or(self.schema.additional_properties.as_ref())
            .map(Reference::schema)?;
        Some(Self { new, old, schema })
    }

    fn index(self, index: usize) -> Option<Self> {
        let new = self.new.as_array()?.get(index)?;
        let old = KeyedItems::new(self.schema, self.old.as_array()).get(new)?;
        Some(Self {
            new,
            old,
            schema: self.schema.items.as_ref()?.schema(),
        })
    }

    fn is_equal(self) -> bool {
        match (self.new, self.old) {
            (Value::Array(new), Value::Array(old)) => {
                if new.len() != old.len() {
                    return false;
                }
                let keyed = KeyedItems::new(self.schema, Some(old));
                let (Some(items), true) = (&self.schema.items, keyed.is_keyed()) else {
                    return new == old;
                };
                new.iter().all(|new| {
                    keyed.get(new).is_some_and(|old| {
                        Self {
                            new,
                            old,
                            schema: items.schema(),
                        }
                        .is_equal()
                    })
                })
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len() && new.keys().all(|name| self.key(name).is_some_and(Self::is_equal))
            }
            (new, old) => new == old,
        }
    }
}

/// The items of an old list of `x-kubernetes-list-type: map`, by their keys.
pub(super) struct KeyedItems<'a> {
    keys: &'a [Box<str>],
    items: HashMap<String, &'a Value>,
}

impl<'a> KeyedItems<'a> {
    pub(super) fn new(schema: &'a Schema, items: Option<&'a Vec<Value>>) -> Self {
        let (ListType::Map(keys), Some(items)) = (&schema.list_type, items) else {
            return Self {
                keys: &[],
                items: HashMap::new(),
            };
        };
        let mut keyed = HashMap::with_capacity(items.len());
        for item in items {
            if let Some(key) = item.as_object().and_then(|fields| composite(keys, fields)) {
                keyed.entry(key).or_insert(item);
            }
        }
        Self { keys, items: keyed }
    }

    fn is_keyed(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Returns the old item with the same keys.
    pub(super) fn get(&self, item: &Value) -> Option<&'a Value> {
        if self.keys.is_empty() {
            return None;
        }
        self.items.get(&composite(self.keys, item.as_object()?)?).copied()
    }
}

fn composite(keys: &[Box<str>], fields: &Map<String, Value>) -> Option<String> {
    let mut composite = String::new();
    for key in keys {
        match fields.get(&**key)? {
            value @ (Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                composite.push('\0');
                composite.push_str(&value.to_string());
            }
            _ => return None,
        }
    }
    Some(composite)
}
