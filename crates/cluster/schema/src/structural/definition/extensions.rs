//! The keywords that Kubernetes adds to schemas.

use std::collections::HashSet;

use serde_json::Value;

use super::{Strictness, internal};
use crate::structural::document::Document;
use crate::{FieldError, FieldErrorKind, FieldErrors, FieldPath};

/// Returns a required error where there is no type, else one that shows it.
fn type_error(node: Document<'_>, path: &FieldPath, rule: &str) -> FieldError {
    match node.type_name() {
        "" => FieldError::required(path.child("type"), rule),
        other => FieldError::invalid(path.child("type"), &other.into(), rule),
    }
}

/// Checks the keywords that Kubernetes adds: how lists and maps merge, and what is kept.
pub(super) fn check(node: Document<'_>, path: &FieldPath, strictness: &Strictness, errors: &mut FieldErrors) {
    let keeps_unknown = "x-kubernetes-preserve-unknown-fields";
    if node.value(keeps_unknown) == Some(&Value::Bool(false)) {
        let rule = "must be true or undefined";
        errors.push(FieldError::invalid(
            path.child(keeps_unknown),
            &Value::Bool(false),
            rule,
        ));
    }
    if let Some(map_type) = node.pointed_text("x-kubernetes-map-type") {
        if node.type_name() != "object" {
            errors.push(type_error(
                node,
                path,
                "must be object if x-kubernetes-map-type is specified",
            ));
        }
        let allowed = ["atomic", "granular"];
        if !allowed.contains(&map_type) {
            let place = path.child("x-kubernetes-map-type");
            errors.push(FieldError::not_supported(place, &map_type.into(), &allowed));
        }
    }
    let list_type = node.pointed_text("x-kubernetes-list-type");
    if list_type.is_some() && node.type_name() != "array" {
        errors.push(type_error(
            node,
            path,
            "must be array if x-kubernetes-list-type is specified",
        ));
    } else if strictness.atomic_sets {
        errors.extend(non_atomic_set_item(node, path));
    }
    if let Some(list_type) = list_type {
        let allowed = ["atomic", "set", "map"];
        if !allowed.contains(&list_type) {
            let place = path.child("x-kubernetes-list-type");
            errors.push(FieldError::not_supported(place, &list_type.into(), &allowed));
        }
    }
    if !node.items("x-kubernetes-list-map-keys").is_empty() {
        let place = path.child("x-kubernetes-list-type");
        let rule = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => errors.push(FieldError::required(place, rule)),
            Some("map") => {}
            Some(other) => errors.push(FieldError::invalid(place, &other.into(), rule)),
        }
    }
    if list_type == Some("map") {
        check_map_list(node, path, errors);
    }
    if strictness.list_keys {
        errors.append(list_key_faults(node, path));
    }
}

/// Returns the error of a set whose items have parts that could be owned one by one.
pub(super) fn non_atomic_set_item(node: Document<'_>, path: &FieldPath) -> Option<FieldError> {
    if node.pointed_text("x-kubernetes-list-type") != Some("set") {
        return None;
    }
    let items = node.node("items")?;
    let (keyword, kind) = match items.type_name() {
        "array" => (
            "x-kubernetes-list-type",
            items.pointed_text("x-kubernetes-list-type").unwrap_or("atomic"),
        ),
        "object" => (
            "x-kubernetes-map-type",
            items.pointed_text("x-kubernetes-map-type").unwrap_or("granular"),
        ),
        _ => return None,
    };
    // Upstream shows the list type in both cases.
    let shown = items
        .pointed_text("x-kubernetes-list-type")
        .map_or(Value::Null, Into::into);
    (kind != "atomic").then(|| {
        FieldError::invalid(
            path.child("items").child(keyword),
            &shown,
            "must be atomic as item of a list with x-kubernetes-list-type=set",
        )
    })
}

fn check_map_list(node: Document<'_>, path: &FieldPath, errors: &mut FieldErrors) {
    let keys = node.items("x-kubernetes-list-map-keys");
    let keys_path = path.child("x-kubernetes-list-map-keys");
    if keys.is_empty() {
        let rule = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(keys_path.clone(), rule));
    }
    let items_path = path.child("items");
    if node.value("items").is_none() {
        let rule = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(items_path, rule));
        return;
    }
    let Some(items) = node.node("items") else {
        errors.push(FieldError {
            kind: FieldErrorKind::Invalid,
            field: items_path,
            value: Some(internal::items(node)),
            detail: "must only have a single schema if x-kubernetes-list-type is map".to_owned(),
        });
        return;
    };
    if items.type_name() != "object" {
        let rule = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(
            items_path.child("type"),
            &items.type_name().into(),
            rule,
        ));
        return;
    }
    let all_keys = Value::Array(keys.to_vec());
    let mut known = HashSet::new();
    for key in keys {
        let name = key.as_str().unwrap_or_default();
        match items.property(name) {
            Some(property) if matches!(property.type_name(), "array" | "object") => {
                errors.push(FieldError::invalid(
                    items_path.child("properties").key(name).child("type"),
                    &items.type_name().into(),
                    "must be a scalar type if parent array's x-kubernetes-list-type is map",
                ));
            }
            Some(_) => {}
            None => {
                let rule = "entries must all be names of item properties";
                errors.push_with(|| FieldError::invalid(keys_path.clone(), &all_keys, rule));
            }
        }
        if !known.insert(name) {
            let rule = "must not contain duplicate entries";
            errors.push_with(|| FieldError::invalid(keys_path.clone(), &all_keys, rule));
        }
    }
}

/// Returns the errors of items that may be null in lists that tell them apart, and of keys that may be missing.
pub(super) fn list_key_faults(node: Document<'_>, path: &FieldPath) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let (Some(items), Some(list_type @ ("set" | "map"))) =
        (node.node("items"), node.pointed_text("x-kubernetes-list-type"))
    else {
        return errors;
    };
    let path = path.child("items");
    if items.flag("nullable") {
        errors.push(FieldError::forbidden(
            path.child("nullable"),
            format!("cannot be nullable when x-kubernetes-list-type is {list_type}"),
        ));
    }
    if list_type == "map" {
        for key in node.items("x-kubernetes-list-map-keys") {
            let name = key.as_str().unwrap_or_default();
            let Some(property) = items.property(name) else {
                continue;
            };
            let path = path.child("properties").key(name);
            if !items.items("required").contains(key) && property.value("default").is_none() {
                errors.push(FieldError::required(
                    path.child("default"),
                    "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
                ));
            }
            if property.flag("nullable") {
                errors.push(FieldError::forbidden(
                    path.child("nullable"),
                    "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
                ));
            }
        }
    }
    errors
}
