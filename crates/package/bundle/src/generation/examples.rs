//! Example custom resources, for consoles to start from.

use serde_json::{Map, Value, json};

use super::project::{Project, Watched};
use super::watches::Watch;

/// The examples of a watched kind: the author's samples, or else the chart's defaults.
pub(super) fn examples(project: &Project, watched: &Watched, watch: &Watch) -> Vec<Value> {
    let written: Vec<Value> = project
        .samples
        .iter()
        .filter(|(_, sample)| is_of(sample, watch))
        .map(|(_, sample)| {
            let mut sample = sample.clone();
            if let Some(object) = sample.as_object_mut() {
                object.remove("status");
                object.insert(
                    "apiVersion".into(),
                    format!("{}/{}", watch.group, watch.version).into(),
                );
                let metadata = object.entry("metadata").or_insert_with(|| json!({}));
                if let Some(metadata) = metadata.as_object_mut() {
                    metadata.remove("creationTimestamp");
                    label(metadata, watch);
                }
            }
            sample
        })
        .collect();
    if !written.is_empty() {
        return written;
    }
    let mut metadata = Map::from_iter([(
        "name".to_owned(),
        Value::from(format!("{}-sample", watch.kind.to_lowercase())),
    )]);
    label(&mut metadata, watch);
    let spec = watched
        .chart
        .raw_values()
        .and_then(|bytes| goyaml::to_value(bytes).ok())
        .and_then(without_nulls)
        .unwrap_or_else(|| json!({}));
    vec![json!({
        "apiVersion": format!("{}/{}", watch.group, watch.version),
        "kind": watch.kind,
        "metadata": metadata,
        "spec": spec,
    })]
}

/// Whether a sample is one of a watched kind.
pub(super) fn is_of(sample: &Value, watch: &Watch) -> bool {
    let text = |key: &str| sample.get(key).and_then(Value::as_str).unwrap_or_default();
    text("kind") == watch.kind && super::kinds::group_of(text("apiVersion")) == watch.group
}

/// Adds the labels without which the operator would not look at the example.
fn label(metadata: &mut Map<String, Value>, watch: &Watch) {
    if watch.match_labels.is_empty() {
        return;
    }
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    if let Some(labels) = labels.as_object_mut() {
        labels.extend(watch.match_labels.clone());
    }
}

/// The value without its nulls, which in an example would ask for defaults to be taken away.
fn without_nulls(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(map) => Some(Value::Object(
            map.into_iter()
                .filter_map(|(key, value)| Some((key, without_nulls(value)?)))
                .collect(),
        )),
        value => Some(value),
    }
}
