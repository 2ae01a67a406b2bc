//! What a cluster's admin may change of an operator's deployments: `deploymentConfig`.

use serde_json::{Map, Value};

use super::workloads::{containers, list_of, pod_spec};
use crate::registry::object_of;

/// Changes a deployment as `config` says. Init containers stay as they are.
pub(super) fn apply(deployment: &mut Value, config: &Value) {
    let pod = pod_spec(deployment);
    for container in containers(pod) {
        let container = object_of(container);
        override_by_name(container, "env", config);
        append_new(container, "envFrom", config);
        override_by_name(container, "volumeMounts", config);
        if let Some(resources) = config.get("resources") {
            container.insert("resources".to_owned(), resources.clone());
        }
    }
    override_by_name(pod, "volumes", config);
    append_new(pod, "tolerations", config);
    if let Some(selector) = config.get("nodeSelector") {
        pod.insert("nodeSelector".to_owned(), selector.clone());
    }
    if let Some(affinity) = config.get("affinity").and_then(Value::as_object) {
        apply_affinity(pod, affinity);
    }
    if let Some(annotations) = config
        .get("annotations")
        .and_then(Value::as_object)
        .filter(|all| !all.is_empty())
    {
        add_annotations(deployment, annotations);
        add_annotations(&mut deployment["spec"]["template"], annotations);
    }
}

fn configured<'a>(config: &'a Value, field: &str) -> &'a [Value] {
    config[field].as_array().map_or(&[], Vec::as_slice)
}

/// Items that exist by name are replaced, the others come after them.
fn override_by_name(object: &mut Map<String, Value>, field: &str, config: &Value) {
    let wanted = configured(config, field);
    if wanted.is_empty() {
        return;
    }
    let items = list_of(object, field);
    let existing = items.len();
    for item in wanted {
        // Only what the bundle had is overridden: two of the same name in the configuration both stay.
        match items[..existing]
            .iter()
            .rposition(|known| known["name"] == item["name"])
        {
            Some(place) => items[place] = item.clone(),
            None => items.push(item.clone()),
        }
    }
}

fn append_new(object: &mut Map<String, Value>, field: &str, config: &Value) {
    let wanted = configured(config, field);
    if wanted.is_empty() {
        return;
    }
    let items = list_of(object, field);
    for item in wanted {
        if !items.contains(item) {
            items.push(item.clone());
        }
    }
}

/// `{}` takes all affinity away, an empty part takes that part away, and a part that says something replaces it.
fn apply_affinity(pod: &mut Map<String, Value>, wanted: &Map<String, Value>) {
    const PARTS: [&str; 3] = ["nodeAffinity", "podAffinity", "podAntiAffinity"];
    if PARTS.iter().all(|part| !wanted.contains_key(*part)) {
        pod.remove("affinity");
        return;
    }
    let affinity = object_of(pod.entry("affinity").or_insert(Value::Null));
    for part in PARTS {
        match wanted.get(part) {
            Some(value) if is_empty(value) => drop(affinity.remove(part)),
            Some(value) => drop(affinity.insert(part.to_owned(), value.clone())),
            None => {}
        }
    }
    if PARTS.iter().all(|part| affinity.get(*part).is_none_or(is_empty)) {
        pod.remove("affinity");
    }
}

/// Whether a part of an affinity demands and prefers nothing.
fn is_empty(part: &Value) -> bool {
    let required = &part["requiredDuringSchedulingIgnoredDuringExecution"];
    // For nodes the demand is an object with terms, for pods it is a list.
    let terms = required.get("nodeSelectorTerms").unwrap_or(required);
    let none = |value: &Value| value.as_array().is_none_or(Vec::is_empty);
    none(terms) && none(&part["preferredDuringSchedulingIgnoredDuringExecution"])
}

/// Adds annotations without overriding those that are there.
fn add_annotations(object: &mut Value, wanted: &Map<String, Value>) {
    let metadata = object_of(object_of(object).entry("metadata").or_insert(Value::Null));
    let annotations = object_of(metadata.entry("annotations").or_insert(Value::Null));
    for (key, value) in wanted {
        annotations.entry(key.as_str()).or_insert_with(|| value.clone());
    }
}
