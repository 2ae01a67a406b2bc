//! The fields that custom resources can be selected by: paths into the schema.

use super::super::field_error::FieldError;
use super::SelectableField;
use super::schema::Schema;

/// The most fields a version may have for selecting.
const MAXIMUM_SELECTABLE_FIELDS: usize = 8;

/// What is wrong with the fields at `field`, that a schema describes.
pub(super) fn faults(fields: &[SelectableField], schema: Option<&Schema>, field: &str) -> Vec<FieldError> {
    let mut faults = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for (index, selectable) in fields.iter().enumerate() {
        let place = format!("{field}[{index}].jsonPath");
        let written = selectable.json_path.as_str();
        if written.is_empty() {
            faults.push(FieldError::required(place, ""));
            continue;
        }
        let (path, found) = match follow(written, schema) {
            Ok(found) => found,
            Err(problem) => {
                faults.push(FieldError::invalid(
                    place,
                    written,
                    format!("is an invalid path: {problem}"),
                ));
                continue;
            }
        };
        if path.first().is_some_and(|root| root == "metadata") {
            faults.push(FieldError::invalid(
                place.clone(),
                written,
                "must not point to fields in metadata",
            ));
        }
        if !found.is_some_and(|schema| matches!(schema.kind.as_str(), "string" | "boolean" | "integer")) {
            faults.push(FieldError::invalid(
                place.clone(),
                written,
                "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                 formats are allowed.",
            ));
        }
        let path = path.join(".");
        if seen.contains(&path) {
            faults.push(FieldError::duplicate(place, written));
        } else {
            seen.push(path);
        }
    }
    if seen.len() > MAXIMUM_SELECTABLE_FIELDS {
        faults.push(FieldError::too_many(field, seen.len(), MAXIMUM_SELECTABLE_FIELDS));
    }
    faults
}

/// Follows a path such as `.spec.color` and returns its steps and what it leads to.
fn follow<'s>(path: &str, schema: Option<&'s Schema>) -> Result<(Vec<String>, Option<&'s Schema>), String> {
    const NOWHERE: &str = "does not refer to a valid field";
    let mut steps = Vec::new();
    let mut schema = schema;
    let mut tokens = tokens(path).into_iter();
    while let Some(token) = tokens.next() {
        match token {
            "." => {}
            "[" => return Err("array notation is not allowed".to_owned()),
            other => return Err(format!("expected [ or . but got: {other}")),
        }
        let Some(name) = tokens.next() else {
            return Err("unexpected end of JSON path".to_owned());
        };
        let Some(parent) = schema else {
            return Err(NOWHERE.to_owned());
        };
        if !parent.properties.is_empty() {
            schema = Some(parent.properties.get(name).ok_or(NOWHERE)?);
            steps.push(name.to_owned());
        } else if let Some(additional) = &parent.additional_properties {
            schema = additional.schema.as_deref();
            steps.push(format!("[{name}]"));
        } else {
            return Err(NOWHERE.to_owned());
        }
    }
    Ok((steps, schema))
}

/// The path's delimiters and what stands between them; text in single quotes is one piece.
fn tokens(path: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let end = if first == '\'' {
            let mut previous = first;
            rest.char_indices()
                .skip(1)
                .find(|(_, character)| {
                    let closes = *character == '\'' && previous != '\\';
                    previous = *character;
                    closes
                })
                .map_or(rest.len(), |(at, _)| at + 1)
        } else {
            match rest.find(['.', '[', ']']) {
                Some(0) => 1,
                Some(at) => at,
                None => rest.len(),
            }
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after;
    }
    tokens
}
