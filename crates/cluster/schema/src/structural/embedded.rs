//! Resources inside resources: `x-kubernetes-embedded-resource`.

use serde_json::{Map, Value};

use super::metadata::{self, Malformed};
use super::name_rules;
use crate::{FieldError, FieldErrorKind, FieldErrors, FieldPath, Reference, Schema, UnknownFields};

/// Brings the metadata of embedded resources into its usual form, and returns its unknown fields, sorted.
///
/// Where `is_resource` says so, the value itself is treated as one.
///
/// # Errors
///
/// The first metadata, `apiVersion` or `kind` that can't be read, unless such are to be dropped.
pub fn coerce(
    schema: &Schema,
    value: &mut Value,
    is_resource: bool,
    malformed: Malformed,
    path: &FieldPath,
) -> Result<UnknownFields, FieldError> {
    let mut coercion = Coercion {
        malformed,
        unknown: UnknownFields::default(),
    };
    coercion.coerce(schema, value, is_resource || schema.embedded_resource, path)?;
    coercion.unknown.sort();
    Ok(coercion.unknown)
}

/// Returns whether the schema describes an embedded resource anywhere; the values of others needn't be walked.
pub fn describes_embedded(schema: &Schema) -> bool {
    schema.embedded_resource
        || schema
            .properties
            .values()
            .chain(&schema.additional_properties)
            .chain(&schema.items)
            .any(|reference| describes_embedded(reference.schema()))
}

struct Coercion {
    malformed: Malformed,
    unknown: UnknownFields,
}

impl Coercion {
    fn coerce(
        &mut self,
        schema: &Schema,
        value: &mut Value,
        is_resource: bool,
        path: &FieldPath,
    ) -> Result<(), FieldError> {
        match value {
            Value::Object(fields) => {
                if is_resource {
                    self.coerce_resource(fields, path)?;
                }
                for (name, field) in fields {
                    let (reference, place) = match schema.properties.get(name.as_str()) {
                        Some(reference) => (reference, path.child(name)),
                        None => match &schema.additional_properties {
                            Some(reference) => (reference, path.key(name)),
                            None => continue,
                        },
                    };
                    let described = reference.schema();
                    self.coerce(described, field, described.embedded_resource, &place)?;
                }
            }
            Value::Array(items) => {
                let Some(described) = schema.items.as_ref().map(Reference::schema) else {
                    return Ok(());
                };
                for (index, item) in items.iter_mut().enumerate() {
                    self.coerce(described, item, described.embedded_resource, &path.index(index))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn coerce_resource(
        &mut self,
        fields: &mut Map<String, Value>,
        path: &FieldPath,
    ) -> Result<(), FieldError> {
        for name in ["apiVersion", "kind"] {
            if let Some(value) = fields.get(name).filter(|value| !value.is_string()) {
                if self.malformed == Malformed::Refuse {
                    return Err(FieldError::invalid(path.child(name), value, "must be a string"));
                }
                fields.remove(name);
            }
        }
        let Some(given) = fields.get("metadata") else {
            return Ok(());
        };
        match metadata::read(given, self.malformed) {
            Ok(read) => {
                let place = path.child("metadata");
                for unknown in &read.unknown {
                    self.unknown.note_with(|| format!("{place}.{unknown}"));
                }
                fields.insert("metadata".to_owned(), Value::Object(read.metadata));
            }
            Err(fault) if self.malformed == Malformed::Refuse => {
                return Err(FieldError::invalid(path.child("metadata"), given, fault));
            }
            Err(_) => {}
        }
        Ok(())
    }
}

/// Returns what is wrong with embedded resources: their `apiVersion`, `kind` and metadata.
pub fn validate(schema: &Schema, value: &Value, is_resource: bool, path: &FieldPath) -> FieldErrors {
    let mut errors = FieldErrors::default();
    if is_resource || describes_embedded(schema) {
        check(
            schema,
            value,
            is_resource || schema.embedded_resource,
            path,
            &mut errors,
        );
    }
    errors
}

fn check(schema: &Schema, value: &Value, is_resource: bool, path: &FieldPath, errors: &mut FieldErrors) {
    match value {
        Value::Object(fields) => {
            if is_resource {
                check_resource(fields, path, errors);
            }
            for (name, field) in fields {
                let (reference, place) = match schema.properties.get(name.as_str()) {
                    Some(reference) => (reference, path.child(name)),
                    None => match &schema.additional_properties {
                        Some(reference) => (reference, path.key(name)),
                        None => continue,
                    },
                };
                let described = reference.schema();
                check(described, field, described.embedded_resource, &place, errors);
            }
        }
        Value::Array(items) => {
            if let Some(described) = schema.items.as_ref().map(Reference::schema) {
                for (index, item) in items.iter().enumerate() {
                    check(
                        described,
                        item,
                        described.embedded_resource,
                        &path.index(index),
                        errors,
                    );
                }
            }
        }
        _ => {}
    }
}

fn check_resource(fields: &Map<String, Value>, path: &FieldPath, errors: &mut FieldErrors) {
    for name in ["apiVersion", "kind"] {
        if !fields.contains_key(name) {
            errors.push(FieldError::required(path.child(name), ""));
        }
    }
    let mut invalid = |name: &str, value: &Value, rule: String| {
        errors.push_with(|| FieldError::invalid(path.child(name), value, rule));
    };
    match fields.get("apiVersion") {
        Some(Value::String(text)) if text.is_empty() => {
            invalid("apiVersion", &"".into(), "must not be empty".to_owned());
        }
        Some(value @ Value::String(text)) if text.matches('/').count() > 1 => {
            invalid(
                "apiVersion",
                value,
                format!("unexpected GroupVersion string: {text}"),
            );
        }
        None | Some(Value::String(_)) => {}
        Some(other) => invalid("apiVersion", other, "must be a string".to_owned()),
    }
    match fields.get("kind") {
        None => {}
        Some(Value::String(text)) if text.is_empty() => {
            invalid("kind", &"".into(), "must not be empty".to_owned());
        }
        Some(value @ Value::String(text)) => {
            let faults = name_rules::dns_1035_label(&text.to_lowercase());
            if !faults.is_empty() {
                let faults = faults.join(",");
                invalid(
                    "kind",
                    value,
                    format!("may have mixed case, but should otherwise match: {faults}"),
                );
            }
        }
        Some(other) => invalid("kind", other, "must be a string".to_owned()),
    }
    let Some(given) = fields.get("metadata") else {
        return;
    };
    match metadata::read(given, Malformed::Refuse) {
        Err(fault) => invalid("metadata", given, fault),
        Ok(mut read) => {
            // An embedded resource needs no name, which metadata by itself does.
            read.metadata
                .entry("name")
                .or_insert_with(|| Value::String("fakename".to_owned()));
            let is_namespaced = read.metadata.contains_key("namespace");
            let rule = |name: &str, is_prefix: bool| name_rules::path_segment(name, is_prefix);
            errors.append(metadata::validate(
                &read.metadata,
                is_namespaced,
                &rule,
                &path.child("metadata"),
            ));
        }
    }
}

/// Returns whether an error keeps the rules of CEL from being run, since they could then meet values that their types
/// don't allow.
pub fn blocks_rules(error: &FieldError) -> bool {
    matches!(
        error.kind,
        FieldErrorKind::NotSupported
            | FieldErrorKind::Required
            | FieldErrorKind::TooLong
            | FieldErrorKind::TooMany
            | FieldErrorKind::TypeInvalid
    )
}
