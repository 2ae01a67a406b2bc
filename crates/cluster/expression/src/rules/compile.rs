//! Rules, made ready to run.

use std::sync::Arc;

use schema::Schema;
use schema::structural::Rule;

use crate::check::declared::LARGEST_REQUEST;
use crate::check::{Checked, Declared, Scope, Type, check};
use crate::cost::estimate::estimate;
use crate::evaluate::Program;
use crate::evaluate::plan::plan;
use crate::syntax::parse::parse;

/// The variables of a rule, by their places.
pub(super) const VARIABLES: [&str; 2] = ["self", "oldSelf"];

/// The name of the type of `self`. Upstream draws a number for it so that nobody relies on it.
const SELF_TYPE: &str = "selfType1";

/// A rule, and what came of compiling it.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) rule: Rule,
    /// The program; `None` when the rule is empty or wrong.
    pub(super) program: Option<Program>,
    /// What is wrong with the rule.
    pub(super) error: Option<String>,
    /// Whether it reads `oldSelf`.
    pub(super) uses_old_self: bool,
    /// The most that it can cost.
    pub(super) most_cost: u64,
    /// How often its place can be there in one object, when no schema above bounds that.
    pub(super) most_places: u64,
    /// The program that makes the message; `None` when there is none or it is wrong.
    pub(super) message: Option<Program>,
    /// What is wrong with the expression that makes the message.
    pub(super) message_error: Option<String>,
    /// The most that making the message can cost.
    pub(super) message_cost: u64,
    /// The field that is blamed, below the rule's place.
    pub(super) field_path: Option<String>,
}

/// Compiles rules for a value that the schema declares.
pub(super) fn compile(rules: &[Rule], schema: &Schema, declared: &Arc<Declared>) -> Vec<CompiledRule> {
    let of = declared.named(SELF_TYPE);
    let plain = Scope::default()
        .with("self", of.clone())
        .with("oldSelf", of.clone());
    let optional = Scope::default()
        .with("self", of.clone())
        .with("oldSelf", Type::optional(of));
    // At least a comma stands between two values.
    let most_places = (LARGEST_REQUEST / (declared.smallest_size + 1)) as u64;
    rules
        .iter()
        .map(|rule| {
            let scope = if rule.optional_old_self == Some(true) {
                &optional
            } else {
                &plain
            };
            compile_one(rule, schema, declared, scope, most_places)
        })
        .collect()
}

fn compile_one(
    rule: &Rule,
    schema: &Schema,
    declared: &Arc<Declared>,
    scope: &Scope,
    most_places: u64,
) -> CompiledRule {
    let mut compiled = CompiledRule {
        rule: rule.clone(),
        program: None,
        error: None,
        uses_old_self: false,
        most_cost: 0,
        most_places,
        message: None,
        message_error: None,
        message_cost: 0,
        field_path: None,
    };
    if rule.rule.trim().is_empty() {
        return compiled;
    }
    let checked = match read(&rule.rule, scope) {
        Ok(checked) => checked,
        Err(issues) => {
            compiled.error = Some(format!("compilation failed: {issues}"));
            return compiled;
        }
    };
    if *checked.result_type() != Type::Bool {
        compiled.error = Some("cel expression must evaluate to a bool".to_owned());
        return compiled;
    }
    compiled.uses_old_self = checked.reads("oldSelf");
    match plan(&checked, &VARIABLES) {
        Ok(program) => compiled.program = Some(program),
        Err(failure) => {
            compiled.error = Some(format!("program instantiation failed: {failure}"));
            return compiled;
        }
    }
    compiled.most_cost = estimate(&checked, declared).most;
    if !rule.message_expression.is_empty() {
        match compile_message(&rule.message_expression, scope, declared) {
            Ok((program, cost)) => {
                compiled.message = Some(program);
                compiled.message_cost = cost;
            }
            Err(error) => {
                compiled.message_error = Some(error);
                return compiled;
            }
        }
    }
    if !rule.field_path.is_empty()
        && let Ok(found) = schema::structural::definition::field_path::follow(&rule.field_path, schema, true)
    {
        compiled.field_path = Some(found.path.text());
    }
    compiled
}

fn read(text: &str, scope: &Scope) -> Result<Checked, crate::syntax::Issues> {
    let (tree, source) = parse(text)?;
    check(tree, source, scope)
}

fn compile_message(text: &str, scope: &Scope, declared: &Arc<Declared>) -> Result<(Program, u64), String> {
    let checked =
        read(text, scope).map_err(|issues| format!("messageExpression compilation failed: {issues}"))?;
    if *checked.result_type() != Type::String {
        return Err("messageExpression must evaluate to a string".to_owned());
    }
    let program = plan(&checked, &VARIABLES)
        .map_err(|failure| format!("messageExpression instantiation failed: {failure}"))?;
    Ok((program, estimate(&checked, declared).most))
}
