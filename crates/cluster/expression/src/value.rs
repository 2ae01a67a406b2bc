//! The values that expressions work on.
//!
//! Objects stay JSON: a field is converted when it is read, by the type that its schema gives it.
//!
//! - [`json`]: how JSON and a schema become values
//! - [`object_meta`]: the fields that every resource has, whether or not its schema names them
//! - [`list`] and [`map`]: values with parts
//! - [`equality`]: when two values are equal, and which comes first
//! - [`text`]: how numbers and values are written

pub(crate) mod equality;
pub(crate) mod json;
pub(crate) mod list;
pub(crate) mod map;
pub(crate) mod object_meta;
pub(crate) mod text;

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use version::Version;

use crate::library::authorization::Authorization;
use crate::library::formats::Format;
use crate::library::quantity::Quantity;
use crate::library::url::Url;
pub(crate) use list::List;
pub(crate) use map::Map;

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Arc<[u8]>),
    /// Nanoseconds.
    Duration(i64),
    Timestamp(Timestamp),
    List(List<'a>),
    Map(Map<'a>),
    Optional(Option<Arc<Value<'a>>>),
    /// A type, by its name.
    Type(Arc<str>),
    Quantity {
        amount: Arc<Quantity>,
        /// Whether it was computed and not read. Upstream holds these apart: one that was read never equals one that was
        /// computed, when it stands on the left.
        computed: bool,
    },
    Url(Arc<Url>),
    Ip(IpAddr),
    Cidr {
        address: IpAddr,
        bits: u8,
    },
    Format(&'static Format),
    Semver(Arc<Version>),
    Authorization(Arc<Authorization<'a>>),
    /// Data of which the schema knows nothing: it can only be compared.
    Preserved(&'a serde_json::Value),
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// The evaluation failed, in upstream's words.
    #[error("{0}")]
    Message(Box<str>),
    /// The expression cost more than it may. Nothing may go on after it.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostLimit,
}

/// What an expression gives.
pub(crate) type Outcome<'a> = Result<Value<'a>, Failure>;

impl Failure {
    pub(crate) fn new(message: impl Into<Box<str>>) -> Self {
        Self::Message(message.into())
    }

    /// A function or an operator doesn't take what it got.
    pub(crate) fn no_such_overload() -> Self {
        Self::new("no such overload")
    }
}

/// A string, which is often a part of the object that is looked at.
#[derive(Debug, Clone)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Shared(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl<'a> Value<'a> {
    pub(crate) fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Shared(text.into()))
    }

    pub(crate) fn list(items: Vec<Value<'a>>) -> Self {
        Self::List(List::of(items))
    }

    pub(crate) fn strings<T: Into<Arc<str>>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::list(items.into_iter().map(Self::string).collect())
    }

    pub(crate) fn some(value: Value<'a>) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// Returns the name of the value's type.
    pub(crate) fn type_name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Quantity { .. } => "kubernetes.Quantity",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr { .. } => "net.CIDR",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Authorization(authorization) => authorization.type_name(),
            Self::Preserved(_) => "unknown",
        }
    }

    /// Returns the size of a value that has one: characters, bytes, items or entries. It drives the cost.
    pub(crate) fn size(&self) -> Option<u64> {
        Some(match self {
            Self::String(text) => text.chars().count() as u64,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::List(list) => list.len() as u64,
            Self::Map(map) => map.len() as u64,
            Self::Ip(IpAddr::V4(_)) => 4,
            Self::Ip(IpAddr::V6(_)) => 16,
            Self::Cidr { bits, .. } => u64::from(*bits).div_ceil(8),
            _ => return None,
        })
    }

    /// Returns whether the value is the zero of its type, which an optional made from it leaves out.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Int(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Double(value) => *value == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Duration(nanoseconds) => *nanoseconds == 0,
            // Lists and maps that come from an object have no notion of being empty upstream.
            Self::List(list) => list.is_plain() && list.len() == 0,
            Self::Map(map) => map.is_plain() && map.len() == 0,
            Self::Optional(value) => value.is_none(),
            _ => false,
        }
    }

    /// Returns the value without what its schema says about it: this is what an optional hands on to a selection.
    pub(crate) fn without_schema(&self) -> Value<'a> {
        match self {
            Self::List(list) => list.without_schema(),
            Self::Map(map) => map.without_schema(),
            other => other.clone(),
        }
    }
}
