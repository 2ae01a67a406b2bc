//! What became of each object, told so that two runs can be held side by side.
//!
//! The recordings were made by two programs that wait for each other's writes, at five requests a second: how often a state
//! was passed that lasts no longer than the next look is a matter of timing. Such states are left out on both sides.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::recording::Subject;

/// The states that an object passed, by object.
pub(crate) type Stories = BTreeMap<Subject, Vec<Value>>;

/// The states that don't last; each is left out of some recording.
pub(crate) const PASSING: [&str; 8] = [
    "a catalog that isn't ready",
    "a copy that is no more",
    "a group without namespaces",
    "a plan without a phase",
    "a subscription without a state",
    "a version that is being installed",
    "a version that waits for what it requires",
    "a version without a phase",
];

/// Tells the stories of objects from what was seen of them.
pub(crate) fn tell(sights: &BTreeMap<Subject, Vec<Option<Value>>>) -> Stories {
    let stories = sights.iter().map(|(subject, sights)| {
        let mut story = states(subject, sights);
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

/// Returns which of [`PASSING`] the stories of objects leave out.
pub(crate) fn left_out(sights: &BTreeMap<Subject, Vec<Option<Value>>>) -> BTreeSet<&'static str> {
    let left_out = sights.iter().flat_map(|(subject, sights)| {
        let mut states = states(subject, sights);
        states.pop();
        states.into_iter().filter_map(|state| passing(&subject.0, &state))
    });
    left_out.collect()
}

/// Returns the states that an object went through.
fn states(subject: &Subject, sights: &[Option<Value>]) -> Vec<Value> {
    let states = sights.iter().map(|sight| {
        sight
            .as_ref()
            .map_or_else(|| json!("gone"), |sight| state(subject, sight))
    });
    let mut states: Vec<Value> = states.collect();
    states.dedup();
    states
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

/// Returns which of [`PASSING`] a state is.
fn passing(kind: &str, state: &Value) -> Option<&'static str> {
    let is = |phase: &str, reason: &str| state[0] == phase && state[1] == reason;
    match kind {
        _ if state == "gone" => None,
        "ClusterServiceVersion" if state[0].is_null() => Some("a version without a phase"),
        "ClusterServiceVersion" if is("Pending", "RequirementsNotMet") => {
            Some("a version that waits for what it requires")
        }
        "ClusterServiceVersion" if is("Installing", "InstallWaiting") => {
            Some("a version that is being installed")
        }
        "ClusterServiceVersion" if state[1] == "Copied" => Some("a copy that is no more"),
        "InstallPlan" if state[0].is_null() => Some("a plan without a phase"),
        "Subscription" if state[0].is_null() => Some("a subscription without a state"),
        "OperatorGroup" if state[0].is_null() => Some("a group without namespaces"),
        "CatalogSource" if state != "READY" => Some("a catalog that isn't ready"),
        _ => None,
    }
}

/// Leaves out what doesn't last.
fn settled(kind: &str, story: Vec<Value>) -> Vec<Value> {
    let last = story.len().saturating_sub(1);
    let mut settled: Vec<Value> = Vec::new();
    for (position, state) in story.into_iter().enumerate() {
        let is_half_seen = kind == "InstallPlan" && state[1].as_str().is_some_and(is_half_seen);
        let is_passing = is_half_seen || passing(kind, &state).is_some();
        if (!is_passing || position == last) && settled.last() != Some(&state) {
            settled.push(state);
        }
    }
    settled
}
