//! Two stories held side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use crate::story::{Story, Subject};

/// Something that both sides tell in different words.
#[derive(Debug, Clone)]
pub(crate) struct Difference {
    /// Of what.
    pub(crate) subject: Subject,
    /// What upstream's operator made of it.
    pub(crate) theirs: Vec<Value>,
    /// What ours did.
    pub(crate) ours: Vec<Value>,
    /// Whether it is about the end.
    pub(crate) is_end: bool,
}

/// Which ends and steps count.
pub(crate) struct Rules {
    /// Whether a subject belongs to something that is tried again and again. Then how often is a matter of the moment,
    /// and so is its end.
    pub(crate) trying: Box<dyn Fn(&Subject) -> bool + Send + Sync>,
    /// Steps that upstream went through before, and once more by accident.
    pub(crate) carried: BTreeMap<Subject, Vec<Value>>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            trying: Box::new(|_| false),
            carried: BTreeMap::new(),
        }
    }
}

/// Compares.
pub(crate) fn compare(theirs: &Story, ours: &Story, rules: &Rules) -> Vec<Difference> {
    let mut differences = Vec::new();
    let subjects: BTreeSet<&Subject> = theirs.steps.keys().chain(ours.steps.keys()).collect();
    for subject in subjects {
        let carried = rules.carried.get(subject);
        let steps = |story: &Story| -> Vec<Value> {
            let steps = story.steps.get(subject).into_iter().flatten();
            steps
                .filter(|step| carried.is_none_or(|carried| !carried.contains(step)))
                .cloned()
                .collect()
        };
        let (mut theirs, mut ours) = (steps(theirs), steps(ours));
        if subject.facet == "events" {
            // Events of one moment have no order.
            let by_text = |value: &Value| value.to_string();
            theirs.sort_by_key(by_text);
            ours.sort_by_key(by_text);
        }
        if (rules.trying)(subject) && !theirs.is_empty() && subject.facet != "events" {
            ours.truncate(theirs.len());
        }
        if theirs != ours {
            differences.push(Difference {
                subject: subject.clone(),
                theirs,
                ours,
                is_end: false,
            });
        }
    }
    let subjects: BTreeSet<&Subject> = theirs.touched.union(&ours.touched).collect();
    for subject in subjects {
        let is_told = |difference: &Difference| {
            let last = |steps: &[Value]| steps.last().filter(|last| **last != "absent").cloned();
            difference.subject == *subject
                && (last(&difference.theirs), last(&difference.ours))
                    == (theirs.ends.get(subject).cloned(), ours.ends.get(subject).cloned())
        };
        if differences.iter().any(is_told) {
            continue;
        }
        let (theirs, ours) = (theirs.ends.get(subject), ours.ends.get(subject));
        if theirs != ours && !(rules.trying)(subject) {
            differences.push(Difference {
                subject: subject.clone(),
                theirs: theirs.cloned().into_iter().collect(),
                ours: ours.cloned().into_iter().collect(),
                is_end: true,
            });
        }
    }
    differences
}

impl Difference {
    /// What the difference is called in the table of those that are known.
    pub(crate) fn title(&self) -> String {
        let moment = if self.is_end { " at the end" } else { "" };
        format!("{}{moment}", self.subject)
    }

    /// Returns our side as one text.
    pub(crate) fn our_words(&self) -> String {
        self.ours
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<String>>()
            .join("\n")
    }

    /// Shows both sides, line by line where they differ.
    pub(crate) fn show(&self) -> String {
        let mut text = format!("  {}\n", self.title());
        let lines = |values: &[Value]| -> Vec<String> {
            let mut lines = Vec::new();
            for (number, value) in values.iter().enumerate() {
                lines.push(format!("#{}", number + 1));
                let value = goyaml::to_string(value).unwrap_or_default();
                lines.extend(value.lines().map(str::to_owned));
            }
            lines
        };
        let (theirs, ours) = (lines(&self.theirs), lines(&self.ours));
        let same_start = theirs
            .iter()
            .zip(&ours)
            .take_while(|(left, right)| left == right)
            .count();
        let same_end = theirs[same_start..]
            .iter()
            .rev()
            .zip(ours[same_start..].iter().rev())
            .take_while(|(left, right)| left == right)
            .count();
        for (side, lines) in [("theirs", &theirs), ("ours", &ours)] {
            let _ = writeln!(text, "    {side}:");
            let context = same_start.saturating_sub(2);
            for line in &lines[context..(lines.len() - same_end).max(context)] {
                let _ = writeln!(text, "      {line}");
            }
        }
        text
    }
}
