//! A custom resource as a whole: how it is taken in, and everything that its schema says about it.

use serde_json::{Map, Value};
use thiserror::Error;

use super::metadata::{self, Malformed};
use super::{embedded, lists, prune, prune_nulls, validate, validate_at};
use crate::{FieldError, FieldErrorKind, FieldErrors, FieldPath, Schema, UnknownFields};

/// Why an object can't be taken in.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CoerceError {
    /// `kind` or `apiVersion` isn't text, or the metadata can't be read.
    #[error("{0}")]
    Unreadable(String),
    /// An embedded resource can't be read.
    #[error("{0}")]
    Embedded(FieldError),
}

/// Takes in an object that a client sent or the store holds: fields that the schema doesn't have are left out, nulls
/// that mean nothing too, and metadata is brought into its usual form.
///
/// Returns the fields that were left out, for `unknown field "spec.foo"`.
///
/// # Errors
///
/// What can't be read: `kind`, `apiVersion` or metadata, of the object or of a resource inside it.
pub fn coerce(
    schema: &Schema,
    object: &mut Value,
    malformed: Malformed,
) -> Result<UnknownFields, CoerceError> {
    for name in ["kind", "apiVersion"] {
        if let Some(value) = object.get(name).filter(|value| !value.is_string()) {
            let shown = go_shown(value);
            let given = metadata::go_type(value);
            return Err(CoerceError::Unreadable(format!(
                ".{name} accessor error: {shown} is of the type {given}, expected string"
            )));
        }
    }
    let read = match object.get("metadata") {
        Some(given) => Some(metadata::read(given, malformed).map_err(CoerceError::Unreadable)?),
        None => None,
    };
    let mut unknown = UnknownFields::default();
    for name in read.iter().flat_map(|read| &read.unknown) {
        unknown.note_with(|| format!("metadata.{name}"));
    }
    unknown.append(prune(schema, object, true));
    prune_nulls(schema, object);
    let inside = embedded::coerce(schema, object, false, malformed, &FieldPath::root());
    unknown.append(inside.map_err(CoerceError::Embedded)?);
    if let (Some(read), Value::Object(fields)) = (read, object) {
        fields.insert("metadata".to_owned(), Value::Object(read.metadata));
    }
    Ok(unknown)
}

/// Returns everything that is wrong with a custom resource by its schema, short of its CEL rules: values, embedded
/// resources, and lists with items that are there twice.
///
/// `old` is the object that it replaces.
pub fn validate_resource(schema: &Schema, object: &Value, old: Option<&Value>) -> FieldErrors {
    let mut errors = validate(schema, object, old);
    errors.append(embedded::validate(schema, object, false, &FieldPath::root()));
    // A list that had items twice before may keep them.
    if old.is_none_or(|old| lists::validate(schema, old).is_empty()) {
        errors.append(lists::validate(schema, object));
    }
    errors
}

/// Returns everything that is wrong with the status of a custom resource by its schema, short of its CEL rules.
pub fn validate_status(schema: &Schema, object: &Value, old: &Value) -> FieldErrors {
    let mut errors = FieldErrors::default();
    if let (Some(status), Some(described)) = (object.get("status"), schema.properties.get("status")) {
        let old_status = old.get("status").unwrap_or(&Value::Null);
        let base = FieldPath::new("status");
        errors.append(validate_at(&base, described.schema(), status, Some(old_status)));
    }
    let repeated = lists::validate(schema, object);
    if !repeated.is_empty() && lists::validate(schema, old).is_empty() {
        errors.append(repeated);
    }
    errors
}

/// Returns what is said instead of running CEL rules, if an error keeps them from being run.
///
/// Those that aren't told keep them from it, too: nobody knows any more what they were.
pub fn unchecked_rules(errors: &FieldErrors) -> Option<FieldError> {
    let blocked = errors.left_out() > 0 || errors.told().iter().any(embedded::blocks_rules);
    blocked.then(|| FieldError {
        kind: FieldErrorKind::Invalid,
        field: FieldPath::root(),
        value: Some("null".to_owned()),
        detail: "some validation rules were not checked because the object was invalid; correct the existing errors to \
                 complete validation"
            .to_owned(),
    })
}

