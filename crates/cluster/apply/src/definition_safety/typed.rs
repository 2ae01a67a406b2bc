//! A schema read from JSON into the types that Go has for it.

use std::collections::BTreeMap;

use goyaml::json::{Escape, kind_word};
use serde_json::Value;
use thiserror::Error;

use super::kind::{Form, Kind, SCHEMA, Structure};

/// How deep schemas may be nested: no API server takes a definition that comes near it, and every level costs stack.
pub const MAX_DEPTH: usize = 128;

/// What in a definition isn't what its type says.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ShapeError {
    /// A value has another type than the field takes.
    #[error("{path}: expected {expected}, got {found}")]
    Type {
        /// Where the value stands.
        path: String,
        /// What the field takes.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// Schemas within schemas, beyond the limit.
    #[error("{path}: schemas are nested deeper than {MAX_DEPTH} levels")]
    Depth {
        /// Where the limit was met.
        path: String,
    },
}

/// A value with Go's distinctions: nothing, empty, zero.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Typed {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
    /// A byte.
    Byte(u8),
    /// A pointer, perhaps to nothing.
    Pointer(Option<Box<Typed>>),
    /// A list, perhaps none at all.
    List(Option<Vec<Typed>>),
    /// A map, perhaps none at all.
    Map(Option<BTreeMap<String, Typed>>),
    /// The fields of a struct as declared.
    Structure(Vec<Typed>),
}

impl Typed {
    /// Returns what Go has where nothing was given.
    pub(crate) fn zero(kind: &Kind) -> Typed {
        match kind {
            Kind::Bool => Typed::Bool(false),
            Kind::Integer => Typed::Integer(0),
            Kind::Float => Typed::Float(0.0),
            Kind::Text(_) => Typed::Text(String::new()),
            Kind::Byte => Typed::Byte(0),
            Kind::Pointer(_) => Typed::Pointer(None),
            Kind::List(..) => Typed::List(None),
            Kind::Map(..) => Typed::Map(None),
            Kind::Structure(structure) => Typed::Structure(
                structure
                    .fields
                    .iter()
                    .map(|field| Typed::zero(field.kind))
                    .collect(),
            ),
        }
    }

    /// Returns whether this is what Go has where nothing was given.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Typed::Bool(value) => !value,
            Typed::Integer(value) => *value == 0,
            Typed::Float(value) => *value == 0.0 && value.is_sign_positive(),
            Typed::Text(text) => text.is_empty(),
            Typed::Byte(byte) => *byte == 0,
            Typed::Pointer(to) => to.is_none(),
            Typed::List(elements) => elements.is_none(),
            Typed::Map(entries) => entries.is_none(),
            Typed::Structure(fields) => fields.iter().all(Typed::is_zero),
        }
    }

    /// Returns whether both mean the same: an empty list means the same as none.
    pub(crate) fn means(&self, other: &Typed) -> bool {
        match (self, other) {
            (Typed::Pointer(one), Typed::Pointer(other)) => match (one, other) {
                (Some(one), Some(other)) => one.means(other),
                (None, None) => true,
                _ => false,
            },
            (Typed::List(one), Typed::List(other)) => {
                let (one, other) = (one.as_deref().unwrap_or(&[]), other.as_deref().unwrap_or(&[]));
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.means(other))
            }
            (Typed::Map(one), Typed::Map(other)) => {
                let entries = |map: &Option<BTreeMap<String, Typed>>| map.as_ref().map_or(0, BTreeMap::len);
                entries(one) == entries(other)
                    && one
                        .iter()
                        .flatten()
                        .zip(other.iter().flatten())
                        .all(|((one_key, one), (other_key, other))| one_key == other_key && one.means(other))
            }
            (Typed::Structure(one), Typed::Structure(other)) => {
                one.iter().zip(other).all(|(one, other)| one.means(other))
            }
            _ => self == other,
        }
    }

    /// Returns the elements of a list; none of anything else.
    pub(crate) fn elements(&self) -> &[Typed] {
        match self {
            Typed::List(Some(elements)) => elements,
            _ => &[],
        }
    }

    /// Returns the entries of a map; none of anything else.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&String, &Typed)> {
        match self {
            Typed::Map(Some(entries)) => Some(entries),
            _ => None,
        }
        .into_iter()
        .flatten()
    }

    /// Returns what a pointer points to.
    pub(crate) fn pointed(&self) -> Option<&Typed> {
        match self {
            Typed::Pointer(to) => to.as_deref(),
            _ => None,
        }
    }

    /// Returns the text, or an empty one of anything else.
    pub(crate) fn text(&self) -> &str {
        match self {
            Typed::Text(text) => text,
            _ => "",
        }
    }

    /// Returns the bytes of a list of bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let byte = |element: &Typed| match element {
            Typed::Byte(byte) => Some(*byte),
            _ => None,
        };
        self.elements().iter().filter_map(byte).collect()
    }
}

