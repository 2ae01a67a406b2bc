//! Strategic merge patch: a merge that knows which lists are sets, and of what.
//!
//! A field of a built-in kind says how its list merges: item by item, told apart by a key, or as a whole. The patch
//! may say otherwise with directives:
//!
//! ```text
//! $patch: replace | delete             of the object (or list, or item) that it stands in
//! $retainKeys: [a, b]                  all other fields of the object go
//! $deleteFromPrimitiveList/field: […]  these scalars go from the list `field`
//! $setElementOrder/field: […]          the items of the list `field` get this order
//! ```
//!
//! Custom resources have no such patch; who calls this must have refused them.

mod conversion;
mod lists;
mod lookup;
mod order;

use schema::node::Reference;
use serde_json::{Map, Value};

use crate::PatchError;
use crate::document;
use crate::go_text::{printed_as_text, printed_fields, type_name};
pub use conversion::conversion_error;
use lists::merge_lists;
use lookup::Lookup;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";

type Fields = Map<String, Value>;

/// What the merge found: the new object, and what strict reading says about the patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// The object after the patch.
    pub object: Value,
    /// What is wrong with the patch for a strict reader, such as `duplicate field "a.b"`.
    pub findings: Vec<String>,
}

/// Applies the body of a `application/strategic-merge-patch+json` request to an object of the type `definition`.
///
/// `strict` is whether the request's field validation is `Strict` or `Warn`, when the body is also read strictly.
pub fn apply(object: Value, body: &[u8], definition: &Reference, strict: bool) -> Result<Merged, PatchError> {
    let patch = document::read(body).map_err(PatchError::BadRequest)?;
    if !matches!(patch, Value::Object(_) | Value::Null) {
        return Err(PatchError::BadRequest(document::does_not_fit(
            &patch,
            "map[string]interface {}",
        )));
    }
    let findings = if strict {
        document::repeated_fields(body)
    } else {
        Vec::new()
    };
    Ok(Merged {
        object: merge(object, patch, definition)?,
        findings,
    })
}

/// Returns the body of a patch as the real server shows it where its result is refused.
pub fn shown(body: &[u8]) -> String {
    match document::read(body) {
        Ok(Value::Object(fields)) => printed_fields(&fields),
        _ => "map[]".to_owned(),
    }
}

/// Applies a strategic merge patch to an object of the type `definition`.
pub fn merge(object: Value, patch: Value, definition: &Reference) -> Result<Value, PatchError> {
    let original = match object {
        Value::Object(fields) => fields,
        Value::Null => Fields::new(),
        other => return Err(bad_type("map[string]interface {}", &other)),
    };
    match patch {
        Value::Object(patch) => merge_fields(original, patch, Lookup::new(definition)).map(Value::Object),
        Value::Null => Ok(Value::Object(original)),
        other => Err(bad_type("map[string]interface {}", &other)),
    }
}

/// Why a patch is malformed, in the words that make it a bad request.
#[derive(Clone, Copy)]
enum Malformed {
    PrimitiveList,
    RetainKeys,
    SetElementOrder,
}

impl From<Malformed> for PatchError {
    fn from(malformed: Malformed) -> Self {
        let what = match malformed {
            Malformed::PrimitiveList => "primitive list",
            Malformed::RetainKeys => "retainKeys",
            Malformed::SetElementOrder => "setElementOrder list",
        };
        Self::BadRequest(format!("invalid patch format of {what}"))
    }
}

fn bad_type(expected: &str, actual: &Value) -> PatchError {
    PatchError::Internal(format!(
        "expected a {expected}, but received a {}",
        type_name(actual)
    ))
}

fn no_merge_key(fields: &Fields, merge_key: &str) -> PatchError {
    PatchError::Internal(format!(
        "map: {} does not contain declared merge key: {merge_key}",
        printed_fields(fields)
    ))
}

fn bad_directive(directive: &Value, fields: &Fields) -> PatchError {
    let directive = printed_as_text(directive);
    PatchError::Internal(format!(
        "unknown patch type: {directive} in map: {}",
        printed_fields(fields)
    ))
}

