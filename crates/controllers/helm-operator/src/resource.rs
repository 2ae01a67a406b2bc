//! A custom resource as it comes from the API server, read once into what the operator needs of it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use chart::cosmetic::Cosmetic;
use chart::go_duration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Map, Value};

use crate::packed::Packed;
use crate::status;
use crate::watches::Kind;

/// Keeps a resource until its release is uninstalled.
pub const FINALIZER: &str = "uninstall-helm-release";

/// The finalizer of the older Helm operator: a resource that it looked after is let go the same way.
pub const OLD_FINALIZER: &str = "helm.sdk.operatorframework.io/uninstall-release";

/// What annotations of resources start with that steer the operator, for both of upstream's operators.
const PREFIX: &str = "helm.sdk.operatorframework.io/";

/// Asks for pods that start anew when configuration that they use changes; baton's own.
const RESTART_ON_CONFIGURATION: &str = "baton-olm.dev/restart-on-configuration";

/// Says what becomes of labels of pods that name nothing but a version; baton's own.
const COSMETIC: &str = "baton-olm.dev/cosmetic";

/// Stops the operator from changing anything of a resource; baton's own.
const PAUSE: &str = "baton-olm.dev/pause";

/// The copy of a resource that `kubectl apply` puts into it; nobody here needs it twice.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Which resource of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceName {
    /// The namespace; empty for a resource of the whole cluster.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl fmt::Display for ResourceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            formatter.write_str(&self.name)
        } else {
            write!(formatter, "{}/{}", self.namespace, self.name)
        }
    }
}

/// A custom resource.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomResource {
    /// What it is called.
    pub id: ResourceName,
    /// Which object of that name it is.
    pub uid: String,
    /// The state of it that was seen.
    pub resource_version: String,
    /// The state of its spec.
    pub generation: i64,
    /// When it was made, in seconds since the epoch; 0 if it doesn't say.
    pub created: i64,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its finalizers.
    pub finalizers: Vec<String>,
    /// Whether it is on its way out.
    pub is_deleted: bool,
    /// Its spec, if it has one.
    pub spec: Option<Packed>,
    /// Its status, with the manifest of the release cut to what tells it from another one.
    pub status: Packed,
}

impl CustomResource {
    /// Returns whether another state of it asks for the same: all but what an operator itself writes.
    pub fn asks_the_same_as(&self, other: &Self) -> bool {
        (&self.uid, self.generation, self.is_deleted) == (&other.uid, other.generation, other.is_deleted)
            && (&self.labels, &self.annotations, &self.spec)
                == (&other.labels, &other.annotations, &other.spec)
    }

