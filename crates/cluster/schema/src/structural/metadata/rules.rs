//! What the API server asks of metadata.

use std::collections::HashSet;

use gotemplate::format::is_print;
use serde_json::{Map, Value};

use super::{OWNER_REFERENCE, invalid_text};
use crate::field_error::shown_json;
use crate::structural::name_rules;
use crate::{FieldError, FieldErrors, FieldPath};

/// The most bytes that all annotations of an object may have together.
const MAXIMUM_ANNOTATION_BYTES: usize = 256 << 10;
/// The longest name of a field manager.
const MAXIMUM_MANAGER_BYTES: usize = 128;
/// The longest name of a subresource.
const MAXIMUM_SUBRESOURCE_BYTES: usize = 256;

/// Judges a name, or the prefix of one that will be generated: what is wrong with it.
pub type NameRule<'a> = &'a dyn Fn(&str, bool) -> Vec<String>;

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn items<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    fields
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn entries<'a>(fields: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    fields
        .get(name)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

/// Returns what is wrong with the metadata of a new object, which [`read`](super::read) has read.
pub fn validate(
    metadata: &Map<String, Value>,
    is_namespaced: bool,
    name_rule: NameRule<'_>,
    path: &FieldPath,
) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let generate_name = text(metadata, "generateName");
    if !generate_name.is_empty() {
        for fault in name_rule(generate_name, true) {
            errors.push_with(|| invalid_text(path.child("generateName"), generate_name, fault));
        }
    }
    let name = text(metadata, "name");
    if name.is_empty() {
        errors.push(FieldError::required(
            path.child("name"),
            "name or generateName is required",
        ));
    } else {
        for fault in name_rule(name, false) {
            errors.push_with(|| invalid_text(path.child("name"), name, fault));
        }
    }
    let namespace = text(metadata, "namespace");
    if is_namespaced {
        if namespace.is_empty() {
            errors.push(FieldError::required(path.child("namespace"), ""));
        } else {
            for fault in name_rules::dns_label(namespace) {
                errors.push_with(|| invalid_text(path.child("namespace"), namespace, fault));
            }
        }
    } else if !namespace.is_empty() {
        errors.push(FieldError::forbidden(
            path.child("namespace"),
            "not allowed on this type",
        ));
    }
    if let Some(generation) = metadata.get("generation")
        && generation.as_i64().is_some_and(|generation| generation < 0)
    {
        let rule = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path.child("generation"), generation, rule));
    }
    check_labels(metadata, path, &mut errors);
    check_annotations(metadata, path, &mut errors);
    check_owners(metadata, path, &mut errors);
    check_finalizers(metadata, path, &mut errors);
    check_managed_fields(metadata, path, &mut errors);
    errors
}

/// Returns what is wrong with the metadata of an object that replaces an old one.
pub fn validate_update(new: &Map<String, Value>, old: &Map<String, Value>, path: &FieldPath) -> FieldErrors {
    let mut errors = FieldErrors::default();
    if old.contains_key("deletionTimestamp") {
        let known: HashSet<&str> = items(old, "finalizers")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let mut added: Vec<&str> = items(new, "finalizers")
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| !known.contains(name))
            .collect();
        added.sort_unstable();
        added.dedup();
        if !added.is_empty() {
            let listed: Vec<String> = added.iter().map(gotemplate::format::quoted).collect();
            errors.push(FieldError::forbidden(
                path.child("finalizers"),
                format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                    listed.join(", ")
                ),
            ));
        }
    }
    if text(new, "resourceVersion").is_empty() {
        errors.push(invalid_text(
            path.child("resourceVersion"),
            "",
            "must be specified for an update",
        ));
    }
    let generation = |fields: &Map<String, Value>| {
        fields
            .get("generation")
            .and_then(Value::as_i64)
            .unwrap_or_default()
    };
    if generation(new) < generation(old) {
        let value = generation(new).into();
        errors.push(FieldError::invalid(
            path.child("generation"),
            &value,
            "must not be decremented",
        ));
    }
    for name in ["name", "namespace", "uid"] {
        if text(new, name) != text(old, name) {
            errors.push(invalid_text(
                path.child(name),
                text(new, name),
                "field is immutable",
            ));
        }
    }
    for name in [
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        if new.get(name) != old.get(name) {
            let value = new.get(name).unwrap_or(&Value::Null);
            let mut error = FieldError::invalid(path.child(name), value, "field is immutable");
            // These are structures or pointers in Go, which are shown as JSON even where they hold a number.
            error.value = goyaml::json::to_string(value, goyaml::json::Escape::Html).ok();
            errors.push(error);
        }
    }
    check_labels(new, path, &mut errors);
    check_annotations(new, path, &mut errors);
    check_owners(new, path, &mut errors);
    check_managed_fields(new, path, &mut errors);
    errors
}

fn check_labels(metadata: &Map<String, Value>, path: &FieldPath, errors: &mut FieldErrors) {
    for (key, value) in entries(metadata, "labels") {
        for fault in name_rules::label_key(key) {
            errors.push_with(|| invalid_text(path.child("labels"), key, fault));
        }
        for fault in name_rules::label_value(value) {
            errors.push_with(|| invalid_text(path.child("labels"), value, fault));
        }
    }
}

