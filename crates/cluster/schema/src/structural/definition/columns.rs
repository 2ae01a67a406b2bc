//! The parts of a version beside its schema: columns, subresources, selectable fields.

use std::collections::HashSet;

use serde_json::Value;

use super::field_path;
use super::internal::Parts;
use super::parts::pointed_text_error;
use super::view::{Part, View, schema_of};
use crate::structural::read::read;
use crate::{FieldError, FieldErrors, FieldPath, Type};

/// The most selectable fields of a version.
const MAXIMUM_SELECTABLE_FIELDS: usize = 8;
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

/// Checks printer columns.
pub(super) fn check_columns(columns: &[Value], path: &FieldPath, errors: &mut FieldErrors) {
    for (index, column) in columns.iter().enumerate() {
        let path = path.index(index);
        let column = Part::of(Some(column));
        if column.text("name").is_empty() {
            errors.push(FieldError::required(path.child("name"), ""));
        }
        let types = || format!("must be one of {}", COLUMN_TYPES.join(","));
        match column.text("type") {
            "" => errors.push(FieldError::required(path.child("type"), types())),
            known if COLUMN_TYPES.contains(&known) => {}
            other => errors.push(FieldError::invalid(path.child("type"), &other.into(), types())),
        }
        let format = column.text("format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let rule = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.push(FieldError::invalid(path.child("format"), &format.into(), rule));
        }
        let field = path.child("JSONPath");
        match column.text("jsonPath") {
            "" => errors.push(FieldError::required(field, "")),
            text => errors.extend(path_fault(text, &field)),
        }
    }
}

fn path_fault(text: &str, field: &FieldPath) -> Option<FieldError> {
    let rule = "must be a simple json path starting with .";
    (!text.starts_with('.')).then(|| FieldError::invalid(field.clone(), &text.into(), rule))
}

/// Checks the paths of a scale subresource.
pub(super) fn check_subresources(subresources: Option<&Value>, path: &FieldPath, errors: &mut FieldErrors) {
    let scale = Part::of(subresources).part("scale");
    if !scale.is_there() {
        return;
    }
    for (name, prefix, rule) in [
        ("specReplicasPath", ".spec.", "should be a json path under .spec"),
        (
            "statusReplicasPath",
            ".status.",
            "should be a json path under .status",
        ),
    ] {
        let field = path.child("scale").child(name);
        match scale.text(name) {
            "" => errors.push(FieldError::required(field, "")),
            text => match path_fault(text, &field) {
                Some(error) => errors.push(error),
                None if text.starts_with(prefix) => {}
                None => errors.push(FieldError::invalid(field, &text.into(), rule)),
            },
        }
    }
    let text = scale.text("labelSelectorPath");
    if !text.is_empty() {
        let field = path.child("scale").child("labelSelectorPath");
        match path_fault(text, &field) {
            Some(error) => errors.push(error),
            None if text.starts_with(".spec.") || text.starts_with(".status.") => {}
            None => {
                let rule = "should be a json path under either .spec or .status";
                errors.push(pointed_text_error(field, text, rule));
            }
        }
    }
}

/// Checks the fields that lists may be selected by.
pub(super) fn check_selectable_fields(
    parts: Parts<'_>,
    path: &FieldPath,
    schema_path: &FieldPath,
    allows_many: bool,
    errors: &mut FieldErrors,
) {
    let document = schema_of(parts.schema).map_or(Value::Null, |schema| Value::Object(schema.0.clone()));
    // Upstream goes on without a schema, and so do the checks that need none.
    let schema = read(&document).unwrap_or_else(|error| {
        errors.push(FieldError::invalid(
            schema_path.clone(),
            &"".into(),
            error.to_string(),
        ));
        crate::Schema::default()
    });
    let mut seen = HashSet::new();
    for (index, selectable) in parts.selectable_fields.unwrap_or_default().iter().enumerate() {
        let field = path.index(index).child("jsonPath");
        let text = Part::of(Some(selectable)).text("jsonPath");
        if text.is_empty() {
            errors.push(FieldError::required(field, ""));
            continue;
        }
        let found = match field_path::follow(text, &schema, false) {
            Ok(found) => found,
            Err(fault) => {
                errors.push(FieldError::invalid(
                    field,
                    &text.into(),
                    format!("is an invalid path: {fault}"),
                ));
                continue;
            }
        };
        if found.first == "metadata" {
            let rule = "must not point to fields in metadata";
            errors.push(FieldError::invalid(field.clone(), &text.into(), rule));
        }
        if !matches!(
            found.schema.value_type,
            Type::String | Type::Boolean | Type::Integer
        ) {
            errors.push(FieldError::invalid(
                field.clone(),
                &text.into(),
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
            ));
        }
        if !seen.insert(found.path) {
            errors.push(FieldError::duplicate(field, &text.into()));
        }
    }
    if seen.len() > MAXIMUM_SELECTABLE_FIELDS && !allows_many {
        errors.push(FieldError::too_many(
            path.clone(),
            seen.len(),
            MAXIMUM_SELECTABLE_FIELDS,
        ));
    }
}

/// Returns the versions that may keep more selectable fields than are allowed, since they are stored so.
pub(super) fn kept_selectable_fields(new: &View<'_>, old: &View<'_>) -> Vec<String> {
    let is_kept = |new: Option<&[Value]>, old: Option<&[Value]>| {
        old.unwrap_or_default().len() > MAXIMUM_SELECTABLE_FIELDS && new == old
    };
    let mut kept = Vec::new();
    if is_kept(new.shared.selectable_fields, old.shared.selectable_fields) {
        kept.push(String::new());
    }
    for version in &new.versions {
        let name = version.text("name");
        let stored = old.versions.iter().rfind(|stored| stored.text("name") == name);
        if stored.is_some_and(|stored| is_kept(version.own.selectable_fields, stored.own.selectable_fields)) {
            kept.push(name.to_owned());
        }
    }
    kept
}
