//! Selectors as kinds hold them: `{matchLabels: …, matchExpressions: …}`.

use schema::field_error::shown;
use serde_json::Value;

use super::{Operator, Requirement, SelectorError};

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
