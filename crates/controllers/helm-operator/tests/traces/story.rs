//! What became of each thing while some actions ran their course: the states that it went through, and its last one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value, json};

use crate::sighting::Sighting;

/// What is said of a revision that made room for newer ones.
pub(crate) const PRUNED: &str = "pruned";

/// What baton says in addition; upstream knows none of it.
const OWN_CONDITIONS: &[&str] = &["Ready", "Retrying", "Selected", "Valid"];

/// The label of records by which baton makes random values of a chart again; upstream knows none.
const SEED: &str = "seed.baton-olm.dev";

/// The kinds of the custom resources in the recordings.
pub(crate) const RESOURCES: &[&str] = &["InferenceStack", "Kitchen", "Dice", "Umbrella", "Plain"];

/// What is looked at of a thing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    /// The kind of the object; `Release` for all records of a release, `Record` for one.
    pub(crate) kind: String,
    /// Its name.
    pub(crate) name: String,
    /// Which side of it.
    pub(crate) facet: &'static str,
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{} {}", self.kind, self.name, self.facet)
    }
}

/// What is known of a cluster at some moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    objects: BTreeMap<(String, String), Value>,
}

/// What became of things.
#[derive(Debug, Clone, Default)]
pub(crate) struct Story {
    /// The states of a thing, each once, in the order in which they first came.
    pub(crate) steps: BTreeMap<Subject, Vec<Value>>,
    /// How things were in the end.
    pub(crate) ends: BTreeMap<Subject, Value>,
    /// What was written, whether it changed or not.
    pub(crate) touched: BTreeSet<Subject>,
    /// The releases that an action was begun of more than once.
    pub(crate) retried: BTreeSet<String>,
}

impl State {
    /// Goes through what was seen, and tells it.
    pub(crate) fn live(&mut self, sightings: &[Sighting]) -> Story {
        let mut story = Story::default();
        let mut begun: BTreeMap<(String, String), usize> = BTreeMap::new();
        for sighting in sightings {
            match sighting {
                Sighting::Event { about, value } => {
                    let (kind, name) = about.split_once('/').unwrap_or((about, ""));
                    story.step(subject(kind, name, "events"), value.clone());
                }
                Sighting::Object { kind, name, value } => {
                    let key = (kind.clone(), name.clone());
                    story.touched.extend(subjects(kind, name));
                    let before = self.objects.get(&key).cloned();
                    if let Some(release) = revision_of(kind, name) {
                        let status = |value: &Option<Value>| {
                            let status = value
                                .as_ref()
                                .map(|value| value["release"]["info"]["status"].clone());
                            status.unwrap_or(Value::Null)
                        };
                        let is_begun = status(&before) != status(value)
                            && status(value)
                                .as_str()
                                .is_some_and(|status| status.starts_with("pending"));
                        if is_begun {
                            let status = status(value).as_str().unwrap_or_default().to_owned();
                            *begun.entry((release.0.clone(), status)).or_default() += 1;
                        }
                        let (before, after) = (history(before.as_ref()), history(value.as_ref()));
                        if before != after {
                            let mut step = after;
                            if value.is_some() {
                                step["revision"] = json!(release.1);
                            } else if self.has_newer(&release.0, release.1) {
                                step["status"] = json!(PRUNED);
                            }
                            story.step(subject("Release", &release.0, "history"), step);
                        }
                    } else {
                        let (before, after) = (facets(kind, before.as_ref()), facets(kind, value.as_ref()));
                        for (facet, value) in after {
                            if before.get(facet) != Some(&value) {
                                story.step(subject(kind, name, facet), value);
                            }
                        }
                    }
                    match value {
                        Some(value) => self.objects.insert(key, value.clone()),
                        None => self.objects.remove(&key),
                    };
                }
            }
        }
        story.retried = begun
            .into_iter()
            .filter(|(_, times)| *times > 1)
            .map(|((release, _), _)| release)
            .collect();
        for ((kind, name), value) in &self.objects {
            if let Some((release, revision)) = revision_of(kind, name) {
                let subject = subject("Record", &format!("{release}.v{revision}"), "content");
                story.ends.insert(subject, record(value));
            } else {
                for (facet, value) in facets(kind, Some(value)) {
                    story.ends.insert(subject(kind, name, facet), value);
                }
            }
        }
        story
    }

    /// Returns whether a revision makes room for newer ones, and isn't one of a release that goes altogether.
    fn has_newer(&self, release: &str, revision: i64) -> bool {
        let last = self.revisions().get(release).copied().unwrap_or_default();
        let key = (
            "Secret".to_owned(),
            format!("sh.helm.release.v1.{release}.v{last}"),
        );
        let status = self
            .objects
            .get(&key)
            .map(|record| &record["release"]["info"]["status"]);
        last > revision && status.is_some_and(|status| status != "uninstalling")
    }

    /// Returns how many revisions a release has.
    pub(crate) fn count(&self, release: &str) -> usize {
        let revisions = self
            .objects
            .keys()
            .filter_map(|(kind, name)| revision_of(kind, name));
        revisions.filter(|(name, _)| name == release).count()
    }

    /// Returns the last revision of each release.
    pub(crate) fn revisions(&self) -> BTreeMap<String, i64> {
        let mut last = BTreeMap::new();
        for (kind, name) in self.objects.keys() {
            if let Some((release, revision)) = revision_of(kind, name) {
                let known = last.entry(release).or_insert(revision);
                *known = revision.max(*known);
            }
        }
        last
    }
}

impl Story {
    fn step(&mut self, subject: Subject, value: Value) {
        let steps = self.steps.entry(subject).or_default();
        if !steps.contains(&value) {
            steps.push(value);
        }
    }
}

