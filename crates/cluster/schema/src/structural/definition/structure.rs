//! Whether a schema is structural: every field has one type, said outside of the clauses of `allOf`, `anyOf`, `oneOf`
//! and `not`, which may only judge values.

use serde_json::Value;

use crate::structural::Pattern;
use crate::structural::document::Document;
use crate::{FieldError, FieldErrors, FieldPath};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Returns what keeps a schema from being structural, sorted by text.
pub(super) fn faults(schema: Document<'_>, path: &FieldPath) -> FieldErrors {
    let mut errors = FieldErrors::default();
    check_node(schema, Level::Root, path, &mut errors);
    check_completeness(schema, Some(schema), path, path, &mut errors);
    errors.sort();
    errors
}

fn check_node(node: Document<'_>, level: Level, path: &FieldPath, errors: &mut FieldErrors) {
    let type_name = node.type_name();
    let items = node.node("items");
    if type_name == "array" && items.is_none() {
        errors.push(FieldError::required(path.child("items"), "must be specified"));
    }
    if let Some(items) = items {
        check_node(items, Level::Item, &path.child("items"), errors);
    }
    let properties = path.child("properties");
    for (name, property) in node.named_nodes("properties") {
        check_node(property, Level::Field, &properties.key(name), errors);
    }
    let is_embedded = node.flag("x-kubernetes-embedded-resource");
    if let Some(additional) = node.value("additionalProperties") {
        let path = path.child("additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(
                path.clone(),
                "must not be used at the root",
            ));
        }
        if let Some(additional) = Document::of(additional) {
            check_node(additional, Level::Field, &path, errors);
        }
        if is_embedded {
            let rule = "must not be used if x-kubernetes-embedded-resource is set";
            errors.push(FieldError::forbidden(path, rule));
        }
    }
    let keeps_unknown = node.flag("x-kubernetes-preserve-unknown-fields");
    let is_int_or_string = node.flag("x-kubernetes-int-or-string");
    for (is_set, name) in [
        (keeps_unknown, "x-kubernetes-preserve-unknown-fields"),
        (is_embedded, "x-kubernetes-embedded-resource"),
    ] {
        if is_int_or_string && is_set {
            let rule = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(path.child(name), &Value::Bool(true), rule));
        }
    }
    let first_of_all = node.nodes("allOf").next();
    check_values(
        node,
        is_int_or_string_pattern(node),
        first_of_all.is_some_and(is_int_or_string_pattern),
        path,
        errors,
    );
    check_type(node, level, path, errors);
    check_resource_fields(node, level, path, errors);
    if is_embedded && !keeps_unknown && node.object("properties").is_none() {
        errors.push(FieldError::required(
            path.child("properties"),
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ));
    }
}

fn check_type(node: Document<'_>, level: Level, path: &FieldPath, errors: &mut FieldErrors) {
    let type_name = node.type_name();
    let place = path.child("type");
    if node.flag("x-kubernetes-embedded-resource") && type_name != "object" {
        let rule = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if type_name.is_empty() {
            FieldError::required(place.clone(), rule)
        } else {
            FieldError::invalid(place.clone(), &type_name.into(), rule)
        });
    } else if type_name.is_empty()
        && !node.flag("x-kubernetes-int-or-string")
        && !node.flag("x-kubernetes-preserve-unknown-fields")
    {
        errors.push(FieldError::required(
            place.clone(),
            match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        ));
    }
    if level == Level::Root && !matches!(type_name, "" | "object") {
        errors.push(FieldError::invalid(
            place,
            &type_name.into(),
            "must be object at the root",
        ));
    }
}

/// The fields that every resource has are described already; a schema may only narrow names.
fn check_resource_fields(node: Document<'_>, level: Level, path: &FieldPath, errors: &mut FieldErrors) {
    let is_resource = level == Level::Root || node.flag("x-kubernetes-embedded-resource");
    let properties = path.child("properties");
    let mut check_type = |name: &str, wanted: &str| {
        if let Some(property) = node.property(name).filter(|_| is_resource)
            && property.type_name() != wanted
        {
            errors.push(FieldError::invalid(
                properties.key(name).child("type"),
                &property.type_name().into(),
                format!("must be {wanted}"),
            ));
        }
    };
    check_type("kind", "string");
    check_type("apiVersion", "string");
    check_type("metadata", "object");
    if let Some(metadata) = node.property("metadata").filter(|_| level == Level::Root) {
        let names_only = metadata.object("properties").is_none_or(|properties| {
            properties
                .keys()
                .all(|name| matches!(name.as_str(), "name" | "generateName"))
        });
        let says_more = metadata.0.keys().any(|keyword| {
            let is_empty_list = metadata.items(keyword).is_empty()
                && metadata.value(keyword).is_some_and(Value::is_array)
                && matches!(keyword.as_str(), "enum" | "allOf" | "anyOf" | "oneOf");
            !matches!(keyword.as_str(), "type" | "default" | "properties" | "$ref")
                && !is_empty_list
                && metadata.is_set(keyword)
        });
        if !names_only || says_more {
            errors.push(FieldError::forbidden(
                properties.key("metadata"),
                "must not specify anything other than name and generateName, but metadata is implicitly specified",
            ));
        }
    }
}

