//! The schema of a definition, and how strictly the one that replaces a stored one is judged.

use serde_json::Value;

use super::rules::RuleChecks;
use super::view::{View, is_same_schema, schema_of};
use super::{
    Strictness, conversion, default_values, extensions, internal, is_condition_true, keywords, structure,
};
use crate::structural::document::Document;
use crate::structural::read::read;
use crate::{FieldError, FieldErrorKind, FieldErrors, FieldPath};

/// The keywords that the root of a schema may have where the status is a subresource: its schema is cut out.
const ALLOWED_AT_ROOT: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

/// Returns what is wrong with a schema; `around` is the object that holds it, and `path` that object's.
pub(super) fn faults(
    around: Option<&Value>,
    path: &FieldPath,
    has_status: bool,
    strictness: &Strictness,
    checks: &mut dyn RuleChecks,
) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let Some(schema) = schema_of(around) else {
        return errors;
    };
    let path = path.child("openAPIV3Schema");
    if has_status {
        errors.extend(root_fault(schema, &path));
    }
    if schema.flag("nullable") {
        errors.push(FieldError::forbidden(
            path.child("nullable"),
            "nullable cannot be true at the root",
        ));
    }
    let read = read(&Value::Object(schema.0.clone()));
    let mut typed = None;
    if strictness.structural
        && let Ok(read) = &read
    {
        let mut faults = structure::faults(schema, &path);
        if faults.is_empty() {
            faults = default_values::faults(read, &path, strictness.pruned_defaults, checks);
        }
        if faults.is_empty() {
            typed = Some(read);
        }
        errors.append(faults);
    }
    errors.append(keywords::check(schema, &path, strictness, typed, checks).all());
    if let Err(error) = &read
        && errors.is_empty()
        && strictness.structural
    {
        errors.push(FieldError::invalid(path.clone(), &"".into(), error.to_string()));
    }
    if typed.is_some() {
        errors.extend(checks.finish(&path));
    }
    errors
}

fn root_fault(schema: Document<'_>, path: &FieldPath) -> Option<FieldError> {
    let (_, field) = internal::keywords()
        .filter(|(keyword, _)| schema.is_set(keyword))
        .find(|(_, field)| match *field {
            "Type" => schema.type_name() != "object",
            other => !ALLOWED_AT_ROOT.contains(&other),
        })?;
    if field == "Type" {
        let rule = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return Some(FieldError::invalid(
            path.child("type"),
            &schema.type_name().into(),
            rule,
        ));
    }
    Some(FieldError {
        kind: FieldErrorKind::Invalid,
        field: path.clone(),
        value: Some(internal::schema(schema)),
        detail: format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            ALLOWED_AT_ROOT.join(" ")
        ),
    })
}

/// Returns what the condition `NonStructuralSchema` says; `None` where every schema is structural.
pub fn non_structural(definition: &Value) -> Option<String> {
    let mut errors = FieldErrors::default();
    let spec = FieldPath::new("spec");
    if definition.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true)) {
        let place = spec.child("preserveUnknownFields");
        errors.push(FieldError::invalid(place, &Value::Bool(true), "must be false"));
    }
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    for (index, version) in versions.into_iter().flatten().enumerate() {
        if let Some(schema) = schema_of(version.get("schema")) {
            let path = spec
                .child("versions")
                .index(index)
                .child("schema")
                .child("openAPIV3Schema");
            errors.append(structure::faults(schema, &path));
        }
    }
    (!errors.is_empty()).then(|| default_values::aggregate(errors.told()))
}

fn is_structural(schema: Document<'_>) -> bool {
    read(&Value::Object(schema.0.clone())).is_ok() && structure::faults(schema, &FieldPath::root()).is_empty()
}

/// Returns what is asked of a definition that replaces a stored one.
pub(super) fn strictness_for_update(new: &View<'_>, old: &View<'_>) -> Strictness {
    let root = FieldPath::root();
    let any = |is_so: &mut dyn FnMut(Document<'_>) -> bool| old.schemas().any(|schema| schema.any(is_so));
    let has_schema = |around: Option<&Value>| schema_of(around).is_some();
    let old_types_are_valid = !any(&mut |node| {
        !matches!(
            node.type_name(),
            "" | "string" | "number" | "integer" | "boolean" | "array" | "object"
        )
    });
    let has_unpruned_defaults = old.schemas().any(|schema| {
        is_structural(schema)
            && read(&Value::Object(schema.0.clone()))
                .is_ok_and(|schema| default_values::are_unpruned(&schema))
    });
    Strictness {
        recognized_review_version: conversion::has_recognized_version(old.conversion()),
        every_version_has_schema: has_schema(old.shared.schema)
            || old.versions.iter().all(|version| has_schema(version.own.schema)),
        valid_types: old_types_are_valid,
        structural: old.schemas().all(is_structural),
        pruned_defaults: !has_unpruned_defaults,
        atomic_sets: !any(&mut |node| extensions::non_atomic_set_item(node, &root).is_some()),
        list_keys: !any(&mut |node| !extensions::list_key_faults(node, &root).is_empty()),
        invalid_authority_bundle: !is_condition_true(old.definition(), "Established")
            || conversion::has_invalid_bundle(old.conversion()),
        unchanged_schema: false,
        unchanged_versions: new
            .versions
            .iter()
            .map(|version| version.text("name"))
            .filter(|name| match (new.schema_around(name), old.schema_around(name)) {
                (Some(schema), Some(stored)) => is_same_schema(Some(schema), Some(stored)),
                _ => false,
            })
            .map(ToOwned::to_owned)
            .collect(),
        many_selectable_fields: super::columns::kept_selectable_fields(new, old),
    }
}
