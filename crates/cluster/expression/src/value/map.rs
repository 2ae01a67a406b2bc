//! Maps and objects.

use std::collections::HashMap;
use std::sync::Arc;

use schema::Schema;
use serde_json::Value as Json;

use super::equality::equal;
use super::{Failure, Outcome, Text, Value, json, object_meta};
use crate::escape::{escape, unescape};

/// A map, or an object.
#[derive(Debug, Clone)]
pub(crate) enum Map<'a> {
    /// Made by an expression.
    Entries(Arc<Entries<'a>>),
    /// A JSON object, read as its shape says.
    Json {
        fields: &'a serde_json::Map<String, Json>,
        shape: Shape<'a>,
    },
}

/// How the fields of a JSON object are read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// Without a schema.
    Dynamic,
    /// By the properties of a schema, with names as expressions spell them.
    Object { schema: &'a Schema, resource: bool },
    /// All by the same schema.
    Values(&'a Schema),
    /// Not at all: the schema names no field.
    Closed,
}

/// The entries of a map, in the order in which they were added.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entries<'a> {
    entries: Vec<(Value<'a>, Value<'a>)>,
    places: HashMap<Key, usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Bool(bool),
    Int(i64),
    Uint(u64),
    String(Arc<str>),
    Other(String),
}

impl Key {
    fn of(value: &Value<'_>) -> Self {
        match value {
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Uint(value) => Self::Uint(*value),
            Value::String(Text::Shared(text)) => Self::String(text.clone()),
            Value::String(Text::Borrowed(text)) => Self::String((*text).into()),
            other => Self::Other(super::text::debug(other)),
        }
    }
}

impl<'a> Entries<'a> {
    /// Adds an entry; one with the same key is replaced.
    pub(crate) fn set(&mut self, key: Value<'a>, value: Value<'a>) {
        match self
            .places
            .get(&Key::of(&key))
            .and_then(|place| self.entries.get_mut(*place))
        {
            Some(entry) => entry.1 = value,
            None => {
                self.places.insert(Key::of(&key), self.entries.len());
                self.entries.push((key, value));
            }
        }
    }

    /// Adds an entry whose key must be new.
    pub(crate) fn insert(&mut self, key: Value<'a>, value: Value<'a>) -> Result<(), Failure> {
        if self.find(&key).is_some() {
            return Err(Failure::new(format!(
                "insert failed: key {} already exists",
                super::text::go(&key)
            )));
        }
        self.set(key, value);
        Ok(())
    }

    /// Removes the entry with that key.
    pub(crate) fn remove(&mut self, key: &Value<'a>) {
        if self.places.remove(&Key::of(key)).is_some() {
            let entries = std::mem::take(&mut self.entries);
            self.places.clear();
            for (known, value) in entries {
                if Key::of(&known) != Key::of(key) {
                    self.set(known, value);
                }
            }
        }
    }

    fn find(&self, key: &Value<'a>) -> Option<&Value<'a>> {
        let at = |key: Key| {
            self.places
                .get(&key)
                .and_then(|place| self.entries.get(*place))
                .map(|entry| &entry.1)
        };
        if let Some(found) = at(Key::of(key)) {
            return Some(found);
        }
        // A number finds the entry of another numeric type, when it is the same number.
        match key {
            Value::Int(value) => at(Key::Uint(u64::try_from(*value).ok()?)),
            Value::Uint(value) => at(Key::Int(i64::try_from(*value).ok()?)),
            Value::Double(value) if value.fract() == 0.0 => {
                at(Key::Int(super::text::exact_int(*value)?)).or_else(|| at(Key::Uint(*value as u64)))
            }
            _ => None,
        }
    }
}

impl<'a> Map<'a> {
    /// Makes a map of entries.
    pub(crate) fn of(entries: Entries<'a>) -> Self {
        Self::Entries(Arc::new(entries))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Entries(entries) => entries.entries.len(),
            Self::Json { fields, .. } => fields.len(),
        }
    }

    pub(crate) fn is_plain(&self) -> bool {
        matches!(
            self,
            Self::Entries(_)
                | Self::Json {
                    shape: Shape::Dynamic,
                    ..
                }
        )
    }

