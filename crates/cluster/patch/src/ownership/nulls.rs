//! Nulls, which the structure of a built-in kind doesn't have.

use serde_json::Value;

use super::shape::{Chosen, Shape};

/// Removes the fields of types that are null, as reading an object into its structure and writing it again does.
pub(super) fn drop_nulls(value: &mut Value, shape: Shape<'_>) {
    match (shape.atom().deduced(Some(&*value)).chosen(), value) {
        (Chosen::Map(shape), Value::Object(fields)) => {
            // What nothing is said about is kept as it was written.
            if shape.is_deduced() {
                return;
            }
            fields.retain(|name, value| {
                let named = shape.named(name);
                if value.is_null() {
                    return named.is_none();
                }
                drop_nulls(value, named.unwrap_or_else(|| shape.unnamed()));
                true
            });
        }
        (Chosen::List(shape), Value::Array(items)) => {
            let item = shape.item.shape();
            for value in items {
                drop_nulls(value, item);
            }
        }
        _ => {}
    }
}
