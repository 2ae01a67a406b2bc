//! A recorded flow of the real OLM v0: what was done, when, and what every object looked like after it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::differences;
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

/// What a step waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing.
    Nothing,
    /// That catalogs can be asked.
    Catalogs,
    /// That everything rests as it did in the recording.
    Rest,
}

/// An action, and what the cluster looked like when it was done.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) action: Action,
    /// What the flow waited for before.
    pub(crate) wait: Wait,
    /// Every object as it was before the step.
    pub(crate) before: BTreeMap<Subject, Value>,
}

/// A recorded flow.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
    /// What each object looked like, one after the other; none where it was deleted.
    pub(crate) sights: BTreeMap<Subject, Vec<Option<Value>>>,
    /// Every object as it was at the end.
    pub(crate) end: BTreeMap<Subject, Value>,
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
        let trace = numbered_by_namespace(&trace);
        let mut recording = Self {
            name: name.to_owned(),
            steps: Vec::new(),
            sights: BTreeMap::new(),
            end: BTreeMap::new(),
        };
        let length = differences::length(name);
        for line in trace.lines() {
            let record: Value = serde_json::from_str(line).expect("a record");
            if let Some(step) = record.get("step") {
                if step["op"] == "note" {
                    continue;
                }
                if recording.steps.len() >= length {
                    break;
                }
                let text = step["when"].as_str().unwrap_or("while the plan is retrying");
                recording.steps.push(Step {
                    action: action(&folder.join("input"), step),
                    wait: match text {
                        "at once" | "before the CatalogSource" => Wait::Nothing,
                        "after the CatalogSource is READY" => Wait::Catalogs,
                        _ => Wait::Rest,
                    },
                    before: recording.end.clone(),
                });
                continue;
            }
            let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
            let subject = (text("kind"), text("namespace"), text("name"));
            if subject.0 == "Event" {
                continue;
            }
            let object = (record["type"] != "DELETED").then(|| masked(&record["object"]));
            match &object {
                Some(object) => recording.end.insert(subject.clone(), object.clone()),
                None => recording.end.remove(&subject),
            };
            recording.sights.entry(subject).or_default().push(object);
        }
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