fn check_annotations(metadata: &Map<String, Value>, path: &FieldPath, errors: &mut FieldErrors) {
    let mut bytes = 0;
    for (key, value) in entries(metadata, "annotations") {
        // Case doesn't matter in the prefix of an annotation.
        for fault in name_rules::label_key(&key.to_lowercase()) {
            errors.push_with(|| invalid_text(path.child("annotations"), key, fault));
        }
        bytes += key.len() + value.len();
    }
    if bytes > MAXIMUM_ANNOTATION_BYTES {
        errors.push(FieldError::too_long(
            path.child("annotations"),
            MAXIMUM_ANNOTATION_BYTES,
        ));
    }
}

fn check_owners(metadata: &Map<String, Value>, path: &FieldPath, errors: &mut FieldErrors) {
    let path = path.child("ownerReferences");
    let owners = items(metadata, "ownerReferences");
    let mut controller = String::new();
    for owner in owners {
        let Value::Object(fields) = owner else { continue };
        let api_version = text(fields, "apiVersion");
        // Text with more than one slash has no version, and neither has text that ends with its slash.
        let version = match api_version.split('/').collect::<Vec<_>>().as_slice() {
            [version] => *version,
            [_, version] => version,
            _ => "",
        };
        if version.is_empty() {
            errors.push_with(|| {
                invalid_text(path.child("apiVersion"), api_version, "version must not be empty")
            });
        }
        for name in ["kind", "name", "uid"] {
            if text(fields, name).is_empty() {
                errors.push_with(|| invalid_text(path.child(name), "", "must not be empty"));
            }
        }
        if api_version == "v1" && text(fields, "kind") == "Event" {
            let rule = "/v1, Kind=Event is disallowed from being an owner";
            errors.push_with(|| FieldError::invalid_shown(path.clone(), owner_shown(fields), rule));
        }
        if fields.get("controller") == Some(&Value::Bool(true)) {
            let current = format!("{}/{}", text(fields, "kind"), text(fields, "name"));
            if controller.is_empty() {
                controller = current;
            } else {
                // All of them are shown each time: where there are many, the first time fills the room there is.
                errors.push_with(|| {
                    let all: Vec<String> = owners
                        .iter()
                        .filter_map(Value::as_object)
                        .map(owner_shown)
                        .collect();
                    let all = format!("[{}]", all.join(","));
                    let rule = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {controller} and {current}"
                    );
                    FieldError::invalid_shown(path.clone(), all, rule)
                });
            }
        }
    }
}

/// Returns a reference as errors show it: its fields in the order in which Go's type declares them.
fn owner_shown(fields: &Map<String, Value>) -> String {
    let shown: Vec<String> = OWNER_REFERENCE
        .iter()
        .filter_map(|(name, ..)| Some(format!("{name:?}:{}", shown_json(fields.get(*name)?))))
        .collect();
    format!("{{{}}}", shown.join(","))
}

fn check_finalizers(metadata: &Map<String, Value>, path: &FieldPath, errors: &mut FieldErrors) {
    let path = path.child("finalizers");
    let finalizers = items(metadata, "finalizers");
    for finalizer in finalizers.iter().filter_map(Value::as_str) {
        for fault in name_rules::label_key(finalizer) {
            errors.push_with(|| invalid_text(path.clone(), finalizer, fault));
        }
    }
    let has = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        errors.push(FieldError::invalid(
            path,
            &Value::Array(finalizers.to_vec()),
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
}

fn check_managed_fields(metadata: &Map<String, Value>, path: &FieldPath, errors: &mut FieldErrors) {
    for (index, entry) in items(metadata, "managedFields").iter().enumerate() {
        let Value::Object(fields) = entry else { continue };
        let path = path.child("managedFields").index(index);
        let operation = text(fields, "operation");
        if !matches!(operation, "Apply" | "Update") {
            errors.push_with(|| {
                invalid_text(path.child("operation"), operation, "must be `Apply` or `Update`")
            });
        }
        let fields_type = text(fields, "fieldsType");
        if !matches!(fields_type, "" | "FieldsV1") {
            errors.push_with(|| invalid_text(path.child("fieldsType"), fields_type, "must be `FieldsV1`"));
        }
        let manager = text(fields, "manager");
        if manager.len() > MAXIMUM_MANAGER_BYTES {
            errors.push(FieldError::too_long(path.child("manager"), MAXIMUM_MANAGER_BYTES));
        }
        for (position, character) in manager
            .char_indices()
            .filter(|(_, character)| !is_print(*character))
        {
            errors.push_with(|| {
                let rule = format!(
                    "invalid character U+{:04X} (at position {position})",
                    u32::from(character)
                );
                invalid_text(path.child("manager"), manager, rule)
            });
        }
        if text(fields, "subresource").len() > MAXIMUM_SUBRESOURCE_BYTES {
            errors.push(FieldError::too_long(
                path.child("subresource"),
                MAXIMUM_SUBRESOURCE_BYTES,
            ));
        }
    }
}
