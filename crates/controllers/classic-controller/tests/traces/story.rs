//! What became of each object, told so that two runs can be held side by side.
//!
//! The recordings were made by two programs that wait for each other's writes, at five requests a second: how often a state
//! was passed that lasts no longer than the next look is a matter of timing. Such states are left out on both sides.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::recording::Subject;

/// The states that an object passed, by object.
pub(crate) type Stories = BTreeMap<Subject, Vec<Value>>;

/// Tells the stories of objects from what was seen of them.
pub(crate) fn tell(sights: &BTreeMap<Subject, Vec<Option<Value>>>) -> Stories {
    let stories = sights.iter().map(|(subject, sights)| {
        let mut story: Vec<Value> = Vec::new();
        for sight in sights {
            let state = sight
                .as_ref()
                .map_or_else(|| json!("gone"), |sight| state(subject, sight));
            if story.last() != Some(&state) {
                story.push(state);
            }
        }
        // What another controller takes away while we put it back may come and go.
        let is_presence = story.iter().all(|state| state == "there" || state == "gone");
        if is_presence && story.len() > 2 {
            let last = story.pop();
            story.truncate(1);
            story.extend(last.filter(|last| last == "gone"));
        }
        (subject.clone(), settled(&subject.0, story))
    });
    stories.collect()
}

/// Returns what of an object is part of its story; of most kinds, that it is there.
fn state(subject: &Subject, object: &Value) -> Value {
    let status = &object["status"];
    match subject.0.as_str() {
        "ClusterServiceVersion" => json!([status["phase"], status["reason"], status["message"]]),
        "InstallPlan" => json!([status["phase"], status["message"]]),
        "Subscription" => json!([status["state"], status["currentCSV"], status["installedCSV"]]),
        "OperatorGroup" => json!([
            status["namespaces"],
            object.pointer("/metadata/annotations/olm.providedAPIs")
        ]),
        "CatalogSource" => json!(status["connectionState"]["lastObservedState"]),
        _ => json!("there"),
    }
}

/// Whether the API server refused something because it had seen a binding, but not yet the role that was made with it.
fn is_half_seen(message: &str) -> bool {
    message.contains(": RBAC: ") && message.ends_with(" not found")
}

/// Leaves out what doesn't last.
fn settled(kind: &str, story: Vec<Value>) -> Vec<Value> {
    let last = story.len().saturating_sub(1);
    let mut settled: Vec<Value> = Vec::new();
    for (position, state) in story.into_iter().enumerate() {
        let is_passing = match kind {
            "ClusterServiceVersion" => {
                let is = |phase: &str, reason: &str| state[0] == phase && state[1] == reason;
                state[0].is_null()
                    || is("Pending", "RequirementsNotMet")
                    || is("Installing", "InstallWaiting")
                    || state[1] == "Copied" && position != last
            }
            "InstallPlan" => state[0].is_null() || state[1].as_str().is_some_and(is_half_seen),
            "Subscription" | "OperatorGroup" => state[0].is_null(),
            "CatalogSource" => state != "READY",
            _ => false,
        };
        if (!is_passing || position == last) && settled.last() != Some(&state) {
            settled.push(state);
        }
    }
    settled
}
