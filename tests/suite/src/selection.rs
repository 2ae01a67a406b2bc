//! Which cases are asked for.

use crate::case::one_word;

/// Words that pick cases: a case is picked where its title, `suite::group::case`, contains one of them. Without a word, all are.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    words: Vec<String>,
}

impl Selection {
    /// Picks by words; spaces in them stand for what titles have instead.
    pub fn new<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> Self {
        let words = words.into_iter().map(|word| one_word(word.as_ref()));
        Self {
            words: words.collect(),
        }
    }

    /// Whether a case is picked.
    pub fn picks(&self, title: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| title.contains(word.as_str()))
    }

    /// Why this selection can't be played: a word that picks nothing is a mistake, and so are suites without cases.
    pub fn fault<'t>(&self, titles: impl Iterator<Item = &'t str> + Clone) -> Option<String> {
        if titles.clone().next().is_none() {
            return Some("there are no cases".to_owned());
        }
        let is_idle = |word: &&String| !titles.clone().any(|title| title.contains(word.as_str()));
        let idle: Vec<String> = self
            .words
            .iter()
            .filter(is_idle)
            .map(|word| format!("{word:?}"))
            .collect();
        (!idle.is_empty()).then(|| {
            format!(
                "no case has {} in its name; --list names all cases",
                idle.join(" or ")
            )
        })
    }

    /// The words that pick something of these titles: what a program of several is to be asked for.
    pub fn narrowed<'t>(&self, titles: impl Iterator<Item = &'t str> + Clone) -> Vec<&str> {
        let picks = |word: &&String| titles.clone().any(|title| title.contains(word.as_str()));
        self.words.iter().filter(picks).map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Selection;

    const TITLES: [&str; 3] = [
        "a::stage::one_two",
        "a::kubernetes::one_two",
        "a::kubernetes::three",
    ];

    #[test]
    fn a_word_picks_what_contains_it() {
        for (words, expected) in [
            (&[][..], &[0, 1, 2][..]),
            (&["one_two"], &[0, 1]),
            (&["one two"], &[0, 1]),
            (&["kubernetes::one"], &[1]),
            (&["stage", "three"], &[0, 2]),
            (&["a::"], &[0, 1, 2]),
        ] {
            let selection = Selection::new(words);
            let picked: Vec<usize> = (0..TITLES.len())
                .filter(|title| selection.picks(TITLES[*title]))
                .collect();
            assert_eq!(picked, expected, "{words:?}");
            assert_eq!(selection.fault(TITLES.into_iter()), None, "{words:?}");
        }
    }

    #[test]
    fn a_word_that_picks_nothing_is_a_fault_also_beside_one_that_picks() {
        for (words, expected) in [
            (
                &["four"][..],
                "no case has \"four\" in its name; --list names all cases",
            ),
            (
                &["one", "four", "five"],
                "no case has \"four\" or \"five\" in its name; --list names all cases",
            ),
        ] {
            let selection = Selection::new(words);
            assert_eq!(
                selection.fault(TITLES.into_iter()).as_deref(),
                Some(expected),
                "{words:?}"
            );
        }
        let nothing = Selection::new([""; 0]).fault([].into_iter());
        assert_eq!(nothing.as_deref(), Some("there are no cases"));
    }

    #[test]
    fn of_several_words_those_that_pick_something_remain() {
        let selection = Selection::new(["three", "elsewhere"]);
        assert_eq!(selection.narrowed(TITLES.into_iter()), ["three"]);
        assert_eq!(selection.narrowed([].into_iter()), [""; 0]);
    }
}
