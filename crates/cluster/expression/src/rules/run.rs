//! Rules, run over a value.

use std::sync::Arc;

use schema::field_errors::MOST_PROBLEMS;
use schema::structural::Rule;
use schema::{FieldError, FieldErrorKind, FieldPath, Schema, Type};
use serde_json::Value as Json;

use super::Findings;
use super::compile::CompiledRule;
use super::correlate::{KeyedItems, Ratchet};
use super::tree::{Compiled, Node};
use crate::cost::{PER_CALL_LIMIT, RUNTIME_BUDGET};
use crate::evaluate::run;
use crate::value::{Failure, Outcome, Value, json};

/// The longest text that a messageExpression may make, in bytes.
const LONGEST_MESSAGE: usize = 5 * 1024;

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// No rule runs any more: the budget is used up, or something went wrong that stops all rules.
struct Stop;

impl Compiled {
    /// Runs the rules over a value. `old` is what was there before an update.
    pub fn validate(&self, path: &FieldPath, value: &Json, old: Option<&Json>) -> Findings {
        self.validate_within(path, value, old, RUNTIME_BUDGET, PER_CALL_LIMIT)
    }

    pub(crate) fn validate_within(
        &self,
        path: &FieldPath,
        value: &Json,
        old: Option<&Json>,
        budget: i64,
        limit: u64,
    ) -> Findings {
        let mut runner = Runner {
            findings: Findings::default(),
            budget,
            limit,
        };
        if let Some(root) = &self.root {
            let ratchet = match old {
                Some(old) => Ratchet::new(value, old, &root.schema),
                None => Ratchet::default(),
            };
            // What stopped the rules is among the findings.
            let _ = runner.node(root, path, value, old, ratchet);
        }
        runner.findings
    }
}

struct Runner {
    findings: Findings,
    budget: i64,
    limit: u64,
}

