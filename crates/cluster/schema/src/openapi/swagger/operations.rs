//! Paths in the older form.

use serde_json::{Map, Value, json};

use super::definitions::schema;

/// The order in which media types are told; others come first.
const ORDER: [&str; 9] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// What the operations of custom resources are written in.
const CUSTOM_FORMS: [&str; 2] = ["application/json", "application/yaml"];

/// Returns what can be done at a path.
pub(super) fn path_item(newer: &Value) -> Value {
    let mut older = Map::new();
    for (key, value) in newer.as_object().into_iter().flatten() {
        let value = if key == "parameters" {
            parameters(value).into()
        } else {
            operation(value)
        };
        older.insert(key.clone(), value);
    }
    Value::Object(older)
}

fn operation(newer: &Value) -> Value {
    let mut older = Map::new();
    let mut produces: Vec<&str> = Vec::new();
    let mut has_definition = false;
    for (key, value) in newer.as_object().into_iter().flatten() {
        let value = match key.as_str() {
            "requestBody" | "parameters" => continue,
            "responses" => {
                let mut answers = Map::new();
                for (code, answer) in value.as_object().into_iter().flatten() {
                    let mut told = json!({ "description": answer["description"] });
                    if let Some((forms, content)) = content(answer) {
                        has_definition |= content.get("$ref").is_some();
                        told["schema"] = schema(content);
                        produces = forms;
                    }
                    answers.insert(code.clone(), told);
                }
                Value::Object(answers)
            }
            _ => value.clone(),
        };
        older.insert(key.clone(), value);
    }
    let body = newer.get("requestBody");
    let consumes: Vec<&str> = match body.and_then(content) {
        Some((forms, _)) => forms,
        None if newer.get("x-kubernetes-action").is_none() && has_definition => produces.clone(),
        None if newer.get("x-kubernetes-action").is_none() => Vec::new(),
        None if produces == CUSTOM_FORMS => CUSTOM_FORMS.to_vec(),
        None => vec!["*/*"],
    };
    for (key, forms) in [("consumes", consumes), ("produces", produces)] {
        if !forms.is_empty() {
            older.insert(key.into(), forms.into());
        }
    }
    older.insert("schemes".into(), json!(["https"]));
    let mut taken = Vec::new();
    if let Some((body, (_, content))) = body.and_then(|body| Some((body, content(body)?))) {
        let mut parameter = json!({ "name": "body", "in": "body", "schema": schema(content) });
        if body["required"] == true {
            parameter["required"] = true.into();
        }
        taken.push(parameter);
    }
    taken.extend(parameters(&newer["parameters"]));
    if !taken.is_empty() {
        older.insert("parameters".into(), taken.into());
    }
    Value::Object(older)
}

/// Returns the media types of a body or an answer in their order, and its schema.
fn content(of: &Value) -> Option<(Vec<&str>, &Value)> {
    let content = of.get("content")?.as_object()?;
    let mut forms: Vec<&str> = content.keys().map(String::as_str).collect();
    forms.sort_by_key(|form| {
        ORDER
            .iter()
            .position(|known| known == form)
            .map_or(0, |place| place + 1)
    });
    Some((forms, content.values().next()?.get("schema")?))
}

fn parameters(newer: &Value) -> Vec<Value> {
    newer
        .as_array()
        .into_iter()
        .flatten()
        .map(|parameter| {
            let mut older = parameter.as_object().cloned().unwrap_or_default();
            if let Some(Value::Object(typed)) = older.remove("schema") {
                older.extend(typed);
            }
            older.insert("uniqueItems".into(), true.into());
            Value::Object(older)
        })
        .collect()
}
