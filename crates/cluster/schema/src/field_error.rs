//! What is wrong with a field, in the words of the API server.
//!
//! The texts and the reasons of causes are those of Kubernetes' field errors: `kubectl` prints them and scripts match
//! on them.

use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use gotemplate::format::{float_text, quoted};
use goyaml::json::{self, Escape};
use serde_json::Value;

/// Where a field is: `spec.containers[0].ports[name]`.
///
/// A path shares its front with those it was made from, so that one for each item of a list costs no more than its own
/// step, however long the key of a map above is.
#[derive(Clone, Default)]
pub struct FieldPath(Option<Arc<Step>>);

/// The last step of a path, as it is written behind the others.
struct Step {
    front: FieldPath,
    text: Box<str>,
}

impl FieldPath {
    /// Returns the path of the object itself, which prints as `<nil>` where it stands alone.
    pub const fn root() -> Self {
        Self(None)
    }

    /// Returns the path that starts at a field of the object.
    pub fn new(name: &str) -> Self {
        Self::root().child(name)
    }

    /// Returns the path of a field of this object.
    pub fn child(&self, name: &str) -> Self {
        match self.0 {
            None if name.is_empty() => Self::root(),
            None => self.then(name.to_owned()),
            Some(_) => self.then(format!(".{name}")),
        }
    }

    /// Returns the path of an item of this list.
    pub fn index(&self, index: usize) -> Self {
        self.then(format!("[{index}]"))
    }

    /// Returns the path of an entry of this map.
    pub fn key(&self, key: &str) -> Self {
        self.then(format!("[{key}]"))
    }

    fn then(&self, text: String) -> Self {
        Self(Some(Arc::new(Step {
            front: self.clone(),
            text: text.into(),
        })))
    }

    fn write(&self, out: &mut String) {
        if let Some(step) = &self.0 {
            step.front.write(out);
            out.push_str(&step.text);
        }
    }

    /// Returns the path as text; empty for the object itself.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }
}

impl PartialEq for FieldPath {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for FieldPath {}

impl Hash for FieldPath {
    fn hash<Into: Hasher>(&self, state: &mut Into) {
        self.text().hash(state);
    }
}

impl fmt::Debug for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("FieldPath").field(&self.text()).finish()
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => formatter.write_str("<nil>"),
            Some(_) => formatter.write_str(&self.text()),
        }
    }
}

/// Cuts a text that is longer than `room` bytes, and says in it how much was cut off.
pub fn shorten(text: &mut String, room: usize) {
    if text.len() <= room {
        return;
    }
    let mut end = room;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let left_out = text.len() - end;
    text.truncate(end);
    // Writing to a string can't fail.
    let _ = write!(text, "… ({left_out} more bytes)");
}

/// What kind of wrong it is; the name is the `reason` of the cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// A value that must exist (such as a referenced object) doesn't.
    NotFound,
    /// A value that must be there isn't.
    Required,
    /// A value that must be unique is there twice.
    Duplicate,
    /// The value breaks a rule.
    Invalid,
    /// The value isn't one of those that are allowed.
    NotSupported,
    /// The value breaks a rule that depends on who or where.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// The list has too many items.
    TooMany,
    /// The server failed.
    InternalError,
    /// The value has the wrong type.
    TypeInvalid,
}

impl FieldErrorKind {
    /// Returns the `reason` of the cause in a Status.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::InternalError => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::InternalError => "Internal error",
        }
    }
}

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// What kind of wrong it is.
    pub kind: FieldErrorKind,
    /// Where.
    pub field: FieldPath,
    /// The value as the text shows it, where the kind of error shows one.
    pub value: Option<String>,
    /// What the rule is.
    pub detail: String,
}

/// Returns a value as field errors show it: text as Go's `%q`, numbers as `%v`, lists and objects as `json.Marshal`.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) if number.is_f64() => number.as_f64().map_or_else(String::new, shown_float),
        other => shown_json(other),
    }
}

