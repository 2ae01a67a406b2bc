//! Expressions of policies, run for a request.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use serde_json::Value as Json;

use super::compiler::{Compiler, Expression, VARIABLES};
use crate::cost::PER_CALL_LIMIT;
use crate::evaluate::run;
use crate::library::authorization::{Authorization, Authorizer, ResourceAccess};
use crate::value::map::Entries;
use crate::value::{Failure, Map, Outcome, Value, json};

/// What the expressions of a policy are about.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The object as it will be; null on deletion.
    pub object: &'a Json,
    /// The object as it was; null on creation.
    pub old_object: &'a Json,
    /// The request, as an `AdmissionRequest` without its objects.
    pub request: &'a Json,
    /// The namespace of the object; null for cluster-scoped ones.
    pub namespace_object: &'a Json,
    /// The parameters of the policy's binding; null when there are none.
    pub params: &'a Json,
    /// Who decides what the requester may do, and the resource that is requested.
    pub authorizer: Option<(&'a dyn Authorizer, &'a ResourceAccess)>,
}

/// What an expression came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// True or false.
    Bool(bool),
    /// Text.
    String(String),
    /// Null.
    Null,
    /// Something else.
    Other(String),
}

/// The expressions of a policy cost more than they may: nothing more is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("validation failed due to running out of cost budget, no further validation rules will be run")]
pub struct OutOfBudget;

/// One request, seen by the expressions of one policy. Its variables are evaluated when they are first read, and once.
pub struct Evaluation<'a> {
    compiler: &'a Compiler,
    input: Input<'a>,
    budget: Cell<i64>,
    variables: Vec<RefCell<Option<Outcome<'a>>>>,
    /// What reading variables has cost since the last expression was settled.
    variables_cost: Cell<i64>,
}

impl<'a> Evaluation<'a> {
    /// Starts with what a request is about and what its expressions may cost together.
    pub fn new(compiler: &'a Compiler, input: Input<'a>, budget: i64) -> Self {
        let variables = compiler.variables.iter().map(|_| RefCell::new(None)).collect();
        Self {
            compiler,
            input,
            budget: Cell::new(budget),
            variables,
            variables_cost: Cell::new(0),
        }
    }

    /// Returns what is left of the budget.
    pub fn remaining_budget(&self) -> i64 {
        self.budget.get()
    }

    /// Evaluates an expression. The inner error is what went wrong with it alone.
    pub fn evaluate(&self, expression: &Expression) -> Result<Result<Output, String>, OutOfBudget> {
        let evaluated = run(&expression.program, &|place| self.variable(place), PER_CALL_LIMIT);
        let spent = i64::try_from(evaluated.cost)
            .unwrap_or(i64::MAX)
            .saturating_add(self.variables_cost.take());
        if spent > self.budget.get() {
            self.budget.set(-1);
            return Err(OutOfBudget);
        }
        self.budget.set(self.budget.get() - spent);
        Ok(match evaluated.outcome {
            Ok(Value::Bool(value)) => Ok(Output::Bool(value)),
            Ok(Value::String(text)) => Ok(Output::String(text.to_string())),
            Ok(Value::Null) => Ok(Output::Null),
            Ok(other) => Ok(Output::Other(crate::value::text::debug(&other))),
            Err(failure) => Err(format!(
                "expression '{}' resulted in error: {failure}",
                expression.text
            )),
        })
    }

    fn variable(&self, place: usize) -> Option<Outcome<'a>> {
        let input = &self.input;
        Some(Ok(match place {
            0 => json::dynamic(input.object),
            1 => json::dynamic(input.old_object),
            2 => json::dynamic(input.request),
            3 => json::dynamic(input.namespace_object),
            4 => json::dynamic(input.params),
            5 => Value::Authorization(Arc::new(Authorization::new(input.authorizer?.0))),
            6 => {
                let (authorizer, resource) = input.authorizer?;
                Value::Authorization(Arc::new(Authorization::of_resource(authorizer, resource.clone())))
            }
            7 => {
                let mut entries = Entries::default();
                for (index, variable) in self.compiler.variables.iter().enumerate() {
                    if let Ok(value) = self.own_variable(index)? {
                        entries.set(Value::string(&*variable.name), value);
                    }
                }
                Value::Map(Map::of(entries))
            }
            other => return self.own_variable(other - VARIABLES.len()),
        }))
    }

    /// Reads a variable that the policy defines.
    fn own_variable(&self, index: usize) -> Option<Outcome<'a>> {
        let (variable, kept) = (self.compiler.variables.get(index)?, self.variables.get(index)?);
        if let Some(outcome) = &*kept.borrow() {
            return Some(outcome.clone());
        }
        let name = gotemplate::format::quoted(&*variable.name);
        let outcome = match &variable.program {
            Err(fault) => Err(Failure::new(format!(
                "composited variable {name} fails to compile: {fault}"
            ))),
            Ok(program) => {
                let evaluated = run(program, &|place| self.variable(place), PER_CALL_LIMIT);
                let cost = i64::try_from(evaluated.cost).unwrap_or(i64::MAX);
                self.variables_cost
                    .set(self.variables_cost.get().saturating_add(cost));
                evaluated.outcome.map_err(|failure| {
                    Failure::new(format!("composited variable {name} fails to evaluate: {failure}"))
                })
            }
        };
        *kept.borrow_mut() = Some(outcome.clone());
        Some(outcome)
    }
}
