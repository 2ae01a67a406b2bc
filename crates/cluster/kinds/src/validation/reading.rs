//! Objects as validation reads them.

use serde_json::Value;

use crate::tree::{Fields, Tree, same};

static NOTHING: std::sync::LazyLock<Fields> = std::sync::LazyLock::new(Fields::new);

/// Reads fields; those of the wrong type don't happen, because objects are decoded before.
pub(super) trait Reading {
    /// Returns whether a field is there.
    fn has(&self, name: &str) -> bool;
    /// Returns a part; one without fields if it isn't there.
    fn at(&self, name: &str) -> &Fields;
    /// Returns the items of a list.
    fn list(&self, name: &str) -> &[Value];
    /// Returns the items of a list of texts.
    fn texts(&self, name: &str) -> impl Iterator<Item = &str>;
    /// Returns the items of a list of objects with their positions.
    fn numbered(&self, name: &str) -> impl Iterator<Item = (usize, &Fields)>;
    /// Returns the entries of a map of texts.
    fn entries(&self, name: &str) -> impl Iterator<Item = (&str, &str)>;
    /// Returns a text if it is there, even when it is empty.
    fn set_text(&self, name: &str) -> Option<&str>;
    /// Returns a number if it is there.
    fn set_number(&self, name: &str) -> Option<i64>;
    /// Returns a flag if it is there.
    fn set_flag(&self, name: &str) -> Option<bool>;
    /// Returns the field if it is there and not `null`.
    fn set_value(&self, name: &str) -> Option<&Value>;
    /// Returns whether a field is the same in another object.
    fn is_same(&self, other: &Fields, name: &str) -> bool;
}

impl Reading for Fields {
    fn has(&self, name: &str) -> bool {
        !self.is_unset(name)
    }

    fn at(&self, name: &str) -> &Fields {
        self.part(name).unwrap_or(&NOTHING)
    }

    fn list(&self, name: &str) -> &[Value] {
        self.get(name)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.list(name)
            .iter()
            .map(|item| item.as_str().unwrap_or_default())
    }

    fn numbered(&self, name: &str) -> impl Iterator<Item = (usize, &Fields)> {
        self.list(name)
            .iter()
            .map(|item| item.as_object().unwrap_or(&NOTHING))
            .enumerate()
    }

    fn entries(&self, name: &str) -> impl Iterator<Item = (&str, &str)> {
        self.at(name)
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
    }

    fn set_text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    fn set_number(&self, name: &str) -> Option<i64> {
        self.get(name)?.as_i64()
    }

    fn set_flag(&self, name: &str) -> Option<bool> {
        self.get(name)?.as_bool()
    }

    fn set_value(&self, name: &str) -> Option<&Value> {
        self.get(name).filter(|value| !value.is_null())
    }

    fn is_same(&self, other: &Fields, name: &str) -> bool {
        same(self.get(name), other.get(name))
    }
}

/// Returns an object's fields.
pub(super) fn fields(object: &Value) -> &Fields {
    object.as_object().unwrap_or(&NOTHING)
}

/// Returns fields that nobody set.
pub(super) fn nothing() -> &'static Fields {
    &NOTHING
}
