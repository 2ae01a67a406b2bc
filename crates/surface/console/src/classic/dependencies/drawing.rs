//! Who needs whom as SVG: what is needed stands above what needs it, and ways lead up from one to the other.

use std::collections::{BTreeMap, BTreeSet};

use super::Operators;
use crate::graph::lanes::{self, RADIUS, Span, cut, dot};
use crate::marks::Tone;

/// How many operators are drawn: a few screens. Those that have to do with others are drawn first.
pub(super) const MOST_NODES: usize = 40;
/// Room for the name of an operator and its marks.
const LABEL: usize = 560;
/// The longest name that is drawn; the title has it whole.
const LONGEST_LABEL: usize = 44;

/// The drawing of a namespace.
pub(super) struct Drawing {
    pub(super) svg: String,
    /// How many operators aren't drawn.
    pub(super) hidden: usize,
    /// How many ways had no room.
    pub(super) left_out: usize,
}

/// Something that stands in a row.
struct Node<'a> {
    name: &'a str,
    class: &'static str,
    mark: &'a str,
}

/// What is drawn before it has an order: operators, then what is missing.
struct Relations<'a> {
    nodes: Vec<Node<'a>>,
    /// By who needs something: those that it needs.
    needs: BTreeMap<usize, BTreeSet<usize>>,
}

impl<'a> Relations<'a> {
    fn of(operators: &'a Operators) -> Self {
        let mut nodes: Vec<Node<'a>> = operators
            .found
            .iter()
            .map(|operator| Node {
                name: &operator.name,
                class: match operator.pill.tone {
                    _ if operator.href.is_none() => "planned",
                    Tone::Good => "good",
                    Tone::Bad => "bad",
                    Tone::Warning => "warning",
                    Tone::Busy | Tone::Idle => "busy",
                },
                mark: &operator.pill.text,
            })
            .collect();
        let mut missing: BTreeMap<&str, usize> = BTreeMap::new();
        let mut needs: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for dependence in &operators.dependences {
            let needed = needs.entry(dependence.needer).or_default();
            needed.extend(&dependence.met_by);
            if dependence.met_by.is_empty() {
                let place = *missing.entry(&dependence.need).or_insert_with(|| {
                    nodes.push(Node {
                        name: &dependence.need,
                        class: "missing",
                        mark: "no operator here has it",
                    });
                    nodes.len() - 1
                });
                needed.insert(place);
            }
        }
        Self { nodes, needs }
    }

    /// The places of what is drawn, from top to bottom: what is needed before what needs it, then what stands alone.
    fn order(&self) -> Vec<usize> {
        let related: BTreeSet<usize> = self
            .needs
            .iter()
            .filter(|(_, needed)| !needed.is_empty())
            .flat_map(|(needer, needed)| needed.iter().chain([needer]))
            .copied()
            .collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut seen = BTreeSet::new();
        for place in related.iter().copied() {
            self.place_with_needs(place, &mut seen, &mut order);
        }
        order.extend((0..self.nodes.len()).filter(|place| !related.contains(place)));
        order
    }

    /// Puts a node below everything that it needs; a circle is cut where it is entered.
    fn place_with_needs(&self, start: usize, seen: &mut BTreeSet<usize>, order: &mut Vec<usize>) {
        // A stack of its own: a chain of needs may be longer than the program's stack is deep.
        let mut open = vec![(start, false)];
        while let Some((place, are_needs_placed)) = open.pop() {
            if are_needs_placed {
                order.push(place);
            } else if seen.insert(place) {
                open.push((place, true));
                let needed = self.needs.get(&place).into_iter().flatten();
                open.extend(needed.rev().map(|needed| (*needed, false)));
            }
        }
    }
}

/// Draws a namespace.
pub(super) fn draw(operators: &Operators) -> Drawing {
    let relations = Relations::of(operators);
    let mut order = relations.order();
    let hidden = order.len().saturating_sub(MOST_NODES);
    order.truncate(MOST_NODES);
    let rows: BTreeMap<usize, usize> = order
        .iter()
        .enumerate()
        .map(|(row, place)| (*place, row))
        .collect();
    let mut needed_by: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (needer, needed) in &relations.needs {
        for place in needed {
            if let (Some(from), Some(to)) = (rows.get(needer), rows.get(place)) {
                needed_by.entry(*to).or_default().push(*from);
            }
        }
    }
    for from in needed_by.values_mut() {
        from.sort_unstable();
    }
    let spans = needed_by.iter().map(|(to, from)| Span {
        class: "needs",
        to: *to,
        from,
        road_from: &[],
        may_be_straight: true,
    });
    let drawing = lanes::draw(
        &operators.words(),
        order.len(),
        LABEL,
        spans.collect(),
        |svg, row, at| {
            let node = order.get(row).and_then(|place| relations.nodes.get(*place));
            if let Some(node) = node {
                dot(
                    svg,
                    at,
                    RADIUS,
                    &format!("operator {}", node.class),
                    &format!("{}, {}", node.name, node.mark),
                    &cut(node.name, LONGEST_LABEL),
                    &[(node.class, node.mark)],
                );
            }
        },
    );
    Drawing {
        svg: drawing.svg,
        hidden,
        left_out: drawing.left_out,
    }
}
