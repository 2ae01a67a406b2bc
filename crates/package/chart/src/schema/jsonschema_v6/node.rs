//! A compiled schema and its rules.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::format::Format;
use super::json::Json;
use crate::go_expression::Expression;
use crate::schema::number::Decimal;

/// The number of a schema among those that were compiled together.
pub(super) type Id = usize;

/// One schema.
#[derive(Debug)]
pub(super) struct Node {
    /// The address of the schema, as messages show it.
    pub(super) location: String,
    pub(super) draft: Draft,
    /// The schema with an address of its own that this one belongs to.
    pub(super) resource: Id,
    /// The anchors of this resource that a dynamic reference may lead to.
    pub(super) dynamic_anchors: BTreeMap<String, Id>,
    /// A schema that is just `true` or `false`.
    pub(super) pass: Option<bool>,
    pub(super) rules: Rules,
}

/// What a schema asks for.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) reference: Option<Id>,
    pub(super) recursive_reference: Option<Id>,
    pub(super) recursive_anchor: bool,
    pub(super) dynamic_reference: Option<DynamicReference>,
    pub(super) dynamic_anchor: Option<String>,

    pub(super) types: Types,
    pub(super) enumeration: Option<Vec<Json>>,
    pub(super) constant: Option<Json>,
    pub(super) format: Option<Format>,
    pub(super) not: Option<Id>,
    pub(super) all_of: Vec<Id>,
    pub(super) any_of: Vec<Id>,
    pub(super) one_of: Vec<Id>,
    pub(super) condition: Option<Id>,
    pub(super) consequence: Option<Id>,
    pub(super) alternative: Option<Id>,

    pub(super) min_properties: Option<i64>,
    pub(super) max_properties: Option<i64>,
    pub(super) required: Vec<String>,
    pub(super) property_names: Option<Id>,
    pub(super) properties: BTreeMap<String, Id>,
    pub(super) pattern_properties: Vec<(Expression, Id)>,
    pub(super) additional_properties: Option<Additional>,
    pub(super) dependencies: BTreeMap<String, Needs>,
    pub(super) dependent_required: BTreeMap<String, Vec<String>>,
    pub(super) dependent_schemas: BTreeMap<String, Id>,
    pub(super) unevaluated_properties: Option<Id>,

    pub(super) min_items: Option<i64>,
    pub(super) max_items: Option<i64>,
    pub(super) unique_items: bool,
    pub(super) contains: Option<Id>,
    pub(super) min_contains: Option<i64>,
    pub(super) max_contains: Option<i64>,
    pub(super) items: Items,
    pub(super) unevaluated_items: Option<Id>,

    pub(super) min_length: Option<i64>,
    pub(super) max_length: Option<i64>,
    pub(super) pattern: Option<(String, Expression)>,

    pub(super) minimum: Option<Decimal>,
    pub(super) maximum: Option<Decimal>,
    pub(super) exclusive_minimum: Option<Decimal>,
    pub(super) exclusive_maximum: Option<Decimal>,
    pub(super) multiple_of: Option<Decimal>,
}

/// A reference whose target depends on the schemas that led to it.
#[derive(Debug)]
pub(super) struct DynamicReference {
    pub(super) target: Id,
    pub(super) anchor: Option<String>,
}

/// What holds for properties or items that have no schema of their own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Additional {
    Allowed(bool),
    Schema(Id),
}

/// What the presence of a property asks for.
#[derive(Debug)]
pub(super) enum Needs {
    Properties(Vec<String>),
    Schema(Id),
}

/// What holds for the elements of a list.
#[derive(Debug, Default)]
pub(super) enum Items {
    #[default]
    Any,
    /// One schema for all, before 2020.
    All(Id),
    /// A schema for each of the first ones, and maybe something for the rest.
    Each(Vec<Id>, Option<Additional>),
}

impl Rules {
    /// Tells whether every property of an object is looked at by these rules.
    pub(super) fn evaluate_all_properties(&self) -> bool {
        self.additional_properties.is_some()
    }

    /// How many of the first elements of a list are looked at by these rules; `None` for all of them.
    pub(super) fn evaluated_items(&self) -> Option<usize> {
        match &self.items {
            Items::Any => Some(0),
            Items::All(_) | Items::Each(_, Some(_)) => None,
            Items::Each(schemas, None) => Some(schemas.len()),
        }
    }
}

/// A set of types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

/// All types, in the order in which messages name them.
const TYPES: [&str; 7] = [
    "null", "boolean", "number", "integer", "string", "array", "object",
];

impl Types {
    /// Adds a type; what is none is passed over.
    pub(super) fn add(&mut self, name: &str) {
        if let Some(bit) = TYPES.iter().position(|known| *known == name) {
            self.0 |= 1 << bit;
        }
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn names(self) -> Vec<&'static str> {
        TYPES
            .into_iter()
            .enumerate()
            .filter(|(bit, _)| self.0 & 1 << bit != 0)
            .map(|(_, name)| name)
            .collect()
    }

    fn has(self, name: &str) -> bool {
        TYPES
            .iter()
            .position(|known| *known == name)
            .is_some_and(|bit| self.0 & 1 << bit != 0)
    }

    /// Tells whether a value is of one of the types.
    pub(super) fn fit(self, value: &Json) -> bool {
        self.has(type_of(value))
            || matches!(value, Json::Number(numeral) if self.has("integer") && numeral.number.is_integer())
    }
}

/// The type of a value; whole numbers are numbers.
pub(super) fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}