/// The paths of a scale subresource, such as `.spec.replicas`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScalePaths {
    /// Where the wanted number of replicas is.
    pub spec_replicas: String,
    /// Where the actual number of replicas is.
    pub status_replicas: String,
    /// Where the selector of the replicas is, if there is one.
    pub label_selector: Option<String>,
}

impl ScalePaths {
    /// Reads the paths from a version's `subresources.scale`.
    pub fn read(scale: &Value) -> Self {
        let text = |name: &str| scale.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        Self {
            spec_replicas: text("specReplicasPath").unwrap_or_default(),
            status_replicas: text("statusReplicasPath").unwrap_or_default(),
            label_selector: text("labelSelectorPath"),
        }
    }

    /// Returns what is wrong with the wanted number of replicas.
    pub fn validate_spec(&self, object: &Value) -> Vec<FieldError> {
        replicas(object, &self.spec_replicas).err().into_iter().collect()
    }

    /// Returns what is wrong with the actual number of replicas and with their selector.
    pub fn validate_status(&self, object: &Value) -> Vec<FieldError> {
        let mut errors: Vec<FieldError> = replicas(object, &self.status_replicas)
            .err()
            .into_iter()
            .collect();
        if let Some(path) = &self.label_selector {
            match nested(object, path) {
                Ok(Some(value)) if !value.is_string() => {
                    errors.push(FieldError::invalid(
                        FieldPath::new(path),
                        &"".into(),
                        wrong(path, value, "string"),
                    ));
                }
                Err(fault) => errors.push(FieldError::invalid(FieldPath::new(path), &"".into(), fault)),
                Ok(_) => {}
            }
        }
        errors
    }
}

fn wrong(path: &str, value: &Value, wanted: &str) -> String {
    let path = path.strip_prefix('.').unwrap_or(path);
    let given = metadata::go_type(value);
    format!(
        ".{path} accessor error: {} is of the type {given}, expected {wanted}",
        go_shown(value)
    )
}

/// Returns a value as Go's `%v` prints it.
fn go_shown(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_shown).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", go_shown(value)))
                .collect();
            format!("map[{}]", fields.join(" "))
        }
        other => crate::field_error::shown(other),
    }
}

/// Returns the value at a path of names; an error when something on the way isn't an object.
fn nested<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut current = object;
    let names: Vec<&str> = path.strip_prefix('.').unwrap_or(path).split('.').collect();
    for (depth, name) in names.iter().enumerate() {
        let fields: &Map<String, Value> = match current {
            Value::Null => return Ok(None),
            Value::Object(fields) => fields,
            other => {
                let passed = names.get(..depth).unwrap_or_default().join(".");
                let given = metadata::go_type(other);
                return Err(format!(
                    ".{passed} accessor error: {} is of the type {given}, expected map[string]interface{{}}",
                    go_shown(other)
                ));
            }
        };
        match fields.get(*name) {
            Some(value) => current = value,
            None => return Ok(None),
        }
    }
    Ok(Some(current))
}

fn replicas(object: &Value, path: &str) -> Result<(), FieldError> {
    let invalid = |value: i64, rule: String| FieldError::invalid(FieldPath::new(path), &value.into(), rule);
    let Some(value) = nested(object, path).map_err(|fault| invalid(0, fault))? else {
        return Ok(());
    };
    let Some(count) = value.as_i64() else {
        return Err(invalid(0, wrong(path, value, "int64")));
    };
    if count < 0 {
        Err(invalid(count, "should be a non-negative integer".to_owned()))
    } else if count > i64::from(i32::MAX) {
        Err(invalid(
            count,
            format!("should be less than or equal to {}", i32::MAX),
        ))
    } else {
        Ok(())
    }
}
