//! `FieldsV1`: the JSON form of a set of fields, as `metadata.managedFields` holds it.
//!
//! `{"f:spec":{".":{},"f:replicas":{}}}` is the set of `.spec` and `.spec.replicas`. A [`Value`] keeps its keys sorted as
//! text; [`Set::to_json`] writes them in the order of the path elements, as the API server does.

use goyaml::json::{Escape, to_string};
use serde_json::{Map, Value};
use thiserror::Error;

use super::element::{ElementError, PathElement};
use super::set::{Node, Set};

/// How deep a set may be nested. The JSON reader allows no object that is deeper, so no real field set is either; it
/// keeps a hostile one from exhausting the stack.
pub const MAX_DEPTH: usize = 256;

/// `FieldsV1` that can't be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FieldsError {
    /// A key isn't a path element.
    #[error("parsing key as path element: {0}")]
    Element(#[from] ElementError),
    /// A value isn't an object.
    #[error("ReadMapCB: expect {{ or n, but found {0}")]
    NotObject(&'static str),
    /// The text isn't JSON.
    #[error("FieldsV1 must be JSON: {0}")]
    NotJson(String),
    /// The set is nested deeper than [`MAX_DEPTH`].
    #[error("exceeded max depth {MAX_DEPTH}")]
    TooDeep,
}

impl Set {
    /// Reads a set from its `FieldsV1` form.
    pub fn from_fields_v1(fields: &Value) -> Result<Self, FieldsError> {
        Self::read_fields_v1(fields).map(|(set, _)| set)
    }

    /// Reads a set, and tells whether writing it again would give the same.
    pub(super) fn read_fields_v1(fields: &Value) -> Result<(Self, bool), FieldsError> {
        let mut canonical = fields.is_object();
        let (set, _) = read(fields, 0, &mut canonical)?;
        Ok((set, canonical))
    }

    /// Reads a set from the text of its `FieldsV1` form.
    pub fn from_json(text: &str) -> Result<Self, FieldsError> {
        let fields: Value =
            serde_json::from_str(text).map_err(|error| FieldsError::NotJson(error.to_string()))?;
        Self::from_fields_v1(&fields)
    }

    /// Returns the set in its `FieldsV1` form.
    pub fn to_fields_v1(&self) -> Value {
        Value::Object(self.to_map(false))
    }

    fn to_map(&self, with_self: bool) -> Map<String, Value> {
        let mut map = Map::new();
        if with_self && !self.is_empty() {
            map.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for node in &self.nodes {
            map.insert(
                node.element.to_key(),
                Value::Object(node.children.to_map(node.member)),
            );
        }
        map
    }

    /// Returns the text of the set's `FieldsV1` form, its keys in the API server's order.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(false, &mut out);
        out
    }

    fn write_json(&self, with_self: bool, out: &mut String) {
        out.push('{');
        if with_self && !self.is_empty() {
            out.push_str(r#"".":{}"#);
        }
        for node in &self.nodes {
            if !out.ends_with('{') {
                out.push(',');
            }
            // Every string has a JSON form.
            out.push_str(&to_string(&node.element.to_key(), Escape::None).unwrap_or_default());
            out.push(':');
            node.children.write_json(node.member, out);
        }
        out.push('}');
    }
}

/// Returns what is below a key, and whether the key itself is a member.
fn read(fields: &Value, depth: usize, canonical: &mut bool) -> Result<(Set, bool), FieldsError> {
    if depth > MAX_DEPTH {
        return Err(FieldsError::TooDeep);
    }
    let map = match fields {
        Value::Object(map) => map,
        Value::Null => {
            *canonical = false;
            return Ok((Set::default(), true));
        }
        Value::Bool(true) => return Err(FieldsError::NotObject("t")),
        Value::Bool(false) => return Err(FieldsError::NotObject("f")),
        Value::Number(_) => return Err(FieldsError::NotObject("a number")),
        Value::String(_) => return Err(FieldsError::NotObject("\"")),
        Value::Array(_) => return Err(FieldsError::NotObject("[")),
    };
    let mut nodes = Vec::with_capacity(map.len());
    let mut member = false;
    for (key, below) in map {
        if key == "." {
            member = true;
            *canonical &= map.len() > 1 && below.as_object().is_some_and(Map::is_empty);
            continue;
        }
        // A kind of element that a later version may know is dropped, as upstream drops it.
        let Some(element) = PathElement::parse(key)? else {
            *canonical = false;
            continue;
        };
        *canonical = *canonical && (matches!(element, PathElement::Field(_)) || element.to_key() == *key);
        let (children, member) = read(below, depth + 1, canonical)?;
        nodes.push(Node {
            element,
            member,
            children,
        });
    }
    // The order of their texts isn't that of the elements: adding them one by one would move the others each time.
    nodes.sort_by(|left, right| left.element.cmp(&right.element));
    let mut set = Set::default();
    set.nodes.reserve(nodes.len());
    for node in nodes {
        set.attach_node(node);
    }
    let member = member || set.is_empty();
    Ok((set, member))
}
