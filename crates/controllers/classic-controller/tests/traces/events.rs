//! What was announced of objects by events.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::recording::Subject;
use crate::story::Stories;

/// Who announces, here and in the recordings.
pub(crate) const REPORTER: &str = "operator-lifecycle-manager";

/// What an event tells. How often it happened is left out: that is chance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Announced {
    /// The namespace that keeps the event.
    kept: String,
    severity: String,
    reason: String,
    message: String,
}

/// What was announced of each object.
pub(crate) type Events = BTreeMap<Subject, BTreeSet<Announced>>;

impl Announced {
    /// Reads an event that a namespace keeps; returns which object it is about, too.
    pub(crate) fn read(kept: &str, event: &Value) -> (Subject, Self) {
        let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let about = &event["involvedObject"];
        let told = Self {
            kept: kept.to_owned(),
            severity: of(&event["type"]),
            reason: of(&event["reason"]),
            message: of(&event["message"]),
        };
        (
            (of(&about["kind"]), of(&about["namespace"]), of(&about["name"])),
            told,
        )
    }
}

/// Tells what was announced of each object, without what tells of states that don't last.
pub(crate) fn tell(events: &Events, stories: &Stories) -> Stories {
    let told = events.iter().map(|(subject, announced)| {
        let end = stories.get(subject).and_then(|story| story.last());
        let lasting = announced.iter().filter(|event| {
            let is_end = end.is_some_and(|end| end[1] == *event.reason && end[2] == *event.message);
            is_end || !is_passing(event)
        });
        let lasting = lasting.map(|event| json!([event.kept, event.severity, event.reason, event.message]));
        (subject.clone(), lasting.collect())
    });
    told.collect()
}

/// Returns whether an event tells of a state that a version passes sooner or later than the next look.
fn is_passing(event: &Announced) -> bool {
    event.severity == "Normal" && matches!(event.reason.as_str(), "InstallWaiting" | "RequirementsNotMet")
}
