//! The rules of a schema, at their places.

use std::collections::BTreeMap;
use std::sync::Arc;

use schema::{Reference, Schema};

use super::compile::{CompiledRule, compile};
use crate::check::{Declared, DeclaredKind};
use crate::escape::escape;

/// All rules of a schema, ready to run. It is made once for a schema and runs over many values.
#[derive(Debug)]
pub struct Compiled {
    pub(super) root: Option<Node>,
}

/// A place of a schema at which, or below which, there are rules.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) schema: Arc<Schema>,
    pub(super) rules: Vec<CompiledRule>,
    /// Why there can't be rules at this place.
    pub(super) error: Option<&'static str>,
    /// Whether the value is a resource.
    pub(super) is_resource: bool,
    pub(super) all_of: Vec<Node>,
    pub(super) items: Option<Box<Node>>,
    pub(super) values: Option<Box<Node>>,
    pub(super) properties: BTreeMap<Box<str>, Node>,
}

impl Compiled {
    /// Compiles the rules of a schema. `is_resource` says that its values are resources.
    pub fn new(schema: &Schema, is_resource: bool) -> Self {
        if !has_rules(schema) {
            return Self { root: None };
        }
        let declared = Declared::from_schema(schema, is_resource);
        let schema = Arc::new(schema.clone());
        Self {
            root: node(&schema, &schema, is_resource, declared.as_ref()),
        }
    }

    /// Returns whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }
}

/// Returns whether there are rules in the schema.
pub(super) fn has_rules(schema: &Schema) -> bool {
    let reference = |reference: &Reference| has_rules(reference.schema());
    schema
        .demands
        .as_ref()
        .is_some_and(|demands| !demands.rules.is_empty())
        || schema.items.as_ref().is_some_and(reference)
        || schema.additional_properties.as_ref().is_some_and(reference)
        || schema.properties.values().any(reference)
}

fn shared(reference: &Reference) -> Arc<Schema> {
    match reference {
        Reference::Inline(schema) => schema.clone(),
        Reference::Definition { .. } => Arc::new(reference.schema().clone()),
    }
}

/// Makes the node of a place. Its rules come from `source`, which is the schema itself or a part of its `allOf`.
fn node(
    source: &Schema,
    schema: &Arc<Schema>,
    is_resource: bool,
    declared: Option<&Arc<Declared>>,
) -> Option<Node> {
    let demands = source.demands.as_deref();
    let written = demands.map_or(&[] as &[_], |demands| &demands.rules);
    let (rules, error) = match declared {
        _ if written.is_empty() => (Vec::new(), None),
        None => (
            Vec::new(),
            Some("failed to convert to declType for CEL validation rules"),
        ),
        Some(declared) => (compile(written, schema, declared), None),
    };
    let element = declared.and_then(|declared| match &declared.kind {
        DeclaredKind::List(element) | DeclaredKind::Map(element) => Some(element),
        _ => None,
    });
    let below = |source: &Option<Reference>, reference: &Option<Reference>| {
        let (source, reference) = (source.as_ref()?, reference.as_ref()?);
        let schema = shared(reference);
        let is_resource = schema.embedded_resource;
        node(source.schema(), &schema, is_resource, element).map(Box::new)
    };
    let items = below(&source.items, &schema.items);
    let values = below(&source.additional_properties, &schema.additional_properties);
    let mut properties = BTreeMap::new();
    for (name, source) in &source.properties {
        let Some(reference) = schema.properties.get(name) else {
            continue;
        };
        let property = shared(reference);
        let made = match escape(name) {
            Some(escaped) => match declared.map(|declared| &declared.kind) {
                Some(DeclaredKind::Object(fields)) => fields.get(&*escaped).cloned(),
                _ => None,
            },
            None => Declared::from_schema(&property, property.embedded_resource),
        };
        let Some(made) = made else { continue };
        if let Some(found) = node(
            source.schema(),
            &property,
            property.embedded_resource,
            Some(&made),
        ) {
            properties.insert(name.clone(), found);
        }
    }
    let all_of = demands.map_or(&[] as &[_], |demands| &demands.all_of);
    let all_of: Vec<Node> = all_of
        .iter()
        .filter_map(|part| node(part, schema, is_resource, declared))
        .collect();
    let empty = rules.is_empty()
        && error.is_none()
        && items.is_none()
        && values.is_none()
        && properties.is_empty()
        && all_of.is_empty();
    (!empty).then(|| Node {
        schema: schema.clone(),
        rules,
        error,
        is_resource,
        all_of,
        items,
        values,
        properties,
    })
}
