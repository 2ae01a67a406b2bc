//! The set of the fields that an object has, and what a schema adds to a set.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::element::PathElement;
use super::set::{Node, Set};
use super::shape::{Chosen, ItemNames, ListShape, MapShape, Shape};

/// Returns every leaf and every list item that an object has.
pub fn field_set(value: &Value, shape: Shape<'_>) -> Set {
    let mut set = Set::default();
    walk(value, shape, &mut set);
    set
}

/// Collects what is below a path, and returns whether the path itself is a member.
fn walk(value: &Value, shape: Shape<'_>, below: &mut Set) -> bool {
    match shape.atom().deduced(Some(value)).chosen() {
        Chosen::Scalar(_) => true,
        Chosen::List(shape) => {
            if matches!(shape.names, ItemNames::Atomic) {
                return true;
            }
            if let Value::Array(items) = value {
                list(items, &shape, below);
            }
            false
        }
        Chosen::Map(shape) => {
            if shape.atomic {
                return true;
            }
            if let Value::Object(fields) = value {
                object(fields, &shape, below);
            }
            false
        }
        Chosen::Nothing => false,
    }
}

fn object(fields: &Map<String, Value>, shape: &MapShape<'_>, below: &mut Set) {
    for (name, value) in fields {
        let named = shape.named(name);
        let mut children = Set::default();
        let mut member = walk(value, named.unwrap_or_else(|| shape.unnamed()), &mut children);
        // A key of a map is something that its writer chose; a field of a type is not.
        member |= named.is_none() || value.is_null() || value.as_object().is_some_and(Map::is_empty);
        below.attach_field(name, member, children);
    }
}

fn list(items: &[Value], shape: &ListShape<'_>, below: &mut Set) {
    let item_shape = shape.item.shape();
    let mut names: BTreeMap<PathElement, (&Value, bool)> = BTreeMap::new();
    for item in items {
        let Ok(name) = shape.name_item(item) else { continue };
        names
            .entry(name)
            // Of several items with one name only the name is owned.
            .and_modify(|(_, duplicated)| *duplicated = true)
            .or_insert((item, false));
    }
    for (element, (item, duplicated)) in names {
        let mut children = Set::default();
        if !duplicated {
            walk(item, item_shape, &mut children);
        }
        below.attach_node(Node {
            element,
            member: true,
            children,
        });
    }
}

impl Set {
    /// Returns the set with those fields of types added that have members below them: who owns `.spec.replicas` counts
    /// as an owner of `.spec`, but who owns one label doesn't count as an owner of the labels.
    pub fn with_named_fields(&self, shape: Shape<'_>) -> Self {
        let atom = shape.atom();
        let nodes = self.nodes.iter().map(|node| {
            let mut member = node.member;
            let below = match (&node.element, &atom.map, &atom.list) {
                (PathElement::Field(name), Some(map), _) => {
                    let named = map.named(name);
                    member |= named.is_some() && !node.children.is_empty();
                    named.unwrap_or_else(|| map.unnamed())
                }
                (PathElement::Key(_), _, Some(list)) => list.item.shape(),
                _ => Shape::Undeclared,
            };
            Node {
                element: node.element.clone(),
                member,
                children: node.children.with_named_fields(below),
            }
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// Returns the set as it is after the schema made some of its places atomic; `None` if it is still right.
    pub fn reconciled(&self, shape: Shape<'_>) -> Option<Self> {
        let mut set = self.clone();
        reconcile(&mut set, shape).then_some(set)
    }

    /// Returns whether [`Set::reconciled`] would change anything.
    pub(super) fn is_reconciled(&self, shape: Shape<'_>) -> bool {
        let atom = shape.atom();
        self.nodes
            .iter()
            .all(|node| match child_shape(&atom.chosen(), &node.element) {
                None => true,
                Some(below) => !became_atomic(node, below) && node.children.is_reconciled(below),
            })
    }
}

fn child_shape<'a>(chosen: &Chosen<'a>, element: &PathElement) -> Option<Shape<'a>> {
    let shape = match (chosen, element) {
        (Chosen::List(list), _) => list.item.shape(),
        (Chosen::Map(map), _) if map.is_deduced() => return None,
        (Chosen::Map(map), PathElement::Field(name)) => map.field(name),
        (Chosen::Map(map), _) => map.unnamed(),
        _ => return None,
    };
    (!matches!(shape, Shape::Undeclared)).then_some(shape)
}

/// Returns whether a node owns parts of what its schema says is one value.
fn became_atomic(node: &Node, shape: Shape<'_>) -> bool {
    let owned_whole = node.member && node.children.is_empty();
    !owned_whole
        && match shape.atom().chosen() {
            Chosen::List(list) => matches!(list.names, ItemNames::Atomic),
            Chosen::Map(map) => !map.is_deduced() && map.atomic && !node.children.is_empty(),
            _ => false,
        }
}

fn reconcile(set: &mut Set, shape: Shape<'_>) -> bool {
    let chosen = shape.atom().chosen();
    let mut changed = false;
    for node in &mut set.nodes {
        let Some(below) = child_shape(&chosen, &node.element) else {
            continue;
        };
        if became_atomic(node, below) {
            node.member = true;
            node.children = Set::default();
            changed = true;
        } else {
            changed |= reconcile(&mut node.children, below);
        }
    }
    changed
}
