//! Two lists become one, item by item.

use serde_json::Value;

use super::lookup::Lookup;
use super::{DIRECTIVE, Fields, bad_directive, bad_type, merge_fields, no_merge_key, order, same, scalars};
use crate::PatchError;
use crate::go_text::{printed_items, type_name};

/// Merges the list of a patch into that of the object; `deletes` if the patch names scalars that go.
pub(super) fn merge_lists(
    original: Vec<Value>,
    patch: Vec<Value>,
    lookup: Lookup<'_>,
    deletes: bool,
) -> Result<Vec<Value>, PatchError> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    let of_objects = holds_objects(&original, &patch)?;
    let merge_key = lookup.merge_key();
    if !of_objects {
        if deletes {
            return Ok(original
                .into_iter()
                .filter(|item| !patch.contains(item))
                .collect());
        }
        let mut merged = original.clone();
        merged.extend(patch.iter().cloned());
        remove_repeated(&mut merged);
        return order::arrange(merged, &patch, &original, merge_key, false);
    }
    if merge_key.is_empty() {
        return Err(PatchError::Internal(format!(
            "cannot merge lists without merge key for {}",
            lookup.kind()
        )));
    }
    let (original, patch) = apply_item_directives(original, patch, merge_key)?;
    let merged = merge_items(original.clone(), &patch, merge_key, lookup)?;
    order::arrange(merged, &patch, &original, merge_key, true)
}

/// Returns whether the items are objects. All items of both lists must have one type, which isn't a list.
pub(super) fn holds_objects(original: &[Value], patch: &[Value]) -> Result<bool, PatchError> {
    let mut items = original.iter().chain(patch);
    let Some(first) = items.next() else {
        return Err(PatchError::Internal(
            "no elements in any of the given slices".to_owned(),
        ));
    };
    match first {
        Value::Null => return Err(PatchError::panicked()),
        Value::Array(_) => {
            return Err(PatchError::Unprocessable(
                "lists of lists are not supported".to_owned(),
            ));
        }
        _ => {}
    }
    if items.any(|item| type_name(item) != type_name(first)) {
        return Err(PatchError::Internal(format!(
            "list element types are not identical: [{} {}]",
            printed_items(original),
            printed_items(patch)
        )));
    }
    Ok(first.is_object())
}

/// Removes scalars that are there before, by putting the last one in their place.
fn remove_repeated(items: &mut Vec<Value>) {
    let mut kept = 0;
    while kept < items.len() {
        let mut candidate = kept + 1;
        while candidate < items.len() {
            if items.get(candidate) == items.get(kept) {
                items.swap_remove(candidate);
            } else {
                candidate += 1;
            }
        }
        kept += 1;
    }
}

/// Applies the items of a patch that hold a directive. Returns the list to merge into, and what is left of the patch.
fn apply_item_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    merge_key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut left = Vec::with_capacity(patch.len());
    let mut replace = false;
    for item in patch {
        let Value::Object(fields) = item else {
            return Err(bad_type("map[string]interface {}", &item));
        };
        let Some(directive) = fields.get(DIRECTIVE) else {
            left.push(Value::Object(fields));
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let key = fields
                    .get(merge_key)
                    .ok_or_else(|| no_merge_key(&fields, merge_key))?;
                while let Some(index) = position_of(&original, merge_key, key)? {
                    original.remove(index);
                }
            }
            Some("replace") => replace = true,
            Some("merge") => {
                return Err(PatchError::Internal(
                    "merging lists cannot yet be specified in the patch".to_owned(),
                ));
            }
            _ => return Err(bad_directive(directive, &fields)),
        }
    }
    Ok(if replace {
        (left, Vec::new())
    } else {
        (original, left)
    })
}

fn merge_items(
    mut original: Vec<Value>,
    patch: &[Value],
    merge_key: &str,
    lookup: Lookup<'_>,
) -> Result<Vec<Value>, PatchError> {
    for item in patch {
        let fields = fields_of(item)?;
        let key = fields
            .get(merge_key)
            .ok_or_else(|| no_merge_key(fields, merge_key))?;
        match position_of(&original, merge_key, key)?.and_then(|index| original.get_mut(index)) {
            Some(current) => {
                let Value::Object(inner) = current.take() else {
                    continue;
                };
                *current = Value::Object(merge_fields(inner, fields.clone(), lookup)?);
            }
            None => original.push(item.clone()),
        }
    }
    Ok(original)
}

/// Returns the index of the first object whose merge key has this value.
pub(super) fn position_of(
    items: &[Value],
    merge_key: &str,
    key: &Value,
) -> Result<Option<usize>, PatchError> {
    for (index, item) in items.iter().enumerate() {
        let Value::Object(fields) = item else {
            return Err(PatchError::Internal(format!(
                "value for key {index} is not a map"
            )));
        };
        if let Some(candidate) = fields.get(merge_key)
            && same(candidate, key)?
        {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// Returns the fields of an item that must be an object.
pub(super) fn fields_of(item: &Value) -> Result<&Fields, PatchError> {
    item.as_object()
        .ok_or_else(|| bad_type("map[string]interface {}", item))
}

/// Splits a merged list into the items that `listed` names and those that only the object has.
pub(super) fn partition(
    merged: Vec<Value>,
    listed: &[Value],
    merge_key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    if merge_key.is_empty() {
        scalars(listed)?;
        scalars(&merged)?;
        return Ok(merged.into_iter().partition(|item| listed.contains(item)));
    }
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let fields = fields_of(&item)?;
        let key = fields
            .get(merge_key)
            .ok_or_else(|| no_merge_key(fields, merge_key))?;
        if position_of(listed, merge_key, key)?.is_some() {
            named.push(item);
        } else {
            others.push(item);
        }
    }
    Ok((named, others))
}
