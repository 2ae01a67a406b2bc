//! Objects that select others, found by the labels of what they select.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kinds::label_selector::Operator;

use super::filed::label;
use crate::selectors::LabelSelector;
use crate::store::{Derived, Key, Labels, Stored};

/// Objects that select others of their namespace.
#[derive(Debug)]
pub struct Selecting {
    selector: fn(&Stored) -> Option<LabelSelector>,
    namespaces: HashMap<Arc<str>, Namespace>,
}

/// The selecting objects of a namespace.
#[derive(Debug, Default)]
struct Namespace {
    known: BTreeMap<Arc<str>, Known>,
    /// The names of those that select objects with a label.
    by_label: HashMap<String, BTreeSet<Arc<str>>>,
    /// The names of those that ask for no label with a certain value.
    others: BTreeSet<Arc<str>>,
}

/// What is known of a selecting object.
#[derive(Debug)]
struct Known {
    selector: LabelSelector,
    /// The label that it is found by.
    label: Option<String>,
}

/// Returns the labels that everything a selector selects has with a certain value.
pub fn equalities(selector: &LabelSelector) -> impl Iterator<Item = (&str, &str)> {
    selector.requirements().iter().filter_map(|requirement| {
        let is_equality = matches!(
            requirement.operator(),
            Operator::Equals | Operator::DoubleEquals | Operator::In
        );
        match requirement.values() {
            [value] if is_equality => Some((requirement.key(), value.as_str())),
            _ => None,
        }
    })
}

impl Selecting {
    /// Returns an empty index of objects that select by what is read from them; those that select nothing have no selector.
    pub fn by(selector: fn(&Stored) -> Option<LabelSelector>) -> Self {
        Self {
            selector,
            namespaces: HashMap::new(),
        }
    }

    /// Returns the names of the objects of a namespace that select something with one of some sets of labels, sorted.
    pub fn of(&self, namespace: &str, sets: &[&Labels]) -> BTreeSet<Arc<str>> {
        let Some(namespace) = self.namespaces.get(namespace) else {
            return BTreeSet::new();
        };
        let mut found = BTreeSet::new();
        for labels in sets {
            let by_label = labels
                .iter()
                .filter_map(|(key, value)| namespace.by_label.get(&label("", key, value)))
                .flatten();
            for name in by_label.chain(&namespace.others) {
                let selects = namespace
                    .known
                    .get(name)
                    .is_some_and(|known| known.selector.matches(*labels));
                if selects {
                    found.insert(name.clone());
                }
            }
        }
        found
    }

    /// Returns how many objects of a namespace are looked at at most because of one label.
    #[cfg(test)]
    pub(super) fn most_under_a_label(&self, namespace: &str) -> usize {
        let namespace = self.namespaces.get(namespace);
        let names = namespace
            .into_iter()
            .flat_map(|namespace| namespace.by_label.values());
        names.map(BTreeSet::len).max().unwrap_or(0)
    }

    fn remove(&mut self, key: &Key) {
        let Some(namespace) = self.namespaces.get_mut(&key.namespace) else {
            return;
        };
        let Some(known) = namespace.known.remove(&key.name) else {
            return;
        };
        if let Some(label) = known.label {
            if let Some(names) = namespace.by_label.get_mut(&label) {
                names.remove(&key.name);
                if names.is_empty() {
                    namespace.by_label.remove(&label);
                }
            }
        } else {
            namespace.others.remove(&key.name);
        }
        if namespace.known.is_empty() {
            self.namespaces.remove(&key.namespace);
        }
    }

    fn insert(&mut self, key: &Key, selector: LabelSelector) {
        let namespace = self.namespaces.entry(key.namespace.clone()).or_default();
        // Charts give all their Services some labels in common: the one that fewest are found by tells most.
        let label = equalities(&selector)
            .map(|(key, value)| label("", key, value))
            .min_by_key(|label| namespace.by_label.get(label).map_or(0, BTreeSet::len));
        let names = match &label {
            Some(label) => namespace.by_label.entry(label.clone()).or_default(),
            None => &mut namespace.others,
        };
        names.insert(key.name.clone());
        namespace
            .known
            .insert(key.name.clone(), Known { selector, label });
    }
}

impl Derived for Selecting {
    fn clear(&mut self) {
        self.namespaces.clear();
    }

    fn apply(&mut self, before: Option<&Stored>, after: Option<&Stored>) {
        if let Some(stored) = before.or(after) {
            self.remove(&stored.key);
        }
        if let Some(stored) = after
            && let Some(selector) = (self.selector)(stored)
        {
            self.insert(&stored.key, selector);
        }
    }
}
