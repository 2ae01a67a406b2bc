//! Lists that Go may hold as nil.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use goyaml::typed::{GoType, Reader, Skimmer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A list that is written as `null` when it was never given, and as `[]` when it was given empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NilableList<T> {
    items: Vec<T>,
    given: bool,
}

impl<T> NilableList<T> {
    /// Whether the list is written as `null`.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        !self.given && self.items.is_empty()
    }
}

impl<T> Default for NilableList<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            given: false,
        }
    }
}

impl<T> From<Vec<T>> for NilableList<T> {
    fn from(items: Vec<T>) -> Self {
        Self { items, given: true }
    }
}

impl<T> FromIterator<T> for NilableList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<T> Deref for NilableList<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.items
    }
}

impl<T> DerefMut for NilableList<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.items
    }
}

impl<'a, T> IntoIterator for &'a NilableList<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<T> IntoIterator for NilableList<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<T: Serialize> Serialize for NilableList<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_nil() {
            return serializer.serialize_unit();
        }
        self.items.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NilableList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items: Option<Vec<T>> = Option::deserialize(deserializer)?;
        Ok(items.map(Self::from).unwrap_or_default())
    }
}

impl<T: GoType> GoType for NilableList<T> {
    fn go_name() -> Cow<'static, str> {
        Vec::<T>::go_name()
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), goyaml::Error> {
        if value.is_null() {
            *self = Self::default();
            return Ok(());
        }
        self.given |= value.is_array();
        self.items.read(value, reader)
    }

    fn skim(skimmer: &mut Skimmer<'_>) -> Option<()> {
        Vec::<T>::skim(skimmer)
    }
}
