//! A definition read from its text.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{FIELDS_V1, INT_OR_STRING, QUANTITY, RAW_EXTENSION};
use crate::node::PatchStrategy;
use crate::{ListType, MapType, Reference, Schema, Type};

/// Returns the schema of a definition. Text that isn't JSON gives a schema that allows anything.
pub(super) fn read(name: &str, text: &str) -> Schema {
    let document: Value = serde_json::from_str(text).unwrap_or_default();
    let mut schema = document.as_object().map(node).unwrap_or_default();
    match name {
        QUANTITY => schema.format = Some("quantity".into()),
        INT_OR_STRING => schema.value_type = Type::IntegerOrString,
        RAW_EXTENSION | FIELDS_V1 => schema.preserve_unknown_fields = true,
        _ if schema.value_type == Type::Any => schema.preserve_unknown_fields = true,
        _ => {}
    }
    schema
}

fn node(fields: &Map<String, Value>) -> Schema {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    Schema {
        value_type: match text("type") {
            Some("object") => Type::Object,
            Some("array") => Type::Array,
            Some("string") => Type::String,
            Some("integer") => Type::Integer,
            Some("number") => Type::Number,
            Some("boolean") => Type::Boolean,
            _ => Type::Any,
        },
        format: text("format").map(Into::into),
        properties: fields
            .get("properties")
            .and_then(Value::as_object)
            .map(|properties| {
                properties
                    .iter()
                    .map(|(name, inner)| (name.as_str().into(), reference(inner)))
                    .collect()
            })
            .unwrap_or_default(),
        additional_properties: fields.get("additionalProperties").map(reference),
        items: fields.get("items").map(reference),
        required: strings(fields.get("required")),
        list_type: match text("x-kubernetes-list-type") {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map(strings(fields.get("x-kubernetes-list-map-keys"))),
            _ => ListType::Atomic,
        },
        map_type: match text("x-kubernetes-map-type") {
            Some("atomic") => MapType::Atomic,
            _ => MapType::Granular,
        },
        patch_strategy: patch_strategy(
            text("x-kubernetes-patch-strategy"),
            text("x-kubernetes-patch-merge-key"),
        ),
        default: fields.get("default").cloned(),
        ..Schema::default()
    }
}

fn strings(list: Option<&Value>) -> Vec<Box<str>> {
    list.and_then(Value::as_array)
        .map(|items| items.iter().filter_map(Value::as_str).map(Into::into).collect())
        .unwrap_or_default()
}

fn patch_strategy(strategy: Option<&str>, merge_key: Option<&str>) -> Option<Box<PatchStrategy>> {
    let named = |wanted: &str| strategy.is_some_and(|names| names.split(',').any(|name| name == wanted));
    (strategy.is_some() || merge_key.is_some()).then(|| {
        Box::new(PatchStrategy {
            merge: named("merge"),
            retain_keys: named("retainKeys"),
            merge_key: merge_key.map(Into::into),
        })
    })
}

fn reference(inner: &Value) -> Reference {
    let Some(fields) = inner.as_object() else {
        return Reference::Inline(Arc::default());
    };
    let target = fields
        .get("$ref")
        .or_else(|| {
            fields
                .get("allOf")
                .and_then(|all| all.get(0))
                .and_then(|only| only.get("$ref"))
        })
        .and_then(Value::as_str);
    match target.and_then(|target| target.strip_prefix("#/components/schemas/")) {
        Some(name) => Reference::Definition {
            name: name.into(),
            beside: Arc::new(node(fields)),
        },
        None => Reference::Inline(Arc::new(node(fields))),
    }
}
