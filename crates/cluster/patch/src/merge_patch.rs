//! JSON merge patch: the fields of the patch replace those of the object, and null removes.
//!
//! RFC 7396 with the habits of the library that the API server uses: nulls inside of what is new to the object are
//! dropped even in the objects of a list, and a list that replaces an object keeps them.

use serde_json::{Map, Value};

use crate::PatchError;
use crate::document;

/// What the merge found: the new object, and what strict reading says about the patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// The object after the patch.
    pub object: Value,
    /// What is wrong with the patch for a strict reader, such as `duplicate field "a.b"`.
    pub findings: Vec<String>,
}

/// Applies the body of a `application/merge-patch+json` request.
///
/// `strict` is whether the request's field validation is `Strict` or `Warn`, when the body is also read strictly.
pub fn apply(object: Value, body: &[u8], strict: bool) -> Result<Merged, PatchError> {
    let patch = match document::read(body) {
        Ok(patch) => patch,
        Err(text) if strict => return Err(PatchError::BadRequest(format!("error decoding patch: {text}"))),
        Err(_) => return Err(not_a_patch()),
    };
    if strict && !matches!(patch, Value::Object(_) | Value::Null) {
        let text = document::does_not_fit(&patch, "map[string]interface {}");
        return Err(PatchError::BadRequest(format!("error decoding patch: {text}")));
    }
    let findings = if strict {
        document::repeated_fields(body)
    } else {
        Vec::new()
    };
    Ok(Merged {
        object: merge(object, patch)?,
        findings,
    })
}

/// Applies a merge patch.
///
/// The patch must be an object, or a list, which then takes the object's place.
pub fn merge(object: Value, patch: Value) -> Result<Value, PatchError> {
    match (object, patch) {
        (Value::Object(mut fields), Value::Object(patch)) => {
            merge_fields(&mut fields, patch);
            Ok(Value::Object(fields))
        }
        (_, mut patch @ (Value::Object(_) | Value::Array(_))) => {
            drop_nulls(&mut patch);
            Ok(patch)
        }
        _ => Err(not_a_patch()),
    }
}

fn not_a_patch() -> PatchError {
    PatchError::BadRequest("Invalid JSON Patch".to_owned())
}

fn merge_fields(fields: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, mut change) in patch {
        if change.is_null() {
            fields.remove(&name);
            continue;
        }
        match (fields.get_mut(&name), change) {
            (Some(Value::Object(inner)), Value::Object(change)) => merge_fields(inner, change),
            (Some(current @ Value::Object(_)), other) => *current = other,
            (Some(current), other) => {
                change = other;
                drop_nulls(&mut change);
                *current = change;
            }
            (None, other) => {
                change = other;
                drop_nulls(&mut change);
                fields.insert(name, change);
            }
        }
    }
}

/// Removes the fields that are null, at any depth; the nulls that are items of a list stay.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
