//! Commands that stand in the text of a page, such as `` `baton install PACKAGE` ``: they can't be run, having no values,
//! but each command and each flag of it must be one that the program has.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// What the program says of itself.
pub(crate) struct Reference {
    /// The flags of each command, by its words.
    commands: BTreeMap<String, BTreeSet<String>>,
}

/// Commands whose words are those of another program.
const OTHER_GRAMMAR: &str = "baton opm";

/// The page of the book about all commands, as the program writes it.
pub(crate) fn reference_page() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_baton"))
        .arg("reference")
        .output()
        .expect("the program runs");
    String::from_utf8(output.stdout).expect("text")
}

impl Reference {
    pub(crate) fn of_the_program() -> Self {
        Self::read(&reference_page())
    }

    fn read(page: &str) -> Self {
        let mut commands: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut current = String::new();
        for line in page.lines() {
            if let Some(name) = line.strip_prefix("## ") {
                name.clone_into(&mut current);
                commands.insert(
                    current.clone(),
                    BTreeSet::from(["--help".to_owned(), "-h".to_owned()]),
                );
            } else if let Some(aliases) = line.strip_prefix("Also: `") {
                for alias in aliases.trim_end_matches("`.").split("`, `") {
                    commands.insert(alias.to_owned(), BTreeSet::new());
                }
            } else if line.starts_with("| `-")
                && let Some(flags) = commands.get_mut(&current)
            {
                let cell = line.split(" | ").next().unwrap_or_default();
                let words = cell.split(['`', ' ', ',', '|']);
                flags.extend(words.filter(|word| word.starts_with('-')).map(str::to_owned));
            }
        }
        Self { commands }
    }

    /// Says which commands and flags of a page don't exist.
    pub(crate) fn problems(&self, path: &str, text: &str) -> Vec<String> {
        let mut problems = Vec::new();
        let mut is_block = false;
        for (number, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                is_block = !is_block;
            } else if !is_block {
                let spans = line.split('`').skip(1).step_by(2);
                let wrong = spans.filter_map(|span| self.problem(span));
                problems.extend(wrong.map(|problem| format!("{path}:{}: {problem}", number + 1)));
            }
        }
        problems
    }

    /// What is wrong with a command, if it is one of baton's.
    fn problem(&self, span: &str) -> Option<String> {
        let words: Vec<&str> = span.split_whitespace().collect();
        if words.first() != Some(&"baton") || words.len() < 2 || span.starts_with(OTHER_GRAMMAR) {
            return None;
        }
        let is_flag = |word: &str| word.starts_with('-') && word.len() > 1;
        let command = (2..=words.len())
            .rev()
            .map(|count| words[..count].join(" "))
            .find(|command| self.commands.contains_key(command))
            .or_else(|| words[1..].iter().all(|word| is_flag(word)).then(String::new));
        let Some(command) = command else {
            // `baton …` stands for any command.
            let is_open = words[1].starts_with(|letter: char| !letter.is_ascii_lowercase());
            return (!is_open).then(|| format!("`{span}`: there is no such command"));
        };
        let flags = self.commands.get(&command)?;
        let unknown = words
            .iter()
            .map(|word| {
                word.trim_matches(['[', ']'])
                    .split('=')
                    .next()
                    .unwrap_or_default()
            })
            .find(|word| is_flag(word) && !flags.contains(*word));
        unknown.map(|flag| format!("`{span}`: {command} has no {flag}"))
    }
}

#[test]
fn what_is_mentioned_is_held_against_the_reference() {
    let reference = Reference::read(
        "## baton catalog\n\n## baton catalog add\n\n| argument | meaning |\n|---|---|\n| `NAME` | a |\n\
         | `-p`, `--poll MINUTES` | how often |\n\n## baton show\n\nAlso: `baton inspect`.\n",
    );
    let text = "`baton catalog add NAME --poll 5`, `baton inspect`, `kubectl get --x`, `baton …`, `baton opm serve --x`";
    assert_eq!(reference.problems("a", text), Vec::<String>::new());
    assert_eq!(
        reference.problems("a", "x `baton remove` and `baton catalog add --pull`"),
        [
            "a:1: `baton remove`: there is no such command",
            "a:1: `baton catalog add --pull`: baton catalog add has no --pull",
        ]
    );
}
