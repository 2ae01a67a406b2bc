//! A cluster in memory for tests: it does what decisions say, as an API server would.

#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod differences;

use std::collections::BTreeSet;

use apply::object::{ObjectId, as_map, text};
use classic::{Decision, Key, Kind, World, Write};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use service_version::certificates::CertificateError;
use service_version::{Circumstances, Secrets};

/// Opens a file of the recorded data.
pub(crate) fn cases(file: &str) -> Option<Vec<Value>> {
    let path = corpus::open("olmv0")?.join("olmv0-corpus").join(file);
    let text = std::fs::read_to_string(path).expect("a file of the corpus");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    Some(document["cases"].as_array().expect("cases").clone())
}

/// One key, and one number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known;

impl Secrets for Known {
    fn key(&self) -> Result<rcgen::KeyPair, CertificateError> {
        service_version::Random.key()
    }

    fn serial(&self) -> Result<u64, CertificateError> {
        Ok(7)
    }
}

/// Circumstances at a moment.
pub(crate) fn at(now: &str) -> Circumstances<'static> {
    Circumstances {
        now: now.parse::<Timestamp>().expect("a moment"),
        secrets: &Known,
        protected_namespaces: BTreeSet::new(),
    }
}

/// A cluster that counts what happens to it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cluster {
    pub(crate) world: World,
    /// What was there at the beginning.
    pub(crate) initial: World,
    made: usize,
    /// Whether objects get identities and versions.
    pub(crate) is_real: bool,
}

impl Cluster {
    pub(crate) fn of(objects: impl IntoIterator<Item = Value>) -> Self {
        let mut cluster = Self::default();
        for object in objects {
            cluster.world.put(object.clone());
            cluster.initial.put(object);
        }
        cluster
    }

    /// A cluster whose objects have identities and versions.
    pub(crate) fn real() -> Self {
        Self {
            is_real: true,
            ..Self::default()
        }
    }

    pub(crate) fn put(&mut self, mut object: Value) {
        if self.is_real {
            self.made += 1;
            let made = self.made;
            let metadata = as_map(&mut object["metadata"]);
            metadata
                .entry("uid")
                .or_insert_with(|| Value::from(format!("uid-{made}")));
            metadata.insert("resourceVersion".to_owned(), Value::from(made.to_string()));
        }
        self.world.put(object);
    }

    fn find(&self, id: &ObjectId) -> Option<Value> {
        let kind = Kind::named(&id.kind)?;
        let found = self.world.get(kind, &id.namespace, &id.name)?;
        Some((**found).clone())
    }

    /// Does what a decision says.
    pub(crate) fn act(&mut self, decision: &Decision) {
        let attempt = decision.attempt.iter().flat_map(|attempt| &attempt.writes);
        for write in attempt.chain(&decision.writes) {
            self.write(write);
        }
    }

    pub(crate) fn write(&mut self, write: &Write) {
        match write {
            Write::Create { object, or_update } => {
                let mut object = object.clone();
                if text(&object, "/metadata/name").is_empty() {
                    let base = text(&object, "/metadata/generateName").to_owned();
                    object["metadata"]["name"] = Value::from(format!("{base}xxxxx"));
                }
                let existing = self.find(&ObjectId::of(&object));
                assert!(existing.is_none() || *or_update, "{object} is there already");
                if let Some(existing) = existing {
                    keep_status(&mut object, &existing);
                    keep_identity(&mut object, &existing);
                }
                self.put(object);
            }
            Write::Update(object) => {
                let existing = self.find(&ObjectId::of(object)).expect("an object to update");
                self.check_version(object, &existing);
                let mut object = object.clone();
                keep_status(&mut object, &existing);
                keep_identity(&mut object, &existing);
                self.put(object);
            }
            Write::UpdateStatus(object) => {
                let mut existing = self.find(&ObjectId::of(object)).expect("an object with a status");
                self.check_version(object, &existing);
                existing["status"] = object["status"].clone();
                self.put(existing);
            }
            Write::Merge { id, patch } => {
                let mut existing = self.find(id).expect("an object to patch");
                if !text(patch, "/metadata/resourceVersion").is_empty() {
                    self.check_version(patch, &existing);
                }
                merge(&mut existing, patch);
                self.put(existing);
            }
            Write::Apply { object, .. } => {
                let mut existing = self.find(&ObjectId::of(object)).unwrap_or_else(|| json!({}));
                merge(&mut existing, object);
                self.put(existing);
            }
            Write::Delete { id, .. } => {
                if let Some(kind) = Kind::named(&id.kind) {
                    self.world.remove(&Key::new(kind, &id.namespace, &id.name));
                }
            }
        }
    }

    fn check_version(&self, object: &Value, existing: &Value) {
        if self.is_real {
            let version = text(object, "/metadata/resourceVersion");
            assert_eq!(
                version,
                text(existing, "/metadata/resourceVersion"),
                "a stale write of {}",
                ObjectId::of(existing)
            );
        }
    }

    /// Returns what was made, deleted and changed, as the corpus names it.
    pub(crate) fn changes(&self) -> (Vec<String>, Vec<String>, Vec<String>) {
        let (mut created, mut deleted, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        let name = |object: &Value| {
            let id = ObjectId::of(object);
            format!("{}/{}/{}", id.kind, id.namespace, id.name)
        };
        for kind in Kind::ALL {
            for object in self.world.all(kind) {
                let (namespace, object_name) = (
                    text(object, "/metadata/namespace"),
                    text(object, "/metadata/name"),
                );
                match self.initial.get(kind, namespace, object_name) {
                    None => created.push(name(object)),
                    Some(before) if before != object => changed.push(name(object)),
                    Some(_) => {}
                }
            }
            for object in self.initial.all(kind) {
                let (namespace, object_name) = (
                    text(object, "/metadata/namespace"),
                    text(object, "/metadata/name"),
                );
                if self.world.get(kind, namespace, object_name).is_none() {
                    deleted.push(name(object));
                }
            }
        }
        created.sort();
        deleted.sort();
        changed.sort();
        (created, deleted, changed)
    }
}

/// The status is written by itself.
fn keep_status(object: &mut Value, existing: &Value) {
    if let Some(status) = existing.get("status") {
        object["status"] = status.clone();
    }
}

fn keep_identity(object: &mut Value, existing: &Value) {
    for field in ["uid", "resourceVersion"] {
        if let Some(value) = existing.pointer(&format!("/metadata/{field}")) {
            object["metadata"][field] = value.clone();
        }
    }
}

/// Merges a JSON merge patch.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    let target = as_map(target);
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.as_str()).or_insert(Value::Null), value);
        }
    }
}

/// Drops what Go leaves out when it is empty, so that values compare as Go's do.
pub(crate) fn pruned(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| (key.clone(), pruned(value)));
            let kept: Map<String, Value> = entries
                .filter(|(_, value)| {
                    !value.is_null()
                        && value.as_object().is_none_or(|map| !map.is_empty())
                        && value.as_array().is_none_or(|list| !list.is_empty())
                        && value.as_str() != Some("")
                })
                .collect();
            Value::Object(kept)
        }
        Value::Array(list) => Value::Array(list.iter().map(pruned).collect()),
        other => other.clone(),
    }
}

/// Reads a list of texts.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    let listed = value.as_array().into_iter().flatten();
    listed
        .map(|text| text.as_str().expect("a text").to_owned())
        .collect()
}
