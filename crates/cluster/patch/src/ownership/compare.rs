//! Which fields differ between two objects of one shape.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter::Peekable;

use serde_json::{Map, Value};

use super::element::PathElement;
use super::matcher::Filter;
use super::order::same;
use super::problem::{Problems, scalar_problem};
use super::set::Set;
use super::shape::{Atom, Chosen, ItemNames, ListShape, MapShape, ScalarKind, Shape};

/// How the second of two objects differs from the first. No field is in two of the sets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// Fields that only the first has.
    pub removed: Set,
    /// Fields that both have, with different values.
    pub modified: Set,
    /// Fields that only the second has.
    pub added: Set,
}

impl Comparison {
    /// Returns whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    /// Returns the comparison of the fields that a filter lets through.
    pub fn filtered(self, filter: Option<&Filter>) -> Self {
        match filter {
            None => self,
            Some(filter) => Self {
                removed: filter.apply(self.removed),
                modified: filter.apply(self.modified),
                added: filter.apply(self.added),
            },
        }
    }
}

/// Compares two objects of one shape.
pub fn compare(left: &Value, right: &Value, shape: Shape<'_>) -> Result<Comparison, Problems> {
    let mut problems = Problems::default();
    let mut below = Comparison::default();
    walk(Some(left), Some(right), shape, &mut below, &mut problems);
    problems.into_result(below)
}

/// What the comparison says of one path itself.
#[expect(
    clippy::struct_excessive_bools,
    reason = "one for each of the three sets, which don't exclude each other"
)]
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    removed: bool,
    modified: bool,
    added: bool,
    /// Whether the value was compared as a whole.
    leaf: bool,
}

impl Mark {
    fn leaf(left: Option<&Value>, right: Option<&Value>) -> Self {
        let mark = Self {
            leaf: true,
            ..Self::default()
        };
        match (left, right) {
            (None, _) => Self { added: true, ..mark },
            (_, None) => Self {
                removed: true,
                ..mark
            },
            (Some(left), Some(right)) => Self {
                modified: !same(left, right),
                ..mark
            },
        }
    }
}

/// Notes in `below` what differs below this path, and returns what differs at it.
fn walk(
    left: Option<&Value>,
    right: Option<&Value>,
    shape: Shape<'_>,
    below: &mut Comparison,
    problems: &mut Problems,
) -> Mark {
    let atom = shape.atom();
    let (left_atom, right_atom) = (atom.deduced(left), atom.deduced(right));
    let mut mark = if right.is_none() {
        by_atom(left, right, left_atom, below, problems)
    } else if left.is_none() || left_atom.allows_same(&right_atom) {
        by_atom(left, right, right_atom, below, problems)
    } else {
        // The value changed from one kind to another: what the first had is gone, and the whole is different.
        let first = by_atom(left, right, left_atom, below, problems);
        let second = by_atom(left, right, right_atom, below, problems);
        Mark {
            removed: first.removed || second.removed,
            modified: first.modified || second.modified,
            added: first.added || second.added,
            leaf: second.leaf,
        }
    };
    if !mark.leaf {
        mark.added |= left.is_none();
        mark.removed |= left.is_some() && right.is_none();
    }
    mark
}

fn by_atom(
    left: Option<&Value>,
    right: Option<&Value>,
    atom: Atom<'_>,
    below: &mut Comparison,
    problems: &mut Problems,
) -> Mark {
    match atom.chosen() {
        Chosen::Map(shape) => {
            let (left_map, right_map) = (object(left), object(right));
            if shape.atomic || (left_map.is_none_or(Map::is_empty) && right_map.is_none_or(Map::is_empty)) {
                return Mark::leaf(left, right);
            }
            fields(left_map, right_map, &shape, below, problems);
            Mark::default()
        }
        Chosen::Scalar(kind) => scalar(left, right, kind, problems),
        Chosen::List(shape) => {
            let (left_items, right_items) = (items(left), items(right));
            let atomic = matches!(shape.names, ItemNames::Atomic);
            if atomic || (left_items.is_empty() && right_items.is_empty()) {
                return Mark::leaf(left, right);
            }
            if left_items != right_items {
                list(left_items, right_items, &shape, below, problems);
            }
            Mark::default()
        }
        Chosen::Nothing => {
            problems.report("schema error: invalid atom: inlined");
            Mark::default()
        }
    }
}

/// Only one side must be a scalar: the other may be what the field was before its type changed.
fn scalar(left: Option<&Value>, right: Option<&Value>, kind: ScalarKind, problems: &mut Problems) -> Mark {
    let left_problem = left.and_then(|value| scalar_problem(kind, value));
    let right_problem = right.and_then(|value| scalar_problem(kind, value));
    if let (Some(left), Some(right)) = (left_problem, right_problem) {
        problems.report(format!("lhs: {left}"));
        problems.report(format!("rhs: {right}"));
        return Mark::default();
    }
    Mark::leaf(left, right)
}

