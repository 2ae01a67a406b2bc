//! What is wrong with the expressions of policies and webhooks, told when they are written.

use expression::policy::{Compiler, Fault, Returns};
use schema::{FieldError, FieldErrorKind, FieldPath};
use serde_json::{Value, json};

use crate::resource::Resource;

/// The longest expression of an audit annotation's value.
const LONGEST_ANNOTATION: usize = 5 * 1024;

/// Returns what is wrong with the expressions of an object; nothing for kinds that have none.
pub fn errors(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    if &*resource.group != "admissionregistration.k8s.io" {
        return Vec::new();
    }
    match &*resource.kind {
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => webhooks(object, old),
        "ValidatingAdmissionPolicy" => policy(object, old),
        _ => Vec::new(),
    }
}

fn webhooks(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let conditions = |object: &Value| -> Vec<Value> {
        let all = object["webhooks"].as_array().into_iter().flatten();
        all.map(|webhook| webhook["matchConditions"].clone()).collect()
    };
    // What was there stays, whatever it is.
    if old.is_some_and(|old| conditions(old) == conditions(object)) {
        return Vec::new();
    }
    let mut errors = Vec::new();
    let webhooks = object["webhooks"].as_array().into_iter().flatten();
    for (index, webhook) in webhooks.enumerate() {
        let path = FieldPath::new("webhooks").index(index).child("matchConditions");
        check_conditions(
            &Compiler::for_webhooks(),
            &webhook["matchConditions"],
            &path,
            &mut errors,
        );
    }
    errors
}

fn check_conditions(compiler: &Compiler, conditions: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (index, condition) in conditions.as_array().into_iter().flatten().enumerate() {
        let expression = condition["expression"].as_str().unwrap_or_default().trim();
        let field = path.index(index).child("expression");
        check(compiler, expression, Returns::Bool, field, errors);
    }
}

fn policy(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let spec = &object["spec"];
    if old.is_some_and(|old| old["spec"] == *spec) {
        return Vec::new();
    }
    let mut errors = Vec::new();
    let path = FieldPath::new("spec");
    let has_params = spec["paramKind"].is_object();
    let mut compiler = Compiler::for_policy(has_params);
    for (index, variable) in spec["variables"].as_array().into_iter().flatten().enumerate() {
        let text = |name: &str| variable[name].as_str().unwrap_or_default();
        if text("expression").trim().is_empty() || text("name").trim().is_empty() {
            continue;
        }
        if let Err(fault) = compiler.define(text("name"), text("expression")) {
            let field = path.child("variables").index(index).child("expression");
            errors.push(told(&fault, text("expression"), field));
        }
    }
    let messages = compiler.clone().without_authorizer();
    for (index, validation) in spec["validations"].as_array().into_iter().flatten().enumerate() {
        let field = path.child("validations").index(index);
        let text = |name: &str| validation[name].as_str().unwrap_or_default();
        check(
            &compiler,
            text("expression"),
            Returns::Bool,
            field.child("expression"),
            &mut errors,
        );
        check(
            &messages,
            text("messageExpression"),
            Returns::String,
            field.child("messageExpression"),
            &mut errors,
        );
    }
    for (index, annotation) in spec["auditAnnotations"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let written = annotation["valueExpression"].as_str().unwrap_or_default();
        let field = path
            .child("auditAnnotations")
            .index(index)
            .child("valueExpression");
        if written.trim().len() <= LONGEST_ANNOTATION {
            check(
                &compiler,
                written.trim(),
                Returns::StringOrNull,
                field,
                &mut errors,
            );
        }
    }
    let unchanged = old.is_some_and(|old| old["spec"]["matchConditions"] == spec["matchConditions"]);
    if !unchanged {
        // Conditions are decided before variables have values.
        let conditions = if has_params {
            Compiler::for_policy(true)
        } else {
            Compiler::for_webhooks()
        };
        check_conditions(
            &conditions,
            &spec["matchConditions"],
            &path.child("matchConditions"),
            &mut errors,
        );
    }
    errors
}

fn check(
    compiler: &Compiler,
    expression: &str,
    returns: Returns,
    field: FieldPath,
    errors: &mut Vec<FieldError>,
) {
    // That something is missing is said with the rest of the structure.
    if expression.trim().is_empty() {
        return;
    }
    if let Err(fault) = compiler.compile(expression, returns) {
        errors.push(told(&fault, expression, field));
    }
}

fn told(fault: &Fault, expression: &str, field: FieldPath) -> FieldError {
    match fault {
        Fault::Invalid(why) => FieldError::invalid(field, &json!(expression), why.clone()),
        Fault::Internal(why) => FieldError {
            kind: FieldErrorKind::InternalError,
            field,
            value: None,
            detail: why.clone(),
        },
    }
}
