//! Lists.

use std::sync::Arc;

use schema::{ListType, Schema};
use serde_json::Value as Json;

use super::equality::equal;
use super::{Failure, Outcome, Value, json};

/// A list.
#[derive(Debug, Clone)]
pub(crate) struct List<'a> {
    items: Items<'a>,
    kind: ListKind<'a>,
}

#[derive(Debug, Clone)]
enum Items<'a> {
    Values(Arc<Vec<Value<'a>>>),
    Json {
        items: &'a [Json],
        schema: Option<&'a Schema>,
    },
}

/// How lists add up and compare.
#[derive(Debug, Clone, Copy)]
enum ListKind<'a> {
    /// Made by an expression, or from data without a schema.
    Plain,
    /// From an object, in order.
    Atomic,
    /// From an object; order doesn't matter and nothing is there twice.
    Set,
    /// From an object; items are told apart by these fields.
    Map(&'a [Box<str>]),
}

impl<'a> List<'a> {
    /// Makes a list of values.
    pub(crate) fn of(items: Vec<Value<'a>>) -> Self {
        Self {
            items: Items::Values(Arc::new(items)),
            kind: ListKind::Plain,
        }
    }

    /// Takes a JSON array without a schema.
    pub(crate) fn dynamic(items: &'a [Json]) -> Self {
        Self {
            items: Items::Json { items, schema: None },
            kind: ListKind::Plain,
        }
    }

    /// Takes a JSON array of which the schema says how it merges and what its items are.
    pub(crate) fn from_schema(items: &'a [Json], list: &'a Schema, item: &'a Schema) -> Self {
        let kind = match &list.list_type {
            ListType::Atomic => ListKind::Atomic,
            ListType::Set => ListKind::Set,
            ListType::Map(keys) => ListKind::Map(keys),
        };
        Self {
            items: Items::Json {
                items,
                schema: Some(item),
            },
            kind,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.items {
            Items::Values(values) => values.len(),
            Items::Json { items, .. } => items.len(),
        }
    }

    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.kind, ListKind::Plain)
    }

    /// Returns the item at the index; `None` beyond the end.
    pub(crate) fn get(&self, index: usize) -> Option<Outcome<'a>> {
        match &self.items {
            Items::Values(values) => values.get(index).cloned().map(Ok),
            Items::Json { items, schema } => items.get(index).map(|item| json::value(item, *schema, false)),
        }
    }

    /// Returns the items one by one.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Outcome<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Returns the items.
    pub(crate) fn values(&self) -> Result<Vec<Value<'a>>, Failure> {
        self.iter().collect()
    }

    pub(super) fn without_schema(&self) -> Value<'a> {
        match &self.items {
            Items::Json { items, .. } => Value::List(Self::dynamic(items)),
            Items::Values(_) => Value::List(self.clone()),
        }
    }

    /// Adds an item, in place where nobody else holds the list.
    pub(crate) fn push(&mut self, item: Value<'a>) -> Result<(), Failure> {
        if let Items::Json { .. } = &self.items {
            self.items = Items::Values(Arc::new(self.values()?));
        }
        if let Items::Values(values) = &mut self.items {
            Arc::make_mut(values).push(item);
        }
        Ok(())
    }

    /// Adds up two lists: sets unite, lists with keys merge, others stand one after the other.
    pub(crate) fn add(&self, other: &List<'a>) -> Result<List<'a>, Failure> {
        let mut items = self.values()?;
        match self.kind {
            ListKind::Plain | ListKind::Atomic => {
                for item in other.iter() {
                    items.push(item?);
                }
            }
            ListKind::Set => {
                for item in other.iter() {
                    let item = item?;
                    if !contains(&items, &item) {
                        items.push(item);
                    }
                }
            }
            ListKind::Map(keys) => {
                for item in other.iter() {
                    let item = item?;
                    match items.iter().position(|known| same_keys(known, &item, keys)) {
                        Some(position) => {
                            if let Some(slot) = items.get_mut(position) {
                                *slot = item;
                            }
                        }
                        None => items.push(item),
                    }
                }
            }
        }
        Ok(List {
            items: Items::Values(Arc::new(items)),
            kind: self.kind,
        })
    }

    /// Returns whether the lists are equal, by the rules of the left one.
    pub(crate) fn equals(&self, other: &Value<'a>) -> Result<bool, Failure> {
        let Value::List(other) = other else {
            return if self.is_plain() {
                Ok(false)
            } else {
                Err(Failure::no_such_overload())
            };
        };
        if self.len() != other.len() {
            return Ok(false);
        }
        match self.kind {
            ListKind::Plain => {
                for (one, other) in self.iter().zip(other.iter()) {
                    if !equal(&one?, &other?).unwrap_or(true) {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            ListKind::Atomic => {
                for (one, other) in self.iter().zip(other.iter()) {
                    if !equal(&one?, &other?)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            ListKind::Set => {
                let items = self.values()?;
                for item in other.iter() {
                    if !contains(&items, &item?) {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            ListKind::Map(keys) => {
                let items = self.values()?;
                for item in other.iter() {
                    let item = item?;
                    // The last item with a key is the one that counts.
                    let Some(known) = items.iter().rev().find(|known| same_keys(known, &item, keys)) else {
                        return Ok(false);
                    };
                    if !equal(known, &item)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Returns whether the value is one of the items.
    pub(crate) fn contains(&self, value: &Value<'a>) -> Result<bool, Failure> {
        let mut failure = None;
        for item in self.iter() {
            match item.and_then(|item| equal(&item, value)) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(Failure::CostLimit) => return Err(Failure::CostLimit),
                Err(found) => failure = failure.or(Some(found)),
            }
        }
        // A list from an object doesn't hide that it couldn't compare; one that an expression made does.
        match failure {
            Some(failure) if !self.is_plain() => Err(failure),
            _ => Ok(false),
        }
    }
}

fn contains<'a>(items: &[Value<'a>], value: &Value<'a>) -> bool {
    items.iter().any(|item| equal(item, value).unwrap_or(false))
}

fn same_keys<'a>(one: &Value<'a>, other: &Value<'a>, keys: &[Box<str>]) -> bool {
    let (Value::Map(one), Value::Map(other)) = (one, other) else {
        return false;
    };
    keys.iter().all(
        |key| match (one.field_unescaped(key), other.field_unescaped(key)) {
            (None, None) => true,
            (Some(Ok(one)), Some(Ok(other))) => equal(&one, &other).unwrap_or(false),
            _ => false,
        },
    )
}
