//! What differs from run to run – identities, chance, and numbers of revisions after retries – in the same words for both
//! sides.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Value, json};

use crate::sighting::Sighting;
use crate::story::{PRUNED, RESOURCES, Story, Subject};

static UID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").expect("a pattern")
});
static RECORDED_UID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("(<uid:[^>#]+)#[0-9]+>").expect("a pattern"));
/// Where the charts of the recordings have their random values.
static CHANCE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("(password|roll): ([A-Za-z0-9+/]{8,}=*)").expect("a pattern"));
static RANDOM: LazyLock<Regex> = LazyLock::new(|| Regex::new("<random:[0-9]+>").expect("a pattern"));
static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("(revision |revision: \"|Rollback to )([0-9]+)").expect("a pattern"));

/// The names of what a run made up.
#[derive(Debug, Default)]
pub(crate) struct Names {
    objects: HashMap<String, String>,
    chances: HashMap<String, usize>,
}

impl Names {
    /// Puts names into the place of what a run made up.
    pub(crate) fn name(&mut self, sightings: &[Sighting]) -> Vec<Sighting> {
        for sighting in sightings {
            if let Sighting::Object {
                kind,
                name,
                value: Some(value),
            } = sighting
                && let Some(uid) = value["metadata"]["uid"].as_str()
            {
                self.objects.insert(uid.to_owned(), format!("{kind}/{name}"));
            }
        }
        let mut named = Vec::with_capacity(sightings.len());
        for sighting in sightings {
            named.push(match sighting {
                Sighting::Object { kind, name, value } => Sighting::Object {
                    kind: kind.clone(),
                    name: name.clone(),
                    value: value.as_ref().map(|value| self.named(value)),
                },
                Sighting::Event { about, value } => Sighting::Event {
                    about: about.clone(),
                    value: self.named(value),
                },
            });
        }
        named
    }

    fn named(&mut self, value: &Value) -> Value {
        let mut value = value.clone();
        for field in ["password", "roll"] {
            if let Some(chance) = value.pointer_mut(&format!("/data/{field}"))
                && let Some(text) = chance
                    .as_str()
                    .filter(|text| text.len() >= 8 && !text.starts_with('<'))
            {
                *chance = json!(self.chance(text));
            }
        }
        rewrite(&value, &mut |text| {
            let text = UID.replace_all(text, |found: &Captures<'_>| match self.objects.get(&found[0]) {
                Some(name) => format!("<uid:{name}>"),
                None => found[0].to_owned(),
            });
            let text = RECORDED_UID.replace_all(&text, "$1>").into_owned();
            let chances = CHANCE.replace_all(&text, |found: &Captures<'_>| {
                format!("{}: {}", &found[1], self.chance(&found[2]))
            });
            chances.into_owned()
        })
    }

    fn chance(&mut self, text: &str) -> String {
        let next = self.chances.len() + 1;
        let number = self.chances.entry(text.to_owned()).or_insert(next);
        format!("<random:{number}>")
    }
}

/// How the revisions of a release are counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counting {
    /// Up to this one both sides have the same numbers.
    pub(crate) agreed: i64,
    /// The last one before the actions.
    pub(crate) base: i64,
    /// Retries make numbers meaningless.
    pub(crate) is_hidden: bool,
}

impl Counting {
    fn word(&self, number: i64) -> String {
        if number <= self.agreed {
            number.to_string()
        } else if self.is_hidden {
            "<any>".to_owned()
        } else if number <= self.base {
            "<older>".to_owned()
        } else {
            format!("<new {}>", number - self.base)
        }
    }
}

/// How one side counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Countings {
    /// By release.
    pub(crate) releases: BTreeMap<String, Counting>,
    /// The random values of earlier stories.
    pub(crate) known_chances: BTreeSet<String>,
}

impl Countings {
    /// Returns the release that a subject belongs to.
    pub(crate) fn release_of(&self, subject: &Subject) -> Option<&str> {
        let name = match subject.kind.as_str() {
            "Record" => subject.name.rsplit_once(".v").map_or("", |(release, _)| release),
            _ => &subject.name,
        };
        let is_exact =
            matches!(subject.kind.as_str(), "Record" | "Release") || RESOURCES.contains(&&*subject.kind);
        let fitting = self.releases.keys().filter(|release| {
            name == release.as_str() || (!is_exact && name.starts_with(&format!("{release}-")))
        });
        fitting.max_by_key(|release| release.len()).map(String::as_str)
    }

