//! What the keywords of a schema may be, each by itself and together.

use serde_json::Value;

use super::rules::{RuleChecks, RuleSite};
use super::{Strictness, extensions, field_path};
use crate::structural::document::Document;
use crate::structural::read::read;
use crate::{FieldError, FieldErrors, FieldPath, Reference, Schema};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// What the place of a node says about the nodes inside.
#[derive(Clone)]
struct Place {
    /// Why defaults aren't allowed; `None` where they are.
    forbidden_defaults: Option<String>,
    is_inside_metadata: bool,
    /// The closest place above from which old and new values can't be matched.
    uncorrelatable: Option<FieldPath>,
}

impl Place {
    fn with_forbidden_defaults(&self, reason: &str) -> Self {
        Self {
            forbidden_defaults: Some(reason.to_owned()),
            ..self.clone()
        }
    }

    fn uncorrelatable_from(&self, path: &FieldPath) -> Self {
        Self {
            uncorrelatable: self.uncorrelatable.clone().or_else(|| Some(path.clone())),
            ..self.clone()
        }
    }
}

/// A schema as it was read, for the rules of CEL; and how often a value may be there.
#[derive(Clone, Copy)]
struct Typed<'a> {
    schema: &'a Schema,
    cardinality: Option<u64>,
}

impl<'a> Typed<'a> {
    /// Descends to a schema inside.
    fn inside(self, node: Document<'_>, schema: Option<&'a Reference>) -> Option<Self> {
        let most = match node.type_name() {
            "object" if node.value("additionalProperties").is_some() => node.count("maxProperties"),
            "array" => node.count("maxItems"),
            _ => Some(1),
        };
        let most = most.map(|most| u64::try_from(most).unwrap_or_default());
        Some(Self {
            schema: schema?.schema(),
            cardinality: self
                .cardinality
                .zip(most)
                .map(|(outer, inner)| outer.saturating_mul(inner)),
        })
    }
}

/// What was found: errors of the schema, and errors of its rules, which come behind all of them.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) schema: FieldErrors,
    pub(super) rules: FieldErrors,
}

impl Findings {
    fn merge(&mut self, other: Self) {
        self.schema.append(other.schema);
        self.rules.append(other.rules);
    }

    pub(super) fn all(mut self) -> FieldErrors {
        self.schema.append(self.rules);
        self.schema
    }
}

/// Checks a schema. `typed` is the schema as it was read, if it is sound enough for its rules to be checked.
pub(super) fn check(
    schema: Document<'_>,
    path: &FieldPath,
    strictness: &Strictness,
    typed: Option<&Schema>,
    checks: &mut dyn RuleChecks,
) -> Findings {
    let mut checker = Checker { strictness, checks };
    let place = Place {
        forbidden_defaults: None,
        is_inside_metadata: false,
        uncorrelatable: None,
    };
    let typed = typed.map(|schema| Typed {
        schema,
        cardinality: Some(1),
    });
    checker.node(schema, path, &place, true, typed)
}

struct Checker<'a> {
    strictness: &'a Strictness,
    checks: &'a mut dyn RuleChecks,
}

