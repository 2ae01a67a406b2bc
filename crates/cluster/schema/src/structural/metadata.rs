//! The metadata of a resource: read as Go's type for it reads it, and judged as the API server judges it.

mod rules;
mod time;

use std::fmt::Write;

use serde_json::{Map, Value};

pub use self::rules::{NameRule, validate, validate_update};
use crate::{FieldErrorKind, FieldPath};

/// What to do with a known field whose value can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// Refuse the object, as for objects that clients send.
    Refuse,
    /// Leave the field out, as for objects that are stored already.
    Drop,
}

/// Metadata as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// What of the metadata is kept: known fields that aren't empty.
    pub metadata: Map<String, Value>,
    /// The paths of fields that metadata doesn't have, as seen from the metadata.
    pub unknown: Vec<String>,
}

/// Reads metadata. Known fields are checked and brought into their usual form; unknown ones are left out.
///
/// # Errors
///
/// What Go says of the first value that doesn't fit.
pub fn read(metadata: &Value, malformed: Malformed) -> Result<Read, String> {
    let mut reading = Reading::default();
    let all = reading.structure(metadata, "ObjectMeta", "v1.ObjectMeta", OBJECT_META);
    match reading.fault.take().or(all.as_ref().err().cloned()) {
        None => Ok(Read {
            metadata: all.unwrap_or_default(),
            unknown: reading.unknown,
        }),
        Some(fault) if malformed == Malformed::Refuse => Err(fault),
        Some(_) => {
            let Value::Object(fields) = metadata else {
                return Err(format!(
                    "invalid metadata: expected object, got {}",
                    go_type(metadata)
                ));
            };
            let mut kept = Read {
                metadata: Map::new(),
                unknown: Vec::new(),
            };
            for (name, value) in fields {
                let single = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
                if let Ok(read) = self::read(&single, Malformed::Refuse) {
                    kept.metadata.extend(read.metadata);
                    kept.unknown.extend(read.unknown);
                }
            }
            Ok(kept)
        }
    }
}

/// The Go type that a decoded JSON value has.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// What a field of metadata holds.
#[derive(Clone, Copy)]
enum Holds {
    /// Text; with the name of its Go type.
    Text(&'static str),
    Integer,
    /// A whole number that may be nothing; zero is kept.
    OptionalInteger,
    OptionalBoolean,
    Time,
    Texts,
    TextMap,
    /// A list of structures: the name of their Go type with and without its package, and their fields.
    Structures(&'static str, &'static str, Fields),
    Anything,
}

/// The fields of a structure: name, content, and whether it is written even when it is empty.
type Fields = &'static [(&'static str, Holds, bool)];

const STRING: Holds = Holds::Text("string");
const UID: Holds = Holds::Text("types.UID");

const OWNER_REFERENCE: Fields = &[
    ("apiVersion", STRING, true),
    ("kind", STRING, true),
    ("name", STRING, true),
    ("uid", UID, true),
    ("controller", Holds::OptionalBoolean, false),
    ("blockOwnerDeletion", Holds::OptionalBoolean, false),
];

const MANAGED_FIELDS: Fields = &[
    ("manager", STRING, false),
    ("operation", Holds::Text("v1.ManagedFieldsOperationType"), false),
    ("apiVersion", STRING, false),
    ("time", Holds::Time, false),
    ("fieldsType", STRING, false),
    ("fieldsV1", Holds::Anything, false),
    ("subresource", STRING, false),
];

const OBJECT_META: Fields = &[
    ("name", STRING, false),
    ("generateName", STRING, false),
    ("namespace", STRING, false),
    ("selfLink", STRING, false),
    ("uid", UID, false),
    ("resourceVersion", STRING, false),
    ("generation", Holds::Integer, false),
    ("creationTimestamp", Holds::Time, false),
    ("deletionTimestamp", Holds::Time, false),
    ("deletionGracePeriodSeconds", Holds::OptionalInteger, false),
    ("labels", Holds::TextMap, false),
    ("annotations", Holds::TextMap, false),
    (
        "ownerReferences",
        Holds::Structures("OwnerReference", "v1.OwnerReference", OWNER_REFERENCE),
        false,
    ),
    ("finalizers", Holds::Texts, false),
    (
        "managedFields",
        Holds::Structures("ManagedFieldsEntry", "v1.ManagedFieldsEntry", MANAGED_FIELDS),
        false,
    ),
];

#[derive(Default)]
struct Reading {
    /// The path of JSON names that Go's errors show.
    names: Vec<String>,
    /// The structure that Go's errors name.
    structure: &'static str,
    /// The path that unknown fields are reported with.
    path: String,
    unknown: Vec<String>,
    /// The first value that didn't fit; reading goes on behind it.
    fault: Option<String>,
}

impl Reading {
    fn mismatch(&mut self, given: &str, wanted: &str) {
        if self.fault.is_none() {
            self.fault = Some(if self.names.is_empty() {
                format!("json: cannot unmarshal {given} into Go value of type {wanted}")
            } else {
                let names = self.names.join(".");
                format!(
                    "json: cannot unmarshal {given} into Go struct field {}.{names} of type {wanted}",
                    self.structure
                )
            });
        }
    }