    /// Tells a story with the words that both sides have in common.
    pub(crate) fn tell(&self, story: &Story) -> Story {
        let mut chances = HashMap::new();
        let mut told = Story {
            retried: story.retried.clone(),
            ..Story::default()
        };
        let nothing = Counting {
            agreed: i64::MAX,
            ..Counting::default()
        };
        for (subject, steps) in &story.steps {
            let counting = self
                .release_of(subject)
                .and_then(|release| self.releases.get(release));
            let counting = counting.unwrap_or(&nothing);
            let mut words: Vec<Value> = Vec::new();
            // How many revisions there are depends on how often something was tried.
            let counts = |step: &&Value| !counting.is_hidden || step["status"] != PRUNED;
            for step in steps.iter().filter(counts) {
                let step = self.words(subject, step, counting, &mut chances);
                if !words.contains(&step) {
                    words.push(step);
                }
            }
            told.steps.insert(subject.clone(), words);
        }
        for (subject, end) in &story.ends {
            let counting = self
                .release_of(subject)
                .and_then(|release| self.releases.get(release));
            let counting = counting.unwrap_or(&nothing);
            let Some(named) = self.renamed(subject) else {
                continue;
            };
            let words = self.words(subject, end, counting, &mut chances);
            told.ends.insert(named, words);
        }
        told.touched = story
            .touched
            .iter()
            .filter_map(|subject| self.renamed(subject))
            .collect();
        told
    }

    /// Names a record by the word for its number; none if it can't be compared.
    fn renamed(&self, subject: &Subject) -> Option<Subject> {
        let mut named = subject.clone();
        if subject.kind == "Record"
            && let Some((release, number)) = subject.name.rsplit_once(".v")
        {
            let counting = self.releases.get(release)?;
            let number: i64 = number.parse().ok()?;
            let is_compared = number <= counting.agreed || (!counting.is_hidden && number > counting.base);
            named.name = format!("{release}.v{}", counting.word(number));
            return is_compared.then_some(named);
        }
        Some(named)
    }

    fn words(
        &self,
        subject: &Subject,
        value: &Value,
        counting: &Counting,
        chances: &mut HashMap<(String, String), usize>,
    ) -> Value {
        let mut value = value.clone();
        number_fields(&mut value, counting);
        let release = self.release_of(subject).unwrap_or_default();
        rewrite(&value, &mut |text| {
            let text = NUMBER.replace_all(text, |found: &Captures<'_>| {
                let number = found[2].parse().unwrap_or_default();
                format!("{}{}", &found[1], counting.word(number))
            });
            let text = RANDOM.replace_all(&text, |found: &Captures<'_>| {
                if counting.is_hidden {
                    "<random>".to_owned()
                } else if self.known_chances.contains(&found[0]) {
                    "<random, kept>".to_owned()
                } else {
                    let next = chances.len() + 1;
                    let key = (release.to_owned(), found[0].to_owned());
                    let number = chances.entry(key).or_insert(next);
                    format!("<random, new {number}>")
                }
            });
            text.into_owned()
        })
    }
}

/// Returns the random values that a story tells of.
pub(crate) fn chances(story: &Story) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let values = story.steps.values().flatten().chain(story.ends.values());
    for value in values {
        rewrite(value, &mut |text| {
            found.extend(RANDOM.find_iter(text).map(|found| found.as_str().to_owned()));
            text.to_owned()
        });
    }
    found
}

/// Fields that hold nothing but the number of a revision.
fn number_fields(value: &mut Value, counting: &Counting) {
    match value {
        Value::Object(table) => {
            for (field, value) in table {
                if matches!(field.as_str(), "revision" | "version") {
                    let number = value
                        .as_i64()
                        .or_else(|| value.as_str().and_then(|text| text.parse().ok()));
                    if let Some(number) = number {
                        *value = json!(counting.word(number));
                        continue;
                    }
                }
                number_fields(value, counting);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| number_fields(value, counting)),
        _ => {}
    }
}

fn rewrite(value: &Value, change: &mut dyn FnMut(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(list) => list.iter().map(|value| rewrite(value, change)).collect(),
        Value::Object(table) => table
            .iter()
            .map(|(field, value)| (field.clone(), rewrite(value, change)))
            .collect(),
        other => other.clone(),
    }
}
