//! Objects under words that are written in them.

use std::collections::{BTreeSet, HashMap};

use crate::store::{Derived, Position, Stored};

/// The places of objects, by the words they are filed under.
#[derive(Debug)]
pub struct Filed {
    words: fn(&Stored) -> Vec<String>,
    places: HashMap<String, BTreeSet<Position>>,
}

impl Filed {
    /// Returns an empty index of objects that are filed under these words.
    pub fn under(words: fn(&Stored) -> Vec<String>) -> Self {
        Self {
            words,
            places: HashMap::new(),
        }
    }

    /// Returns how many objects are filed under a word.
    pub fn count(&self, word: &str) -> usize {
        self.places.get(word).map_or(0, BTreeSet::len)
    }

    /// Returns the places of the objects that are filed under a word, in the order of lists.
    pub fn get<'a>(&'a self, word: &str) -> impl Iterator<Item = &'a Position> + use<'a> {
        self.places.get(word).into_iter().flatten()
    }
}

impl Derived for Filed {
    fn clear(&mut self) {
        self.places.clear();
    }

    fn apply(&mut self, before: Option<&Stored>, after: Option<&Stored>) {
        let words = |stored: Option<&Stored>| stored.map(self.words).unwrap_or_default();
        let (old, new) = (words(before), words(after));
        if old == new {
            return;
        }
        if let Some(before) = before {
            let position = before.key.position();
            for word in old {
                if let Some(places) = self.places.get_mut(&word) {
                    places.remove(&position);
                    if places.is_empty() {
                        self.places.remove(&word);
                    }
                }
            }
        }
        if let Some(after) = after {
            for word in new {
                self.places.entry(word).or_default().insert(after.key.position());
            }
        }
    }
}

/// Returns the words of an object's labels, for selectors in its namespace.
pub fn labels(stored: &Stored) -> Vec<String> {
    let namespace = &stored.key.namespace;
    stored
        .labels
        .iter()
        .map(|(key, value)| label(namespace, key, value))
        .collect()
}

/// Returns the word of a label in a namespace.
pub fn label(namespace: &str, key: &str, value: &str) -> String {
    // Neither namespaces nor the keys of labels have such a character.
    format!("{namespace}\n{key}\n{value}")
}
