//! Objects in the words of the recordings: what differs from run to run has a name that stays.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$").expect("an expression")
});

/// The alphabet of what Kubernetes makes up.
static HASH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#""([a-z0-9.-]+)-[bcdfghjklmnpqrstvwxz2456789]{6,10}""#).expect("an expression")
});

/// Which life of an object an identity is of, from the second on.
static LIFE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"#\d+>").expect("an expression"));

/// What is random in every run, wherever it stands.
const RANDOM: [&str; 7] = [
    "caBundle",
    "clusterIP",
    "clusterIPs",
    "olmcahash",
    "healthCheckNodePort",
    "olm.webhook-description-hash",
    "continue",
];

/// The names of one run.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// What stands for an identity.
    identities: BTreeMap<String, String>,
    /// What stands for a name that the server made up, and how many of a beginning there were.
    made_up: BTreeMap<String, String>,
    counts: BTreeMap<String, usize>,
    /// How many objects of a name there were.
    lives: BTreeMap<String, usize>,
    /// The addresses of catalogs, as the recording has them.
    addresses: BTreeMap<String, String>,
}

impl Names {
    /// Knows the addresses of catalogs here, and in the recording.
    pub(crate) fn new(addresses: BTreeMap<String, String>) -> Self {
        Self {
            addresses,
            ..Self::default()
        }
    }

    /// Takes an object that was seen.
    pub(crate) fn meet(&mut self, kind: &str, object: &Value) {
        let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
        let (name, beginning) = (text("name"), text("generateName"));
        if !beginning.is_empty() && name.starts_with(beginning) && !self.made_up.contains_key(name) {
            let count = self
                .counts
                .entry(format!("{}/{beginning}", text("namespace")))
                .or_default();
            *count += 1;
            let made_up = format!("{beginning}<{count}>");
            self.made_up.insert(name.to_owned(), made_up);
        }
        let name = self.name(name);
        let place = match text("namespace") {
            "" => format!("{kind}/{name}"),
            namespace => format!("{kind}/{namespace}/{name}"),
        };
        let identity = text("uid").to_owned();
        if self.identities.contains_key(&identity) {
            return;
        }
        let lives = self.lives.entry(place.clone()).or_default();
        *lives += 1;
        let stands = match *lives {
            1 => format!("<uid:{place}>"),
            lives => format!("<uid:{place}#{lives}>"),
        };
        self.identities.insert(identity, stands);
    }

    /// Returns what stands for a name.
    pub(crate) fn name(&self, name: &str) -> String {
        self.made_up.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// Returns the name that something stands for.
    pub(crate) fn real(&self, name: &str) -> String {
        let found = self.made_up.iter().find(|(_, stands)| *stands == name);
        found.map_or_else(|| name.to_owned(), |(real, _)| real.clone())
    }

    /// Returns an object in the words of the recordings.
    pub(crate) fn tell(&self, object: &Value) -> Value {
        masked(&self.worded(object))
    }

    fn worded(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.worded(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .filter(|(key, _)| *key != "managedFields")
                .map(|(key, value)| (self.text(key), self.worded(value)))
                .collect(),
            other => other.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        if TIME.is_match(text) {
            return "<time>".to_owned();
        }
        let mut text = HASH
            .replace_all(text, |found: &Captures<'_>| format!("\"{}-<hash>\"", &found[1]))
            .into_owned();
        if text.len() >= 36 {
            for (identity, stands) in self
                .identities
                .iter()
                .filter(|(identity, _)| identity.len() == 36)
            {
                if text.contains(identity.as_str()) {
                    text = text.replace(identity.as_str(), stands);
                }
            }
        }
        for (name, stands) in &self.made_up {
            if text.contains(name.as_str()) {
                text = text.replace(name.as_str(), stands);
            }
        }
        for (ours, theirs) in &self.addresses {
            if text.contains(ours.as_str()) {
                text = text.replace(ours.as_str(), theirs);
            }
        }
        text
    }
}

/// Takes away what no two runs have in common and the recordings keep in one form or another.
pub(crate) fn masked(object: &Value) -> Value {
    let mut object = object.clone();
    if object["kind"] == "Secret" {
        object.as_object_mut().expect("an object").remove("data");
    }
    // Whoever carries a plan out twice finds what the first time made.
    if object["kind"] == "InstallPlan" {
        if let Some(names) = object["spec"]["clusterServiceVersionNames"].as_array_mut() {
            names.sort_by_key(ToString::to_string);
        }
        for step in object["status"]["plan"].as_array_mut().into_iter().flatten() {
            if step["status"] == "Created" {
                step["status"] = "Present".into();
            }
        }
    }
    mask(&mut object);
    object
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| key != "resourceVersion" && key != "generation");
            for (key, value) in &mut *fields {
                if RANDOM.contains(&key.as_str()) {
                    *value = "<random>".into();
                } else if key == "manifest" {
                    // The order of fields in a text means nothing.
                    let read = value.as_str().and_then(|text| serde_json::from_str(text).ok());
                    *value = read.unwrap_or_else(|| value.clone());
                    mask(value);
                } else {
                    mask(value);
                }
            }
            // Go writes fields that hold nothing.
            fields.retain(|key, value| match value {
                Value::Null => false,
                Value::Object(inner) => !inner.is_empty(),
                Value::Array(items) => !items.is_empty(),
                Value::Bool(is_set) => *is_set || key != "enabled",
                _ => true,
            });
        }
        // How often something is put back that another controller takes away is chance.
        Value::String(text) if text.starts_with("<uid:") => {
            *text = LIFE.replace(text, "#again>").into_owned();
        }
        Value::Array(items) => {
            items.iter_mut().for_each(mask);
            // Conditions have no order, and neither have the operators of a plan.
            if items
                .iter()
                .all(|item| item["type"].is_string() && item["status"].is_string())
            {
                items.sort_by_key(|item| item["type"].to_string());
            }
            if items.iter().all(|item| item["resolving"].is_string()) {
                items.sort_by_key(|item| {
                    let resource = &item["resource"];
                    [&item["resolving"], &resource["kind"], &resource["name"]].map(ToString::to_string)
                });
            }
        }
        _ => {}
    }
}
