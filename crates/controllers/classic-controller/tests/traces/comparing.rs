//! Two runs held side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::recording::Subject;
use crate::story::Stories;

/// Something that both runs have differently.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    /// The object.
    pub(crate) subject: Subject,
    /// What of it: `story`, `events`, or a JSON pointer into how it looked at the end; empty for the whole of it.
    pub(crate) facet: String,
    /// In the recording.
    pub(crate) theirs: Value,
    /// Here.
    pub(crate) ours: Value,
}

impl Difference {
    /// Returns the place of the difference in one text, as the table of known ones names it.
    pub(crate) fn place(&self) -> String {
        let (kind, namespace, name) = &self.subject;
        format!("{kind} {namespace}/{name} {}", self.facet)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |value: &Value| {
            let text = value.to_string();
            let end = text.floor_char_boundary(text.len().min(700));
            text[..end].to_owned()
        };
        write!(
            formatter,
            "  {}\n    theirs: {}\n    ours:   {}",
            self.place(),
            short(&self.theirs),
            short(&self.ours)
        )
    }
}

/// Parts of objects that say how often something was written, or that another controller writes.
fn is_left_out(kind: &str, pointer: &str) -> bool {
    match kind {
        "Deployment" => {
            pointer.starts_with("/status")
                || pointer.starts_with("/metadata/annotations/deployment.kubernetes.io~1revision")
        }
        "CustomResourceDefinition" => pointer.starts_with("/status") || pointer == "/metadata/finalizers",
        "Namespace" => pointer.starts_with("/status") || pointer.starts_with("/spec"),
        // The history is told by the story.
        "ClusterServiceVersion" => pointer.starts_with("/status/conditions"),
        _ => false,
    }
}

/// What there is to know of a run.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    /// What became of objects.
    pub(crate) stories: Stories,
    /// What was announced of them.
    pub(crate) events: Stories,
    /// How they looked at the end.
    pub(crate) end: BTreeMap<Subject, Value>,
}

/// Compares two runs.
pub(crate) fn compare(theirs: &Account, ours: &Account) -> Vec<Difference> {
    let mut differences = Vec::new();
    compare_told("story", &theirs.stories, &ours.stories, &mut differences);
    compare_told("events", &theirs.events, &ours.events, &mut differences);
    let subjects: BTreeSet<&Subject> = theirs.end.keys().chain(ours.end.keys()).collect();
    for subject in subjects {
        let (theirs, ours) = (theirs.end.get(subject), ours.end.get(subject));
        let mut found = Vec::new();
        match (theirs, ours) {
            (Some(theirs), Some(ours)) => differ(theirs, ours, "", &subject.0, &mut found),
            (theirs, ours) => found.push((
                String::new(),
                theirs.map_or(Value::Null, |_| "there".into()),
                ours.map_or(Value::Null, |_| "there".into()),
            )),
        }
        differences.extend(found.into_iter().map(|(facet, theirs, ours)| Difference {
            subject: subject.clone(),
            facet,
            theirs,
            ours,
        }));
    }
    differences
}

/// Compares what became of objects.
pub(crate) fn compare_stories(theirs: &Stories, ours: &Stories) -> Vec<Difference> {
    let mut differences = Vec::new();
    compare_told("story", theirs, ours, &mut differences);
    differences
}

fn compare_told(facet: &str, theirs: &Stories, ours: &Stories, differences: &mut Vec<Difference>) {
    let empty = Vec::new();
    let subjects: BTreeSet<&Subject> = theirs.keys().chain(ours.keys()).collect();
    for subject in subjects {
        let theirs = theirs.get(subject).unwrap_or(&empty);
        let ours = ours.get(subject).unwrap_or(&empty);
        if theirs != ours {
            differences.push(Difference {
                subject: subject.clone(),
                facet: facet.to_owned(),
                theirs: theirs.clone().into(),
                ours: ours.clone().into(),
            });
        }
    }
}

fn differ(theirs: &Value, ours: &Value, pointer: &str, kind: &str, found: &mut Vec<(String, Value, Value)>) {
    if theirs == ours || is_left_out(kind, pointer) {
        return;
    }
    match (theirs, ours) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let inner = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                let get =
                    |fields: &serde_json::Map<String, Value>| fields.get(key).cloned().unwrap_or(Value::Null);
                differ(&get(left), &get(right), &inner, kind, found);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (position, (left, right)) in left.iter().zip(right).enumerate() {
                differ(left, right, &format!("{pointer}/{position}"), kind, found);
            }
        }
        _ => found.push((pointer.to_owned(), theirs.clone(), ours.clone())),
    }
}