/// A schema of a definition, with its fields by name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Schema(pub(crate) Typed);

impl Schema {
    /// Reads a schema; `path` is where it stands.
    pub(crate) fn read(value: &Value, path: &str) -> Result<Schema, ShapeError> {
        Ok(Schema(read(value, &Kind::Structure(&SCHEMA), path, 0)?))
    }

    /// Returns a schema that says nothing.
    pub(crate) fn empty() -> Schema {
        Schema(Typed::zero(&Kind::Structure(&SCHEMA)))
    }
}

/// Returns a field of a struct by its name in Go.
pub(crate) fn part<'a>(value: &'a Typed, structure: &Structure, name: &str) -> Option<&'a Typed> {
    match value {
        Typed::Structure(fields) => fields.get(structure.position(name)?),
        _ => None,
    }
}

fn read(value: &Value, kind: &Kind, path: &str, depth: usize) -> Result<Typed, ShapeError> {
    let mismatch = |expected| ShapeError::Type {
        path: path.to_owned(),
        expected,
        found: kind_word(value),
    };
    if value.is_null() {
        return Ok(Typed::zero(kind));
    }
    Ok(match kind {
        Kind::Bool => Typed::Bool(value.as_bool().ok_or_else(|| mismatch("a boolean"))?),
        Kind::Integer => Typed::Integer(integer(value).ok_or_else(|| mismatch("an integer"))?),
        Kind::Float => Typed::Float(value.as_f64().ok_or_else(|| mismatch("a number"))?),
        Kind::Text(_) => Typed::Text(value.as_str().ok_or_else(|| mismatch("a string"))?.to_owned()),
        Kind::Byte => Typed::Byte(0),
        Kind::Pointer(to) => Typed::Pointer(Some(Box::new(read(value, to, path, depth)?))),
        Kind::List(_, element) => {
            let list = value.as_array().ok_or_else(|| mismatch("a list"))?;
            let elements = list.iter().enumerate();
            let elements =
                elements.map(|(index, value)| read(value, element, &format!("{path}[{index}]"), depth));
            Typed::List(Some(elements.collect::<Result<_, _>>()?))
        }
        Kind::Map(_, element) => {
            let map = value.as_object().ok_or_else(|| mismatch("a map"))?;
            let entries = map.iter().map(|(key, value)| {
                Ok((
                    key.clone(),
                    read(value, element, &format!("{path}.{key}"), depth)?,
                ))
            });
            Typed::Map(Some(entries.collect::<Result<_, ShapeError>>()?))
        }
        Kind::Structure(structure) => {
            if depth >= MAX_DEPTH {
                return Err(ShapeError::Depth {
                    path: path.to_owned(),
                });
            }
            structure_of(value, structure, path, depth + 1)?
        }
    })
}

fn structure_of(value: &Value, structure: &Structure, path: &str, depth: usize) -> Result<Typed, ShapeError> {
    let given = |index: usize| -> Result<Typed, ShapeError> {
        structure
            .fields
            .get(index)
            .map_or(Ok(Typed::Bool(false)), |field| {
                read(value, field.kind, path, depth)
            })
    };
    let nothing = |index: usize| {
        structure
            .fields
            .get(index)
            .map_or(Typed::Bool(false), |field| Typed::zero(field.kind))
    };
    Ok(Typed::Structure(match (structure.form, value) {
        (Form::Raw, _) => {
            // Data that serde_json holds can always be written again.
            let text = goyaml::json::to_string(value, Escape::Html).unwrap_or_default();
            vec![Typed::List(Some(
                text.into_bytes().into_iter().map(Typed::Byte).collect(),
            ))]
        }
        (Form::SchemaOrBool, Value::Bool(allows)) => vec![Typed::Bool(*allows), nothing(1)],
        (Form::SchemaOrBool, _) => vec![Typed::Bool(true), given(1)?],
        (Form::SchemaOrList | Form::SchemaOrTexts, Value::Array(_)) => vec![nothing(0), given(1)?],
        (Form::SchemaOrList | Form::SchemaOrTexts, _) => vec![given(0)?, nothing(1)],
        (Form::Object, Value::Object(object)) => structure
            .fields
            .iter()
            .map(|field| match object.get(field.key) {
                None => Ok(Typed::zero(field.kind)),
                Some(value) => read(value, field.kind, &format!("{path}.{}", field.key), depth),
            })
            .collect::<Result<_, _>>()?,
        (Form::Object, _) => {
            return Err(ShapeError::Type {
                path: path.to_owned(),
                expected: "an object",
                found: kind_word(value),
            });
        }
    }))
}

fn integer(value: &Value) -> Option<i64> {
    /// Beyond this, not every whole number is a float64.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        #[expect(clippy::cast_possible_truncation, reason = "whole and within what is exact")]
        (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
    })
}
