//! What an administrator changes of an operator's deployments: `spec.config` of its Subscription.

use apply::object::{as_map, text};
use classic::{Kind, World};
use serde_json::{Map, Value};

/// Finds the Subscription that a version was installed for, or is being installed for: a version is in the cluster before its
/// Subscription says that it is installed, and would otherwise be installed without its configuration, and then again.
pub fn subscription<'a>(world: &'a World, namespace: &'a str, version: &str) -> Option<&'a Value> {
    let naming = |pointer: &str| {
        world
            .in_namespace(Kind::Subscription, namespace)
            .find(|subscription| text(subscription, pointer) == version)
    };
    naming("/status/installedCSV")
        .or_else(|| naming("/status/currentCSV"))
        .map(|subscription| &**subscription)
}

/// Changes a Deployment as the `spec.config` of a Subscription says.
pub fn apply(deployment: &mut Value, config: &Value) {
    if let Some(pod) = pod_of(deployment) {
        let list = |field: &str| {
            config
                .get(field)
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice)
        };
        set_environment(pod, list("env"));
        add_environment_sources(pod, list("envFrom"));
        set_volumes(pod, list("volumes"));
        set_volume_mounts(pod, list("volumeMounts"));
        add_tolerations(pod, list("tolerations"));
        set_resources(pod, config.get("resources"));
        set_node_selector(pod, config.get("nodeSelector"));
        override_affinity(pod, config.get("affinity"));
    }
    add_annotations(deployment, config.get("annotations"));
}

/// Returns the `spec` of a Deployment's pods, after making it a map.
pub fn pod_of(deployment: &mut Value) -> Option<&mut Map<String, Value>> {
    let spec = as_map(deployment.as_object_mut()?.entry("spec").or_insert(Value::Null));
    let template = as_map(spec.entry("template").or_insert(Value::Null));
    Some(as_map(template.entry("spec").or_insert(Value::Null)))
}

fn containers(pod: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let listed = pod.get_mut("containers").and_then(Value::as_array_mut);
    listed.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Returns a list in a map, after making it one.
fn list_in<'a>(map: &'a mut Map<String, Value>, field: &str) -> &'a mut Vec<Value> {
    let list = map.entry(field).or_insert(Value::Null);
    if !list.is_array() {
        *list = Value::Array(Vec::new());
    }
    match list {
        Value::Array(list) => list,
        _ => unreachable!("it was just made a list"),
    }
}

/// Sets environment variables of all containers: in their old place where they were there, else at the end.
pub fn set_environment(pod: &mut Map<String, Value>, variables: &[Value]) {
    set_in_containers(pod, "env", variables);
}

/// Adds sources of environment variables to all containers that don't have them.
pub fn add_environment_sources(pod: &mut Map<String, Value>, sources: &[Value]) {
    for container in containers(pod) {
        add_missing(container, "envFrom", sources);
    }
}

/// Sets volumes, by their names.
pub fn set_volumes(pod: &mut Map<String, Value>, volumes: &[Value]) {
    set_by_name(pod, "volumes", volumes);
}

/// Sets mounts of volumes in all containers, by their names.
pub fn set_volume_mounts(pod: &mut Map<String, Value>, mounts: &[Value]) {
    set_in_containers(pod, "volumeMounts", mounts);
}

/// Adds tolerations that are not there.
pub fn add_tolerations(pod: &mut Map<String, Value>, tolerations: &[Value]) {
    add_missing(pod, "tolerations", tolerations);
}

/// Sets what all containers may use.
pub fn set_resources(pod: &mut Map<String, Value>, resources: Option<&Value>) {
    let Some(resources) = resources.filter(|resources| !resources.is_null()) else {
        return;
    };
    for container in containers(pod) {
        container.insert("resources".to_owned(), resources.clone());
    }
}

/// Sets on which nodes pods run.
pub fn set_node_selector(pod: &mut Map<String, Value>, selector: Option<&Value>) {
    match selector.and_then(Value::as_object) {
        Some(selector) if selector.is_empty() => {
            pod.remove("nodeSelector");
        }
        Some(selector) => {
            pod.insert("nodeSelector".to_owned(), Value::Object(selector.clone()));
        }
        None => {}
    }
}

