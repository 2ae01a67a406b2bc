//! Which suites are meant by words, and what of them.

use suite::Selection;

/// What is asked for: words, each the name of a suite, or the beginning of a title in it (`suite::…`), or a part of the titles
/// of cases in whatever suite.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    words: Vec<String>,
}

impl Choice {
    pub(crate) fn new(words: Vec<String>) -> Self {
        Self { words }
    }

    /// The words that may pick something of a suite, one of `names`. No words at all pick everything, and `None` nothing.
    fn words_for(&self, suite: &str, names: &[&str]) -> Option<Vec<&str>> {
        let belongs = |word: &&str| {
            let name = word.split("::").next().unwrap_or_default();
            name == suite || !names.contains(&name)
        };
        let words: Vec<&str> = self.words.iter().map(String::as_str).filter(belongs).collect();
        (self.words.is_empty() || !words.is_empty()).then_some(words)
    }

    /// Whether it is clear without looking into it that a suite is meant.
    pub(crate) fn means(&self, suite: &str) -> bool {
        let mut words = self.words.iter();
        self.words.is_empty() || words.any(|word| word.split("::").next() == Some(suite))
    }

    /// The suites, of all `names`, in which something may be meant.
    pub(crate) fn candidates<'n>(&self, names: &[&'n str]) -> Vec<&'n str> {
        let may = |name: &&&str| self.words_for(name, names).is_some();
        names.iter().filter(may).copied().collect()
    }

    /// What is to be played: the suites, of those whose titles are listed, with the words that each is asked for. Fails where a
    /// word picks nothing. `names` are those of all suites.
    pub(crate) fn narrowed<'l>(
        &self,
        names: &[&str],
        lists: &'l [(&'l str, Vec<String>)],
    ) -> Result<Vec<(&'l str, Vec<String>)>, String> {
        let titles = lists.iter().flat_map(|(_, titles)| titles.iter());
        let all = Selection::new(&self.words);
        if let Some(fault) = all.fault(titles.map(String::as_str)) {
            return Err(fault);
        }
        let mut chosen = Vec::new();
        for (suite, titles) in lists {
            let Some(words) = self.words_for(suite, names) else {
                continue;
            };
            let narrowed = Selection::new(&words);
            let narrowed = narrowed.narrowed(titles.iter().map(String::as_str));
            if words.is_empty() || !narrowed.is_empty() {
                let narrowed = narrowed.into_iter().map(str::to_owned).collect();
                chosen.push((*suite, narrowed));
            }
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::Choice;

    const NAMES: [&str; 3] = ["clients", "contract", "helm-operator"];

    fn choice(words: &[&str]) -> Choice {
        Choice::new(words.iter().map(|word| (*word).to_owned()).collect())
    }

    fn lists() -> Vec<(&'static str, Vec<String>)> {
        let titles = |titles: &[&str]| titles.iter().map(|title| (*title).to_owned()).collect();
        vec![
            (
                "clients",
                titles(&["clients::helm-on-stage::a", "clients::go::contract"]),
            ),
            ("contract", titles(&["contract::kubernetes::a"])),
            (
                "helm-operator",
                titles(&["helm-operator::kubernetes::05_b", "helm-operator::kubernetes::a"]),
            ),
        ]
    }

    #[test]
    fn a_name_means_its_suite_and_another_word_may_be_in_each() {
        for (words, candidates) in [
            (&[][..], &NAMES[..]),
            (&["contract"], &["contract"]),
            (&["contract::kubernetes::a"], &["contract"]),
            (&["contract", "helm-operator::x"], &["contract", "helm-operator"]),
            (&["kubernetes::a"], &NAMES),
            (&["helm"], &NAMES),
            (&["contract", "05"], &NAMES),
        ] {
            assert_eq!(choice(words).candidates(&NAMES), candidates, "{words:?}");
        }
    }

    #[test]
    fn each_suite_is_asked_for_what_it_has() {
        for (words, expected) in [
            (
                &[][..],
                &[("clients", &[][..]), ("contract", &[]), ("helm-operator", &[])][..],
            ),
            // The case of that name in another suite isn't meant.
            (&["contract"], &[("contract", &["contract"])]),
            (
                &["kubernetes::a"],
                &[
                    ("contract", &["kubernetes::a"]),
                    ("helm-operator", &["kubernetes::a"]),
                ],
            ),
            (
                &["helm", "contract"],
                &[
                    ("clients", &["helm"]),
                    ("contract", &["contract"]),
                    ("helm-operator", &["helm"]),
                ],
            ),
        ] {
            let lists = lists();
            let chosen = choice(words).narrowed(&NAMES, &lists).expect("something");
            let chosen: Vec<(&str, Vec<&str>)> = chosen
                .iter()
                .map(|(suite, words)| (*suite, words.iter().map(String::as_str).collect()))
                .collect();
            let expected: Vec<(&str, Vec<&str>)> = expected
                .iter()
                .map(|(suite, words)| (*suite, words.to_vec()))
                .collect();
            assert_eq!(chosen, expected, "{words:?}");
        }
    }

    #[test]
    fn what_picks_nothing_fails() {
        let lists = lists();
        for words in [&["06"][..], &["contract", "06"]] {
            let fault = choice(words).narrowed(&NAMES, &lists).expect_err("a fault");
            assert_eq!(fault, "no case has \"06\" in its name; --list names all cases");
        }
    }
}
