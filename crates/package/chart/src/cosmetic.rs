//! Labels of pods that name nothing but the version of a chart, and how they are kept from starting pods anew.
//!
//! Kubernetes starts pods anew when anything in their template changes. Charts often put `helm.sh/chart` and
//! `app.kubernetes.io/version` there, so that a new version restarts every pod although nothing real is different:
//!
//! ```text
//! objects of the next release ─┐
//! objects of the one before   ─┴─► needless_restarts ─► defer: these templates stay as they were
//! ```
//!
//! Nobody needs these labels on pods at once: the objects themselves carry them too, and change without a restart.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::chart::Chart;
use crate::document;
use crate::installation::Installation;

/// The labels and annotations that are meant. `app.kubernetes.io/managed-by` isn't: it says who looks after the pods.
pub const KEYS: [&str; 2] = ["app.kubernetes.io/version", "helm.sh/chart"];

/// Where a template has them.
const FIELDS: [&str; 2] = ["labels", "annotations"];

/// Fields below which labels select something, beside all whose name ends in `selector`: of workloads and policies, of the
/// spread of pods, and of Istio's routes.
const SELECTING: [&str; 5] = [
    "matchExpressions",
    "matchLabelKeys",
    "matchLabels",
    "mismatchLabelKeys",
    "subsets",
];

/// What an author calls this in `watches.yaml`.
pub const SETTING: &str = "cosmetic";

/// How many workloads a sentence names before it counts the others.
const MOST_NAMED: usize = 5;

/// A version that no chart has.
const NEXT_VERSION: &str = "99999.0.0";

/// What becomes of such labels where they are all that changes of pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Cosmetic {
    /// They are written, and the pods start anew.
    #[default]
    Apply,
    /// They keep their old value until something else of the pods changes.
    Defer,
}

/// A word that says nothing about such labels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of \"apply\" and \"defer\"")]
pub struct UnknownCosmetic(pub String);

impl FromStr for Cosmetic {
    type Err = UnknownCosmetic;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "apply" => Ok(Self::Apply),
            "defer" => Ok(Self::Defer),
            _ => Err(UnknownCosmetic(word.to_owned())),
        }
    }
}

/// A workload whose pods would start anew for the sake of labels alone; prints as `Deployment web`.
#[derive(Debug, Clone, PartialEq)]
pub struct NeedlessRestart {
    /// The workload's kind.
    pub kind: String,
    /// The workload's name.
    pub name: String,
    /// The labels and annotations that differ.
    pub keys: BTreeSet<&'static str>,
    /// Which of the objects it is.
    index: usize,
    /// The template as it was.
    template: Value,
}

impl fmt::Display for NeedlessRestart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind, self.name)
    }
}

impl NeedlessRestart {
    /// Says that the pods start anew with every version of a chart, why, and what keeps them from it.
    pub fn with_every_version(&self) -> String {
        format!(
            "pods of {self} start anew with every version of the chart, because their template names {}; leave that out of \
             the template, or let pods keep it with `{SETTING}: defer` in watches.yaml",
            in_words(&self.keys)
        )
    }
}

/// Says which pods keep what, such as `pods of Deployment web keep helm.sh/chart until something else of them changes`;
/// nothing where none do.
pub fn kept_in_words(restarts: &[NeedlessRestart]) -> Option<String> {
    restarts.first()?;
    let named = restarts.iter().take(MOST_NAMED);
    let mut named: Vec<String> = named.map(ToString::to_string).collect();
    let more = restarts.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let keys = restarts.iter().flat_map(|restart| restart.keys.iter().copied());
    Some(format!(
        "pods of {} keep {} until something else of them changes",
        named.join(" and "),
        in_words(&keys.collect())
    ))
}

fn in_words(keys: &BTreeSet<&'static str>) -> String {
    let keys: Vec<&str> = keys.iter().copied().collect();
    keys.join(" and ")
}

/// What tells a workload from all others in a cluster.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Identity<'object> {
    /// The API's group; versions of an API show the same objects.
    group: &'object str,
    kind: &'object str,
    namespace: &'object str,
    name: &'object str,
}

impl<'object> Identity<'object> {
    /// Reads it; an object without a namespace is in that of its release.
    fn of(object: &'object Value, namespace: &'object str) -> Option<Self> {
        let text = |pointer| {
            let value = object.pointer(pointer).and_then(Value::as_str);
            value.filter(|text: &&str| !text.is_empty())
        };
        let api_version = text("/apiVersion").unwrap_or_default();
        Some(Self {
            group: api_version.rsplit_once('/').map_or("", |(group, _)| group),
            kind: text("/kind")?,
            namespace: text("/metadata/namespace").unwrap_or(namespace),
            name: text("/metadata/name")?,
        })
    }
}

/// Where a workload has the template of pods that a change would start anew, as a JSON pointer.
///
/// The pods of a `CronJob` come with its next run and those of a `ReplicaSet` stay as they are, so that their labels may
/// change at once. A `Job` can't take another template, and would have to be made and run once more.
fn template_pointer(kind: &str) -> Option<&'static str> {
    matches!(kind, "DaemonSet" | "Deployment" | "Job" | "StatefulSet").then_some("/spec/template")
}

