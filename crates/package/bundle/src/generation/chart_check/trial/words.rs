//! What errors say, in a line that an author understands.

use chart::installation::InstallationError;
use chart::schema::{Complaint, SchemaError};
use serde_json::Value;

/// Whether an author has written that these values aren't enough.
pub(super) fn is_by_design(error: &InstallationError) -> bool {
    match error {
        InstallationError::Schema(violation) => violation.charts.iter().all(|chart| match &chart.error {
            SchemaError::Complaints(complaints) => complaints.iter().all(Complaint::asks_for_more),
            SchemaError::Faulty(_) | SchemaError::Unusable(_) => false,
        }),
        // Helm's words for what `required` and `fail` say.
        InstallationError::Render(error) => error.to_string().starts_with("execution error at ("),
        _ => false,
    }
}

pub(super) fn in_words(complaint: &Complaint) -> String {
    if complaint.causes.is_empty() {
        return complaint.description.clone();
    }
    let causes: Vec<String> = complaint
        .causes
        .iter()
        .map(|cause| format!("{} {}", cause.field, in_words(cause)))
        .collect();
    format!("{} ({})", complaint.description, causes.join("; "))
}

/// The rule about schemas that is broken furthest inside, with the JSON pointer to where: all around it fails because of it.
pub(super) fn innermost_rule(cause: &str) -> Option<(&str, &str)> {
    let mut innermost: Option<(&str, &str)> = None;
    for line in cause.lines() {
        let rule = line.trim_start().strip_prefix("- at '");
        let Some((pointer, rule)) = rule.and_then(|rule| rule.split_once("': ")) else {
            continue;
        };
        if !rule.ends_with(" failed") && innermost.is_none_or(|(known, _)| known.len() < pointer.len()) {
            innermost = Some((pointer, rule));
        }
    }
    innermost
}

pub(super) fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines.join(" ")
}

/// What keeps a document from being an object.
pub(super) fn object_fault(document: &Result<Value, goyaml::Error>) -> Option<String> {
    let object = match document {
        Ok(Value::Null) => return None,
        Ok(Value::Object(object)) => object,
        Ok(_) => return Some("it renders to something that is no object".to_owned()),
        Err(error) => return Some(error.to_string()),
    };
    let is_missing = |value: Option<&Value>| value.and_then(Value::as_str).is_none_or(str::is_empty);
    let missing = |field: &str| Some(format!("it renders to an object without {field}"));
    if is_missing(object.get("apiVersion")) {
        return missing("apiVersion");
    }
    if is_missing(object.get("kind")) {
        return missing("kind");
    }
    let metadata = |key: &str| object.get("metadata").and_then(|metadata| metadata.get(key));
    if !object.contains_key("items") && is_missing(metadata("name")) && is_missing(metadata("generateName")) {
        return missing("metadata.name");
    }
    None
}