impl Checker<'_> {
    fn node(
        &mut self,
        node: Document<'_>,
        path: &FieldPath,
        place: &Place,
        is_root: bool,
        typed: Option<Typed<'_>>,
    ) -> Findings {
        let mut found = Findings::default();
        self.check_supported(node, path, place, &mut found.schema);
        if node.flag("uniqueItems") {
            found.schema.push(FieldError::forbidden(
                path.child("uniqueItems"),
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            ));
        }
        self.additional_properties(node, path, place, typed, &mut found);
        self.properties(node, path, place, is_root, typed, &mut found);
        if let Some(clause) = node.node("not") {
            found.merge(self.node(clause, &path.child("not"), place, false, None));
        }
        for name in ["allOf", "oneOf", "anyOf"] {
            for (index, clause) in node.nodes(name).enumerate() {
                found.merge(self.node(clause, &path.child(name).index(index), place, false, None));
            }
        }
        for (name, definition) in node.named_nodes("definitions") {
            found.merge(self.node(
                definition,
                &path.child("definitions").key(name),
                place,
                false,
                None,
            ));
        }
        self.items(node, path, place, typed, &mut found);
        for (name, dependency) in node.named_nodes("dependencies") {
            found.merge(self.node(
                dependency,
                &path.child("dependencies").key(name),
                place,
                false,
                None,
            ));
        }
        extensions::check(node, path, self.strictness, &mut found.schema);
        self.rules(node, path, place, is_root, typed, &mut found);
        found
    }

    fn additional_properties(
        &mut self,
        node: Document<'_>,
        path: &FieldPath,
        place: &Place,
        typed: Option<Typed<'_>>,
        found: &mut Findings,
    ) {
        let Some(additional) = node.value("additionalProperties") else {
            return;
        };
        let path = path.child("additionalProperties");
        if node.object("properties").is_some() && additional != &Value::Bool(true) {
            found.schema.push(FieldError::forbidden(
                path.clone(),
                "additionalProperties and properties are mutual exclusive",
            ));
        }
        if let Some(inner) = Document::of(additional) {
            let place = if place.is_inside_metadata {
                &place.with_forbidden_defaults("inside additionalProperties applying to object metadata")
            } else {
                place
            };
            let typed =
                typed.and_then(|typed| typed.inside(node, typed.schema.additional_properties.as_ref()));
            found.merge(self.node(inner, &path, place, false, typed));
        }
    }

    fn properties(
        &mut self,
        node: Document<'_>,
        path: &FieldPath,
        place: &Place,
        is_root: bool,
        typed: Option<Typed<'_>>,
        found: &mut Findings,
    ) {
        let is_resource = is_root || node.flag("x-kubernetes-embedded-resource");
        let is_correlatable = matches!(
            node.pointed_text("x-kubernetes-map-type"),
            None | Some("granular" | "atomic")
        );
        for (name, property) in node.named_nodes("properties") {
            let mut place = place.clone();
            if !is_correlatable {
                place = place.uncorrelatable_from(path);
            }
            if is_resource && matches!(name, "metadata" | "kind" | "apiVersion") {
                place.is_inside_metadata = true;
                if is_root {
                    place = place.with_forbidden_defaults(&format!("in top-level {name}"));
                }
            }
            let typed = typed.and_then(|typed| typed.inside(node, typed.schema.properties.get(name)));
            found.merge(self.node(
                property,
                &path.child("properties").key(name),
                &place,
                false,
                typed,
            ));
        }
    }

    fn items(
        &mut self,
        node: Document<'_>,
        path: &FieldPath,
        place: &Place,
        typed: Option<Typed<'_>>,
        found: &mut Findings,
    ) {
        let place = if node.pointed_text("x-kubernetes-list-type") == Some("map") {
            place.clone()
        } else {
            place.uncorrelatable_from(path)
        };
        let path = path.child("items");
        if let Some(items) = node.node("items") {
            let typed = typed.and_then(|typed| typed.inside(node, typed.schema.items.as_ref()));
            found.merge(self.node(items, &path, &place, false, typed));
        }
        for (index, item) in node.nodes("items").enumerate() {
            found.merge(self.node(item, &path.index(index), &place, false, None));
        }
    }

    /// Checks the keywords that JSON Schema has and custom resources haven't.
    fn check_supported(&self, node: Document<'_>, path: &FieldPath, place: &Place, errors: &mut FieldErrors) {
        let type_name = node.type_name();
        if self.strictness.valid_types && !type_name.is_empty() && !TYPES.contains(&type_name) {
            errors.push(FieldError::not_supported(
                path.child("type"),
                &type_name.into(),
                &TYPES,
            ));
        }
        let mut forbid = |is_set: bool, name: &str, rule: &str| {
            if is_set {
                errors.push(FieldError::forbidden(path.child(name), rule));
            }
        };
        if let Some(reason) = &place.forbidden_defaults {
            forbid(
                node.value("default").is_some(),
                "default",
                &format!("must not be set {reason}"),
            );
        }
        forbid(node.text("id").is_some(), "id", "id is not supported");
        forbid(
            node.value("additionalItems").is_some(),
            "additionalItems",
            "additionalItems is not supported",
        );
        for name in ["patternProperties", "definitions"] {
            forbid(
                node.object(name).is_some(),
                name,
                &format!("{name} is not supported"),
            );
        }
        forbid(
            node.value("dependencies").is_some(),
            "dependencies",
            "dependencies is not supported",
        );
        forbid(node.value("$ref").is_some(), "$ref", "$ref is not supported");
        forbid(
            type_name == "null",
            "type",
            "type cannot be set to null, use nullable as an alternative",
        );
        forbid(
            !node.items("items").is_empty(),
            "items",
            "items must be a schema object and not an array",
        );
        let embedded = "x-kubernetes-embedded-resource";
        forbid(
            place.is_inside_metadata && node.flag(embedded),
            embedded,
            "must not be used inside of resource meta",
        );
    }

    fn rules(
        &mut self,
        node: Document<'_>,
        path: &FieldPath,
        place: &Place,
        is_root: bool,
        typed: Option<Typed<'_>>,
        found: &mut Findings,
    ) {
        let rules = node.items("x-kubernetes-validations");
        if rules.is_empty() {
            return;
        }
        for (index, rule) in rules.iter().enumerate() {
            if let Some(rule) = Document::of(rule) {
                let path = path.child("x-kubernetes-validations").index(index);
                check_rule(node, rule, &path, &mut found.schema);
            }
        }
        // Rules of an unsound schema would only fail for reasons that aren't theirs.
        if let Some(typed) = typed.filter(|_| found.schema.is_empty()) {
            found.rules.extend(self.checks.check(&RuleSite {
                path,
                schema: typed.schema,
                is_resource: is_root || node.flag("x-kubernetes-embedded-resource"),
                cardinality: typed.cardinality,
                uncorrelatable: place.uncorrelatable.as_ref(),
                is_unchanged: self.strictness.unchanged_schema,
            }));
        }
    }
}

