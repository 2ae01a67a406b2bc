//! A recorded flow of the real OLM v0: what was done, when, and what every object looked like after it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::comparing::Account;
use crate::events::{self, Announced, Events};
use crate::moment::Moment;
use crate::story::{self, Stories};
use crate::wording::masked;

/// An object of a flow: kind, namespace (empty for none) and name.
pub(crate) type Subject = (String, String, String);

/// Something that is done to the cluster.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    /// The catalog of this name is served from a file; one that is served already is taken away before.
    Serve { catalog: String, file: PathBuf },
    /// Objects are made.
    Create(Vec<Value>),
    /// An object is changed.
    Patch {
        subject: Subject,
        subresource: String,
        patch: Value,
    },
    /// An object is deleted.
    Delete(Subject),
    /// The pods of a namespace that were held back become ready.
    Release(String),
}

/// An action, and what the cluster looked like when it was done.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) action: Action,
    /// What the flow waited for before.
    pub(crate) moment: Moment,
    /// Every object as it was before the step.
    pub(crate) before: BTreeMap<Subject, Value>,
    /// What had become of objects by then.
    pub(crate) stories: Stories,
}

/// A recorded flow.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
    /// What each object looked like, one after the other; none where it was deleted.
    pub(crate) sights: BTreeMap<Subject, Vec<Option<Value>>>,
    /// What was announced of each object.
    pub(crate) events: Events,
    /// Every object as it was at the end.
    pub(crate) end: BTreeMap<Subject, Value>,
    folder: PathBuf,
    trace: String,
}

impl Recording {
    pub(crate) fn all(folder: &Path) -> Vec<Self> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("a folder")
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names.iter().map(|name| Self::read(folder, name)).collect()
    }

    fn read(folder: &Path, name: &str) -> Self {
        let folder = folder.join(name);
        let trace = fs::read_to_string(folder.join("trace.jsonl")).expect("a trace");
        Self::told(&folder, name, numbered_by_namespace(&trace))
    }

    /// Returns the recording as it would have been with other names.
    pub(crate) fn renamed(&self, names: &[(&str, &str)]) -> Self {
        let trace = names
            .iter()
            .fold(self.trace.clone(), |trace, (from, to)| trace.replace(from, to));
        Self::told(&self.folder, &self.name, trace)
    }

    /// Returns the recording as far as the moment before a step.
    pub(crate) fn until(&self, step: usize) -> Self {
        let lines = self.trace.lines();
        let steps = lines.scan(0, |steps, line| {
            let record: Value = serde_json::from_str(line).expect("a record");
            *steps += usize::from(record.get("step").is_some_and(|step| step["op"] != "note"));
            Some((*steps, line))
        });
        let before: Vec<&str> = steps
            .take_while(|(steps, _)| *steps <= step)
            .map(|(_, line)| line)
            .collect();
        Self::told(&self.folder, &self.name, before.join("\n"))
    }

    /// Returns what there is to know of what was recorded.
    pub(crate) fn account(&self) -> Account {
        let stories = story::tell(&self.sights);
        Account {
            events: events::tell(&self.events, &stories),
            stories,
            end: self.end.clone(),
        }
    }

    fn told(folder: &Path, name: &str, trace: String) -> Self {
        let mut recording = Self {
            name: name.to_owned(),
            folder: folder.to_owned(),
            steps: Vec::new(),
            sights: BTreeMap::new(),
            events: Events::new(),
            end: BTreeMap::new(),
            trace: String::new(),
        };
        for line in trace.lines() {
            let record: Value = serde_json::from_str(line).expect("a record");
            if let Some(step) = record.get("step") {
                if step["op"] == "note" {
                    continue;
                }
                let text = step["when"].as_str().unwrap_or("while the plan is retrying");
                let moment = Moment::parse(text);
                recording.steps.push(Step {
                    action: action(&folder.join("input"), step),
                    moment: moment.unwrap_or_else(|| panic!("{name}: {text:?} is no moment")),
                    before: recording.end.clone(),
                    stories: story::tell(&recording.sights),
                });
                continue;
            }
            let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
            let subject = (text("kind"), text("namespace"), text("name"));
            if subject.0 == "Event" {
                let (about, told) = Announced::read(&subject.1, &record["event"]);
                recording.events.entry(about).or_default().insert(told);
                continue;
            }
            let object = (record["type"] != "DELETED").then(|| masked(&record["object"]));
            match &object {
                Some(object) => recording.end.insert(subject.clone(), object.clone()),
                None => recording.end.remove(&subject),
            };
            recording.sights.entry(subject).or_default().push(object);
        }
        recording.trace = trace;
        recording
    }
}

/// Counts the plans of each namespace from one: which namespace was first is chance.
fn numbered_by_namespace(trace: &str) -> String {
    let mut plans: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in trace.lines() {
        let record: Value = serde_json::from_str(line).expect("a record");
        let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        let of_namespace = plans.entry(text("namespace")).or_default();
        if record["kind"] == "InstallPlan" && !of_namespace.contains(&text("name")) {
            of_namespace.push(text("name"));
        }
    }
    let mut trace = trace.to_owned();
    for of_namespace in plans.values() {
        for (position, name) in of_namespace.iter().enumerate() {
            trace = trace.replace(name.as_str(), &format!("install-<#{}>", position + 1));
        }
    }
    trace.replace("install-<#", "install-<")
}

fn action(input: &Path, step: &Value) -> Action {
    let text = |key: &str| step[key].as_str().unwrap_or_default().to_owned();
    match text("op").as_str() {
        "catalog" => Action::Serve {
            catalog: text("catalog"),
            file: input.join(text("dir")).join("catalog.yaml"),
        },
        "create" => Action::Create(documents(&input.join(text("file")))),
        "patch" if step.get("text").is_some() => Action::Patch {
            subject: ("Alpha".to_owned(), "crds".to_owned(), "one".to_owned()),
            subresource: String::new(),
            patch: json!({"spec": {"mode": "x"}}),
        },
        "patch" => {
            let document = documents(&input.join(text("file"))).remove(0);
            let of = |key: &str| document["patch"][key].as_str().unwrap_or_default().to_owned();
            Action::Patch {
                subject: (of("kind"), of("namespace"), of("name")),
                subresource: of("subresource"),
                patch: document["body"].clone(),
            }
        }
        "delete" => Action::Delete((text("kind"), text("namespace"), text("name"))),
        "kubelet-release" => Action::Release(text("namespace")),
        other => panic!("{other} is nothing that can be done"),
    }
}

fn documents(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).expect("a file");
    text.split("\n---\n")
        .map(|document| goyaml::to_value(document.as_bytes()).expect("YAML"))
        .filter(|document| !document.is_null())
        .collect()
}
