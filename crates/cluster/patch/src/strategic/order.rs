//! The order of a merged list: the patch's own items as the patch has them, the others around them as they were.

use serde_json::Value;

use super::lists::{self, fields_of, holds_objects, merge_lists, partition};
use super::lookup::Lookup;
use super::{
    DIRECTIVE, Fields, Malformed, SET_ELEMENT_ORDER, bad_type, no_merge_key, same, without_directives,
};
use crate::PatchError;
use crate::go_text::printed_items;

/// Applies all `$setElementOrder/…` of a patch, together with the lists that they order; both leave the patch.
pub(super) fn apply_directives(
    original: &mut Fields,
    patch: &mut Fields,
    lookup: Lookup<'_>,
) -> Result<(), PatchError> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|key| key.starts_with(SET_ELEMENT_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let Some(order) = patch.remove(&directive) else {
            continue;
        };
        let Value::Array(order) = order else {
            return Err(bad_type("[]interface {}", &order));
        };
        let Some((SET_ELEMENT_ORDER, name)) = directive.split_once('/') else {
            return Err(Malformed::SetElementOrder.into());
        };
        let current = list_in(original, name)?;
        let change = list_in(patch, name)?;
        let found = lookup.list(name)?;
        check(change.unwrap_or_default(), &order, found.merge_key())?;
        let (current, change) = match (current, change) {
            (None, None) => continue,
            (current, change) => (current.map(<[Value]>::to_vec), change.map(<[Value]>::to_vec)),
        };
        let mut server_order = current.clone().unwrap_or_default();
        let patch_items = change.clone().unwrap_or_default();
        let merged = match (current, change) {
            (Some(current), Some(change)) if found.merges() => {
                server_order = written_over(server_order, &change, found.merge_key())?;
                merge_lists(current, change, found, false)?
            }
            (Some(_), Some(change)) => change,
            (Some(current), None) => current,
            (None, change) => match without_directives(Value::Array(change.unwrap_or_default())) {
                Some(Value::Array(items)) => items,
                _ => continue,
            },
        };
        let (named, others) = partition(merged, &order, found.merge_key())?;
        let of_objects = holds_objects(&server_order, &patch_items)?;
        let arranged = interleave(
            named,
            others,
            &order,
            &server_order,
            found.merge_key(),
            of_objects,
        )?;
        original.insert(name.to_owned(), Value::Array(arranged));
        patch.remove(name);
    }
    Ok(())
}

/// Returns the object's list as upstream sees it after the merge, which happens in the same memory: what was deleted
/// made the others move up, and what is new took the places that became free at the end. The order of the result
/// depends on it.
fn written_over(mut items: Vec<Value>, patch: &[Value], merge_key: &str) -> Result<Vec<Value>, PatchError> {
    if merge_key.is_empty() || patch.iter().chain(&items).any(|item| !item.is_object()) {
        return Ok(items);
    }
    let mut live = items.len();
    let mut replaced = false;
    for item in patch {
        match item.get(DIRECTIVE).and_then(Value::as_str) {
            Some("delete") => {}
            other => {
                replaced |= other == Some("replace");
                continue;
            }
        }
        let Some(key) = item.get(merge_key) else { continue };
        while let Some(index) = lists::position_of(items.get(..live).unwrap_or_default(), merge_key, key)? {
            let last = items.get(live - 1).cloned().unwrap_or_default();
            items.remove(index);
            items.insert(live - 1, last);
            live -= 1;
        }
    }
    for item in patch
        .iter()
        .filter(|item| !replaced && item.get(DIRECTIVE).is_none())
    {
        let Some(key) = item.get(merge_key) else { continue };
        if live < items.len()
            && lists::position_of(items.get(..live).unwrap_or_default(), merge_key, key)?.is_none()
        {
            if let Some(place) = items.get_mut(live) {
                *place = item.clone();
            }
            live += 1;
        }
    }
    Ok(items)
}

fn list_in<'a>(fields: &'a Fields, name: &str) -> Result<Option<&'a [Value]>, PatchError> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => Err(bad_type("[]interface {}", other)),
    }
}

