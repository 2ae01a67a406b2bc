//! What a schema declares to expressions: which fields there are, of which types, and how large they can get.
//!
//! A schema without a type is not exposed, and neither is a list or a map of such. Sizes are bounded by the schema
//! (`maxLength`, `maxItems`, …) or by the largest request; the cost of an expression is estimated from them.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use schema::{Schema, Type as SchemaType};
use serde_json::Value;

use super::types::{ObjectType, Type};
use crate::escape::escape;

/// The largest request that an API server takes, in bytes.
pub(crate) const LARGEST_REQUEST: i64 = 3 * 1024 * 1024;

/// The longest duration or time, quoted, as JSON has it.
const LONGEST_TIME: i64 = 32;
/// A date, quoted.
const DATE_SIZE: i64 = 12;
/// The shortest duration (`"0"`), time and text, quoted.
const SHORTEST_DURATION: i64 = 3;
const SHORTEST_TIME: i64 = 21;
const SHORTEST_STRING: i64 = 2;

/// Schemas are not followed deeper than this: built-in definitions contain themselves.
const DEEPEST_SCHEMA: usize = 128;

/// What a place of a schema declares.
#[derive(Debug)]
pub(crate) struct Declared {
    /// What is there.
    pub(crate) kind: DeclaredKind,
    /// The most characters, bytes, items or entries.
    pub(crate) most_elements: i64,
    /// The fewest bytes that a value takes as JSON.
    pub(crate) smallest_size: i64,
}

/// What is at a place of a schema.
#[derive(Debug)]
pub(crate) enum DeclaredKind {
    /// A value without parts.
    Simple(Type),
    /// A list of these.
    List(Arc<Declared>),
    /// A map from strings to these.
    Map(Arc<Declared>),
    /// An object with these fields, by their escaped names.
    Object(BTreeMap<Box<str>, Arc<Declared>>),
}

/// The declaration of a map's keys.
pub(crate) static KEY: LazyLock<Arc<Declared>> =
    LazyLock::new(|| Declared::simple(Type::String, 0, SHORTEST_STRING));

impl Declared {
    fn simple(of: Type, most_elements: i64, smallest_size: i64) -> Arc<Self> {
        Arc::new(Self {
            kind: DeclaredKind::Simple(of),
            most_elements,
            smallest_size,
        })
    }

    /// Returns what the schema declares; `None` when expressions can't see it. At the root of a resource, `apiVersion`,
    /// `kind` and the names in `metadata` are always there.
    pub(crate) fn from_schema(schema: &Schema, resource_root: bool) -> Option<Arc<Self>> {
        from_schema(schema, resource_root, 0)
    }

    /// Returns the type, in which objects are named after their path.
    pub(crate) fn named(self: &Arc<Self>, name: &str) -> Type {
        match &self.kind {
            DeclaredKind::Simple(of) => of.clone(),
            DeclaredKind::List(item) => Type::list(item.named(&format!("{name}.@idx"))),
            DeclaredKind::Map(value) => Type::map(Type::String, value.named(&format!("{name}.@elem"))),
            DeclaredKind::Object(_) => Type::Struct(Arc::new(ObjectType {
                name: name.into(),
                declared: Some(self.clone()),
            })),
        }
    }

