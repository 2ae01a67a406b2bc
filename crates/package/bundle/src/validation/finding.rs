//! What a check found, in the words of operator-framework/api.

use std::fmt;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Should be looked at; the bundle passes.
    Warning,
    /// Must be corrected; the bundle fails.
    Error,
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Warning => "Warning",
            Self::Error => "Error",
        })
    }
}

/// What sort of fault a finding is about, by the names that upstream gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Something about the `ClusterServiceVersion`.
    ClusterServiceVersion,
    /// A required field is empty.
    FieldMissing,
    /// A value can't be read.
    Parse,
    /// A general failure.
    Validation,
    /// Two things that should go together don't.
    Operation,
    /// Something about the bundle as a whole.
    Bundle,
    /// Something about a further object of the bundle.
    Object,
    /// Properties are given in an annotation.
    PropertiesAnnotation,
    /// The validator itself is deprecated.
    DeprecatedValidator,
    /// A field of a `CustomResourceDefinition`, as the Kubernetes API server sees it.
    Field(FieldFault),
}

/// What is wrong with a field, as the Kubernetes API server puts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldFault {
    /// Nothing is there.
    Required,
    /// The value is not allowed.
    Invalid,
    /// The value is none of a list.
    NotSupported,
    /// The value was there before.
    Duplicate,
    /// Nothing may be there.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// There are too many values.
    TooMany,
}

impl FieldFault {
    /// How a message begins.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }
}

impl Kind {
    /// The name that upstream's programs know it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClusterServiceVersion => "CSVFileNotValid",
            Self::FieldMissing => "FieldNotFound",
            Self::Parse => "ParseError",
            Self::Validation => "ValidationFailed",
            Self::Operation => "OperationFailed",
            Self::Bundle => "BundleNotValid",
            Self::Object => "ObjectFailedValidation",
            Self::PropertiesAnnotation => "PropertiesAnnotationUsed",
            Self::DeprecatedValidator => "DeprecatedValidator",
            Self::Field(fault) => match fault {
                FieldFault::Required => "FieldValueRequired",
                FieldFault::Invalid => "FieldValueInvalid",
                FieldFault::NotSupported => "FieldValueNotSupported",
                FieldFault::Duplicate => "FieldValueDuplicate",
                FieldFault::Forbidden => "FieldValueForbidden",
                FieldFault::TooLong => "FieldValueTooLong",
                FieldFault::TooMany => "FieldValueTooMany",
            },
        }
    }
}

/// One thing that a check found. `Display` is upstream's text, to the byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// What sort of fault it is.
    pub kind: Kind,
    /// The path of the field, or nothing.
    pub field: String,
    /// The value that is wrong, as Go prints it; upstream often says nothing here, and sometimes an empty text.
    pub value: Option<String>,
    /// What is wrong with it.
    pub detail: String,
}

impl Finding {
    /// A finding about a value.
    pub(super) fn about(
        level: Level,
        kind: Kind,
        value: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            level,
            kind,
            field: String::new(),
            value: Some(value.into()),
            detail: detail.into(),
        }
    }

    /// A finding about a `ClusterServiceVersion` as a whole.
    pub(super) fn csv(level: Level, name: &str, detail: impl fmt::Display) -> Self {
        Self::about(
            level,
            Kind::ClusterServiceVersion,
            "",
            format!("({name}) {detail}"),
        )
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match (self.field.as_str(), &self.value) {
            ("", None) if self.detail.is_empty() => return formatter.write_str("ErrMessageMissing"),
            ("", None) => String::new(),
            ("", Some(value)) => format!("Value {value}"),
            (field, None) => format!("Field {field}"),
            (field, Some(value)) => format!("Field {field}, Value {value}"),
        };
        write!(formatter, "{}: {place}", self.level)?;
        if self.detail.is_empty() {
            return Ok(());
        }
        write!(formatter, ": {}", self.detail)
    }
}

/// What one validator found about one object, errors and warnings apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What the findings are about: often a `ClusterServiceVersion`'s name or version.
    pub name: String,
    /// What must be corrected.
    pub errors: Vec<Finding>,
    /// What should be looked at.
    pub warnings: Vec<Finding>,
}

impl Outcome {
    /// No findings yet, about `name`.
    pub(super) fn about(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Takes findings in, each by its level.
    pub(super) fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        for finding in findings {
            match finding.level {
                Level::Error => self.errors.push(finding),
                Level::Warning => self.warnings.push(finding),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_upstream_prints_it() {
        let finding = |field: &str, value: Option<&str>, detail: &str| Finding {
            level: Level::Warning,
            kind: Kind::Validation,
            field: field.to_owned(),
            value: value.map(str::to_owned),
            detail: detail.to_owned(),
        };
        for (given, expected) in [
            (finding("", None, ""), "ErrMessageMissing"),
            (finding("", None, "d"), "Warning: : d"),
            (finding("", Some(""), "d"), "Warning: Value : d"),
            (finding("f", None, "d"), "Warning: Field f: d"),
            (finding("f", Some("v"), "d"), "Warning: Field f, Value v: d"),
            (finding("f", Some("v"), ""), "Warning: Field f, Value v"),
        ] {
            assert_eq!(given.to_string(), expected);
        }
    }
}