/// Sets the parts of the affinity that are given; an empty part is taken away, and an empty whole takes all away.
///
/// Upstream takes all away for an empty `podAntiAffinity`, too.
pub fn override_affinity(pod: &mut Map<String, Value>, affinity: Option<&Value>) {
    const PARTS: [&str; 3] = ["nodeAffinity", "podAffinity", "podAntiAffinity"];
    let Some(affinity) = affinity.and_then(Value::as_object) else {
        return;
    };
    let given: Vec<(&str, &Value)> = PARTS
        .into_iter()
        .filter_map(|part| {
            affinity
                .get(part)
                .filter(|value| !value.is_null())
                .map(|value| (part, value))
        })
        .collect();
    let has_own = pod
        .get("affinity")
        .and_then(Value::as_object)
        .is_some_and(|own| own.values().any(|part| !part.is_null()));
    if given.is_empty() {
        pod.remove("affinity");
        return;
    }
    let own = as_map(pod.entry("affinity").or_insert(Value::Null));
    for (part, value) in given {
        // Nothing is to be taken away where nothing was; upstream then keeps even empty parts.
        if has_own && value.as_object().is_some_and(Map::is_empty) {
            own.remove(part);
        } else {
            own.insert(part.to_owned(), value.clone());
        }
    }
    if own.is_empty() {
        pod.remove("affinity");
    }
}

/// Adds annotations to a Deployment and to its pods; those that are there stay as they are.
pub fn add_annotations(deployment: &mut Value, annotations: Option<&Value>) {
    let Some(annotations) = annotations.and_then(Value::as_object) else {
        return;
    };
    let Some(object) = deployment.as_object_mut() else {
        return;
    };
    add_to_metadata(object, annotations);
    let spec = as_map(object.entry("spec").or_insert(Value::Null));
    add_to_metadata(as_map(spec.entry("template").or_insert(Value::Null)), annotations);
}

fn add_to_metadata(object: &mut Map<String, Value>, annotations: &Map<String, Value>) {
    if annotations.is_empty() {
        return;
    }
    let metadata = as_map(object.entry("metadata").or_insert(Value::Null));
    let own = as_map(metadata.entry("annotations").or_insert(Value::Null));
    for (key, value) in annotations {
        own.entry(key.as_str()).or_insert_with(|| value.clone());
    }
}

fn set_in_containers(pod: &mut Map<String, Value>, field: &str, items: &[Value]) {
    if items.is_empty() {
        return;
    }
    for container in containers(pod) {
        set_by_name(container, field, items);
    }
}

fn set_by_name(map: &mut Map<String, Value>, field: &str, items: &[Value]) {
    if items.is_empty() {
        return;
    }
    let own = list_in(map, field);
    for item in items {
        let name = text(item, "/name");
        match own.iter_mut().find(|own| text(own, "/name") == name) {
            Some(own) => own.clone_from(item),
            None => own.push(item.clone()),
        }
    }
}

fn add_missing(map: &mut Map<String, Value>, field: &str, items: &[Value]) {
    if items.is_empty() {
        return;
    }
    let own = list_in(map, field);
    for item in items {
        if !own.contains(item) {
            own.push(item.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use serde_json::json;

    fn world(subscriptions: &[(&str, Value)]) -> World {
        let mut world = World::default();
        for (name, status) in subscriptions {
            let metadata = json!({"name": name, "namespace": "n"});
            world.put(json!({"kind": "Subscription", "metadata": metadata, "status": status}));
        }
        world
    }

    #[test]
    fn a_version_has_its_configuration_before_its_subscription_says_that_it_is_installed() {
        let world = world(&[("s", json!({"currentCSV": "a.v2.0.0", "installedCSV": "a.v1.0.0"}))]);
        let name = |version| subscription(&world, "n", version).map(|found| text(found, "/metadata/name"));
        assert_eq!(name("a.v1.0.0"), Some("s"), "the one that is installed");
        assert_eq!(name("a.v2.0.0"), Some("s"), "the one that is on its way");
        assert_eq!(name("a.v3.0.0"), None);
    }

    #[test]
    fn a_subscription_that_has_a_version_comes_before_one_that_waits_for_it() {
        let world = world(&[
            ("a", json!({"currentCSV": "a.v1.0.0"})),
            ("b", json!({"currentCSV": "a.v1.0.0", "installedCSV": "a.v1.0.0"})),
        ]);
        let found = subscription(&world, "n", "a.v1.0.0").expect("one of them");
        assert_eq!(text(found, "/metadata/name"), "b");
    }
}
