//! The place that a path leads to: a field of an object, or an item of a list.

use std::collections::BTreeMap;

use super::node::{Node, Shape};

/// Returns a text with the library's words for what isn't there.
pub(super) fn missing(text: &str) -> String {
    format!("{text}: missing value")
}

/// The object or list that holds what a path leads to, and the last part of the path.
pub(super) struct Target<'a> {
    container: Container<'a>,
    key: String,
}

enum Container<'a> {
    Fields(&'a mut BTreeMap<String, Node>),
    Items(&'a mut Vec<Node>),
}

/// How many parts a path may have: objects aren't nested deeper, and a patch must not make one that is.
const MAX_PARTS: usize = 1_000;

/// Finds the container of the place that a path leads to; `None` where the way there breaks off.
pub(super) fn find<'a>(root: &'a mut Node, path: &str) -> Option<Target<'a>> {
    if path.bytes().filter(|&byte| byte == b'/').count() > MAX_PARTS {
        return None;
    }
    let mut parts = path.split('/').skip(1);
    let mut part = decoded(parts.next()?);
    let mut node = root;
    for next in parts {
        node = match node.open() {
            Shape::Fields(fields) => fields.get_mut(&part)?,
            Shape::Items(items) => {
                let index = existing_index(&part, items.len()).ok()?;
                items.get_mut(index)?
            }
            Shape::Leaf => return None,
        };
        part = decoded(next);
    }
    let container = match node.open() {
        Shape::Fields(fields) => Container::Fields(fields),
        Shape::Items(items) => Container::Items(items),
        Shape::Leaf => return None,
    };
    Some(Target { container, key: part })
}

impl Target<'_> {
    /// Returns the last part of the path, decoded.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Returns what is at the place. A field that isn't there is no error.
    pub(super) fn get(&mut self) -> Result<Option<&mut Node>, String> {
        match &mut self.container {
            Container::Fields(fields) => Ok(fields.get_mut(&self.key)),
            Container::Items(items) => {
                let index = existing_index(&self.key, items.len())?;
                Ok(items.get_mut(index))
            }
        }
    }

    /// Writes over what is at the place.
    pub(super) fn set(&mut self, value: Node) -> Result<(), String> {
        match &mut self.container {
            Container::Fields(fields) => {
                fields.insert(self.key.clone(), value);
            }
            Container::Items(items) => {
                let index = existing_index(&self.key, items.len())?;
                if let Some(item) = items.get_mut(index) {
                    *item = value;
                }
            }
        }
        Ok(())
    }

    /// Writes a field, or puts an item before the one at the place; `-` is the end of the list.
    pub(super) fn add(&mut self, value: Node) -> Result<(), String> {
        match &mut self.container {
            Container::Fields(fields) => {
                fields.insert(self.key.clone(), value);
            }
            Container::Items(items) if self.key == "-" => items.push(value),
            Container::Items(items) => {
                let index = index(&self.key).map_err(|cause| {
                    format!("value was not a proper array index: '{}': {cause}", self.key)
                })?;
                // A new item may stand at any place of the list as it will be.
                let index = within(index, items.len() + 1)?;
                items.insert(index, value);
            }
        }
        Ok(())
    }

    /// Takes out what is at the place.
    pub(super) fn remove(&mut self) -> Result<Node, String> {
        match &mut self.container {
            Container::Fields(fields) => fields
                .remove(&self.key)
                .ok_or_else(|| missing(&format!("Unable to remove nonexistent key: {}", self.key))),
            Container::Items(items) => {
                let index = existing_index(&self.key, items.len())?;
                Ok(items.remove(index))
            }
        }
    }
}

/// Returns a part of a path as the name or index that it stands for (RFC 6901).
fn decoded(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    while let Some(position) = rest.find('~') {
        let (before, from_tilde) = rest.split_at(position);
        out.push_str(before);
        let (character, length) = match from_tilde.as_bytes().get(1) {
            Some(b'1') => ('/', 2),
            Some(b'0') => ('~', 2),
            _ => ('~', 1),
        };
        out.push(character);
        rest = from_tilde.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Reads an index as Go's `strconv.Atoi` does.
fn index(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let problem = if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        "invalid syntax"
    } else {
        match text.parse() {
            Ok(index) => return Ok(index),
            Err(_) => "value out of range",
        }
    };
    Err(format!(
        "strconv.Atoi: parsing {}: {problem}",
        crate::go_text::quoted(text)
    ))
}

/// Returns the place of an index in a list of this length; negative ones count from its end.
fn within(index: i64, length: usize) -> Result<usize, String> {
    let length = length as i64;
    if index >= length || index < -length {
        return Err(format!(
            "Unable to access invalid index: {index}: invalid index referenced"
        ));
    }
    Ok((if index < 0 { index + length } else { index }) as usize)
}

fn existing_index(key: &str, length: usize) -> Result<usize, String> {
    within(index(key)?, length)
}