/// Returns whether two values are the same one for Go, which can't tell for lists and objects.
fn same(left: &Value, right: &Value) -> Result<bool, PatchError> {
    match (left, right) {
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => {
            Err(PatchError::panicked())
        }
        _ => Ok(left == right),
    }
}

/// Returns the items of a list that is used as a set of scalars.
fn scalars(items: &[Value]) -> Result<&[Value], PatchError> {
    if items.iter().any(|item| item.is_array() || item.is_object()) {
        return Err(PatchError::panicked());
    }
    Ok(items)
}

/// Merges a patch into an object.
fn merge_fields(mut original: Fields, mut patch: Fields, lookup: Lookup<'_>) -> Result<Fields, PatchError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Fields::new()),
            _ => Err(bad_directive(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    order::apply_directives(&mut original, &mut patch, lookup)?;
    for (key, change) in patch {
        let (name, deletes) = match deletion_list(&key)? {
            Some(name) => (name, true),
            None => (key.as_str(), false),
        };
        if change.is_null() {
            original.remove(name);
            continue;
        }
        let mergeable = match (original.get(name), &change) {
            (Some(Value::Object(_)), Value::Object(_)) | (Some(Value::Array(_)), Value::Array(_)) => true,
            // Scalars of one type replace each other as they are: they hold no directives.
            _ => false,
        };
        if !mergeable {
            let same_type = original
                .get(name)
                .is_some_and(|current| type_name(current) == type_name(&change));
            if !deletes || same_type {
                take_as_new(&mut original, name, change);
            }
            continue;
        }
        let Some(current) = original.get_mut(name) else {
            continue;
        };
        match (current.take(), change) {
            (Value::Object(inner), Value::Object(change)) => {
                let found = lookup.object(name)?;
                *current = Value::Object(if found.replaces() {
                    change
                } else {
                    merge_fields(inner, change, found)?
                });
            }
            (Value::Array(items), Value::Array(change)) => {
                let found = lookup.list(name)?;
                *current = Value::Array(if found.merges() || deletes {
                    merge_lists(items, change, found, deletes)?
                } else {
                    change
                });
            }
            (other, _) => *current = other,
        }
    }
    Ok(original)
}

/// Puts a value of the patch where the object has none, or one of another type.
fn take_as_new(original: &mut Fields, name: &str, mut value: Value) {
    discard_nulls(&mut value);
    match without_directives(value) {
        Some(value) => {
            original.insert(name.to_owned(), value);
        }
        None => {
            original.remove(name);
        }
    }
}

/// Returns the list that a `$deleteFromPrimitiveList/…` key is about.
fn deletion_list(key: &str) -> Result<Option<&str>, PatchError> {
    if !key.starts_with(DELETE_FROM_PRIMITIVE_LIST) {
        return Ok(None);
    }
    match key.split_once('/') {
        // Upstream takes the whole key for the list's name then.
        Some((DELETE_FROM_PRIMITIVE_LIST, "")) => Ok(Some(key)),
        Some((DELETE_FROM_PRIMITIVE_LIST, name)) => Ok(Some(name)),
        _ => Err(Malformed::PrimitiveList.into()),
    }
}

/// Applies `$retainKeys`: what it doesn't name goes from the object, and may not be in the patch.
fn retain_keys(original: &mut Fields, patch: &mut Fields) -> Result<(), PatchError> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Value::Array(retained) = retained else {
        return Err(Malformed::RetainKeys.into());
    };
    let retained = scalars(&retained)?;
    let is_retained = |name: &str| retained.iter().any(|one| one.as_str() == Some(name));
    for (name, value) in &*patch {
        let about_another =
            name.starts_with(DELETE_FROM_PRIMITIVE_LIST) || name.starts_with(SET_ELEMENT_ORDER);
        if !value.is_null() && !about_another && !is_retained(name) {
            return Err(Malformed::RetainKeys.into());
        }
    }
    original.retain(|name, _| is_retained(name));
    Ok(())
}

/// Removes all fields that are null, at any depth.
fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// Returns a value without the objects in it that hold a directive; `None` if it is one itself.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => Some(Value::Object(
            fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, without_directives(value)?)))
                .collect(),
        )),
        Value::Array(items) => Some(Value::Array(
            items.into_iter().filter_map(without_directives).collect(),
        )),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests;
