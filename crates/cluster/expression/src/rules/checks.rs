//! What is wrong with the rules of a definition that is written.

use std::collections::BTreeMap;

use schema::structural::Rule;
use schema::structural::definition::{RuleChecks, RuleSite};
use schema::{FieldError, FieldPath, Reference, Schema};
use serde_json::{Value, json};

use super::compile::compile;
use super::tree::Compiled;
use crate::check::Declared;

/// The largest cost of one rule, and of all rules of a schema, in the worst case.
const RULE_LIMIT: u64 = 10_000_000;
const SCHEMA_LIMIT: u64 = 100_000_000;

/// How many of the most expensive rules are named when all together are too expensive.
const MOST_NAMED: usize = 4;

/// Checks the rules of a definition, node by node, and adds up what they can cost.
#[derive(Debug, Default)]
pub struct Checks {
    total: u64,
    /// The most expensive expressions, the worst first.
    expensive: Vec<(FieldPath, u64)>,
}

/// Checks all rules of a schema. `path` is the schema's place in its definition; `old_schema` is the one that is stored, and
/// what it has may be as expensive as it is.
pub fn check(schema: &Schema, path: &FieldPath, old_schema: Option<&Schema>) -> Vec<FieldError> {
    let mut checks = Checks::default();
    let mut errors = Vec::new();
    let place = Place {
        cardinality: Some(1),
        uncorrelatable: None,
        is_unchanged: old_schema == Some(schema),
    };
    checks.walk(schema, path, true, &place, &mut errors);
    errors.extend(checks.finish(path));
    errors
}

/// What the schemas above a node say about it.
struct Place {
    cardinality: Option<u64>,
    uncorrelatable: Option<FieldPath>,
    is_unchanged: bool,
}

impl Checks {
    fn walk(
        &mut self,
        schema: &Schema,
        path: &FieldPath,
        root: bool,
        place: &Place,
        errors: &mut Vec<FieldError>,
    ) {
        let demands = schema.demands.as_deref();
        let bounded = |most: Option<i64>| {
            place
                .cardinality
                .zip(most)
                .map(|(count, most)| count.saturating_mul(most.max(0) as u64))
        };
        if let Some(values) = &schema.additional_properties {
            let cardinality = bounded(demands.and_then(|demands| demands.max_properties));
            let below = Place {
                cardinality,
                uncorrelatable: place.uncorrelatable.clone(),
                ..*place
            };
            self.walk(
                values.schema(),
                &path.child("additionalProperties"),
                false,
                &below,
                errors,
            );
        }
        for (name, property) in &schema.properties {
            let below = Place {
                uncorrelatable: place.uncorrelatable.clone(),
                ..*place
            };
            self.walk(
                property.schema(),
                &path.child("properties").key(name),
                false,
                &below,
                errors,
            );
        }
        if let Some(items) = schema.items.as_ref().map(Reference::schema) {
            let cardinality = bounded(demands.and_then(|demands| demands.max_items));
            let is_keyed = matches!(schema.list_type, schema::ListType::Map(_));
            let uncorrelatable = place
                .uncorrelatable
                .clone()
                .or_else(|| (!is_keyed).then(|| path.clone()));
            let below = Place {
                cardinality,
                uncorrelatable,
                ..*place
            };
            self.walk(items, &path.child("items"), false, &below, errors);
        }
        if demands.is_some_and(|demands| !demands.rules.is_empty()) {
            errors.extend(self.check(&RuleSite {
                path,
                schema,
                is_resource: root || schema.embedded_resource,
                cardinality: place.cardinality,
                uncorrelatable: place.uncorrelatable.as_ref(),
                is_unchanged: place.is_unchanged,
            }));
        }
    }

    fn observe(&mut self, path: FieldPath, cost: u64) {
        self.total = self.total.saturating_add(cost);
        // What is less than a hundredth of the limit isn't worth naming.
        if cost >= SCHEMA_LIMIT / 100 {
            self.expensive.push((path, cost));
            self.expensive.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
            self.expensive.truncate(MOST_NAMED);
        }
    }
}