impl Runner {
    fn node<'a>(
        &mut self,
        node: &'a Node,
        path: &FieldPath,
        value: &'a Json,
        old: Option<&'a Json>,
        ratchet: Ratchet<'a>,
    ) -> Result<(), Stop> {
        if value.is_null() {
            return Ok(());
        }
        self.rules(node, path, value, old, ratchet)?;
        for part in &node.all_of {
            self.node(part, path, value, old, ratchet.in_all_of())?;
        }
        match value {
            Json::Array(items) => {
                let Some(below) = &node.items else { return Ok(()) };
                let keyed = KeyedItems::new(&node.schema, old.and_then(Json::as_array));
                for (index, item) in items.iter().enumerate() {
                    self.node(
                        below,
                        &path.index(index),
                        item,
                        keyed.get(item),
                        ratchet.index(index),
                    )?;
                }
            }
            Json::Object(fields) => {
                let old = old.and_then(Json::as_object);
                let old = |name: &str| old.and_then(|old| old.get(name));
                if let Some(below) = &node.values {
                    for (name, field) in fields {
                        self.node(below, &path.key(name), field, old(name), ratchet.key(name))?;
                    }
                }
                for (name, below) in &node.properties {
                    if let Some(field) = fields.get(&**name) {
                        self.node(below, &path.child(name), field, old(name), ratchet.key(name))?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn rules<'a>(
        &mut self,
        node: &'a Node,
        path: &FieldPath,
        value: &'a Json,
        old: Option<&'a Json>,
        ratchet: Ratchet<'a>,
    ) -> Result<(), Stop> {
        let old = old.filter(|old| !old.is_null());
        let kind = type_name(&node.schema);
        if let Some(error) = node.error {
            self.findings.errors.push(invalid(
                path,
                kind,
                format!("rule compiler initialization error: {error}"),
            ));
            return Ok(());
        }
        if node.rules.is_empty() {
            return Ok(());
        }
        if self.budget <= 0 {
            self.findings
                .errors
                .push(invalid(path, kind, OUT_OF_BUDGET.to_owned()));
            return Err(Stop);
        }
        let place = Place {
            node,
            path,
            value,
            old,
            ratchet,
            kind,
        };
        for compiled in &node.rules {
            self.rule(&place, compiled)?;
        }
        Ok(())
    }

    fn rule(&mut self, place: &Place<'_>, compiled: &CompiledRule) -> Result<(), Stop> {
        let Place { path, kind, .. } = *place;
        if let Some(error) = &compiled.error {
            self.findings
                .errors
                .push(invalid(path, kind, format!("rule compile error: {error}")));
            return Ok(());
        }
        let Some(program) = &compiled.program else {
            return Ok(());
        };
        let optional = compiled.rule.optional_old_self == Some(true);
        if compiled.uses_old_self && place.old.is_none() && !optional {
            return Ok(());
        }
        let evaluated = run(
            program,
            &|variable| place.variable(variable, optional),
            self.limit,
        );
        if i64::try_from(evaluated.cost).map_or(true, |cost| cost > self.budget) {
            self.findings
                .errors
                .push(invalid(path, kind, OUT_OF_BUDGET.to_owned()));
            return Err(Stop);
        }
        self.budget -= evaluated.cost as i64;
        let shown = shown(&compiled.rule);
        match evaluated.outcome {
            Ok(Value::Bool(true)) => Ok(()),
            Ok(_) => self.failed(place, compiled),
            Err(Failure::CostLimit) => {
                let detail = format!(
                    "'{}': no further validation rules will be run due to call cost exceeds limit for rule: {shown}",
                    Failure::CostLimit
                );
                self.findings.errors.push(invalid(path, kind, detail));
                Err(Stop)
            }
            Err(failure) => {
                let failure = failure.to_string();
                let detail = if failure.starts_with("no such overload") {
                    format!(
                        "'{failure}': call arguments did not match a supported operator, function or macro signature \
                         for rule: {shown}"
                    )
                } else {
                    format!("{failure} evaluating rule: {shown}")
                };
                self.findings.errors.push(invalid(path, kind, detail));
                Ok(())
            }
        }
    }

    fn failed(&mut self, place: &Place<'_>, compiled: &CompiledRule) -> Result<(), Stop> {
        let path = match &compiled.field_path {
            Some(below) => place.path.child(below),
            None => place.path.clone(),
        };
        let unchanged = !compiled.uses_old_self && place.ratchet.is_unchanged();
        let report = |findings: &mut Findings, error: FieldError| {
            if !unchanged {
                findings.errors.push(error);
            } else if findings.warnings.len() < MOST_PROBLEMS {
                findings.warnings.push(error.to_string());
            }
        };
        let mut detail = None;
        if let Some(message) = &compiled.message {
            // The text is always made with a plain oldSelf, whatever the rule has.
            let evaluated = run(message, &|variable| place.variable(variable, false), self.limit);
            if i64::try_from(evaluated.cost).map_or(true, |cost| cost > self.budget) {
                let detail = "messageExpression evaluation failed due to running out of cost budget, no further \
                              validation rules will be run";
                report(&mut self.findings, invalid(&path, place.kind, detail.to_owned()));
                return Err(Stop);
            }
            self.budget -= evaluated.cost as i64;
            match evaluated.outcome {
                Err(Failure::CostLimit) => {
                    let detail = format!(
                        "no further validation rules will be run due to call cost exceeds limit for \
                         messageExpression: {}",
                        gotemplate::format::quoted(&compiled.rule.message_expression)
                    );
                    report(&mut self.findings, invalid(&path, place.kind, detail));
                    return Err(Stop);
                }
                Ok(Value::String(text)) => {
                    let text = text.trim();
                    if !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n') {
                        detail = Some(text.to_owned());
                    }
                }
                _ => {}
            }
        }
        let detail = detail.unwrap_or_else(|| {
            let message = compiled.rule.message.trim();
            if compiled.rule.message.is_empty() {
                format!("failed rule: {}", shown(&compiled.rule))
            } else {
                message.to_owned()
            }
        });
        report(
            &mut self.findings,
            error(path, place, detail, compiled.rule.reason.as_deref()),
        );
        Ok(())
    }
}

/// Where rules run, and on what.
struct Place<'a> {
    node: &'a Node,
    path: &'a FieldPath,
    value: &'a Json,
    old: Option<&'a Json>,
    ratchet: Ratchet<'a>,
    kind: &'static str,
}

impl<'a> Place<'a> {
    /// Returns `self` or `oldSelf`.
    fn variable(&self, variable: usize, optional: bool) -> Option<Outcome<'a>> {
        let convert = |value: &'a Json| json::value(value, Some(&*self.node.schema), self.node.is_resource);
        match (variable, self.old) {
            (0, _) => Some(convert(self.value)),
            (_, Some(old)) if optional => Some(convert(old).map(|old| Value::Optional(Some(Arc::new(old))))),
            (_, None) if optional => Some(Ok(Value::Optional(None))),
            (_, Some(old)) => Some(convert(old)),
            (_, None) => None,
        }
    }
}

/// Returns the type that messages name instead of the value.
fn type_name(schema: &Schema) -> &'static str {
    match schema.value_type {
        Type::Any | Type::IntegerOrString => "",
        Type::Object => "object",
        Type::Array => "array",
        Type::String => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
    }
}

fn invalid(path: &FieldPath, kind: &str, detail: String) -> FieldError {
    FieldError::invalid(path.clone(), &Json::String(kind.to_owned()), detail)
}

/// Returns how messages call a rule: by its message, or by itself.
fn shown(rule: &Rule) -> &str {
    if rule.message.is_empty() {
        rule.rule.trim()
    } else {
        rule.message.trim()
    }
}

fn error(path: FieldPath, place: &Place<'_>, detail: String, reason: Option<&str>) -> FieldError {
    // Objects and lists are not repeated in messages.
    let value = match place.node.schema.value_type {
        Type::Object | Type::Array => None,
        _ => Some(schema::field_error::shown(place.value)),
    };
    match reason {
        Some("FieldValueForbidden") => FieldError::forbidden(path, detail),
        Some("FieldValueRequired") => FieldError::required(path, detail),
        Some("FieldValueDuplicate") => FieldError {
            kind: FieldErrorKind::Duplicate,
            field: path,
            value,
            detail: String::new(),
        },
        _ => FieldError {
            kind: FieldErrorKind::Invalid,
            field: path,
            value,
            detail,
        },
    }
}
