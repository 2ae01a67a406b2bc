//! Defaults of a schema, written into a custom resource; and nulls that mean nothing, taken out of it.

use serde_json::Value;

use crate::{Reference, Schema};

/// Writes the defaults of a schema into a value: where a field is missing, and where it is null but may not be.
pub fn default(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, reference) in &schema.properties {
                let property = reference.schema();
                let Some(default) = &property.default else {
                    continue;
                };
                match fields.get_mut(name.as_ref()) {
                    None => {
                        fields.insert(name.as_ref().to_owned(), default.clone());
                    }
                    Some(field) if field.is_null() && !property.nullable => *field = default.clone(),
                    Some(_) => {}
                }
            }
            for (name, field) in fields {
                if let Some(property) = schema.properties.get(name.as_str()) {
                    self::default(property.schema(), field);
                } else if let Some(additional) = &schema.additional_properties {
                    default_or_replace_null(additional.schema(), field);
                }
            }
        }
        Value::Array(items) => {
            if let Some(item_schema) = &schema.items {
                for item in items {
                    default_or_replace_null(item_schema.schema(), item);
                }
            }
        }
        _ => {}
    }
}

fn default_or_replace_null(schema: &Schema, value: &mut Value) {
    if value.is_null() && !schema.nullable {
        *value = schema.default.clone().unwrap_or_default();
    }
    default(schema, value);
}

/// Takes out the fields that are null, may not be, and have no default that would replace them.
pub fn prune_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, field| {
            let described = schema
                .properties
                .get(name.as_str())
                .or(schema.additional_properties.as_ref())
                .map(Reference::schema);
            // What isn't described has nothing described inside.
            let Some(described) = described else {
                return true;
            };
            if field.is_null() && !described.nullable && described.default.is_none() {
                return false;
            }
            prune_nulls(described, field);
            true
        }),
        Value::Array(items) => {
            if let Some(item_schema) = &schema.items {
                for item in items {
                    prune_nulls(item_schema.schema(), item);
                }
            }
        }
        _ => {}
    }
}
