//! What a policy and its bindings say, compiled once.

use expression::RUNTIME_BUDGET;
use expression::policy::{Compiler, Evaluation, Expression, Input, Output, Returns};
use serde_json::Value;

use crate::admission::expressions::{Conditions, Seen};
use crate::admission::matching::Matching;
use crate::object::Object;

/// The longest message that an expression may make.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// A policy.
#[derive(Debug)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Which writes it is about.
    pub matching: Matching,
    /// The kind of its parameters: `apiVersion` and `kind`.
    pub param_kind: Option<(String, String)>,
    /// Under which conditions it is asked.
    pub conditions: Conditions,
    /// Whether a write goes on when the policy fails.
    pub ignores_failures: bool,
    compiler: Compiler,
    message_compiler: Compiler,
    validations: Vec<Validation>,
    annotations: Vec<Result<Expression, String>>,
}

#[derive(Debug)]
struct Validation {
    text: String,
    expression: Result<Expression, String>,
    message: String,
    message_expression: Option<Expression>,
    reason: String,
}

/// What happens when a validation refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The write is refused.
    Deny,
    /// The client is warned.
    Warn,
    /// It is noted.
    Audit,
}

/// What puts a policy into force.
#[derive(Debug)]
pub struct Binding {
    /// Its name.
    pub name: String,
    /// The policy's name.
    pub policy: String,
    /// Which of the policy's writes it is about; `None` for all of them.
    pub matching: Option<Matching>,
    /// Which parameters are used.
    pub param_ref: Value,
    /// What happens when a validation refuses.
    pub actions: Vec<Action>,
}

/// Returns a compiler that knows the variables of a policy.
pub fn compiler_of(spec: &Value) -> Compiler {
    let mut compiler = Compiler::for_policy(spec["paramKind"].is_object());
    for variable in spec["variables"].as_array().into_iter().flatten() {
        let text = |name: &str| variable[name].as_str().unwrap_or_default();
        // One that is wrong makes those fail that read it.
        let _ = compiler.define(text("name"), text("expression"));
    }
    compiler
}

impl Policy {
    /// Reads a policy.
    pub fn read(policy: &Value) -> Self {
        let spec = &policy["spec"];
        let compiler = compiler_of(spec);
        let message_compiler = compiler.clone().without_authorizer();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let compile = |expression: &str, returns: Returns| {
            compiler
                .compile(expression, returns)
                .map_err(|fault| format!("compilation error: {fault}"))
        };
        let validations = spec["validations"].as_array().into_iter().flatten();
        let validations = validations
            .map(|validation| Validation {
                text: text(&validation["expression"]),
                expression: compile(
                    validation["expression"].as_str().unwrap_or_default(),
                    Returns::Bool,
                ),
                message: text(&validation["message"]),
                message_expression: validation["messageExpression"]
                    .as_str()
                    .and_then(|text| message_compiler.compile(text, Returns::String).ok()),
                reason: text(&validation["reason"]),
            })
            .collect();
        let annotations = spec["auditAnnotations"].as_array().into_iter().flatten();
        let annotations = annotations
            .map(|annotation| {
                compile(
                    annotation["valueExpression"].as_str().unwrap_or_default(),
                    Returns::StringOrNull,
                )
            })
            .collect();
        Self {
            name: policy.name().to_owned(),
            matching: Matching::of_policy(&spec["matchConstraints"]),
            param_kind: spec["paramKind"].is_object().then(|| {
                (
                    text(&spec["paramKind"]["apiVersion"]),
                    text(&spec["paramKind"]["kind"]),
                )
            }),
            conditions: Conditions::read(compiler.clone(), &spec["matchConditions"]),
            ignores_failures: spec["failurePolicy"] == "Ignore",
            compiler,
            message_compiler,
            validations,
            annotations,
        }
    }