/// Returns a value as `json.Marshal` writes it.
pub(crate) fn shown_json(value: &Value) -> String {
    // Every JSON value has a JSON form.
    json::to_string(value, Escape::Html).unwrap_or_default()
}

/// Returns a floating point number as Go's `%v` writes it.
pub fn shown_float(number: f64) -> String {
    float_text(number, b'g', None)
}

impl FieldError {
    /// The value breaks a rule.
    pub fn invalid(field: FieldPath, value: &Value, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Invalid,
            field,
            value: Some(shown(value)),
            detail: detail.into(),
        }
    }

    /// The value breaks a rule and is shown in a way of its own.
    pub fn invalid_shown(field: FieldPath, shown: String, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Invalid,
            field,
            value: Some(shown),
            detail: detail.into(),
        }
    }

    /// The value has the wrong type.
    pub fn type_invalid(field: FieldPath, value: &Value, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::TypeInvalid,
            field,
            value: Some(shown(value)),
            detail: detail.into(),
        }
    }

    /// The value must be there.
    pub fn required(field: FieldPath, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Required,
            field,
            value: None,
            detail: detail.into(),
        }
    }

    /// The value is there twice.
    pub fn duplicate(field: FieldPath, value: &Value) -> Self {
        Self {
            kind: FieldErrorKind::Duplicate,
            field,
            value: Some(shown(value)),
            detail: String::new(),
        }
    }

    /// The value names something that isn't there.
    pub fn not_found(field: FieldPath, value: &Value) -> Self {
        Self {
            kind: FieldErrorKind::NotFound,
            field,
            value: Some(shown(value)),
            detail: String::new(),
        }
    }

    /// The value isn't one of `supported`, which are listed in the order given.
    pub fn not_supported(field: FieldPath, value: &Value, supported: &[&str]) -> Self {
        let listed: Vec<String> = supported.iter().map(quoted).collect();
        let detail = if listed.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", listed.join(", "))
        };
        Self {
            kind: FieldErrorKind::NotSupported,
            field,
            value: Some(shown(value)),
            detail,
        }
    }

    /// The value must not be there, or must not change.
    pub fn forbidden(field: FieldPath, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Forbidden,
            field,
            value: None,
            detail: detail.into(),
        }
    }

    /// The value is longer than `limit` bytes.
    pub fn too_long(field: FieldPath, limit: usize) -> Self {
        let unit = if limit == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {limit} {unit}");
        Self {
            kind: FieldErrorKind::TooLong,
            field,
            value: None,
            detail,
        }
    }

    /// The list has more than `limit` items.
    pub fn too_many(field: FieldPath, actual: usize, limit: usize) -> Self {
        let unit = if limit == 1 { "item" } else { "items" };
        let detail = format!("must have at most {limit} {unit}");
        Self {
            kind: FieldErrorKind::TooMany,
            field,
            value: Some(actual.to_string()),
            detail,
        }
    }

    /// Cuts its parts to so many bytes together, as far as they are longer, and returns how many they have then.
    pub(crate) fn shorten(&mut self, room: usize) -> usize {
        let mut field = self.field.text();
        if field.len() > room {
            shorten(&mut field, room);
            self.field = FieldPath::new(&field);
        }
        let mut used = field.len();
        for part in self.value.iter_mut().chain([&mut self.detail]) {
            shorten(part, room.saturating_sub(used));
            used += part.len();
        }
        used
    }

    /// Returns the error's text without its field, as the cause of a Status has it.
    pub fn body(&self) -> String {
        let mut out = self.kind.words().to_owned();
        if let Some(value) = &self.value {
            out.push_str(": ");
            out.push_str(value);
        }
        if !self.detail.is_empty() {
            out.push_str(": ");
            out.push_str(&self.detail);
        }
        out
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.body())
    }
}
