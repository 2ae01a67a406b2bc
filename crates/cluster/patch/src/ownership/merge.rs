//! What an object becomes when a configuration is applied to it.
//!
//! Nothing is removed here. The applied value wins; lists whose items have names keep the order of the object, except
//! that the items of the configuration come in its order.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::compare::{items, object, side_by_side};
use super::element::PathElement;
use super::problem::{Problems, scalar_problem};
use super::shape::{Atom, Chosen, ItemNames, ListShape, MapShape, Shape};

/// Returns `live` with what `applied` says.
pub fn merge(live: &Value, applied: &Value, shape: Shape<'_>) -> Result<Value, Problems> {
    let mut problems = Problems::default();
    let merged = walk(Some(live), Some(applied), shape, &mut problems);
    problems.into_result(merged.unwrap_or(Value::Null))
}

fn walk(
    live: Option<&Value>,
    applied: Option<&Value>,
    shape: Shape<'_>,
    problems: &mut Problems,
) -> Option<Value> {
    let atom = shape.atom();
    let (live_atom, applied_atom) = (atom.deduced(live), atom.deduced(applied));
    if applied.is_none() {
        return by_atom(live, applied, live_atom, problems);
    }
    if live.is_some() && !live_atom.allows_same(&applied_atom) {
        by_atom(live, applied, live_atom, problems);
    }
    by_atom(live, applied, applied_atom, problems)
}

fn whole(live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    applied.or(live).cloned()
}

fn by_atom(
    live: Option<&Value>,
    applied: Option<&Value>,
    atom: Atom<'_>,
    problems: &mut Problems,
) -> Option<Value> {
    match atom.chosen() {
        Chosen::Map(shape) => {
            let (live_fields, applied_fields) = (object(live), object(applied));
            // Of two empty values the applied one stays: null and {} are different.
            let empty = live_fields.is_none_or(Map::is_empty) && applied_fields.is_none_or(Map::is_empty);
            if shape.atomic || empty {
                return whole(live, applied);
            }
            fields(live_fields, applied_fields, &shape, problems)
        }
        Chosen::Scalar(kind) => {
            let live_problem = live.and_then(|value| scalar_problem(kind, value));
            let applied_problem = applied.and_then(|value| scalar_problem(kind, value));
            if let (Some(live), Some(applied)) = (live_problem, applied_problem) {
                problems.report(format!("lhs: {live}"));
                problems.report(format!("rhs: {applied}"));
                return None;
            }
            whole(live, applied)
        }
        Chosen::List(shape) => {
            let (live_items, applied_items) = (items(live), items(applied));
            let atomic = matches!(shape.names, ItemNames::Atomic);
            if atomic || (live_items.is_empty() && applied_items.is_empty()) {
                return whole(live, applied);
            }
            list(live_items, applied_items, &shape, problems)
        }
        Chosen::Nothing => {
            problems.report("schema error: invalid atom: inlined");
            None
        }
    }
}

fn fields(
    live: Option<&Map<String, Value>>,
    applied: Option<&Map<String, Value>>,
    shape: &MapShape<'_>,
    problems: &mut Problems,
) -> Option<Value> {
    let mut out = Map::new();
    for (name, live, applied) in side_by_side(live, applied) {
        let before = problems.count();
        let merged = walk(live, applied, shape.field(name), problems);
        problems.lead_in(before, format_args!(".{name}"));
        if let Some(merged) = merged {
            out.insert(name.to_owned(), merged);
        }
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

static DUPLICATED: Value = Value::Null;

/// The items of a list in order, each with its name, and the item that each name stands for.
struct Indexed<'a> {
    names: Vec<PathElement>,
    observed: BTreeMap<PathElement, &'a Value>,
}

impl<'a> Indexed<'a> {
    fn new(
        items: &'a [Value],
        shape: &ListShape<'_>,
        allow_duplicates: bool,
        problems: &mut Problems,
    ) -> Self {
        let mut names = Vec::with_capacity(items.len());
        let mut observed: BTreeMap<PathElement, &'a Value> = BTreeMap::new();
        for (position, item) in items.iter().enumerate() {
            let element = match shape.name_item(item) {
                Ok(element) => element,
                Err(problem) => {
                    problems.report(format!("element {position}: {problem}"));
                    continue;
                }
            };
            match observed.entry(element.clone()) {
                Entry::Occupied(_) if !allow_duplicates => {
                    problems.report(format!("duplicate entries for key {element}"));
                    continue;
                }
                // None of several items with one name is merged with the applied one: that one replaces them.
                Entry::Occupied(mut known) => {
                    known.insert(&DUPLICATED);
                }
                Entry::Vacant(new) => {
                    new.insert(item);
                }
            }
            names.push(element);
        }
        Self { names, observed }
    }

    fn get(&self, name: &PathElement) -> Option<&'a Value> {
        self.observed.get(name).copied()
    }
}

fn list(
    live_items: &[Value],
    applied_items: &[Value],
    shape: &ListShape<'_>,
    problems: &mut Problems,
) -> Option<Value> {
    let before = problems.count();
    let applied = Indexed::new(applied_items, shape, false, problems);
    let live = Indexed::new(live_items, shape, true, problems);
    if problems.count() > before {
        return None;
    }
    let mut shared: VecDeque<&PathElement> = applied
        .names
        .iter()
        .filter(|name| live.get(name).is_some())
        .collect();
    let mut next_shared = shared.pop_front();

    let item_shape = shape.item.shape();
    // What is wrong inside an item is not reported: the item was checked when its object was read.
    let merged = |live, applied| walk(live, applied, item_shape, &mut Problems::default());
    let mut out = Vec::with_capacity(live_items.len().max(applied_items.len()));
    let mut done: BTreeSet<&PathElement> = BTreeSet::new();
    let (mut live_at, mut applied_at) = (0, 0);
    while live_at < live.names.len() || applied_at < applied.names.len() {
        let (live_name, applied_name) = (live.names.get(live_at), applied.names.get(applied_at));
        if let (Some(name), Some(wanted)) = (live_name, applied_name) {
            if name == wanted {
                done.insert(wanted);
                out.extend(merged(live.get(name), applied.get(name)));
                live_at += 1;
                applied_at += 1;
                next_shared = shared.pop_front();
                continue;
            }
            if applied.get(name).is_some() && next_shared.is_some_and(|next| next != name) {
                // It comes later, where the configuration has it.
                live_at += 1;
                continue;
            }
        }
        if let Some(name) = live_name {
            if applied.get(name).is_none() {
                out.extend(merged(live_items.get(live_at), None));
                live_at += 1;
                continue;
            }
            if done.contains(name) {
                live_at += 1;
            }
        }
        if let Some(name) = applied_name {
            done.insert(name);
            out.extend(merged(live.get(name), applied.get(name)));
            applied_at += 1;
            if next_shared == Some(name) {
                next_shared = shared.pop_front();
            }
        }
    }
    (!out.is_empty()).then_some(Value::Array(out))
}
