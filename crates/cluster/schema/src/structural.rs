//! Schemas of custom resources: read, check, validate, prune, default.

/// What a custom resource's schema demands of a value beyond its type: bounds, patterns, enumerations, rules.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Demands {}
