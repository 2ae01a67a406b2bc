//! One node of an `openAPIV3Schema` as it is written.

use std::sync::LazyLock;

use serde_json::{Map, Value};

/// What a schema that is written as null is decoded to.
static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// One node of an `openAPIV3Schema` as it is written. What is null or of another type than it should be counts as left
/// out, as decoding leaves it out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Document<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Document<'a> {
    /// Takes an object for a node.
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        value.as_object().map(Self)
    }

    /// Takes an element of a list or a map for a node; there null stands for an empty node.
    fn of_element(value: &'a Value) -> Option<Self> {
        if value.is_null() {
            return Some(Self(&EMPTY));
        }
        Self::of(value)
    }

    /// Returns what stands at a keyword, if it isn't null.
    pub(super) fn value(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// Returns the text at a keyword, if it isn't empty.
    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.pointed_text(name).filter(|text| !text.is_empty())
    }

    /// Returns the text at a keyword, empty or not.
    pub(super) fn pointed_text(self, name: &str) -> Option<&'a str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Returns the `type`, which is empty where there is none.
    pub(super) fn type_name(self) -> &'a str {
        self.text("type").unwrap_or_default()
    }

    /// Returns whether a keyword is true.
    pub(super) fn flag(self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// Returns the object at a keyword, if it isn't empty.
    pub(super) fn object(self, name: &str) -> Option<&'a Map<String, Value>> {
        self.0
            .get(name)
            .and_then(Value::as_object)
            .filter(|object| !object.is_empty())
    }

    /// Returns the list at a keyword.
    pub(super) fn items(self, name: &str) -> &'a [Value] {
        self.0
            .get(name)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the texts in the list at a keyword.
    pub(super) fn texts<T: From<&'a str>>(self, name: &str) -> Vec<T> {
        self.items(name)
            .iter()
            .filter_map(Value::as_str)
            .map(Into::into)
            .collect()
    }

    /// Returns the number at a keyword.
    pub(super) fn number(self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64)
    }

    /// Returns the whole number at a keyword.
    pub(super) fn count(self, name: &str) -> Option<i64> {
        self.0.get(name).and_then(Value::as_i64)
    }

    /// Returns the node at a keyword.
    pub(super) fn node(self, name: &str) -> Option<Document<'a>> {
        self.0.get(name).and_then(Document::of)
    }

    /// Returns the nodes in the list at a keyword.
    pub(super) fn nodes(self, name: &str) -> impl Iterator<Item = Document<'a>> {
        self.items(name).iter().filter_map(Document::of_element)
    }

    /// Returns the nodes in the object at a keyword, such as `properties`.
    pub(super) fn named_nodes(self, name: &str) -> impl Iterator<Item = (&'a str, Document<'a>)> {
        self.object(name)
            .into_iter()
            .flatten()
            .filter_map(|(name, node)| Some((name.as_str(), Document::of_element(node)?)))
    }

    /// Returns the node of a property.
    pub(super) fn property(self, name: &str) -> Option<Document<'a>> {
        self.object("properties")?
            .get(name)
            .and_then(Document::of_element)
    }

    /// Returns whether a keyword is set in the Go type: text that isn't empty, a flag that is true, anything that is
    /// a pointer, a list or a map there.
    pub(super) fn is_set(self, name: &str) -> bool {
        match self.value(name) {
            None => false,
            Some(Value::String(text)) => {
                !text.is_empty()
                    || matches!(
                        name,
                        "$ref" | "x-kubernetes-list-type" | "x-kubernetes-map-type" | "default" | "example"
                    )
            }
            Some(Value::Bool(flag)) => {
                *flag
                    || matches!(
                        name,
                        "x-kubernetes-preserve-unknown-fields"
                            | "additionalProperties"
                            | "additionalItems"
                            | "default"
                            | "example"
                    )
            }
            Some(_) => true,
        }
    }

    /// Calls `visit` on the node and every node inside, until it returns true; returns whether it did.
    pub(super) fn any(self, visit: &mut dyn FnMut(Document<'a>) -> bool) -> bool {
        if visit(self) {
            return true;
        }
        let listed = ["items", "allOf", "anyOf", "oneOf"];
        let single = ["items", "not", "additionalProperties", "additionalItems"];
        let named = ["properties", "patternProperties", "definitions", "dependencies"];
        listed
            .iter()
            .any(|name| self.nodes(name).any(|node| node.any(visit)))
            || single
                .iter()
                .any(|name| self.node(name).is_some_and(|node| node.any(visit)))
            || named
                .iter()
                .any(|name| self.named_nodes(name).any(|(_, node)| node.any(visit)))
    }
}
