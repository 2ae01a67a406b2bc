//! A flow of the real operator as it was recorded: what was done to the cluster, and what was seen in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chart::go_duration;
use serde_json::Value;

use crate::sighting::Sighting;
use crate::story::RESOURCES;

/// Actions that follow one another sooner were not waited for when they were recorded.
const SAME_GROUP: u64 = 1;

/// A flow.
pub(crate) struct Recording {
    /// Its number, such as `05`.
    pub(crate) number: String,
    /// Its name, without the number.
    pub(crate) name: String,
    /// The namespace that it was recorded in.
    pub(crate) namespace: String,
    /// What was done, and what was seen of it.
    pub(crate) groups: Vec<Group>,
}

/// Actions, and what was seen until the next ones.
pub(crate) struct Group {
    /// The number of its first record.
    pub(crate) begin: u64,
    /// What was done.
    pub(crate) actions: Vec<Action>,
    /// What was seen.
    pub(crate) sightings: Vec<Sighting>,
}

/// Something that was done to the cluster or to an operator.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    /// An operator starts.
    Start {
        /// Which.
        operator: String,
        /// How often it looks although nothing changed.
        period: Duration,
        /// Its `watches.yaml`.
        watches: PathBuf,
        /// Its environment.
        environment: BTreeMap<String, String>,
    },
    /// An operator ends as it should.
    Stop(String),
    /// An operator ends at once.
    Kill(String),
    /// An object is made.
    Create(Value),
    /// Labels, annotations and spec of an object are replaced.
    Replace(Value),
    /// An object is changed.
    Patch {
        /// Its kind and name.
        object: (String, String),
        /// What changes.
        patch: Value,
    },
    /// An object is deleted.
    Delete((String, String)),
}

impl Recording {
    /// Reads all recordings of the corpus, in order.
    pub(crate) fn all(corpus: &Path) -> Vec<Self> {
        let entries = std::fs::read_dir(corpus.join("traces")).expect("the traces");
        let mut folders: Vec<PathBuf> = entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_dir())
            .collect();
        folders.sort();
        folders.iter().map(|folder| Self::read(folder)).collect()
    }

    fn read(folder: &Path) -> Self {
        let full_name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let (number, name) = full_name.split_once('-').expect("a number and a name");
        let text = std::fs::read_to_string(folder.join("trace.jsonl")).expect("a trace");
        let mut groups: Vec<Group> = Vec::new();
        let mut last_action = None;
        for line in text.lines() {
            let record: Value = serde_json::from_str(line).expect("JSON");
            let second = record["dt_s"].as_u64().unwrap_or_default();
            if let Some(action) = record.get("action") {
                let action = Action::read(folder, action);
                let is_near = last_action.is_some_and(|last: u64| second - last <= SAME_GROUP);
                // What follows the end of an operator is looked at for itself.
                let begins = !is_near || matches!(action, Action::Stop(_));
                if begins {
                    groups.push(Group {
                        begin: record["seq"].as_u64().expect("a number"),
                        actions: Vec::new(),
                        sightings: Vec::new(),
                    });
                }
                last_action = Some(second);
                groups.last_mut().expect("a group").actions.push(action);
            } else {
                let group = groups.last_mut().expect("an action first");
                group.sightings.push(Sighting::recorded(&record));
            }
        }
        let mut sightings = groups.iter().flat_map(|group| &group.sightings);
        let namespace = sightings.find_map(|sighting| match sighting {
            Sighting::Object { value, .. } => value.as_ref()?["metadata"]["namespace"].as_str(),
            Sighting::Event { .. } => None,
        });
        Self {
            number: number.to_owned(),
            name: name.to_owned(),
            namespace: namespace.expect("a namespace").to_owned(),
            groups,
        }
    }
}

impl Recording {
    /// Returns whether an object of a kind was seen.
    pub(crate) fn sees(&self, wanted: &str) -> bool {
        let mut sightings = self.groups.iter().flat_map(|group| &group.sightings);
        sightings.any(|sighting| matches!(sighting, Sighting::Object { kind, .. } if kind == wanted))
    }

    /// Returns the names of the custom resources, which are those of the releases.
    pub(crate) fn releases(&self) -> BTreeSet<String> {
        let sightings = self.groups.iter().flat_map(|group| &group.sightings);
        sightings
            .filter_map(|sighting| match sighting {
                Sighting::Object { kind, name, .. } if RESOURCES.contains(&kind.as_str()) => {
                    Some(name.clone())
                }
                _ => None,
            })
            .collect()
    }
}

impl Action {
    fn read(folder: &Path, action: &Value) -> Self {
        let text = |field: &str| action[field].as_str().map(str::to_owned);
        let file = || {
            let path = folder.join(text("file").expect("a file"));
            // The recordings were written by a YAML in which this is a text and no truth.
            let text = std::fs::read_to_string(path)
                .expect("an input")
                .replace(": y\n", ": \"y\"\n");
            goyaml::to_value(text.as_bytes()).expect("YAML")
        };
        let object = || {
            let object = text("object").expect("an object");
            let (kind, name) = object.split_once('/').expect("kind and name");
            (kind.to_owned(), name.to_owned())
        };
        match action["do"].as_str().expect("an action") {
            "operator-start" => Self::Start {
                operator: text("operator").expect("a name"),
                period: period(action),
                watches: folder.join(text("watches").expect("a file")),
                environment: serde_json::from_value(action["env"].clone()).unwrap_or_default(),
            },
            "operator-stop" => Self::Stop(text("operator").expect("a name")),
            "operator-kill" => Self::Kill(text("operator").expect("a name")),
            "create" => Self::Create(file()),
            "replace" => Self::Replace(file()),
            "merge-patch" => Self::Patch {
                object: object(),
                patch: file(),
            },
            "delete" => Self::Delete(object()),
            other => panic!("the action {other} is not known"),
        }
    }
}

fn period(action: &Value) -> Duration {
    let arguments = action["args"].as_array().expect("arguments");
    let [argument] = arguments.as_slice() else {
        panic!("other arguments than the period: {arguments:?}");
    };
    let text = argument
        .as_str()
        .and_then(|text| text.strip_prefix("--reconcile-period="));
    go_duration::parse(text.expect("the period")).expect("a time")
}