/// Checks that the items of the patch come in the order that the directive names, and are all in it.
fn check(patch: &[Value], order: &[Value], merge_key: &str) -> Result<(), PatchError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut staying: Vec<&Value> = Vec::with_capacity(patch.len());
    for item in patch {
        if merge_key.is_empty() || !is_deletion(fields_of(item)?) {
            staying.push(item);
        }
    }
    let mut patch_index = 0;
    let mut order_index = 0;
    while let (Some(item), Some(listed)) = (staying.get(patch_index), order.get(order_index)) {
        if item
            .as_object()
            .is_some_and(|fields| fields.contains_key(DIRECTIVE))
        {
            patch_index += 1;
            continue;
        }
        if same_key(item, listed, merge_key)? {
            patch_index += 1;
        }
        order_index += 1;
    }
    if patch_index < staying.len() && order_index >= order.len() {
        return Err(PatchError::Internal(format!(
            "The order in patch list:\n{}\n doesn't match {SET_ELEMENT_ORDER} list:\n{}\n",
            printed_items(patch),
            printed_items(order)
        )));
    }
    Ok(())
}

fn is_deletion(fields: &Fields) -> bool {
    fields.get(DIRECTIVE).and_then(Value::as_str) == Some("delete")
}

fn same_key(left: &Value, right: &Value, merge_key: &str) -> Result<bool, PatchError> {
    if merge_key.is_empty() {
        return same(left, right);
    }
    let (left, right) = (fields_of(left)?, fields_of(right)?);
    let left_key = left.get(merge_key).ok_or_else(|| no_merge_key(left, merge_key))?;
    let right_key = right
        .get(merge_key)
        .ok_or_else(|| no_merge_key(right, merge_key))?;
    same(left_key, right_key)
}

/// Puts a merged list in order: what the patch has as it has it, the rest as the object had it.
pub(super) fn arrange(
    merged: Vec<Value>,
    patch: &[Value],
    original: &[Value],
    merge_key: &str,
    of_objects: bool,
) -> Result<Vec<Value>, PatchError> {
    let (named, others) = lists::partition(merged, patch, merge_key)?;
    interleave(named, others, patch, original, merge_key, of_objects)
}

/// Sorts both lists, each by its order, and puts the items of `others` before the first one of `named` that the object
/// had after them.
fn interleave(
    named: Vec<Value>,
    others: Vec<Value>,
    order: &[Value],
    server_order: &[Value],
    merge_key: &str,
    of_objects: bool,
) -> Result<Vec<Value>, PatchError> {
    let named = sorted(named, order, merge_key, of_objects)?;
    let others = sorted(others, server_order, merge_key, of_objects)?;
    let mut out = Vec::with_capacity(named.len() + others.len());
    let mut named = named.into_iter().peekable();
    let mut others = others.into_iter().peekable();
    while let (Some(other), Some(item)) = (others.peek(), named.peek()) {
        let place = index_in(server_order, other, merge_key, of_objects)?;
        let item_place = index_in(server_order, item, merge_key, of_objects)?;
        let first = matches!((place, item_place), (Some(place), Some(item_place)) if place < item_place);
        out.extend(if first { others.next() } else { named.next() });
    }
    out.extend(others);
    out.extend(named);
    Ok(out)
}

/// Sorts items by their place in `order`; those that are to be deleted come last.
fn sorted(
    items: Vec<Value>,
    order: &[Value],
    merge_key: &str,
    of_objects: bool,
) -> Result<Vec<Value>, PatchError> {
    let mut deletions = Vec::new();
    let mut kept = Vec::with_capacity(items.len());
    if of_objects {
        for item in items.iter().chain(order) {
            let fields = fields_of(item)?;
            if !fields.contains_key(merge_key) {
                return Err(no_merge_key(fields, merge_key));
            }
        }
    }
    for item in items {
        if of_objects && is_deletion(fields_of(&item)?) {
            deletions.push(item);
        } else {
            // Where an item isn't in the order, upstream's comparison is no order at all; it keeps its place here.
            let place = index_in(order, &item, merge_key, of_objects)?;
            kept.push((place.unwrap_or(usize::MAX), item));
        }
    }
    kept.sort_by_key(|(place, _)| *place);
    Ok(kept.into_iter().map(|(_, item)| item).chain(deletions).collect())
}

fn index_in(
    order: &[Value],
    item: &Value,
    merge_key: &str,
    of_objects: bool,
) -> Result<Option<usize>, PatchError> {
    let key_of = |item: &Value| -> Value {
        if of_objects {
            item.get(merge_key).cloned().unwrap_or(Value::Null)
        } else {
            item.clone()
        }
    };
    let wanted = key_of(item);
    for (index, candidate) in order.iter().enumerate() {
        if same(&wanted, &key_of(candidate))? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}
