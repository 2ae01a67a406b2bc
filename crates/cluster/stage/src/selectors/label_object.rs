//! Selectors as kinds hold them: `{matchLabels: …, matchExpressions: …}`.

use schema::field_error::{FieldError, FieldPath, shown};
use serde_json::Value;

use super::SelectorError;
use super::label_syntax::{key_problems, value_problems};
use super::labels::{Operator, Requirement};

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn values_of(expression: &Value) -> Vec<String> {
    let values = expression.get("values").and_then(Value::as_array);
    values
        .into_iter()
        .flatten()
        .map(|value| value.as_str().unwrap_or_default().to_owned())
        .collect()
}

fn expressions(selector: &Value) -> impl Iterator<Item = &Value> {
    selector
        .get("matchExpressions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn match_labels(selector: &Value) -> impl Iterator<Item = (&String, &str)> {
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    labels
        .into_iter()
        .flatten()
        .map(|(key, value)| (key, value.as_str().unwrap_or_default()))
}

/// Returns the requirements of a selector object.
pub(super) fn requirements(selector: &Value) -> Result<Vec<Requirement>, SelectorError> {
    let mut out = Vec::new();
    for (key, value) in match_labels(selector) {
        out.push(Requirement::new(key, Operator::Equals, vec![value.to_owned()])?);
    }
    for expression in expressions(selector) {
        let operator = match text(expression, "operator") {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            other => {
                let quoted = shown(&Value::String(other.to_owned()));
                return Err(SelectorError(format!(
                    "{quoted} is not a valid label selector operator"
                )));
            }
        };
        out.push(Requirement::new(
            text(expression, "key"),
            operator,
            values_of(expression),
        )?);
    }
    Ok(out)
}

/// Returns what is wrong with a selector object.
pub(super) fn problems(selector: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut out = Vec::new();
    let mut report = |path: FieldPath, value: &str, problems: Vec<String>| {
        let value = Value::String(value.to_owned());
        out.extend(
            problems
                .into_iter()
                .map(|detail| FieldError::invalid(path.clone(), &value, detail)),
        );
    };
    let labels_path = path.child("matchLabels");
    for (key, value) in match_labels(selector) {
        report(labels_path.clone(), key, key_problems(key));
        report(labels_path.clone(), value, value_problems(value));
    }
    for (index, expression) in expressions(selector).enumerate() {
        out.extend(expression_problems(
            expression,
            &path.child("matchExpressions").index(index),
        ));
    }
    out
}

fn expression_problems(expression: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut out = Vec::new();
    let values = values_of(expression);
    let operator = text(expression, "operator");
    match operator {
        "In" | "NotIn" if values.is_empty() => out.push(FieldError::required(
            path.child("values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => out.push(FieldError::forbidden(
            path.child("values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            let other = Value::String(other.to_owned());
            out.push(FieldError::invalid(
                path.child("operator"),
                &other,
                "not a valid selector operator",
            ));
        }
    }
    let key = text(expression, "key");
    for detail in key_problems(key) {
        out.push(FieldError::invalid(
            path.child("key"),
            &Value::String(key.to_owned()),
            detail,
        ));
    }
    for (index, value) in values.into_iter().enumerate() {
        for detail in value_problems(&value) {
            out.push(FieldError::invalid(
                path.child("values").index(index),
                &Value::String(value.clone()),
                detail,
            ));
        }
    }
    out
}