    /// Returns the declaration of an object from its fields.
    pub(crate) fn object(fields: impl IntoIterator<Item = (&'static str, Arc<Self>)>) -> Arc<Self> {
        let fields = fields
            .into_iter()
            .map(|(name, field)| (name.into(), field))
            .collect();
        Arc::new(Self {
            kind: DeclaredKind::Object(fields),
            most_elements: 0,
            smallest_size: 2,
        })
    }

    /// Returns the declaration of a value without parts.
    pub(crate) fn of(kind: Type) -> Arc<Self> {
        Self::simple(kind, 0, 1)
    }
}

fn from_schema(schema: &Schema, resource_root: bool, depth: usize) -> Option<Arc<Declared>> {
    if depth > DEEPEST_SCHEMA {
        return None;
    }
    let demands = schema.demands.as_deref();
    let longest = demands.and_then(|demands| demands.max_length);
    match schema.value_type {
        SchemaType::IntegerOrString => {
            let most = longest.map_or(LARGEST_REQUEST - 2, |length| length.max(0).saturating_mul(4));
            Some(Declared::simple(Type::Dyn, most, 1))
        }
        SchemaType::Any => None,
        SchemaType::Boolean => Some(Declared::simple(Type::Bool, 0, 4)),
        SchemaType::Number => Some(Declared::simple(Type::Double, 0, 1)),
        SchemaType::Integer => Some(Declared::simple(Type::Int, 0, 1)),
        SchemaType::String => Some(string(schema, longest)),
        SchemaType::Array => {
            let items = schema.items.as_ref()?.schema();
            let item = from_schema(items, items.embedded_resource, depth + 1)?;
            let most_elements = match demands.and_then(|demands| demands.max_items) {
                Some(most) => most.max(0),
                None => (LARGEST_REQUEST - 2) / (item.smallest_size + 1),
            };
            Some(Arc::new(Declared {
                kind: DeclaredKind::List(item),
                most_elements,
                smallest_size: 2,
            }))
        }
        SchemaType::Object => object(schema, resource_root, depth),
    }
}

fn string(schema: &Schema, longest: Option<i64>) -> Arc<Declared> {
    match schema.format.as_deref() {
        Some("byte") => Declared::simple(
            Type::Bytes,
            longest.map_or(LARGEST_REQUEST - 2, |length| length.max(0)),
            SHORTEST_STRING,
        ),
        Some("duration") => Declared::simple(Type::Duration, LONGEST_TIME, SHORTEST_DURATION),
        Some("date") => Declared::simple(Type::Timestamp, DATE_SIZE, DATE_SIZE),
        Some("date-time") => Declared::simple(Type::Timestamp, LONGEST_TIME, SHORTEST_TIME),
        _ => {
            let allowed = schema
                .demands
                .as_deref()
                .map_or(&[] as &[Value], |demands| &demands.enumeration);
            // The length of a schema is in characters, that of a request in bytes, and a character takes up to four.
            let most = match longest {
                Some(length) => length.max(0).saturating_mul(4),
                None if allowed.is_empty() => LARGEST_REQUEST - 2,
                None => allowed
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|one| one.len() as i64)
                    .max()
                    .unwrap_or(0),
            };
            Declared::simple(Type::String, most, SHORTEST_STRING)
        }
    }
}

fn object(schema: &Schema, resource_root: bool, depth: usize) -> Option<Arc<Declared>> {
    if let Some(values) = &schema.additional_properties {
        let values = values.schema();
        let value = from_schema(values, values.embedded_resource, depth + 1)?;
        let most_elements = match schema
            .demands
            .as_deref()
            .and_then(|demands| demands.max_properties)
        {
            Some(most) => most.max(0),
            // Two bytes of key, quotes, colon and comma stand beside the value.
            None => (LARGEST_REQUEST - 2) / (value.smallest_size + 6),
        };
        return Some(Arc::new(Declared {
            kind: DeclaredKind::Map(value),
            most_elements,
            smallest_size: 2,
        }));
    }
    let mut fields: BTreeMap<Box<str>, Arc<Declared>> = BTreeMap::new();
    let mut smallest_size = 2;
    let mut add = |name: &str, field: &Schema| {
        let Some(declared) = from_schema(field, field.embedded_resource, depth + 1) else {
            return;
        };
        if field.default.is_none() && schema.required.iter().any(|required| &**required == name) {
            smallest_size += name.len() as i64 + declared.smallest_size + 4;
        }
        if let Some(escaped) = escape(name) {
            fields.insert(escaped.into(), declared);
        }
    };
    let supplied = resource_root && !crate::value::object_meta::is_declared(schema);
    for (name, field) in &schema.properties {
        if !(supplied && crate::value::object_meta::field(name).is_some()) {
            add(name, field.schema());
        }
    }
    if supplied {
        for name in ["apiVersion", "kind", "metadata"] {
            if let Some(field) = crate::value::object_meta::field(name) {
                add(name, field);
            }
        }
    }
    Some(Arc::new(Declared {
        kind: DeclaredKind::Object(fields),
        most_elements: 0,
        smallest_size,
    }))
}