fn has_line_break(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

fn check_rule(node: Document<'_>, rule: Document<'_>, path: &FieldPath, errors: &mut FieldErrors) {
    let text = |name: &str| rule.text(name).unwrap_or_default();
    let trimmed = |name: &str| text(name).trim();
    let invalid = |name: &str, rule: &str| FieldError::invalid(path.child(name), &text(name).into(), rule);
    if trimmed("rule").is_empty() {
        errors.push(FieldError::required(path.child("rule"), "rule is not specified"));
    } else if !text("message").is_empty() && trimmed("message").is_empty() {
        errors.push(invalid("message", "must be non-empty if specified"));
    } else if has_line_break(trimmed("message")) {
        errors.push(invalid("message", "must not contain line breaks"));
    } else if has_line_break(trimmed("rule")) && trimmed("message").is_empty() {
        let cause = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(path.child("message"), cause));
    }
    if !text("messageExpression").is_empty() && trimmed("messageExpression").is_empty() {
        let cause = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(path.child("messageExpression"), cause));
    }
    if let Some(reason) = rule
        .pointed_text("reason")
        .filter(|reason| !REASONS.contains(reason))
    {
        errors.push(FieldError::not_supported(
            path.child("reason"),
            &reason.into(),
            &REASONS,
        ));
    }
    if !text("fieldPath").is_empty() {
        if trimmed("fieldPath").is_empty() {
            errors.push(invalid("fieldPath", "must be non-empty if specified"));
        }
        if has_line_break(text("fieldPath")) {
            errors.push(invalid("fieldPath", "must not contain line breaks"));
        }
        // A schema that can't be read is complained about elsewhere.
        let leads_nowhere = read(&Value::Object(node.0.clone()))
            .is_ok_and(|schema| field_path::follow(text("fieldPath"), &schema, true).is_err());
        if leads_nowhere {
            errors.push(invalid("fieldPath", "must be a valid path"));
        }
    }
}
