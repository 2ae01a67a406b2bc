//! The places of CEL rules in a definition, for whoever compiles them.

use serde_json::Value;

use crate::{FieldError, FieldPath, Schema};

/// A node of a schema that has rules.
#[derive(Debug, Clone, Copy)]
pub struct RuleSite<'a> {
    /// Where the node is in the definition; its rules are at `x-kubernetes-validations`.
    pub path: &'a FieldPath,
    /// The node, with its rules among its demands.
    pub schema: &'a Schema,
    /// Whether the value is a resource, whose rules may speak of `apiVersion`, `kind` and names.
    pub is_resource: bool,
    /// How many values of this place a resource may have at most; `None` when nothing limits them.
    pub cardinality: Option<u64>,
    /// The outermost place above the node from which old and new values can't be matched, so that rules below it may
    /// not speak of `oldSelf`.
    pub uncorrelatable: Option<&'a FieldPath>,
    /// Whether the schema of this version is the one that is stored: its rules may be as costly as they are.
    pub is_unchanged: bool,
}

/// Checks the rules of a definition.
pub trait RuleChecks {
    /// Returns what is wrong with the rules of one node.
    fn check(&mut self, site: &RuleSite<'_>) -> Vec<FieldError>;

    /// Returns what is wrong with the rules of a whole schema, such as what they cost together; `path` is the schema's.
    fn finish(&mut self, path: &FieldPath) -> Vec<FieldError>;

    /// Returns which rules a default breaks; `path` is that of the default, `schema` that of its field.
    fn check_default(
        &mut self,
        path: &FieldPath,
        schema: &Schema,
        is_resource: bool,
        default: &Value,
    ) -> Vec<FieldError>;
}

/// Leaves rules unchecked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unchecked;

impl RuleChecks for Unchecked {
    fn check(&mut self, _: &RuleSite<'_>) -> Vec<FieldError> {
        Vec::new()
    }

    fn finish(&mut self, _: &FieldPath) -> Vec<FieldError> {
        Vec::new()
    }

    fn check_default(&mut self, _: &FieldPath, _: &Schema, _: bool, _: &Value) -> Vec<FieldError> {
        Vec::new()
    }
}
