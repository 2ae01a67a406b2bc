//! Fields that a request can't write, whoever sends it.

use std::collections::BTreeMap;

use super::element::PathElement;
use super::set::{Node, Set};

/// Which fields of a set count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// All but these and what is below them: the status, for a write to the main resource.
    Exclude(Set),
    /// Only those that begin with one of these prefixes: the resources of containers, for a write to `pods/resize`.
    Include(Vec<Vec<Step>>),
}

/// One step of a prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Whatever is there.
    Any,
    /// This element.
    Element(PathElement),
}

/// For each version of a kind, the fields that count.
pub type ResetFields = BTreeMap<Box<str>, Filter>;

impl Filter {
    /// Returns the fields of a set that count.
    pub fn apply(&self, set: Set) -> Set {
        match self {
            Self::Exclude(excluded) => set.difference_deeply(excluded),
            Self::Include(prefixes) if prefixes.is_empty() => set,
            Self::Include(prefixes) => {
                let prefixes: Vec<&[Step]> = prefixes.iter().map(Vec::as_slice).collect();
                included(set, &prefixes)
            }
        }
    }
}

fn included(set: Set, prefixes: &[&[Step]]) -> Set {
    if prefixes.iter().any(|prefix| prefix.is_empty()) {
        return set;
    }
    let nodes = set.nodes.into_iter().filter_map(|node| {
        let first_any = prefixes
            .iter()
            .any(|prefix| matches!(prefix.first(), Some(Step::Any)));
        let below: Vec<&[Step]> = prefixes
            .iter()
            .filter_map(|prefix| match prefix.split_first()? {
                (Step::Any, rest) => Some(rest),
                // A step that matches anything hides those beside it.
                (Step::Element(element), rest) if !first_any && *element == node.element => Some(rest),
                _ => None,
            })
            .collect();
        if below.is_empty() {
            return None;
        }
        let children = included(node.children, &below);
        (node.member || !children.is_empty()).then_some(Node { children, ..node })
    });
    Set {
        nodes: nodes.collect(),
    }
}