    fn mismatch_of(&mut self, value: &Value, wanted: &str) {
        self.mismatch(goyaml::json::kind_word(value), wanted);
    }

    /// Reads a structure; an error ends the reading at once.
    fn structure(
        &mut self,
        value: &Value,
        name: &'static str,
        go_name: &str,
        fields: Fields,
    ) -> Result<Map<String, Value>, String> {
        let mut kept = Map::new();
        for (name, holds, is_written_empty) in fields {
            if let (Holds::Text(_), true) = (holds, is_written_empty) {
                kept.insert((*name).to_owned(), Value::String(String::new()));
            }
        }
        let given = match value {
            Value::Null => return Ok(kept),
            Value::Object(given) => given,
            other => {
                self.mismatch_of(other, go_name);
                return Ok(kept);
            }
        };
        let (outer_structure, outer_length) = (self.structure, self.path.len());
        for (key, value) in given {
            let Some((known, holds, is_written_empty)) = fields.iter().find(|(known, _, _)| known == key)
            else {
                let separator = if self.path.is_empty() { "" } else { "." };
                self.unknown.push(format!("{}{separator}{key}", self.path));
                continue;
            };
            self.structure = name;
            self.names.push((*known).to_owned());
            if !self.path.is_empty() {
                self.path.push('.');
            }
            self.path.push_str(known);
            let read = self.field(value, *holds)?;
            self.names.pop();
            self.path.truncate(outer_length);
            match read {
                Some(read) => {
                    kept.insert((*known).to_owned(), read);
                }
                None if *is_written_empty => {}
                None => {
                    kept.remove(*known);
                }
            }
        }
        self.structure = outer_structure;
        Ok(kept)
    }

    /// Reads a field; `None` when it is empty.
    fn field(&mut self, value: &Value, holds: Holds) -> Result<Option<Value>, String> {
        Ok(match (holds, value) {
            (_, Value::Null) => None,
            (Holds::Anything, value) => Some(value.clone()),
            (Holds::Text(_), Value::String(text)) => (!text.is_empty()).then(|| value.clone()),
            (Holds::OptionalBoolean, Value::Bool(_)) => Some(value.clone()),
            (Holds::Integer, Value::Number(number)) if number.is_i64() => {
                (number.as_i64() != Some(0)).then(|| value.clone())
            }
            (Holds::OptionalInteger, Value::Number(number)) if number.is_i64() => Some(value.clone()),
            (Holds::Integer | Holds::OptionalInteger, Value::Number(number)) => {
                self.mismatch(&format!("number {number}"), "int64");
                None
            }
            (Holds::Time, Value::String(text)) => Some(Value::String(time::normalized(text)?)),
            (Holds::Time, other) => {
                let (given, names) = (goyaml::json::kind_word(other), self.names.join("."));
                return Err(format!(
                    "json: cannot unmarshal {given} into Go struct field {}.{names} of type string",
                    self.structure
                ));
            }
            (Holds::Texts, Value::Array(items)) => {
                let texts = self.each(items, |reading, item| Ok(reading.text(item)))?;
                (!texts.is_empty()).then_some(Value::Array(texts))
            }
            (Holds::TextMap, Value::Object(entries)) => {
                let texts: Map<String, Value> = entries
                    .iter()
                    .map(|(key, value)| (key.clone(), self.text(value)))
                    .collect();
                (!texts.is_empty()).then_some(Value::Object(texts))
            }
            (Holds::Structures(name, go_name, fields), Value::Array(items)) => {
                let structures = self.each(items, |reading, item| {
                    reading.structure(item, name, go_name, fields).map(Value::Object)
                })?;
                (!structures.is_empty()).then_some(Value::Array(structures))
            }
            (holds, other) => {
                let wanted = match holds {
                    Holds::Text(go_name) => go_name.to_owned(),
                    Holds::Integer | Holds::OptionalInteger => "int64".to_owned(),
                    Holds::OptionalBoolean => "bool".to_owned(),
                    Holds::Texts => "[]string".to_owned(),
                    Holds::TextMap => "map[string]string".to_owned(),
                    Holds::Structures(_, go_name, _) => format!("[]{go_name}"),
                    Holds::Time | Holds::Anything => String::new(),
                };
                self.mismatch_of(other, &wanted);
                None
            }
        })
    }

    fn each(
        &mut self,
        items: &[Value],
        mut read: impl FnMut(&mut Self, &Value) -> Result<Value, String>,
    ) -> Result<Vec<Value>, String> {
        let length = self.path.len();
        let mut kept = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            // Writing to a string can't fail.
            let _ = write!(self.path, "[{index}]");
            kept.push(read(self, item)?);
            self.path.truncate(length);
        }
        Ok(kept)
    }

    fn text(&mut self, value: &Value) -> Value {
        match value {
            Value::String(_) => value.clone(),
            Value::Null => Value::String(String::new()),
            other => {
                self.mismatch_of(other, "string");
                Value::String(String::new())
            }
        }
    }
}

/// A field error whose value is text.
fn invalid_text(field: FieldPath, value: &str, detail: impl Into<String>) -> crate::FieldError {
    crate::FieldError {
        kind: FieldErrorKind::Invalid,
        field,
        value: Some(gotemplate::format::quoted(value)),
        detail: detail.into(),
    }
}