/// Finds the workloads among the objects of a release whose templates differ from those before in such labels and nothing
/// else. A label that something selects by, or that the pods themselves read, counts as anything else.
///
/// `previous` are the objects of the release before, whoever made it; `namespace` is that of the release.
pub fn needless_restarts<'a>(
    objects: &[Value],
    previous: impl IntoIterator<Item = &'a Value>,
    namespace: &str,
) -> Vec<NeedlessRestart> {
    let previous: BTreeMap<Identity<'_>, &Value> = previous
        .into_iter()
        .filter_map(|object| Some((Identity::of(object, namespace)?, object)))
        .collect();
    let restart = |(index, object): (usize, &Value)| {
        let identity = Identity::of(object, namespace)?;
        let pointer = template_pointer(identity.kind)?;
        let template = object.pointer(pointer)?;
        let before = previous.get(&identity)?.pointer(pointer)?;
        let keys = differing(template, before);
        let is_needless = !keys.is_empty()
            && !keys.iter().any(|key| reads(template, key))
            && without(template, &keys) == without(before, &keys);
        is_needless.then(|| NeedlessRestart {
            kind: identity.kind.to_owned(),
            name: identity.name.to_owned(),
            keys,
            index,
            template: before.clone(),
        })
    };
    let mut restarts: Vec<NeedlessRestart> = objects.iter().enumerate().filter_map(restart).collect();
    if !restarts.is_empty() {
        let mut selected = BTreeSet::new();
        for object in objects {
            note_selected(object, false, &mut selected);
        }
        restarts.retain(|restart| restart.keys.is_disjoint(&selected));
    }
    restarts
}

/// Leaves the templates of pods as they were, so that none of them starts anew.
///
/// The next release compares with what stands then, so that a label which was kept once is kept until something real
/// changes, and is new from then on.
pub fn defer(objects: &mut [Value], restarts: &[NeedlessRestart]) {
    for restart in restarts {
        let template = objects.get_mut(restart.index).and_then(|object| {
            let pointer = template_pointer(&restart.kind)?;
            object.pointer_mut(pointer)
        });
        if let Some(template) = template {
            *template = restart.template.clone();
        }
    }
}

/// A chart as its next version, with nothing else changed.
pub fn next_version(chart: &Arc<Chart>) -> Arc<Chart> {
    let mut next = Chart::clone(chart);
    NEXT_VERSION.clone_into(&mut Arc::make_mut(&mut next.metadata).version);
    Arc::new(next)
}

/// Finds the workloads of a chart whose pods its next version starts anew for nothing, each with the template that makes
/// it.
pub fn restarted_by_version(now: &Installation, next: &Installation) -> Vec<(String, NeedlessRestart)> {
    let (_, previous) = objects(now);
    let (files, wanted) = objects(next);
    let restarts = needless_restarts(&wanted, &previous, "").into_iter();
    restarts
        .filter_map(|restart| Some(((*files.get(restart.index)?).to_owned(), restart)))
        .collect()
}

/// The objects of an installation, with the names of their templates.
fn objects(installation: &Installation) -> (Vec<&str>, Vec<Value>) {
    let manifests = installation.manifests.iter();
    manifests
        .filter_map(|manifest| Some((manifest.name.as_str(), document::read(&manifest.content).ok()?)))
        .unzip()
}

/// The labels and annotations in question whose values differ between two templates.
fn differing(one: &Value, other: &Value) -> BTreeSet<&'static str> {
    let value = |template: &'_ Value, field: &str, key: &str| -> Option<Value> {
        template.get("metadata")?.get(field)?.get(key).cloned()
    };
    KEYS.into_iter()
        .filter(|key| {
            FIELDS
                .iter()
                .any(|field| value(one, field, key) != value(other, field, key))
        })
        .collect()
}

/// A template without some labels and annotations; where none are left it is as if there had been none.
fn without(template: &Value, keys: &BTreeSet<&'static str>) -> Value {
    let mut template = template.clone();
    if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in FIELDS {
            if let Some(entries) = metadata.get_mut(field).and_then(Value::as_object_mut) {
                entries.retain(|key, _| !keys.contains(key.as_str()));
            }
            let is_empty = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
            if metadata.get(field).is_some_and(is_empty) {
                metadata.remove(field);
            }
        }
    }
    template
}

/// Whether containers read a label or an annotation of their pod, by itself or with all others.
fn reads(value: &Value, key: &str) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(field, value)| match value {
            Value::String(path) if field == "fieldPath" => {
                path.contains(key) || matches!(path.as_str(), "metadata.labels" | "metadata.annotations")
            }
            value => reads(value, key),
        }),
        Value::Array(items) => items.iter().any(|item| reads(item, key)),
        _ => false,
    }
}

/// Notes which of the labels stand in selectors of whatever kind, as names of labels or in a text.
fn note_selected(value: &Value, is_selector: bool, selected: &mut BTreeSet<&'static str>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                if is_selector {
                    selected.extend(KEYS.into_iter().filter(|key| key == field));
                }
                let selects = field.ends_with("elector") || SELECTING.contains(&field.as_str());
                note_selected(value, is_selector || selects, selected);
            }
        }
        Value::Array(items) => {
            for item in items {
                note_selected(item, is_selector, selected);
            }
        }
        Value::String(text) if is_selector => {
            selected.extend(KEYS.into_iter().filter(|key| text.contains(key)));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
