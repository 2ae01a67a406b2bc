//! An `openAPIV3Schema` made into a [`Schema`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

use super::document::Document;
use super::{Demands, Pattern, Rule};
use crate::{ListType, MapType, Reference, Schema, Type};

/// How deep a schema may nest. It bounds the recursion of everything that walks a schema; no schema that people write
/// comes near it.
const MAXIMUM_DEPTH: usize = 128;

/// Why an `openAPIV3Schema` can't be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// A keyword of JSON Schema that custom resources don't have.
    #[error("OpenAPIV3Schema '{0}' is not supported")]
    Unsupported(&'static str),
    /// `items` is a list of schemas.
    #[error("OpenAPIV3Schema 'items' must be a schema, but is an array")]
    ItemsArray,
    /// `x-kubernetes-preserve-unknown-fields` is false.
    #[error("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")]
    PreserveUnknownFields,
    /// The schema nests deeper than is allowed here.
    #[error("OpenAPIV3Schema nests deeper than {MAXIMUM_DEPTH} levels")]
    TooDeep,
}

/// Reads an `openAPIV3Schema`. What isn't an object gives the schema of an object without fields.
///
/// # Errors
///
/// The first thing in the schema that custom resources can't have.
pub fn read(document: &Value) -> Result<Schema, ReadError> {
    read_at(document, 0)
}

fn read_at(document: &Value, depth: usize) -> Result<Schema, ReadError> {
    if depth > MAXIMUM_DEPTH {
        return Err(ReadError::TooDeep);
    }
    let Some(fields) = document.as_object() else {
        return Ok(Schema::default());
    };
    let node = Document(fields);
    node.refuse_unsupported()?;
    let schema_of = |value: &Value| read_at(value, depth + 1);
    let demands = node.demands(depth)?;
    Ok(Schema {
        value_type: node.value_type(),
        format: node.text("format").map(Into::into),
        nullable: node.flag("nullable"),
        properties: match node.object("properties") {
            Some(properties) => properties
                .iter()
                .map(|(name, property)| Ok((name.as_str().into(), inline(schema_of(property)?))))
                .collect::<Result<BTreeMap<_, _>, _>>()?,
            None => BTreeMap::new(),
        },
        additional_properties: match fields.get("additionalProperties") {
            Some(schema @ Value::Object(_)) => Some(inline(schema_of(schema)?)),
            // The values aren't described: nothing is asked of them, null included, and nothing inside them is kept.
            Some(Value::Bool(true)) => Some(inline(Schema {
                nullable: true,
                ..Schema::default()
            })),
            _ => None,
        },
        items: match fields.get("items") {
            Some(Value::Array(schemas)) if !schemas.is_empty() => return Err(ReadError::ItemsArray),
            Some(schema @ Value::Object(_)) => Some(inline(schema_of(schema)?)),
            _ => None,
        },
        required: node.texts("required"),
        list_type: match node.text("x-kubernetes-list-type") {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map(node.texts("x-kubernetes-list-map-keys")),
            _ => ListType::Atomic,
        },
        map_type: match node.text("x-kubernetes-map-type") {
            Some("atomic") => MapType::Atomic,
            _ => MapType::Granular,
        },
        preserve_unknown_fields: match fields.get("x-kubernetes-preserve-unknown-fields") {
            Some(Value::Bool(false)) => return Err(ReadError::PreserveUnknownFields),
            Some(Value::Bool(true)) => true,
            _ => false,
        },
        embedded_resource: node.flag("x-kubernetes-embedded-resource"),
        default: fields
            .get("default")
            .filter(|default| !default.is_null())
            .cloned(),
        demands,
        ..Schema::default()
    })
}

fn inline(schema: Schema) -> Reference {
    Reference::Inline(Arc::new(schema))
}

impl Document<'_> {
    fn refuse_unsupported(self) -> Result<(), ReadError> {
        for (name, shown) in [("id", "id"), ("$schema", "schema"), ("$ref", "$ref")] {
            if self.text(name).is_some() {
                return Err(ReadError::Unsupported(shown));
            }
        }
        for name in ["patternProperties", "dependencies"] {
            if self.object(name).is_some() {
                return Err(ReadError::Unsupported(name));
            }
        }
        if self
            .0
            .get("additionalItems")
            .is_some_and(|items| !items.is_null())
        {
            return Err(ReadError::Unsupported("additionalItems"));
        }
        if self.object("definitions").is_some() {
            return Err(ReadError::Unsupported("definitions"));
        }
        Ok(())
    }

    fn value_type(self) -> Type {
        if self.flag("x-kubernetes-int-or-string") {
            return Type::IntegerOrString;
        }
        match self.text("type") {
            Some("object") => Type::Object,
            Some("array") => Type::Array,
            Some("string") => Type::String,
            Some("integer") => Type::Integer,
            Some("number") => Type::Number,
            Some("boolean") => Type::Boolean,
            _ => Type::Any,
        }
    }

    fn clauses(self, name: &str, depth: usize) -> Result<Vec<Schema>, ReadError> {
        self.items(name)
            .iter()
            .map(|clause| read_at(clause, depth + 1))
            .collect()
    }

    fn demands(self, depth: usize) -> Result<Option<Box<Demands>>, ReadError> {
        let demands = Demands {
            minimum: self.number("minimum"),
            exclusive_minimum: self.flag("exclusiveMinimum"),
            maximum: self.number("maximum"),
            exclusive_maximum: self.flag("exclusiveMaximum"),
            multiple_of: self.number("multipleOf"),
            min_length: self.count("minLength"),
            max_length: self.count("maxLength"),
            pattern: self.text("pattern").map(Pattern::new),
            enumeration: self.items("enum").to_vec(),
            min_items: self.count("minItems"),
            max_items: self.count("maxItems"),
            unique_items: self.flag("uniqueItems"),
            min_properties: self.count("minProperties"),
            max_properties: self.count("maxProperties"),
            all_of: self.clauses("allOf", depth)?,
            any_of: self.clauses("anyOf", depth)?,
            one_of: self.clauses("oneOf", depth)?,
            not: match self.0.get("not") {
                Some(clause @ Value::Object(_)) => Some(Box::new(read_at(clause, depth + 1)?)),
                _ => None,
            },
            rules: self
                .items("x-kubernetes-validations")
                .iter()
                .map(Rule::read)
                .collect(),
        };
        Ok((demands != Demands::default()).then(|| Box::new(demands)))
    }
}

impl Rule {
    /// Reads one rule of `x-kubernetes-validations`.
    pub fn read(document: &Value) -> Self {
        let text = |name: &str| {
            document
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            rule: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: document
                .get("reason")
                .and_then(Value::as_str)
                .map(ToOwned::to_owned),
            field_path: text("fieldPath"),
            optional_old_self: document.get("optionalOldSelf").and_then(Value::as_bool),
        }
    }
}
