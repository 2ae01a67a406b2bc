//! Whether the defaults of a schema are what the schema itself demands.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::rules::RuleChecks;
use crate::structural::metadata::Malformed;
use crate::structural::validate::validate_default;
use crate::structural::{embedded, prune};
use crate::{FieldError, FieldErrors, FieldPath, Reference, Schema, Type};

/// Returns what is wrong with the defaults of a resource's schema.
pub(super) fn faults(
    schema: &Schema,
    path: &FieldPath,
    requires_pruned: bool,
    checks: &mut dyn RuleChecks,
) -> FieldErrors {
    let mut checker = Checker {
        requires_pruned,
        checks,
        errors: FieldErrors::default(),
    };
    let steps = Steps::Root;
    checker.node(
        schema,
        path,
        &Inside {
            root: schema,
            steps: &steps,
            is_metadata: false,
        },
        true,
    );
    checker.errors
}

/// Returns whether a schema has defaults that hold fields which it would prune.
pub(super) fn are_unpruned(schema: &Schema) -> bool {
    let own = schema.default.as_ref().is_some_and(|default| {
        let mut pruned = default.clone();
        !prune(schema, &mut pruned, schema.embedded_resource).is_empty()
    });
    own || schema
        .properties
        .values()
        .chain(&schema.items)
        .chain(&schema.additional_properties)
        .any(|reference| are_unpruned(reference.schema()))
}

/// How a place is reached from the resource around it.
enum Steps<'a> {
    Root,
    Field(&'a Steps<'a>, &'a str),
    Item(&'a Steps<'a>),
}

impl Steps<'_> {
    /// Builds the resource that holds nothing but a value at the end of the steps.
    fn around(&self, value: Value) -> Value {
        match self {
            Self::Root => value,
            Self::Field(outer, name) => {
                outer.around(Value::Object(Map::from_iter([((*name).to_owned(), value)])))
            }
            Self::Item(outer) => outer.around(Value::Array(vec![value])),
        }
    }
}

struct Inside<'a> {
    /// The schema of the closest resource around.
    root: &'a Schema,
    steps: &'a Steps<'a>,
    /// Whether the place is inside `apiVersion`, `kind` or `metadata`.
    is_metadata: bool,
}

struct Checker<'a> {
    requires_pruned: bool,
    checks: &'a mut dyn RuleChecks,
    errors: FieldErrors,
}

impl Checker<'_> {
    fn node(&mut self, schema: &Schema, path: &FieldPath, inside: &Inside<'_>, is_root: bool) {
        let is_resource = is_root || schema.embedded_resource;
        let own = Inside {
            root: schema,
            steps: &Steps::Root,
            is_metadata: false,
        };
        let inside = if is_resource { &own } else { inside };
        if let Some(default) = &schema.default {
            let place = path.child("default");
            let errors = if inside.is_metadata {
                metadata_faults(schema, default, &place, inside)
            } else {
                self.value_faults(schema, default, &place, is_resource)
            };
            match errors {
                Ok(()) => {
                    let errors = self.checks.check_default(&place, schema, is_resource, default);
                    self.errors.extend(errors);
                }
                Err(errors) => self.errors.append(errors),
            }
        }
        if let Some(items) = schema.items.as_ref().map(Reference::schema) {
            let steps = Steps::Item(inside.steps);
            let inside = Inside {
                steps: &steps,
                ..*inside
            };
            self.node(items, &path.child("items"), &inside, false);
        }
        for (name, property) in &schema.properties {
            let steps = Steps::Field(inside.steps, name);
            let is_metadata = inside.is_metadata
                || is_resource && matches!(name.as_ref(), "metadata" | "apiVersion" | "kind");
            let inside = Inside {
                steps: &steps,
                is_metadata,
                ..*inside
            };
            self.node(
                property.schema(),
                &path.child("properties").key(name),
                &inside,
                false,
            );
        }
    }

    fn value_faults(
        &mut self,
        schema: &Schema,
        default: &Value,
        place: &FieldPath,
        is_resource: bool,
    ) -> Result<(), FieldErrors> {
        if self.requires_pruned {
            let mut pruned = default.clone();
            prune(schema, &mut pruned, is_resource);
            if pruned != *default {
                let rule = "must not have unknown fields";
                self.errors
                    .push(FieldError::invalid(place.clone(), default, rule));
            }
        }
        let mut coerced = default.clone();
        embedded::coerce(schema, &mut coerced, is_resource, Malformed::Refuse, place).map_err(only)?;
        none_of(embedded::validate(schema, &coerced, is_resource, place))?;
        none_of(validate_default(place, &without_int_or_string(schema), &coerced))
    }
}

fn only(error: FieldError) -> FieldErrors {
    FieldErrors::from(vec![error])
}

fn none_of(errors: FieldErrors) -> Result<(), FieldErrors> {
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Checks a default inside metadata, which must make sound metadata of the resource around it.
fn metadata_faults(
    schema: &Schema,
    default: &Value,
    place: &FieldPath,
    inside: &Inside<'_>,
) -> Result<(), FieldErrors> {
    let invalid = |cause: &str| {
        let rule = format!("must result in valid metadata: {cause}");
        only(FieldError::invalid(place.clone(), default, rule))
    };
    let mut resource = inside.steps.around(default.clone());
    if let Value::Object(fields) = &mut resource {
        for (name, text) in [("kind", "Validation"), ("apiVersion", "validation/v1")] {
            fields.entry(name).or_insert_with(|| text.into());
        }
    }
    let root = FieldPath::root();
    embedded::coerce(inside.root, &mut resource, true, Malformed::Refuse, &root)
        .map_err(|error| invalid(&error.to_string()))?;
    let errors = embedded::validate(inside.root, &resource, true, &root);
    if !errors.is_empty() {
        return Err(invalid(&aggregate(errors.told())));
    }
    none_of(validate_default(place, &without_int_or_string(schema), default))
}

/// Returns several errors as one, as Go's aggregates print them: each text once.
pub(super) fn aggregate(errors: &[FieldError]) -> String {
    let mut known = HashSet::new();
    let texts: Vec<String> = errors
        .iter()
        .map(ToString::to_string)
        .filter(|text| known.insert(text.clone()))
        .collect();
    match texts.as_slice() {
        [only] => only.clone(),
        all => format!("[{}]", all.join(", ")),
    }
}

/// Returns the schema as defaults are judged by it: `x-kubernetes-int-or-string` by itself demands no type of them.
fn without_int_or_string(schema: &Schema) -> Schema {
    let mut copy = schema.clone();
    if copy.value_type == Type::IntegerOrString {
        copy.value_type = Type::Any;
    }
    let inline =
        |reference: &Reference| Reference::Inline(Arc::new(without_int_or_string(reference.schema())));
    for property in copy.properties.values_mut() {
        *property = inline(property);
    }
    copy.items = copy.items.as_ref().map(inline);
    copy.additional_properties = copy.additional_properties.as_ref().map(inline);
    copy
}