fn subject(kind: &str, name: &str, facet: &'static str) -> Subject {
    Subject {
        kind: kind.to_owned(),
        name: name.to_owned(),
        facet,
    }
}

/// Returns what is looked at of an object.
fn subjects(kind: &str, name: &str) -> Vec<Subject> {
    if let Some((release, revision)) = revision_of(kind, name) {
        return vec![subject("Record", &format!("{release}.v{revision}"), "content")];
    }
    let facets: &[&'static str] = if RESOURCES.contains(&kind) {
        &["conditions", "release", "life"]
    } else {
        &["object"]
    };
    facets.iter().map(|facet| subject(kind, name, facet)).collect()
}

/// Returns the release and revision whose record an object is.
fn revision_of(kind: &str, name: &str) -> Option<(String, i64)> {
    let rest = (kind == "Secret").then(|| name.strip_prefix("sh.helm.release.v1."))??;
    let (release, revision) = rest.rsplit_once(".v")?;
    Some((release.to_owned(), revision.parse().ok()?))
}

/// The sides of an object, or of one that isn't there.
fn facets(kind: &str, object: Option<&Value>) -> BTreeMap<&'static str, Value> {
    if !RESOURCES.contains(&kind) {
        return [("object", object.map_or(json!("absent"), plain))].into();
    }
    let Some(object) = object else {
        return [("life", json!("absent"))].into();
    };
    let metadata = &object["metadata"];
    let conditions = object["status"]["conditions"].as_array();
    let conditions: Vec<Value> = conditions
        .into_iter()
        .flatten()
        .filter(|condition| {
            let name = condition["type"].as_str().unwrap_or_default();
            !OWN_CONDITIONS.contains(&name)
        })
        .map(|condition| {
            let mut condition = condition.clone();
            if let Some(condition) = condition.as_object_mut() {
                condition.remove("lastTransitionTime");
            }
            if let Some(message) = condition.get_mut("message") {
                *message = json!(ordered(message.as_str().unwrap_or_default()));
            }
            condition
        })
        .collect();
    [
        ("conditions", Value::Array(conditions)),
        ("release", object["status"]["deployedRelease"].clone()),
        (
            "life",
            json!({"finalizers": metadata["finalizers"], "is_deleted": metadata["deletionTimestamp"].is_string()}),
        ),
    ]
    .into()
}

/// Puts what is wrong with values into an order; upstream has none.
fn ordered(message: &str) -> String {
    let mut lines: Vec<&str> = message.split('\n').collect();
    let is_complaint = |line: &str| line.starts_with("- at '");
    for run in lines.chunk_by_mut(|one, other| is_complaint(one) && is_complaint(other)) {
        run.sort_unstable();
    }
    lines.join("\n")
}

/// An object without what servers, clocks and controllers of Kubernetes put into it.
fn plain(object: &Value) -> Value {
    let mut plain = Map::new();
    for (field, value) in object.as_object().into_iter().flatten() {
        match field.as_str() {
            "status" | "apiVersion" | "kind" | "_managers" => {}
            "metadata" => {
                plain.insert(field.clone(), metadata(value));
            }
            _ => {
                plain.insert(field.clone(), value.clone());
            }
        }
    }
    if let Some(spec) = plain.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
    Value::Object(plain)
}

fn metadata(metadata: &Value) -> Value {
    let mut plain = Map::new();
    for field in ["labels", "annotations", "ownerReferences"] {
        let Some(value) = metadata.get(field) else {
            continue;
        };
        let mut value = value.clone();
        if let Some(annotations) = value.as_object_mut() {
            // The Deployment controller's.
            annotations.remove("deployment.kubernetes.io/revision");
        }
        if value.as_object().is_none_or(|table| !table.is_empty()) {
            plain.insert(field.to_owned(), value);
        }
    }
    Value::Object(plain)
}

/// How a revision stands.
fn history(secret: Option<&Value>) -> Value {
    match secret {
        None => json!({"status": "gone"}),
        Some(secret) => {
            let information = &secret["release"]["info"];
            json!({"status": information["status"], "description": information["description"]})
        }
    }
}

/// What a record says, without times.
fn record(secret: &Value) -> Value {
    let release = &secret["release"];
    let mut information = release["info"].clone();
    for time in ["first_deployed", "last_deployed", "deleted"] {
        let is_set = information[time].as_str().is_some_and(|time| !time.is_empty());
        information[time] = json!(is_set);
    }
    let mut hooks = release["hooks"].clone();
    for hook in hooks.as_array_mut().into_iter().flatten() {
        for time in ["started_at", "completed_at"] {
            let is_set = hook["last_run"][time]
                .as_str()
                .is_some_and(|time| !time.is_empty());
            hook["last_run"][time] = json!(is_set);
        }
    }
    let mut labels = secret["metadata"]["labels"].clone();
    if let Some(labels) = labels.as_object_mut() {
        labels.remove("createdAt");
        labels.remove("modifiedAt");
        labels.remove(SEED);
    }
    let names = |list: &Value| -> Value {
        let names = list.as_array().into_iter().flatten();
        names
            .map(|file| file.get("name").unwrap_or(file).clone())
            .collect()
    };
    json!({
        "labels": labels,
        "ownerReferences": secret["metadata"]["ownerReferences"],
        "name": release["name"],
        "namespace": release["namespace"],
        "version": release["version"],
        "info": information,
        "config": release["config"],
        "manifest": release["manifest"],
        "hooks": hooks,
        "chart": {
            "metadata": release["chart"]["metadata"],
            "templates": names(&release["chart"]["templates"]),
            "files": names(&release["chart"]["files"]),
            "values": release["chart"]["values"],
        },
    })
}
