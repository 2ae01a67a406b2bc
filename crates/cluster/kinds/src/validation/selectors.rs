//! Selectors of labels, as objects hold them.

use schema::structural::name_rules::{label_key, label_value};
use serde_json::Value;

use super::reading::Reading;
use super::report::{Errors, Path};
use super::syntax;
use crate::tree::{Fields, Tree};

/// Checks a selector of labels; `may_have_wrong_values` lets values be that an older server let in.
pub(super) fn check(
    errors: &mut Errors,
    path: &Path<'_>,
    selector: Option<&Fields>,
    may_have_wrong_values: bool,
) {
    let Some(selector) = selector else { return };
    syntax::labels(
        errors,
        &path.child("matchLabels"),
        selector.entries("matchLabels"),
    );
    let expressions = path.child("matchExpressions");
    for (index, expression) in selector.numbered("matchExpressions") {
        let path = expressions.index(index);
        let has_values = !expression.list("values").is_empty();
        match expression.text("operator") {
            "In" | "NotIn" if !has_values => errors.required(
                &path.child("values"),
                "must be specified when `operator` is 'In' or 'NotIn'",
            ),
            "Exists" | "DoesNotExist" if has_values => errors.forbidden(
                &path.child("values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => errors.invalid(&path.child("operator"), other, "not a valid selector operator"),
        }
        let key = expression.text("key");
        errors.faults(&path.child("key"), key, label_key(key));
        if !may_have_wrong_values {
            let values = path.child("values");
            for (index, value) in expression.texts("values").enumerate() {
                errors.faults(&values.index(index), value, label_value(value));
            }
        }
    }
}

/// Returns whether a selector has a value that can't be a label's.
pub(super) fn has_wrong_values(selector: Option<&Fields>) -> bool {
    selector.is_some_and(|selector| {
        selector.items("matchExpressions").any(|expression| {
            expression
                .texts("values")
                .any(|value| !label_value(value).is_empty())
        })
    })
}

/// What a selector says of labels.
pub(super) enum Match {
    /// It can't be read.
    Unreadable,
    /// It demands nothing.
    Everything,
    /// It was read; whether it fits.
    Fits(bool),
}

/// Returns whether a selector fits labels. No selector fits nothing.
pub(super) fn matches(selector: Option<&Fields>, labels: &Fields) -> Match {
    let Some(selector) = selector else {
        return Match::Fits(false);
    };
    if selector.is_zero("matchLabels") && selector.is_zero("matchExpressions") {
        return Match::Everything;
    }
    let mut faults = Errors::default();
    check(&mut faults, &Path::new("selector"), Some(selector), false);
    if !faults.is_empty() {
        return Match::Unreadable;
    }
    let fits_labels = selector
        .entries("matchLabels")
        .all(|(key, value)| labels.set_text(key) == Some(value));
    let fits_expressions = selector.items("matchExpressions").all(|expression| {
        let label = labels.get(expression.text("key")).and_then(Value::as_str);
        let is_listed = |label: &str| expression.texts("values").any(|value| value == label);
        match expression.text("operator") {
            "In" => label.is_some_and(is_listed),
            "NotIn" => !label.is_some_and(is_listed),
            "Exists" => label.is_some(),
            _ => label.is_none(),
        }
    });
    Match::Fits(fits_labels && fits_expressions)
}