pub(super) fn object(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

pub(super) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn fields(
    left: Option<&Map<String, Value>>,
    right: Option<&Map<String, Value>>,
    shape: &MapShape<'_>,
    below: &mut Comparison,
    problems: &mut Problems,
) {
    for (name, left, right) in side_by_side(left, right) {
        // Scalars that are equal are most of an object.
        if let (Some(left), Some(right)) = (left, right)
            && !left.is_object()
            && left == right
        {
            continue;
        }
        let mut inner = Comparison::default();
        let before = problems.count();
        let mark = walk(left, right, shape.field(name), &mut inner, problems);
        problems.lead_in(before, format_args!(".{name}"));
        below.removed.attach_field(name, mark.removed, inner.removed);
        below.modified.attach_field(name, mark.modified, inner.modified);
        below.added.attach_field(name, mark.added, inner.added);
    }
}

/// Returns the fields of two objects by name, each with its value in both.
pub(super) fn side_by_side<'a>(
    left: Option<&'a Map<String, Value>>,
    right: Option<&'a Map<String, Value>>,
) -> impl Iterator<Item = (&'a str, Option<&'a Value>, Option<&'a Value>)> {
    let mut left: Peekable<_> = left.into_iter().flatten().peekable();
    let mut right: Peekable<_> = right.into_iter().flatten().peekable();
    std::iter::from_fn(move || {
        let order = match (left.peek(), right.peek()) {
            (Some((left, _)), Some((right, _))) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        match order {
            Ordering::Less => left
                .next()
                .map(|(name, value)| (name.as_str(), Some(value), None)),
            Ordering::Greater => right
                .next()
                .map(|(name, value)| (name.as_str(), None, Some(value))),
            Ordering::Equal => {
                let (name, value) = left.next()?;
                Some((name.as_str(), Some(value), right.next().map(|(_, value)| value)))
            }
        }
    })
}

/// The items of a list by name; several for a name that is there more than once.
type Named<'a> = BTreeMap<PathElement, Vec<&'a Value>>;

fn by_name<'a>(items: &'a [Value], shape: &ListShape<'_>, problems: &mut Problems) -> Named<'a> {
    let mut named = Named::new();
    for (position, item) in items.iter().enumerate() {
        match shape.name_item(item) {
            Err(problem) => problems.report(format!("element {position}: {problem}")),
            Ok(element) => named.entry(element).or_default().push(item),
        }
    }
    named
}

fn list(
    left: &[Value],
    right: &[Value],
    shape: &ListShape<'_>,
    below: &mut Comparison,
    problems: &mut Problems,
) {
    let left = by_name(left, shape, problems);
    let right = by_name(right, shape, problems);
    let item_shape = shape.item.shape();
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some((left, _)), Some((right, _))) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        let (mut left_items, mut right_items) = (Vec::new(), Vec::new());
        let mut name = None;
        if order.is_ge() {
            (name, right_items) = right
                .next()
                .map_or((None, Vec::new()), |(name, items)| (Some(name), items));
        }
        if order.is_le() {
            (name, left_items) = left
                .next()
                .map_or((None, Vec::new()), |(name, items)| (Some(name), items));
        }
        let Some(name) = name else { break };
        one_item(&name, &left_items, &right_items, item_shape, below, problems);
    }
}

fn one_item(
    name: &PathElement,
    left: &[&Value],
    right: &[&Value],
    shape: Shape<'_>,
    below: &mut Comparison,
    problems: &mut Problems,
) {
    let mut inner = Comparison::default();
    let mut child =
        |left, right| problems.below(name, |problems| walk(left, right, shape, &mut inner, problems));
    let mark = match (left, right) {
        // Items with one name are compared as one value.
        ([_, _, ..], [_, _, ..]) => {
            let equal =
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right));
            Mark {
                modified: !equal,
                ..Mark::default()
            }
        }
        ([_, _, ..], _) => {
            let mark = right
                .first()
                .map(|right| child(None, Some(*right)))
                .unwrap_or_default();
            Mark {
                removed: true,
                ..mark
            }
        }
        (_, [_, _, ..]) => {
            let mark = left
                .first()
                .map(|left| child(Some(*left), None))
                .unwrap_or_default();
            Mark { added: true, ..mark }
        }
        _ => child(left.first().copied(), right.first().copied()),
    };
    below.removed.attach(name, mark.removed, inner.removed);
    below.modified.attach(name, mark.modified, inner.modified);
    below.added.attach(name, mark.added, inner.added);
}
