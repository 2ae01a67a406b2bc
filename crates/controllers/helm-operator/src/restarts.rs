//! Pods that start anew when configuration that they use changes.
//!
//! A pod doesn't see a new ConfigMap that it mounts as one file or reads into its environment. So the pod templates of a
//! release get the digest of each ConfigMap and Secret of the same release that they name; when the content changes, so
//! does the template, and the workload rolls out.

use std::collections::BTreeMap;

use apply::digests::hexadecimal;
use aws_lc_rs::digest::{SHA256, digest};
use chart::pods::{Configuration, configuration, template_pointer, used_configuration};
use serde_json::{Map, Value};

/// What the annotations start with; the kind and the name follow.
pub const PREFIX: &str = "checksum.baton-olm.dev/";

/// The longest name of an annotation behind its prefix that Kubernetes takes.
const LONGEST_NAME: usize = 63;

/// Stamps the pod templates among the objects of a release.
pub fn stamp(objects: &mut [Value]) {
    let digests: BTreeMap<Configuration, String> = objects
        .iter()
        .filter_map(|object| Some((configuration(object)?, content_digest(object))))
        .collect();
    if digests.is_empty() {
        return;
    }
    for object in objects {
        let Some(template) = pod_template(object) else {
            continue;
        };
        let used: Vec<(String, String)> = used_configuration(template)
            .into_iter()
            .filter_map(|reference| {
                let digest = digests.get(&reference)?;
                Some((annotation(&reference), digest.clone()))
            })
            .collect();
        if used.is_empty() {
            continue;
        }
        if let Some(annotations) = table(template, "metadata").and_then(|metadata| {
            let metadata = metadata.entry("annotations").or_insert(Value::Null);
            as_table(metadata)
        }) {
            annotations.extend(used.into_iter().map(|(key, digest)| (key, Value::String(digest))));
        }
    }
}

/// The annotation of a reference; a name that is too long is cut and told apart by its digest.
fn annotation((kind, name): &Configuration) -> String {
    let name = format!("{}-{name}", kind.to_lowercase());
    if name.len() <= LONGEST_NAME {
        return format!("{PREFIX}{name}");
    }
    let mark = hexadecimal(digest(&SHA256, name.as_bytes()).as_ref());
    let kept: String = name.chars().take(LONGEST_NAME - 9).collect();
    format!("{PREFIX}{kept}-{}", &mark[..8])
}

fn content_digest(object: &Value) -> String {
    // Keys are sorted, so the same content has the same text.
    let content: Map<String, Value> = ["data", "binaryData", "stringData"]
        .into_iter()
        .filter_map(|field| Some((field.to_owned(), object.get(field)?.clone())))
        .collect();
    let text = Value::Object(content).to_string();
    hexadecimal(digest(&SHA256, text.as_bytes()).as_ref())
}

/// The pod template of a workload.
fn pod_template(object: &mut Value) -> Option<&mut Value> {
    let pointer = template_pointer(object.get("kind")?.as_str()?)?;
    object.pointer_mut(pointer)
}

fn as_table(value: &mut Value) -> Option<&mut Map<String, Value>> {
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

fn table<'a>(value: &'a mut Value, field: &str) -> Option<&'a mut Map<String, Value>> {
    as_table(value.as_object_mut()?.entry(field).or_insert(Value::Null))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workload(volumes: &Value, containers: &Value) -> Value {
        json!({
            "kind": "Deployment", "metadata": {"name": "d"},
            "spec": {"template": {"spec": {"volumes": volumes, "containers": containers}}},
        })
    }

    fn configured(kind: &str, name: &str, text: &str) -> Value {
        json!({"kind": kind, "metadata": {"name": name}, "data": {"key": text}})
    }

    fn stamps(objects: &[Value]) -> Vec<(String, String)> {
        let annotations = objects
            .iter()
            .filter_map(|object| object.pointer("/spec/template/metadata/annotations")?.as_object());
        annotations
            .flatten()
            .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect()
    }

    #[test]
    fn every_way_to_use_configuration_counts() {
        let ways = [
            (json!([{"configMap": {"name": "a"}}]), json!([])),
            (
                json!([{"projected": {"sources": [{"configMap": {"name": "a"}}]}}]),
                json!([]),
            ),
            (json!([]), json!([{"envFrom": [{"configMapRef": {"name": "a"}}]}])),
            (
                json!([]),
                json!([{"env": [{"name": "x", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "k"}}}]}]),
            ),
        ];
        for (volumes, containers) in ways {
            let mut objects = [configured("ConfigMap", "a", "1"), workload(&volumes, &containers)];
            stamp(&mut objects);
            let first = stamps(&objects);
            assert_eq!(first.len(), 1, "{volumes} {containers}");
            assert_eq!(first[0].0, "checksum.baton-olm.dev/configmap-a");
            objects[0] = configured("ConfigMap", "a", "2");
            stamp(&mut objects);
            assert_ne!(stamps(&objects), first, "other content, another stamp");
        }
    }

    #[test]
    fn what_is_not_of_the_release_or_never_changes_counts_not() {
        let volumes = json!([{"configMap": {"name": "foreign"}}, {"secret": {"secretName": "fixed"}}]);
        let mut fixed = configured("Secret", "fixed", "1");
        fixed["immutable"] = json!(true);
        let before = [
            fixed,
            configured("Secret", "unused", "1"),
            workload(&volumes, &json!([])),
        ];
        let mut after = before.clone();
        stamp(&mut after);
        assert_eq!(after, before);
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let name = |last: &str| ("ConfigMap".to_owned(), format!("{}{last}", "a".repeat(80)));
        let (one, two) = (annotation(&name("1")), annotation(&name("2")));
        assert_ne!(one, two);
        assert!(one.len() <= PREFIX.len() + LONGEST_NAME, "{one}");
    }
}
