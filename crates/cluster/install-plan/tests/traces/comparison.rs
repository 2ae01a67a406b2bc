//! What of a flow is compared with the recording of the real one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use classic::Kind;
use serde_json::{Value, json};

use crate::cluster::{Cluster, RECORDED};
use crate::files::{list, text};

/// Something in which two flows differ.
pub(crate) struct Difference {
    aspect: &'static str,
    kind: &'static str,
    object: String,
    ours: String,
    theirs: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} of {} {}\n  ours:   {}\n  theirs: {}",
            self.aspect, self.kind, self.object, self.ours, self.theirs
        )
    }
}

/// A kind of difference that may be listed: an aspect of a kind of object, with a word that ours or theirs has.
#[derive(Debug)]
pub(crate) struct Aspect(
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) &'static str,
);

impl Aspect {
    pub(crate) fn is(&self, difference: &Difference) -> bool {
        self.0 == difference.aspect
            && self.1 == difference.kind
            && (difference.ours.contains(self.2) || difference.theirs.contains(self.2))
    }
}

/// The object as it is called here: plans by their generation, since names are generated.
fn called(object: &Value) -> String {
    let namespace = text(object, "/metadata/namespace");
    match text(object, "/kind") {
        "InstallPlan" => format!("{namespace}/{}", object["spec"]["generation"]),
        _ => format!("{namespace}/{}", text(object, "/metadata/name")),
    }
}

/// The word that says how an object is.
fn state(object: &Value) -> &str {
    match text(object, "/kind") {
        "Subscription" => text(object, "/status/state"),
        "InstallPlan" => text(object, "/status/phase"),
        _ => text(object, "/status/connectionState/lastObservedState"),
    }
}

fn conditions(object: &Value) -> BTreeSet<String> {
    let mut all: BTreeSet<String> = list(object, "/status/conditions")
        .iter()
        .map(|condition| {
            ["type", "status", "reason", "message"]
                .map(|field| first_line(text(condition, &format!("/{field}"))))
                .join(" | ")
        })
        .collect();
    let message = text(object, "/status/message");
    if !message.is_empty() {
        all.insert(format!("message | {message}"));
    }
    all
}

/// Upstream's words; ours are followed by an explanation.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Whether a text names a plan: by its number in a recording, or by five letters that are made up.
fn names_plan(text: &str) -> bool {
    let Some((_, name)) = text.rsplit_once("install-") else {
        return false;
    };
    let letters = name.trim_end_matches('>');
    let is_made_up = letters.len() == 5
        && letters
            .bytes()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit());
    name.starts_with('<') || is_made_up
}

/// Hides what differs from run to run.
fn hidden(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let shown = fields
                .iter()
                .filter(|(key, _)| !key.as_str().eq("resourceVersion"));
            let shown = shown.map(|(key, value)| {
                let is_time = key.starts_with("last") && key.ends_with("Time")
                    || matches!(
                        key.as_str(),
                        "lastUpdated" | "startTime" | "lastConnect" | "createdAt"
                    );
                let value = match (is_time, value) {
                    (true, _) => json!("<time>"),
                    (_, Value::String(text)) if names_plan(text) => json!("<plan>"),
                    (_, Value::String(text)) if key == "message" => json!(first_line(text)),
                    (_, value) => hidden(value),
                };
                (key.clone(), value)
            });
            Value::Object(shown.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(hidden).collect()),
        other => other.clone(),
    }
}

/// What an object is at rest.
fn at_rest(object: &Value) -> Value {
    let mut status = hidden(&object["status"]);
    if let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) {
        // Upstream's come in the order in which its two loops happened to write them.
        conditions.sort_by_key(|condition| text(condition, "/type").to_owned());
    }
    let steps = status.get_mut("plan").and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten() {
        let manifest: Value =
            serde_json::from_str(text(step, "/resource/manifest")).expect("a manifest in JSON");
        step["resource"]["manifest"] = manifest;
        if step["status"] == "Created" {
            // Upstream runs through a plan again before its cache knows that it ran, and then finds everything present.
            step["status"] = json!("Present");
        }
    }
    if let Some(steps) = status.get_mut("plan").and_then(Value::as_array_mut) {
        // The order of operators among each other is that of a hash map upstream.
        steps.sort_by_key(|step| {
            (
                step["resource"]["kind"].to_string(),
                step["resource"]["name"].to_string(),
            )
        });
    }
    let mut spec = object["spec"].clone();
    let names = spec
        .get_mut("clusterServiceVersionNames")
        .and_then(Value::as_array_mut);
    if let Some(names) = names {
        names.sort_by_key(ToString::to_string);
    }
    let mut owners = hidden(&object["metadata"]["ownerReferences"]);
    if let Some(owners) = owners.as_array_mut() {
        owners.sort_by_key(ToString::to_string);
    }
    json!({"spec": spec, "owners": owners, "status": status})
}