/// Returns whether a node's `anyOf` says what `x-kubernetes-int-or-string` says, and nothing else.
fn is_int_or_string_pattern(node: Document<'_>) -> bool {
    let is_bare = |clause: &Value, wanted: &str| {
        Document::of(clause).is_some_and(|clause| {
            clause.type_name() == wanted
                && !clause.0.keys().any(|keyword| {
                    let is_empty_list = matches!(keyword.as_str(), "enum" | "allOf" | "anyOf" | "oneOf")
                        && clause.items(keyword).is_empty();
                    let is_overlooked = keyword == "$ref"
                        || keyword == "additionalProperties"
                            && clause.value(keyword) == Some(&Value::Bool(false));
                    keyword != "type" && !is_empty_list && !is_overlooked && clause.is_set(keyword)
                })
        })
    };
    matches!(node.items("anyOf"), [integer, string] if is_bare(integer, "integer") && is_bare(string, "string"))
}

/// Checks the clauses of a node; the first two flags tell of the two places where types may be said in clauses.
fn check_values(
    node: Document<'_>,
    skips_any_of: bool,
    skips_any_of_in_first: bool,
    path: &FieldPath,
    errors: &mut FieldErrors,
) {
    if !skips_any_of {
        for (index, clause) in node.nodes("anyOf").enumerate() {
            check_clause(clause, false, &path.child("anyOf").index(index), errors);
        }
    }
    for (index, clause) in node.nodes("allOf").enumerate() {
        let skips = skips_any_of_in_first && index == 0;
        check_clause(clause, skips, &path.child("allOf").index(index), errors);
    }
    for (index, clause) in node.nodes("oneOf").enumerate() {
        check_clause(clause, false, &path.child("oneOf").index(index), errors);
    }
    if let Some(clause) = node.node("not") {
        check_clause(clause, false, &path.child("not"), errors);
    }
    if let Some(pattern) = node.text("pattern")
        && let Err(error) = Pattern::new(pattern).expression()
    {
        let rule = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(FieldError::invalid(path.child("pattern"), &pattern.into(), rule));
    }
}

fn check_clause(clause: Document<'_>, skips_any_of: bool, path: &FieldPath, errors: &mut FieldErrors) {
    check_values(clause, skips_any_of, false, path, errors);
    if let Some(items) = clause.node("items") {
        check_clause(items, false, &path.child("items"), errors);
    }
    let properties = path.child("properties");
    for (name, property) in clause.named_nodes("properties") {
        check_clause(property, false, &properties.key(name), errors);
    }
    let mut forbid = |is_set: bool, name: &str, rule: &str| {
        if is_set {
            errors.push(FieldError::forbidden(
                path.child(name),
                format!("must be {rule} to be structural"),
            ));
        }
    };
    let allows_more = clause
        .value("additionalProperties")
        .is_some_and(|additional| additional.is_object() || additional == &Value::Bool(true));
    forbid(!clause.type_name().is_empty(), "type", "empty");
    forbid(allows_more, "additionalProperties", "undefined");
    forbid(clause.value("default").is_some(), "default", "undefined");
    for name in ["title", "description"] {
        forbid(clause.text(name).is_some(), name, "empty");
    }
    for name in [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        forbid(clause.flag(name), name, "false");
    }
    let keys = "x-kubernetes-list-map-keys";
    forbid(!clause.items(keys).is_empty(), keys, "empty");
    for name in ["x-kubernetes-list-type", "x-kubernetes-map-type"] {
        forbid(clause.is_set(name), name, "undefined");
    }
    let rules = "x-kubernetes-validations";
    forbid(!clause.items(rules).is_empty(), rules, "empty");
    if clause.property("metadata").is_some() {
        errors.push(FieldError::forbidden(
            properties.key("metadata"),
            "must not be specified in a nested context",
        ));
    }
}

/// Checks that what the clauses at the root speak of is described outside of them. Upstream doesn't ask it of clauses
/// further inside.
fn check_completeness(
    clauses: Document<'_>,
    structure: Option<Document<'_>>,
    structure_path: &FieldPath,
    clause_path: &FieldPath,
    errors: &mut FieldErrors,
) {
    if let Some(clause) = clauses.node("not") {
        check_clause_completeness(
            clause,
            structure,
            structure_path,
            &clause_path.child("not"),
            errors,
        );
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        for (index, clause) in clauses.nodes(name).enumerate() {
            let path = clause_path.child(name).index(index);
            check_clause_completeness(clause, structure, structure_path, &path, errors);
        }
    }
}

fn check_clause_completeness(
    clause: Document<'_>,
    structure: Option<Document<'_>>,
    structure_path: &FieldPath,
    clause_path: &FieldPath,
    errors: &mut FieldErrors,
) {
    let Some(described) = structure else {
        let reason = format!("because it is defined in {clause_path}");
        errors.push(FieldError::required(structure_path.clone(), reason));
        return;
    };
    check_completeness(clause, structure, structure_path, clause_path, errors);
    if let Some(items) = clause.node("items") {
        check_clause_completeness(
            items,
            described.node("items"),
            &structure_path.child("items"),
            &clause_path.child("items"),
            errors,
        );
    }
    for (name, property) in clause.named_nodes("properties") {
        check_clause_completeness(
            property,
            described.property(name),
            &structure_path.child("properties").key(name),
            &clause_path.child("properties").key(name),
            errors,
        );
    }
}
