//! The types of expressions.

use std::fmt;
use std::sync::Arc;

use super::declared::Declared;

/// The type of an expression.
#[expect(
    clippy::enum_variant_names,
    reason = "a type is itself a value, and its type is called so"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Type {
    /// Checked when it runs.
    Dyn,
    /// What an expression that is wrong has, so that one mistake is reported once.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    List(Arc<Type>),
    Map(Arc<(Type, Type)>),
    /// An object with fields that a schema names, or an opaque type of Kubernetes' libraries.
    Struct(Arc<ObjectType>),
    /// A type that only its own functions know, such as `net.IP`.
    Opaque(&'static str),
    Optional(Arc<Type>),
    /// The type of a type.
    Type(Arc<Type>),
    /// A type that is found while checking.
    Parameter(u32),
}

/// An object's type: its name, and the fields that its schema declares.
#[derive(Debug, Clone)]
pub(crate) struct ObjectType {
    /// The name, which is the object's path: `selfType1.spec`.
    pub(crate) name: Arc<str>,
    /// What the schema declares; nothing for the types of Kubernetes' libraries, which have no fields.
    pub(crate) declared: Option<Arc<Declared>>,
}

impl PartialEq for ObjectType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ObjectType {}

impl Type {
    pub(crate) fn list(item: Type) -> Self {
        Self::List(Arc::new(item))
    }

    pub(crate) fn map(key: Type, value: Type) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    pub(crate) fn optional(value: Type) -> Self {
        Self::Optional(Arc::new(value))
    }

    /// Returns the type of an object that has no fields of its own, such as `kubernetes.URL`.
    pub(crate) fn named(name: &str) -> Self {
        Self::Struct(Arc::new(ObjectType {
            name: name.into(),
            declared: None,
        }))
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn)
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// Returns what an optional holds, and whether it is one.
    pub(crate) fn unwrap_optional(&self) -> (&Type, bool) {
        match self {
            Self::Optional(inner) => (inner, true),
            other => (other, false),
        }
    }

    /// Returns the name by which the type goes at run time: `google.protobuf.Duration`.
    pub(crate) fn runtime_name(&self) -> &str {
        match self {
            Self::Dyn => "dyn",
            Self::Error => "error",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Struct(object) => &object.name,
            Self::Opaque(name) => name,
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Parameter(_) => "_",
        }
    }
}

/// Types are shown as the messages of the checker show them.
impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error => formatter.write_str("!error!"),
            Self::Null => formatter.write_str("null"),
            Self::Duration => formatter.write_str("duration"),
            Self::Timestamp => formatter.write_str("timestamp"),
            Self::List(item) => write!(formatter, "list({item})"),
            Self::Map(both) => write!(formatter, "map({}, {})", both.0, both.1),
            Self::Optional(inner) => write!(formatter, "optional_type({inner})"),
            Self::Type(inner) => write!(formatter, "type({inner})"),
            Self::Parameter(number) => write!(formatter, "_var{number}"),
            other => formatter.write_str(other.runtime_name()),
        }
    }
}