    /// Looks up a key. `Ok(None)` means that there is none.
    pub(crate) fn find(&self, key: &Value<'a>) -> Result<Option<Value<'a>>, Failure> {
        match self {
            Self::Entries(entries) => Ok(entries.find(key).cloned()),
            Self::Json { shape, .. } => match (key, shape) {
                (Value::String(name), _) => self.field(name).transpose(),
                (_, Shape::Dynamic) => Ok(None),
                _ => Err(Failure::no_such_overload()),
            },
        }
    }

    /// Looks up a field by its name as expressions spell it.
    pub(crate) fn field(&self, name: &str) -> Option<Outcome<'a>> {
        match self {
            Self::Json {
                shape: Shape::Object { .. },
                ..
            } => self.field_unescaped(&unescape(name)?),
            _ => self.field_unescaped(name),
        }
    }

    /// Looks up a field by its own name.
    pub(crate) fn field_unescaped(&self, name: &str) -> Option<Outcome<'a>> {
        match self {
            Self::Entries(entries) => entries.find(&Value::string(name)).cloned().map(Ok),
            Self::Json { fields, shape } => {
                let value = fields.get(name)?;
                match shape {
                    Shape::Dynamic => Some(json::value(value, None, false)),
                    // A field that may be null and is null is as if it were absent.
                    Shape::Object { .. } if value.is_null() => None,
                    Shape::Object { schema, resource } => Some(json::value(
                        value,
                        Some(object_meta::property(schema, name, *resource)?),
                        false,
                    )),
                    Shape::Values(schema) => Some(json::value(value, Some(schema), false)),
                    Shape::Closed => None,
                }
            }
        }
    }

    /// Returns the keys, in order.
    pub(crate) fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Self::Entries(entries) => entries.entries.iter().map(|(key, _)| key.clone()).collect(),
            Self::Json { fields, shape } => fields
                .iter()
                .filter_map(|(name, _)| match shape {
                    Shape::Object { schema, resource } => {
                        object_meta::property(schema, name, *resource)?;
                        Some(match escape(name) {
                            Some(std::borrow::Cow::Owned(escaped)) => Value::string(escaped),
                            _ => Value::String(Text::Borrowed(name)),
                        })
                    }
                    Shape::Closed => None,
                    _ => Some(Value::String(Text::Borrowed(name))),
                })
                .collect(),
        }
    }

    /// Returns the entries that can be seen, in order.
    pub(crate) fn entries(&self) -> Vec<(Value<'a>, Outcome<'a>)> {
        if let Self::Entries(entries) = self {
            return entries
                .entries
                .iter()
                .map(|(key, value)| (key.clone(), Ok(value.clone())))
                .collect();
        }
        self.keys()
            .into_iter()
            .map(|key| {
                let value = match self.find(&key) {
                    Ok(Some(value)) => Ok(value),
                    Ok(None) => Err(Failure::new(format!("no such key: {}", super::text::go(&key)))),
                    Err(failure) => Err(failure),
                };
                (key, value)
            })
            .collect()
    }

    pub(super) fn without_schema(&self) -> Value<'a> {
        match self {
            Self::Json { fields, .. } => Value::Map(Map::Json {
                fields,
                shape: Shape::Dynamic,
            }),
            Self::Entries(_) => Value::Map(self.clone()),
        }
    }

    /// Returns whether the maps are equal, by the rules of the left one.
    pub(crate) fn equals(&self, other: &Value<'a>) -> Result<bool, Failure> {
        let Value::Map(other) = other else {
            return if self.is_plain() {
                Ok(false)
            } else {
                Err(Failure::no_such_overload())
            };
        };
        if self.len() != other.len() {
            return Ok(false);
        }
        let (fields, shape) = match self {
            Self::Json { fields, shape } if !self.is_plain() => (fields, shape),
            _ => {
                for (key, value) in self.entries() {
                    let Ok(Some(found)) = other.find(&key) else {
                        return Ok(false);
                    };
                    if !equal(&value?, &found).unwrap_or(true) {
                        return Ok(false);
                    }
                }
                return Ok(true);
            }
        };
        for (name, value) in *fields {
            let known = match shape {
                Shape::Object { schema, resource } => {
                    object_meta::property(schema, name, *resource).is_some()
                }
                Shape::Values(_) | Shape::Dynamic => true,
                Shape::Closed => false,
            };
            if known {
                match (self.field_unescaped(name), other.field_unescaped(name)) {
                    (None, None) => {}
                    (Some(one), Some(other)) => {
                        if !equal(&one?, &other?)? {
                            return Ok(false);
                        }
                    }
                    _ => return Ok(false),
                }
            } else {
                // A field of which the schema says nothing is compared as data.
                let Map::Json { fields: others, .. } = other else {
                    return Err(Failure::no_such_overload());
                };
                if others.get(name).is_some_and(|other| other != value) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
