//! What a custom resource's schema demands of a value beyond its type and its fields.

use serde_json::Value;

use super::pattern::Pattern;
use crate::Schema;

/// What a custom resource's schema demands of a value beyond its type: bounds, patterns, enumerations, rules.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Demands {
    /// The smallest number that is allowed.
    pub minimum: Option<f64>,
    /// Whether `minimum` itself is too small.
    pub exclusive_minimum: bool,
    /// The largest number that is allowed.
    pub maximum: Option<f64>,
    /// Whether `maximum` itself is too large.
    pub exclusive_maximum: bool,
    /// A number must be a multiple of this one.
    pub multiple_of: Option<f64>,
    /// The fewest characters of a string.
    pub min_length: Option<i64>,
    /// The most characters of a string.
    pub max_length: Option<i64>,
    /// The regular expression that a string must match somewhere.
    pub pattern: Option<Pattern>,
    /// The values that are allowed; empty when any is.
    pub enumeration: Vec<Value>,
    /// The fewest items of a list.
    pub min_items: Option<i64>,
    /// The most items of a list.
    pub max_items: Option<i64>,
    /// Whether no two items of a list may be equal.
    pub unique_items: bool,
    /// The fewest fields of an object.
    pub min_properties: Option<i64>,
    /// The most fields of an object.
    pub max_properties: Option<i64>,
    /// Each of these must hold. Only value validations stand in them, never structure.
    pub all_of: Vec<Schema>,
    /// At least one of these must hold.
    pub any_of: Vec<Schema>,
    /// Exactly one of these must hold.
    pub one_of: Vec<Schema>,
    /// This must not hold.
    pub not: Option<Box<Schema>>,
    /// `x-kubernetes-validations`: what the value must be in the words of CEL.
    pub rules: Vec<Rule>,
}

/// One rule of `x-kubernetes-validations`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// The CEL expression; `self` is the value at the rule's place.
    pub rule: String,
    /// What is said when the rule fails; empty when the rule brings no text of its own.
    pub message: String,
    /// The CEL expression that makes the text; empty when there is none.
    pub message_expression: String,
    /// The kind of the error: `FieldValueInvalid`, `FieldValueForbidden`, `FieldValueRequired` or
    /// `FieldValueDuplicate`. `None` means `FieldValueInvalid`.
    pub reason: Option<String>,
    /// The field that is blamed, as a path below the rule's place (`.spec.replicas`); empty blames the place itself.
    pub field_path: String,
    /// Whether the rule also runs when there is no old value, with `oldSelf` an optional; `None` when it isn't written.
    pub optional_old_self: Option<bool>,
}