    /// Returns the message and reason of every validation that refuses or fails; the budget's end is everything's.
    pub fn evaluate(&self, seen: &Seen<'_>) -> Result<Vec<(String, String)>, String> {
        let evaluation = Evaluation::new(&self.compiler, seen.input(), RUNTIME_BUDGET);
        let mut results = Vec::with_capacity(self.validations.len());
        for validation in &self.validations {
            results.push(match &validation.expression {
                Err(fault) => Err(fault.clone()),
                Ok(expression) => evaluation
                    .evaluate(expression)
                    .map_err(|spent| spent.to_string())?,
            });
        }
        let messages = self.messages(seen, evaluation.remaining_budget());
        let mut refused = Vec::new();
        for (index, (validation, result)) in self.validations.iter().zip(results).enumerate() {
            match (result, &messages) {
                (Err(failure), _) if !self.ignores_failures => refused.push((failure, String::new())),
                (Ok(_), Err(spent)) if !self.ignores_failures => {
                    refused.push((format!("failed messageExpression: {spent}"), String::new()));
                }
                (Err(_), _) | (Ok(_), Err(_)) | (Ok(Output::Bool(true)), Ok(_)) => {}
                (Ok(_), Ok(messages)) => {
                    let made = messages.get(index).cloned().flatten();
                    refused.push((validation.words(made), validation.reason.clone()));
                }
            }
        }
        refused.extend(self.failed_annotations(seen)?);
        Ok(refused)
    }

    fn messages(&self, seen: &Seen<'_>, budget: i64) -> Result<Vec<Option<String>>, String> {
        let input = Input {
            authorizer: None,
            ..seen.input()
        };
        let evaluation = Evaluation::new(&self.message_compiler, input, budget);
        let mut messages = Vec::with_capacity(self.validations.len());
        for validation in &self.validations {
            let made = match &validation.message_expression {
                None => None,
                Some(expression) => match evaluation.evaluate(expression) {
                    Err(spent) => return Err(spent.to_string()),
                    Ok(Ok(Output::String(text))) => Some(text),
                    Ok(_) => None,
                },
            };
            messages.push(made);
        }
        Ok(messages)
    }

    /// Returns what is wrong with the values of audit annotations; the values themselves are of no use without an audit.
    fn failed_annotations(&self, seen: &Seen<'_>) -> Result<Vec<(String, String)>, String> {
        let input = Input {
            authorizer: None,
            ..seen.input()
        };
        let evaluation = Evaluation::new(&self.compiler, input, RUNTIME_BUDGET);
        let mut failed = Vec::new();
        for annotation in &self.annotations {
            let result = match annotation {
                Err(fault) => Err(fault.clone()),
                Ok(expression) => evaluation
                    .evaluate(expression)
                    .map_err(|spent| spent.to_string())?,
            };
            if let Err(failure) = result
                && !self.ignores_failures
            {
                failed.push((failure, String::new()));
            }
        }
        Ok(failed)
    }
}

impl Validation {
    /// Returns what a refused write is told: what the expression made, the fixed message, or the rule itself.
    fn words(&self, made: Option<String>) -> String {
        let made = made.map(|text| text.trim().to_owned()).unwrap_or_default();
        if !made.is_empty() && made.len() <= LONGEST_MESSAGE && !made.contains('\n') {
            return made;
        }
        let fixed = self.message.trim();
        if fixed.is_empty() {
            format!("failed expression: {}", self.text.trim())
        } else {
            fixed.to_owned()
        }
    }
}

impl Binding {
    /// Reads a binding.
    pub fn read(binding: &Value) -> Self {
        let spec = &binding["spec"];
        let actions = spec["validationActions"].as_array().into_iter().flatten();
        Self {
            name: binding.name().to_owned(),
            policy: spec["policyName"].as_str().unwrap_or_default().to_owned(),
            matching: spec["matchResources"]
                .is_object()
                .then(|| Matching::of_policy(&spec["matchResources"])),
            param_ref: spec["paramRef"].clone(),
            actions: actions
                .filter_map(|action| match action.as_str()? {
                    "Deny" => Some(Action::Deny),
                    "Warn" => Some(Action::Warn),
                    "Audit" => Some(Action::Audit),
                    _ => None,
                })
                .collect(),
        }
    }
}