    /// Reads an object; what is missing is empty.
    pub fn read(object: Value) -> Self {
        let Value::Object(mut object) = object else {
            return Self::read(Value::Object(Map::new()));
        };
        let metadata = object.remove("metadata").unwrap_or_default();
        let text = |field: &str| {
            let value = metadata.get(field).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let table = |field: &str| -> BTreeMap<String, String> {
            let map = metadata.get(field).and_then(Value::as_object);
            let entries = map.into_iter().flatten();
            entries
                .filter(|(key, _)| *key != LAST_APPLIED)
                .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
                .collect()
        };
        let finalizers = metadata.get("finalizers").and_then(Value::as_array);
        Self {
            id: ResourceName {
                namespace: text("namespace"),
                name: text("name"),
            },
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            generation: metadata
                .get("generation")
                .and_then(Value::as_i64)
                .unwrap_or_default(),
            created: text("creationTimestamp")
                .parse::<jiff::Timestamp>()
                .map(jiff::Timestamp::as_second)
                .unwrap_or_default(),
            labels: table("labels"),
            annotations: table("annotations"),
            finalizers: finalizers
                .into_iter()
                .flatten()
                .filter_map(|finalizer| finalizer.as_str().map(str::to_owned))
                .collect(),
            is_deleted: metadata.get("deletionTimestamp").is_some_and(Value::is_string),
            spec: object.get("spec").map(Packed::new),
            status: Packed::new(&match object.remove("status") {
                Some(Value::Object(mut status)) => {
                    status::shorten(&mut status);
                    Value::Object(status)
                }
                _ => Value::Object(Map::new()),
            }),
        }
    }

    /// Returns whether the resource waits for its release to be uninstalled.
    pub fn has_finalizer(&self) -> bool {
        self.finalizers
            .iter()
            .any(|finalizer| finalizer == FINALIZER || finalizer == OLD_FINALIZER)
    }

    /// Returns the owner reference that makes the resource the controller of an object.
    pub fn owner_reference(&self, kind: &Kind) -> OwnerReference {
        OwnerReference {
            api_version: kind.api_version(),
            block_owner_deletion: Some(true),
            controller: Some(true),
            kind: kind.kind.clone(),
            name: self.id.name.clone(),
            uid: self.uid.clone(),
        }
    }

    /// Returns what annotations ask for.
    pub fn wishes(&self) -> Wishes {
        let value = |name: &str| self.annotations.get(&format!("{PREFIX}{name}"));
        let is_set = |name: &str| value(name).and_then(|text| boolean(text));
        let description = |name: &str| value(name).filter(|text| !text.is_empty()).cloned();
        let own = |key: &str| self.annotations.get(key).and_then(|text| boolean(text));
        Wishes {
            upgrade_force: is_set("upgrade-force").unwrap_or(false),
            rollback_force: is_set("rollback-force").unwrap_or(true),
            uninstall_wait: is_set("uninstall-wait").unwrap_or(false),
            reconcile_period: value("reconcile-period").and_then(|text| go_duration::parse(text).ok()),
            install: ActionWishes {
                without_hooks: is_set("install-disable-hooks").unwrap_or(false),
                description: description("install-description"),
            },
            upgrade: ActionWishes {
                without_hooks: is_set("upgrade-disable-hooks").unwrap_or(false),
                description: description("upgrade-description"),
            },
            uninstall: ActionWishes {
                without_hooks: is_set("uninstall-disable-hooks").unwrap_or(false),
                description: description("uninstall-description"),
            },
            restart_on_configuration: own(RESTART_ON_CONFIGURATION),
            cosmetic: self.annotations.get(COSMETIC).and_then(|word| word.parse().ok()),
            pause: own(PAUSE).unwrap_or(false),
        }
    }
}

/// Reads a truth as Go's `strconv.ParseBool` does.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// What the annotations of a resource ask for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is an annotation of its own")]
pub struct Wishes {
    /// Objects are replaced, not changed, at an upgrade.
    pub upgrade_force: bool,
    /// The same for the way back after an upgrade that failed.
    pub rollback_force: bool,
    /// The resource stays until every object of its release is gone.
    pub uninstall_wait: bool,
    /// How often the resource is looked at although nothing changed.
    pub reconcile_period: Option<Duration>,
    /// For the installation.
    pub install: ActionWishes,
    /// For upgrades.
    pub upgrade: ActionWishes,
    /// For the way out.
    pub uninstall: ActionWishes,
    /// Whether pods start anew when configuration that they use changes, if the resource says so or not.
    pub restart_on_configuration: Option<bool>,
    /// What becomes of labels of pods that name nothing but a version, if the resource says so.
    pub cosmetic: Option<Cosmetic>,
    /// Nothing is changed.
    pub pause: bool,
}

/// What is asked for one action.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ActionWishes {
    /// Hooks aren't run.
    pub without_hooks: bool,
    /// What the record says in place of Helm's words.
    pub description: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_operator_writes_asks_for_nothing_and_all_else_does() {
        let state = |change: Value| {
            let mut object = json!({"metadata": {"name": "a", "uid": "u", "generation": 1, "resourceVersion": "1"},
                "spec": {"a": 1}, "status": {}});
            let (pointer, value) = (change["at"].as_str().unwrap_or_default(), change["is"].clone());
            let (parent, field) = pointer.rsplit_once('/').unwrap_or_default();
            if let Some(parent) = object.pointer_mut(parent) {
                parent[field] = value;
            }
            CustomResource::read(object)
        };
        let before = state(json!({}));
        for (pointer, value, is_same) in [
            ("/status/conditions", json!([]), true),
            ("/metadata/resourceVersion", json!("2"), true),
            ("/metadata/finalizers", json!(["uninstall-helm-release"]), true),
            ("/metadata/uid", json!("v"), false),
            ("/metadata/generation", json!(2), false),
            (
                "/metadata/deletionTimestamp",
                json!("2026-01-01T00:00:00Z"),
                false,
            ),
            ("/metadata/labels", json!({"operatorVersion": "v3"}), false),
            ("/metadata/annotations", json!({"a": "b"}), false),
            ("/spec/a", json!(2), false),
        ] {
            let after = state(json!({"at": pointer, "is": value}));
            assert_eq!(after.asks_the_same_as(&before), is_same, "{pointer}");
        }
    }

    #[test]
    fn a_resource_is_read_once() {
        let resource = CustomResource::read(json!({
            "apiVersion": "doublewordai.co/v1alpha1",
            "kind": "InferenceStack",
            "metadata": {
                "name": "stack", "namespace": "models", "uid": "u", "generation": 3, "resourceVersion": "17",
                "labels": {"operatorVersion": "v2"},
                "annotations": {
                    "helm.sdk.operatorframework.io/upgrade-force": "True",
                    "helm.sdk.operatorframework.io/rollback-force": "perhaps",
                    "helm.sdk.operatorframework.io/install-disable-hooks": "1",
                    "helm.sdk.operatorframework.io/upgrade-description": "by hand",
                    "helm.sdk.operatorframework.io/reconcile-period": "2m",
                    "baton-olm.dev/restart-on-configuration": "false",
                    "baton-olm.dev/cosmetic": "defer",
                },
                "finalizers": ["uninstall-helm-release"],
            },
            "spec": {"a": 1},
        }));
        assert_eq!(resource.id.to_string(), "models/stack");
        assert!(resource.has_finalizer() && !resource.is_deleted);
        assert_eq!(resource.spec.as_ref().map(Packed::open), Some(json!({"a": 1})));
        let wishes = resource.wishes();
        assert!(wishes.upgrade_force && wishes.rollback_force && wishes.install.without_hooks);
        assert_eq!(wishes.upgrade.description.as_deref(), Some("by hand"));
        assert_eq!(wishes.reconcile_period, Some(Duration::from_mins(2)));
        assert_eq!(wishes.restart_on_configuration, Some(false));
        assert_eq!(wishes.cosmetic, Some(Cosmetic::Defer));
        assert!(!wishes.pause);
    }

    #[test]
    fn what_becomes_of_labels_is_a_word_or_the_operator_s_affair() {
        for (word, expected) in [
            (json!("defer"), Some(Cosmetic::Defer)),
            (json!("apply"), Some(Cosmetic::Apply)),
            (json!("later"), None),
            (json!(null), None),
        ] {
            let resource =
                CustomResource::read(json!({"metadata": {"annotations": {"baton-olm.dev/cosmetic": word}}}));
            assert_eq!(resource.wishes().cosmetic, expected, "{word}");
        }
    }

    #[test]
    fn an_object_of_another_shape_is_an_empty_resource() {
        for object in [json!(null), json!([]), json!({"metadata": 3, "status": "x"})] {
            let resource = CustomResource::read(object);
            assert!(resource.id.name.is_empty() && resource.spec.is_none());
        }
    }
}
