//! What the workloads among rendered objects say about their pods.

use std::collections::BTreeSet;

use serde_json::Value;

/// Where a kind of workload has the template of its pods, as a JSON pointer. A pod of its own has none: it can't start anew.
pub fn template_pointer(kind: &str) -> Option<&'static str> {
    match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "ReplicationController" => {
            Some("/spec/template")
        }
        "CronJob" => Some("/spec/jobTemplate/spec/template"),
        _ => None,
    }
}

/// A `ConfigMap` or `Secret`: its kind and its name.
pub type Configuration = (String, String);

/// The kind and name of an object that holds configuration which may change: of a `ConfigMap` or `Secret` that isn't
/// immutable.
pub fn configuration(object: &Value) -> Option<Configuration> {
    let kind = object.get("kind")?.as_str()?;
    let is_immutable = object.get("immutable") == Some(&Value::Bool(true));
    if !matches!(kind, "ConfigMap" | "Secret") || is_immutable {
        return None;
    }
    let name = object.pointer("/metadata/name")?.as_str()?;
    Some((kind.to_owned(), name.to_owned()))
}

/// Which ConfigMaps and Secrets a pod template names: as volumes, and in the environment of containers.
pub fn used_configuration(template: &Value) -> BTreeSet<Configuration> {
    let mut found = BTreeSet::new();
    let mut note = |kind: &str, name: Option<&Value>| {
        if let Some(name) = name.and_then(Value::as_str) {
            found.insert((kind.to_owned(), name.to_owned()));
        }
    };
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let specification = template.get("spec");
    let specified = |field: &str| list(specification.and_then(|spec| spec.get(field)));
    for volume in specified("volumes") {
        note("ConfigMap", volume.pointer("/configMap/name"));
        note("Secret", volume.pointer("/secret/secretName"));
        for source in list(volume.pointer("/projected/sources")) {
            note("ConfigMap", source.pointer("/configMap/name"));
            note("Secret", source.pointer("/secret/name"));
        }
    }
    let containers = specified("initContainers")
        .into_iter()
        .chain(specified("containers"));
    for container in containers {
        for source in list(container.get("envFrom")) {
            note("ConfigMap", source.pointer("/configMapRef/name"));
            note("Secret", source.pointer("/secretRef/name"));
        }
        for variable in list(container.get("env")) {
            note("ConfigMap", variable.pointer("/valueFrom/configMapKeyRef/name"));
            note("Secret", variable.pointer("/valueFrom/secretKeyRef/name"));
        }
    }
    found
}

/// Whether a pod template changes with its configuration by itself, as far as can be told: charts that care give it an
/// annotation with a checksum.
pub fn follows_configuration(template: &Value) -> bool {
    let annotations = template
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    annotations.is_some_and(|annotations| {
        annotations.iter().any(|(key, value)| {
            let key = key.to_ascii_lowercase();
            let says_so = ["checksum", "hash", "sha256", "digest"]
                .iter()
                .any(|word| key.contains(word));
            says_so || value.as_str().is_some_and(is_digest)
        })
    })
}

/// Whether a text is a digest in hexadecimal digits: SHA-1, SHA-256 or SHA-512.
fn is_digest(text: &str) -> bool {
    matches!(text.len(), 40 | 64 | 128) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_way_to_use_configuration_is_found() {
        let used = |spec: &Value| used_configuration(&json!({"spec": spec}));
        let secret = |name: &str| ("Secret".to_owned(), name.to_owned());
        for spec in [
            json!({"volumes": [{"secret": {"secretName": "a"}}]}),
            json!({"volumes": [{"projected": {"sources": [{"secret": {"name": "a"}}]}}]}),
            json!({"containers": [{"envFrom": [{"secretRef": {"name": "a"}}]}]}),
            json!({"initContainers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "a", "key": "k"}}}]}]}),
        ] {
            assert_eq!(used(&spec), BTreeSet::from([secret("a")]), "{spec}");
        }
        assert_eq!(used(&json!({"volumes": [{"emptyDir": {}}]})), BTreeSet::new());
        assert_eq!(used(&json!({"volumes": "none"})), BTreeSet::new());
    }

    #[test]
    fn what_never_changes_is_no_configuration_to_follow() {
        let object = json!({"kind": "ConfigMap", "metadata": {"name": "a"}});
        let named = Some(("ConfigMap".to_owned(), "a".to_owned()));
        assert_eq!(configuration(&object), named);
        for other in [
            json!({"kind": "ConfigMap", "metadata": {"name": "a"}, "immutable": true}),
            json!({"kind": "Service", "metadata": {"name": "a"}}),
            json!({"kind": "Secret"}),
        ] {
            assert_eq!(configuration(&other), None, "{other}");
        }
    }

    #[test]
    fn a_checksum_in_the_template_follows_its_configuration() {
        let follows = |key: &str, value: &str| {
            follows_configuration(&json!({"metadata": {"annotations": {key: value}}}))
        };
        for (key, value, expected) in [
            ("checksum/config", "1", true),
            ("example.com/configHash", "1", true),
            ("example.com/config", &"a".repeat(64), true),
            ("example.com/config", "a", false),
            ("prometheus.io/scrape", "true", false),
        ] {
            assert_eq!(follows(key, value), expected, "{key}: {value}");
        }
        assert!(!follows_configuration(
            &json!({"metadata": {"annotations": null}})
        ));
    }

    #[test]
    fn a_pod_of_its_own_has_no_template() {
        assert_eq!(template_pointer("Deployment"), Some("/spec/template"));
        assert_eq!(
            template_pointer("CronJob"),
            Some("/spec/jobTemplate/spec/template")
        );
        assert_eq!(template_pointer("Pod"), None);
    }
}
