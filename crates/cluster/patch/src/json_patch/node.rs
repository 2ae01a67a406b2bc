//! A value inside of the object while operations change it.

use std::collections::BTreeMap;

use goyaml::json::Escape;
use serde_json::Value;
use serde_json::value::RawValue;

/// A value inside of the object while operations change it.
///
/// What no operation has looked into stays as it came: as data from the object, or as text from the patch. The text is
/// kept because `test` compares the texts of scalars, so that `1` is not `1.0`.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Null: a null of the object, or the value of an operation that has none.
    Null,
    /// The null that is written as the value of an operation, which is not the same as a null of the object when lists
    /// are compared.
    WrittenNull,
    /// Comes from the object.
    Stored(Value),
    /// Comes from the patch, and is not null.
    Text(Box<RawValue>),
    /// An object that was looked into.
    Fields(BTreeMap<String, Node>),
    /// A list that was looked into.
    Items(Vec<Node>),
}

/// What a node is, seen one level deep.
pub(super) enum Shape<'a> {
    /// An object.
    Fields(&'a mut BTreeMap<String, Node>),
    /// A list.
    Items(&'a mut Vec<Node>),
    /// Neither.
    Leaf,
}

impl Node {
    /// Returns the node of a text of the patch.
    pub(super) fn of_text(text: &RawValue) -> Self {
        if text.get() == "null" {
            Self::Null
        } else {
            Self::Text(text.to_owned())
        }
    }

    fn of_value(value: Value) -> Self {
        if value.is_null() {
            Self::Null
        } else {
            Self::Stored(value)
        }
    }

    /// Looks one level into the node.
    pub(super) fn open(&mut self) -> Shape<'_> {
        match self {
            Self::Stored(Value::Object(fields)) => {
                let fields = std::mem::take(fields);
                *self = Self::Fields(
                    fields
                        .into_iter()
                        .map(|(name, value)| (name, Self::of_value(value)))
                        .collect(),
                );
            }
            Self::Stored(Value::Array(items)) => {
                let items = std::mem::take(items);
                *self = Self::Items(items.into_iter().map(Self::of_value).collect());
            }
            Self::Text(text) => {
                if let Some(opened) = opened(text) {
                    *self = opened;
                }
            }
            _ => {}
        }
        match self {
            Self::Fields(fields) => Shape::Fields(fields),
            Self::Items(items) => Shape::Items(items),
            _ => Shape::Leaf,
        }
    }

    /// Returns the node as JSON text, as Go writes it.
    pub(super) fn text(&self) -> Result<String, String> {
        Ok(match self {
            Self::Null | Self::WrittenNull => "null".to_owned(),
            Self::Stored(value) => {
                goyaml::json::to_string(value, Escape::Html).map_err(|error| error.to_string())?
            }
            Self::Text(text) => escaped(&compact(text.get())),
            Self::Fields(fields) => {
                let mut out = String::from("{");
                for (name, node) in fields {
                    if out.len() > 1 {
                        out.push(',');
                    }
                    out.push_str(
                        &goyaml::json::to_string(name, Escape::Html).map_err(|error| error.to_string())?,
                    );
                    out.push(':');
                    out.push_str(&node.text()?);
                }
                out.push('}');
                out
            }
            Self::Items(items) => {
                let texts: Vec<String> = items.iter().map(Self::text).collect::<Result<_, _>>()?;
                format!("[{}]", texts.join(","))
            }
        })
    }

    /// Returns a copy as `copy` makes it, and its size.
    pub(super) fn copied(&self) -> Result<(Self, usize), String> {
        if matches!(self, Self::Null) {
            return Ok((Self::Null, 0));
        }
        let text = self.text()?;
        let size = text.len();
        let raw = RawValue::from_string(text).map_err(|error| error.to_string())?;
        Ok((
            if raw.get() == "null" {
                Self::WrittenNull
            } else {
                Self::Text(raw)
            },
            size,
        ))
    }

    /// Returns the node as data.
    pub(super) fn into_value(self) -> Result<Value, String> {
        Ok(match self {
            Self::Null | Self::WrittenNull => Value::Null,
            Self::Stored(value) => value,
            Self::Text(text) => super::value_of(text.get())?,
            Self::Fields(fields) => Value::Object(
                fields
                    .into_iter()
                    .map(|(name, node)| Ok((name, node.into_value()?)))
                    .collect::<Result<_, String>>()?,
            ),
            Self::Items(items) => Value::Array(
                items
                    .into_iter()
                    .map(Self::into_value)
                    .collect::<Result<_, String>>()?,
            ),
        })
    }

    /// Returns whether two nodes are the same; `None` where upstream's comparison breaks down (a null in a list).
    pub(super) fn same(&mut self, other: &mut Self) -> Option<bool> {
        match (self.open(), other.open()) {
            (Shape::Fields(left), Shape::Fields(right)) => {
                if left.len() != right.len() {
                    return Some(false);
                }
                for (name, node) in left {
                    let Some(counterpart) = right.get_mut(name) else {
                        return Some(false);
                    };
                    let same = match (&*node, &*counterpart) {
                        (Self::Null, Self::Null) => true,
                        (Self::Null, _) | (_, Self::Null) => false,
                        _ => node.same(counterpart)?,
                    };
                    if !same {
                        return Some(false);
                    }
                }
                Some(true)
            }
            (Shape::Items(left), Shape::Items(right)) => {
                if left.len() != right.len() {
                    return Some(false);
                }
                for (node, counterpart) in left.iter_mut().zip(right) {
                    if matches!(node, Self::Null) || matches!(counterpart, Self::Null) {
                        return None;
                    }
                    if !node.same(counterpart)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            (Shape::Leaf, Shape::Leaf) => Some(self.scalar_text() == other.scalar_text()),
            _ => Some(false),
        }
    }

    fn scalar_text(&self) -> Option<String> {
        match self {
            Self::Stored(value) => goyaml::json::to_string(value, Escape::Html).ok(),
            Self::Text(text) => Some(compact(text.get())),
            _ => None,
        }
    }
}

fn opened(text: &RawValue) -> Option<Node> {
    let text = text.get();
    match text.trim_start().as_bytes().first() {
        Some(b'{') => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
            Some(Node::Fields(
                fields
                    .into_iter()
                    .map(|(name, text)| (name, Node::of_text(text)))
                    .collect(),
            ))
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            Some(Node::Items(items.into_iter().map(Node::of_text).collect()))
        }
        _ => None,
    }
}

/// Returns JSON text without the white space between its tokens.
fn compact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside_string = false;
    let mut escaped = false;
    for character in text.chars() {
        if inside_string {
            inside_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else if matches!(character, ' ' | '\t' | '\r' | '\n') {
            continue;
        } else {
            inside_string = character == '"';
        }
        out.push(character);
    }
    out
}

/// Returns JSON text with the characters escaped that Go escapes for HTML; they can only be inside of strings.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            other => out.push(other),
        }
    }
    out
}
