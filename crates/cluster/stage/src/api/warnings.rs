//! What clients are told beside the answer: never more than the headers of an answer can hold.

use std::collections::HashSet;

/// How many characters all warnings have at most before each of them is cut, as on the real server: proxies and clients
/// take headers of a few KiB.
const MOST_CHARACTERS: usize = 4 * 1024;

/// How many characters of each warning are left when there are too many.
const CUT_CHARACTERS: usize = 256;

/// Warnings in the order they came, each once.
#[derive(Debug, Default)]
pub struct Warnings {
    texts: Vec<String>,
    known: HashSet<String>,
    characters: usize,
    cutting: bool,
}

impl Warnings {
    /// Adds a warning, unless it is there or there are too many; an empty one is none.
    pub fn add(&mut self, text: String) {
        let full = self.cutting && self.characters >= MOST_CHARACTERS;
        if text.is_empty() || full || self.known.contains(&text) {
            return;
        }
        self.known.insert(text.clone());
        self.keep(text);
        if !self.cutting && self.characters > MOST_CHARACTERS {
            self.cutting = true;
            self.characters = 0;
            for text in std::mem::take(&mut self.texts) {
                self.keep(text);
            }
        }
    }

    fn keep(&mut self, mut text: String) {
        if self.cutting
            && let Some((end, _)) = text.char_indices().nth(CUT_CHARACTERS)
        {
            text.truncate(end);
        }
        self.characters += text.chars().count();
        self.texts.push(text);
    }

    /// Returns the warnings.
    pub fn into_texts(self) -> Vec<String> {
        self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(texts: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut warnings = Warnings::default();
        texts.into_iter().for_each(|text| warnings.add(text));
        warnings.into_texts()
    }

    #[test]
    fn a_warning_is_told_once_and_whole() {
        let long = "ü".repeat(1000);
        assert_eq!(told([long.clone(), String::new(), long.clone()]), [long]);
    }

    #[test]
    fn too_many_characters_cut_every_warning() {
        let texts = (0..60).map(|number| format!("{number:02}{}", "ü".repeat(300)));
        let told = told(texts);
        assert!(told.iter().all(|text| text.chars().count() == CUT_CHARACTERS));
        assert_eq!(told.len(), MOST_CHARACTERS / CUT_CHARACTERS);
    }

    #[test]
    fn many_short_warnings_end_where_the_limit_is() {
        let told = told((0..1000).map(|number| format!("{number:08}")));
        assert_eq!(told.len(), MOST_CHARACTERS / 8 + 1);
    }
}