impl RuleChecks for Checks {
    fn check(&mut self, site: &RuleSite<'_>) -> Vec<FieldError> {
        let Some(demands) = site.schema.demands.as_deref() else {
            return Vec::new();
        };
        let rules_path = site.path.child("x-kubernetes-validations");
        let Some(declared) = Declared::from_schema(site.schema, site.is_resource) else {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: \
                          unable to convert structural schema to CEL declarations";
            return vec![internal(rules_path, detail)];
        };
        let mut errors = Vec::new();
        for (index, compiled) in compile(&demands.rules, site.schema, &declared).iter().enumerate() {
            let rule = &compiled.rule;
            let path = rules_path.index(index);
            let places = site.cardinality.unwrap_or(compiled.most_places);
            let cost = compiled.most_cost.saturating_mul(places);
            if !site.is_unchanged && cost > RULE_LIMIT {
                let detail = too_expensive("estimated rule cost", cost, RULE_LIMIT);
                errors.push(FieldError::forbidden(path.child("rule"), detail));
            }
            self.observe(path.child("rule"), cost);
            if let Some(error) = &compiled.error {
                errors.push(refused(path.child("rule"), rule, error));
            }
            if let Some(error) = &compiled.message_error {
                errors.push(refused(path.child("messageExpression"), rule, error));
            } else if compiled.message.is_some() {
                if !site.is_unchanged && compiled.message_cost > RULE_LIMIT {
                    let detail = too_expensive(
                        "estimated messageExpression cost",
                        compiled.message_cost,
                        RULE_LIMIT,
                    );
                    errors.push(FieldError::forbidden(path.child("messageExpression"), detail));
                }
                self.observe(path.child("messageExpression"), compiled.message_cost);
            }
            if compiled.uses_old_self {
                if let Some(above) = site.uncorrelatable {
                    let detail = format!(
                        "oldSelf cannot be used on the uncorrelatable portion of the schema within {above}"
                    );
                    errors.push(FieldError::invalid(path.child("rule"), &json!(rule.rule), detail));
                }
            } else if let Some(optional) = rule.optional_old_self {
                let detail = "may not be set if oldSelf is not used in rule";
                errors.push(FieldError::invalid(
                    path.child("optionalOldSelf"),
                    &json!(optional),
                    detail,
                ));
            }
        }
        errors
    }

    fn finish(&mut self, path: &FieldPath) -> Vec<FieldError> {
        let Self { total, expensive } = std::mem::take(self);
        if total <= SCHEMA_LIMIT {
            return Vec::new();
        }
        let detail =
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let mut errors: Vec<FieldError> = expensive
            .into_iter()
            .map(|(path, _)| FieldError::forbidden(path, detail))
            .collect();
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(FieldError::forbidden(
            path.clone(),
            too_expensive(name, total, SCHEMA_LIMIT),
        ));
        errors
    }

    fn check_default(
        &mut self,
        path: &FieldPath,
        schema: &Schema,
        is_resource: bool,
        default: &Value,
    ) -> Vec<FieldError> {
        Compiled::new(schema, is_resource)
            .validate(path, default, None)
            .errors
            .told()
            .to_vec()
    }
}

fn internal(path: FieldPath, detail: &str) -> FieldError {
    FieldError {
        kind: schema::FieldErrorKind::InternalError,
        field: path,
        value: None,
        detail: detail.to_owned(),
    }
}

/// Says what is wrong with a rule, which is shown as upstream's own type is written.
fn refused(path: FieldPath, rule: &Rule, detail: &str) -> FieldError {
    let fields: BTreeMap<usize, (&str, Value)> = [
        ("Rule", json!(rule.rule)),
        ("Message", json!(rule.message)),
        ("MessageExpression", json!(rule.message_expression)),
        ("Reason", json!(rule.reason)),
        ("FieldPath", json!(rule.field_path)),
        ("OptionalOldSelf", json!(rule.optional_old_self)),
    ]
    .into_iter()
    .enumerate()
    .collect();
    let written: Vec<String> = fields
        .into_values()
        .map(|(name, value)| format!("\"{name}\":{}", go_json(&value)))
        .collect();
    FieldError {
        kind: schema::FieldErrorKind::Invalid,
        field: path,
        value: Some(format!("{{{}}}", written.join(","))),
        detail: detail.to_owned(),
    }
}

/// Writes JSON as Go does, which escapes what could end a script in a web page.
fn go_json(value: &Value) -> String {
    let mut written = String::new();
    for character in value.to_string().chars() {
        match character {
            '<' => written.push_str("\\u003c"),
            '>' => written.push_str("\\u003e"),
            '&' => written.push_str("\\u0026"),
            '\u{2028}' => written.push_str("\\u2028"),
            '\u{2029}' => written.push_str("\\u2029"),
            other => written.push(other),
        }
    }
    written
}

fn too_expensive(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}