/// The states of an object, one after the other.
fn states<'a>(history: impl Iterator<Item = &'a Value>) -> BTreeMap<(Kind, String), Vec<&'a Value>> {
    let mut states: BTreeMap<(Kind, String), Vec<&Value>> = BTreeMap::new();
    for object in history {
        if let Some(kind) = Kind::named(text(object, "/kind")).filter(|kind| RECORDED.contains(kind)) {
            states.entry((kind, called(object))).or_default().push(object);
        }
    }
    states
}

fn sequence(states: &[&Value]) -> String {
    let is_source = states
        .first()
        .is_some_and(|object| text(object, "/kind") == "CatalogSource");
    let mut words: Vec<&str> = states.iter().map(|object| state(object)).collect();
    if is_source {
        // How fast a connection gets ready, and how often its server restarts, is for whoever connects.
        words.retain(|word| *word != "CONNECTING");
        let ready = words.iter().position(|word| *word == "READY");
        words.truncate(ready.map_or(words.len(), |ready| ready + 1));
    }
    words.dedup();
    words.join(" → ")
}

fn shown(states: &[&Value]) -> BTreeSet<String> {
    states.iter().flat_map(|object| conditions(object)).collect()
}

/// Returns everything in which our flow differs from the recorded one.
pub(crate) fn differences(cluster: &Cluster, recorded: &[Value], rest: &[Value]) -> Vec<Difference> {
    let ours = states(cluster.history.iter());
    let theirs = states(recorded.iter().filter_map(|record| record.get("object")));
    let mut found = Vec::new();
    let nothing = Vec::new();
    let keys: BTreeSet<&(Kind, String)> = ours.keys().chain(theirs.keys()).collect();
    for key in keys {
        let (kind, object) = key;
        let (ours, theirs) = (
            ours.get(key).unwrap_or(&nothing),
            theirs.get(key).unwrap_or(&nothing),
        );
        let mut differ = |aspect, ours: String, theirs: String| {
            found.push(Difference {
                aspect,
                kind: kind.naming().kind,
                object: object.clone(),
                ours,
                theirs,
            });
        };
        if sequence(ours) != sequence(theirs) {
            differ("states", sequence(ours), sequence(theirs));
        }
        let (shown_here, shown_there) = (shown(ours), shown(theirs));
        for only in shown_here.difference(&shown_there) {
            differ("conditions", only.clone(), String::new());
        }
        for only in shown_there.difference(&shown_here) {
            differ("conditions", String::new(), only.clone());
        }
    }
    let at_end = |objects: Vec<&Value>| -> BTreeMap<(Kind, String), Value> {
        let kept = objects.into_iter().filter_map(|object| {
            let kind = Kind::named(text(object, "/kind")).filter(|kind| RECORDED.contains(kind))?;
            Some(((kind, called(object)), at_rest(object)))
        });
        kept.collect()
    };
    let ours = at_end(
        RECORDED
            .iter()
            .flat_map(|kind| cluster.world.all(*kind))
            .map(AsRef::as_ref)
            .collect(),
    );
    let theirs = at_end(rest.iter().collect());
    let keys: BTreeSet<&(Kind, String)> = ours.keys().chain(theirs.keys()).collect();
    for key in keys {
        let (ours, theirs) = (ours.get(key), theirs.get(key));
        if ours != theirs {
            let (kind, object) = key;
            found.push(Difference {
                aspect: "rest",
                kind: kind.naming().kind,
                object: object.clone(),
                ours: parts(ours, theirs),
                theirs: parts(theirs, ours),
            });
        }
    }
    found
}

/// Shows the parts of a value that another doesn't have.
fn parts(one: Option<&Value>, other: Option<&Value>) -> String {
    fn collect(path: &str, one: &Value, other: Option<&Value>, found: &mut Vec<String>) {
        match (one, other) {
            (one, Some(other)) if one == other => {}
            (Value::Object(fields), Some(Value::Object(others))) => {
                for (key, value) in fields {
                    collect(&format!("{path}.{key}"), value, others.get(key), found);
                }
            }
            (Value::Array(items), Some(Value::Array(others))) if items.len() == others.len() => {
                for (index, (item, other)) in items.iter().zip(others).enumerate() {
                    collect(&format!("{path}[{index}]"), item, Some(other), found);
                }
            }
            (one, _) => found.push(format!("{path}: {one}").chars().take(400).collect()),
        }
    }
    let Some(one) = one else {
        return "nothing".to_owned();
    };
    let mut found = Vec::new();
    collect("", one, other, &mut found);
    found.join("; ")
}
