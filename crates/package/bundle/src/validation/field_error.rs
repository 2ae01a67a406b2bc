//! Faults of single fields, as the Kubernetes API server finds and words them.

use std::fmt;

use gotemplate::format::quoted;

use super::finding::{FieldFault, Finding, Kind, Level};
use super::printed::Printed;

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FieldError {
    /// The field's path, such as `spec.versions[0].name`.
    pub(super) field: String,
    fault: FieldFault,
    /// The value as `%v` prints it.
    plain: String,
    /// The value as the message shows it; not every fault does.
    shown: Option<String>,
    detail: String,
}

impl FieldError {
    /// Nothing is there.
    pub(super) fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            fault: FieldFault::Required,
            plain: String::new(),
            shown: None,
            detail: detail.into(),
        }
    }

    /// Nothing may be there.
    pub(super) fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            fault: FieldFault::Forbidden,
            ..Self::required(field, detail)
        }
    }

    /// Text is not allowed.
    pub(super) fn invalid(field: impl Into<String>, value: &str, detail: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            fault: FieldFault::Invalid,
            plain: value.to_owned(),
            shown: Some(quoted(value)),
            detail: detail.into(),
        }
    }

    /// A value that isn't text is not allowed.
    pub(super) fn invalid_value(
        field: impl Into<String>,
        value: &impl Printed,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            fault: FieldFault::Invalid,
            plain: value.to_plain(),
            shown: Some(value.to_json()),
            detail: detail.into(),
        }
    }

    /// A pointer to a value that is not allowed.
    pub(super) fn invalid_pointer(
        field: impl Into<String>,
        value: &impl Printed,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            plain: super::printed::ADDRESS.to_owned(),
            ..Self::invalid_value(field, value, detail)
        }
    }

    /// Text is none of `supported`.
    pub(super) fn not_supported(field: impl Into<String>, value: &str, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(quoted).collect();
        Self {
            fault: FieldFault::NotSupported,
            ..Self::invalid(
                field,
                value,
                format!("supported values: {}", supported.join(", ")),
            )
        }
    }

    /// Text that was there before.
    pub(super) fn duplicate(field: impl Into<String>, value: &str) -> Self {
        Self {
            fault: FieldFault::Duplicate,
            ..Self::invalid(field, value, "")
        }
    }

    /// Something takes more than `limit` bytes.
    pub(super) fn too_long(field: impl Into<String>, limit: usize) -> Self {
        Self {
            field: field.into(),
            fault: FieldFault::TooLong,
            plain: "<value omitted>".to_owned(),
            shown: None,
            detail: format!("may not be more than {limit} bytes"),
        }
    }

    /// There are more than `limit` of something.
    pub(super) fn too_many(field: impl Into<String>, count: usize, limit: usize) -> Self {
        Self {
            field: field.into(),
            fault: FieldFault::TooMany,
            plain: count.to_string(),
            shown: Some(count.to_string()),
            detail: format!("must have at most {limit} items"),
        }
    }

    /// The finding that upstream makes of it.
    pub(super) fn into_finding(self) -> Finding {
        let detail = self.to_string();
        Finding {
            level: Level::Error,
            kind: Kind::Field(self.fault),
            field: self.field,
            value: Some(self.plain),
            detail,
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.fault.words())?;
        if let Some(shown) = &self.shown {
            write!(formatter, ": {shown}")?;
        }
        if !self.detail.is_empty() {
            write!(formatter, ": {}", self.detail)?;
        }
        Ok(())
    }
}

/// Several errors as Kubernetes joins them: one alone, more in brackets, none twice.
pub(super) fn aggregate<T: AsRef<str>>(messages: &[T]) -> String {
    let mut unique: Vec<&str> = Vec::new();
    for message in messages {
        if !unique.contains(&message.as_ref()) {
            unique.push(message.as_ref());
        }
    }
    match unique[..] {
        [only] => only.to_owned(),
        _ => format!("[{}]", unique.join(", ")),
    }
}
