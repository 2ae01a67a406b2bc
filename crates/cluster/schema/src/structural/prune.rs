//! Fields that a schema doesn't have, taken out of a custom resource.

use std::fmt::Write;

use serde_json::Value;

use crate::{Reference, Schema, UnknownFields};

/// Returns whether a field is one of those that every resource has, described or not.
pub(super) fn is_resource_field(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

/// Takes the fields that the schema doesn't have out of a custom resource, and returns them, sorted.
///
/// Where `is_resource` says so, the value is a whole resource and keeps its `apiVersion`, `kind` and `metadata`.
pub fn prune(schema: &Schema, value: &mut Value, is_resource: bool) -> UnknownFields {
    let mut pruning = Pruning {
        path: String::new(),
        unknown: UnknownFields::default(),
    };
    pruning.prune(
        value,
        Some(Place {
            schema,
            is_resource: is_resource || schema.embedded_resource,
        }),
    );
    pruning.unknown.sort();
    pruning.unknown
}

#[derive(Clone, Copy)]
struct Place<'a> {
    schema: &'a Schema,
    is_resource: bool,
}

impl<'a> Place<'a> {
    fn of(reference: &'a Reference) -> Self {
        let schema = reference.schema();
        Self {
            schema,
            is_resource: schema.embedded_resource,
        }
    }
}

struct Pruning {
    path: String,
    unknown: UnknownFields,
}

impl Pruning {
    /// Descends into a field; `step` gets the path with the field in it.
    fn at_field(&mut self, name: &str, step: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        step(self);
        self.path.truncate(length);
    }

    fn at_index(&mut self, index: usize, step: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        // Writing to a string can't fail.
        let _ = write!(self.path, "[{index}]");
        step(self);
        self.path.truncate(length);
    }

    fn record(&mut self, name: &str) {
        let Self { path, unknown } = self;
        unknown.note_with(|| {
            if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            }
        });
    }

    fn prune(&mut self, value: &mut Value, place: Option<Place<'_>>) {
        if let Some(place) = place
            && place.schema.preserve_unknown_fields
        {
            self.prune_known(value, place);
            return;
        }
        match value {
            Value::Object(fields) => {
                let Some(Place { schema, is_resource }) = place else {
                    for name in fields.keys() {
                        self.record(name);
                    }
                    fields.clear();
                    return;
                };
                fields.retain(|name, field| {
                    if is_resource && is_resource_field(name) {
                        return true;
                    }
                    let described = schema
                        .properties
                        .get(name.as_str())
                        .or(schema.additional_properties.as_ref());
                    if let Some(reference) = described {
                        self.at_field(name, |pruning| pruning.prune(field, Some(Place::of(reference))));
                        return true;
                    }
                    if !is_resource_field(name) || !self.path.is_empty() {
                        self.record(name);
                    }
                    false
                });
            }
            Value::Array(items) => {
                let item_place = place.and_then(|place| place.schema.items.as_ref()).map(Place::of);
                for (index, item) in items.iter_mut().enumerate() {
                    self.at_index(index, |pruning| pruning.prune(item, item_place));
                }
            }
            _ => {}
        }
    }

    /// Keeps unknown fields, and prunes inside those that are described.
    fn prune_known(&mut self, value: &mut Value, place: Place<'_>) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    if place.is_resource && is_resource_field(name) {
                        continue;
                    }
                    let described = place
                        .schema
                        .properties
                        .get(name.as_str())
                        .or(place.schema.additional_properties.as_ref());
                    if let Some(reference) = described {
                        self.at_field(name, |pruning| pruning.prune(field, Some(Place::of(reference))));
                    }
                }
            }
            Value::Array(items) => {
                let Some(item_schema) = &place.schema.items else {
                    return;
                };
                for (index, item) in items.iter_mut().enumerate() {
                    self.at_index(index, |pruning| pruning.prune_known(item, Place::of(item_schema)));
                }
            }
            _ => {}
        }
    }
}
