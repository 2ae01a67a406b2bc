//! The rows of who may do what: bindings, signing requests, admission policies.

use serde_json::Value;

use super::cells::{Cells, at, human_duration, items_at, number_at, or, text_at};

pub(super) fn binding(cells: &Cells<'_>) -> Vec<Value> {
    let binding = cells.object();
    let subjects = |kind: &str| -> Value {
        let names: Vec<String> = items_at(binding, "subjects")
            .iter()
            .filter(|subject| text_at(subject, "kind") == kind)
            .map(|subject| {
                let (namespace, name) = (text_at(subject, "namespace"), text_at(subject, "name"));
                if kind == "ServiceAccount" {
                    format!("{namespace}/{name}")
                } else {
                    name.to_owned()
                }
            })
            .collect();
        names.join(", ").into()
    };
    let role = format!(
        "{}/{}",
        text_at(binding, "roleRef.kind"),
        text_at(binding, "roleRef.name")
    );
    vec![
        cells.name(),
        role.into(),
        cells.age(),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}

pub(super) fn signing_request(cells: &Cells<'_>) -> Vec<Value> {
    let request = cells.object();
    let has = |condition_type: &str| {
        items_at(request, "status.conditions")
            .iter()
            .any(|condition| text_at(condition, "type") == condition_type)
    };
    let mut status = if has("Denied") {
        "Denied".to_owned()
    } else if has("Approved") {
        "Approved".to_owned()
    } else {
        "Pending".to_owned()
    };
    if has("Failed") {
        status.push_str(",Failed");
    }
    if !text_at(request, "status.certificate").is_empty() {
        status.push_str(",Issued");
    }
    let duration = at(request, "spec.expirationSeconds").map_or("<none>".to_owned(), |_| {
        human_duration(number_at(request, "spec.expirationSeconds"))
    });
    vec![
        cells.name(),
        cells.age(),
        cells.text_or("spec.signerName", "<none>"),
        cells.text("spec.username"),
        duration.into(),
        status.into(),
    ]
}

/// Returns the cells of an admission policy whose rules are at `rules`.
pub(super) fn policy(cells: &Cells<'_>, rules: &str) -> Vec<Value> {
    let parameters = at(cells.object(), "spec.paramKind").map_or("<unset>".to_owned(), |parameters| {
        format!(
            "{}/{}",
            text_at(parameters, "apiVersion"),
            text_at(parameters, "kind")
        )
    });
    vec![cells.name(), cells.count(rules), parameters.into(), cells.age()]
}

pub(super) fn policy_binding(cells: &Cells<'_>) -> Vec<Value> {
    let parameters = at(cells.object(), "spec.paramRef").map(|parameters| {
        let name = text_at(parameters, "name");
        match at(parameters, "selector") {
            _ if !name.is_empty() => format!("{}/{name}", or(text_at(parameters, "namespace"), "*")),
            Some(selector) => as_go_prints_it(selector),
            None => "<unset>".to_owned(),
        }
    });
    let parameters = parameters.unwrap_or_else(|| "<unset>".to_owned());
    vec![
        cells.name(),
        cells.text("spec.policyName"),
        parameters.into(),
        cells.age(),
    ]
}

/// Returns a selector as Go prints the type: upstream shows it so.
fn as_go_prints_it(selector: &Value) -> String {
    let mut labels = String::new();
    for (key, value) in at(selector, "matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        labels.extend([key, ": ", value.as_str().unwrap_or_default(), ","]);
    }
    let mut expressions = String::new();
    for expression in items_at(selector, "matchExpressions") {
        let values: Vec<&str> = items_at(expression, "values")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        expressions += "LabelSelectorRequirement{Key:";
        expressions += text_at(expression, "key");
        expressions += ",Operator:";
        expressions += text_at(expression, "operator");
        expressions += ",Values:[";
        expressions += &values.join(" ");
        expressions += "],},";
    }
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}
