//! Phases: which objects are applied before which others.
//!
//! The order is fixed. A kind that is not listed belongs where the workloads are. Definitions limit a phase to 50 entries
//! and a revision to 20 phases; more objects are spread over further phases, and where even those don't suffice, several
//! objects share one entry as a `List`.

use api::cluster_object_set::{Phase, PhaseObject};
use serde_json::{Value, json};

use crate::object::{ObjectId, group_and_version};

/// The most entries that the definition allows in a phase.
pub const ENTRIES_PER_PHASE: usize = 50;

/// The most phases that the definition allows in a revision.
pub const PHASES_PER_REVISION: usize = 20;

/// Where kinds belong that are not listed.
const FOR_OTHERS: &str = "deploy";

/// The phases in their order, each with the kinds (group, kind) that belong to it.
const ORDER: &[(&str, &[(&str, &str)])] = &[
    ("namespaces", &[("", "Namespace")]),
    (
        "policies",
        &[
            ("networking.k8s.io", "NetworkPolicy"),
            ("policy", "PodDisruptionBudget"),
            ("scheduling.k8s.io", "PriorityClass"),
        ],
    ),
    ("identity", &[("", "ServiceAccount")]),
    ("configuration", &[("", "Secret"), ("", "ConfigMap")]),
    (
        "storage",
        &[
            ("", "PersistentVolume"),
            ("", "PersistentVolumeClaim"),
            ("storage.k8s.io", "StorageClass"),
        ],
    ),
    ("crds", &[("apiextensions.k8s.io", "CustomResourceDefinition")]),
    (
        "roles",
        &[
            ("rbac.authorization.k8s.io", "ClusterRole"),
            ("rbac.authorization.k8s.io", "Role"),
        ],
    ),
    (
        "bindings",
        &[
            ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
            ("rbac.authorization.k8s.io", "RoleBinding"),
        ],
    ),
    (
        "infrastructure",
        &[
            ("", "Service"),
            ("cert-manager.io", "Issuer"),
            ("cert-manager.io", "Certificate"),
        ],
    ),
    (FOR_OTHERS, &[("apps", "Deployment")]),
    ("scaling", &[("autoscaling.k8s.io", "VerticalPodAutoscaler")]),
    (
        "publish",
        &[
            ("monitoring.coreos.com", "PrometheusRule"),
            ("monitoring.coreos.com", "ServiceMonitor"),
            ("monitoring.coreos.com", "PodMonitor"),
            ("networking.k8s.io", "Ingress"),
            ("route.openshift.io", "Route"),
            ("console.openshift.io", "ConsoleYAMLSample"),
            ("console.openshift.io", "ConsoleQuickStart"),
            ("console.openshift.io", "ConsoleCLIDownload"),
            ("console.openshift.io", "ConsoleLink"),
            ("console.openshift.io", "ConsolePlugin"),
        ],
    ),
    (
        "admission",
        &[
            ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
            ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ],
    ),
];

/// What stays of an object's metadata in a revision.
const KEPT_METADATA: &[&str] = &["annotations", "labels", "name", "namespace"];

/// A copy of the object that kubectl leaves in it; large, and of no use in a revision.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Sorts objects into the phases of a revision, each reduced to what a revision may say.
pub fn phases_of(objects: impl IntoIterator<Item = Value>) -> Vec<Phase> {
    let mut sorted: Vec<Vec<(ObjectId, Value)>> = ORDER.iter().map(|_| Vec::new()).collect();
    for mut object in objects {
        reduce(&mut object);
        let id = ObjectId::of(&object);
        sorted[place_of(&id)].push((id, object));
    }
    for objects in &mut sorted {
        objects.sort_by(|(left, _), (right, _)| order_within(left).cmp(&order_within(right)));
    }
    let counts: Vec<usize> = sorted.iter().map(Vec::len).collect();
    let shares = shares(&counts);
    let mut phases = Vec::new();
    for (((name, _), objects), share) in ORDER.iter().zip(sorted).zip(shares) {
        let objects = objects.into_iter().map(|(_, object)| object).collect();
        for (index, entries) in spread(objects, share).into_iter().enumerate() {
            phases.push(Phase {
                name: if index == 0 {
                    (*name).to_owned()
                } else {
                    format!("{name}-{}", index + 1)
                },
                collision_protection: None,
                objects: entries.into_iter().map(entry).collect(),
            });
        }
    }
    phases
}

/// Removes what a revision doesn't say of an object: its status, and metadata that the server keeps.
pub fn reduce(object: &mut Value) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    object.remove("status");
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return;
    };
    metadata.retain(|key, _| KEPT_METADATA.contains(&key.as_str()));
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations")
        && annotations.remove(LAST_APPLIED).is_some()
        && annotations.is_empty()
    {
        metadata.remove("annotations");
    }
}

/// Returns the objects of an entry: itself, or what a `List` holds.
pub fn objects_of(entry: Value) -> Vec<Value> {
    let is_list = entry.get("kind").and_then(Value::as_str) == Some("List")
        && entry.get("apiVersion").and_then(Value::as_str) == Some("v1");
    match entry {
        Value::Object(mut list) if is_list => match list.remove("items") {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        },
        object => vec![object],
    }
}

fn entry(object: Value) -> PhaseObject {
    PhaseObject {
        object: Some(object),
        ..PhaseObject::default()
    }
}

fn place_of(id: &ObjectId) -> usize {
    let wanted = (id.group(), id.kind.as_str());
    let listed = ORDER.iter().position(|(_, kinds)| kinds.contains(&wanted));
    let others = || ORDER.iter().position(|(name, _)| *name == FOR_OTHERS);
    listed.or_else(others).unwrap_or_default()
}

fn order_within(id: &ObjectId) -> (&str, &str, &str, &str, &str) {
    let (group, version) = group_and_version(&id.api_version);
    (group, version, &id.kind, &id.namespace, &id.name)
}

/// Returns how many phases each of the named ones becomes, so that all together are not too many.
///
/// While they are, the one with the most gives one up; none gives up its last.
fn shares(counts: &[usize]) -> Vec<usize> {
    let mut shares: Vec<usize> = counts
        .iter()
        .map(|count| count.div_ceil(ENTRIES_PER_PHASE))
        .collect();
    while shares.iter().sum::<usize>() > PHASES_PER_REVISION {
        let most = shares.iter().copied().max().unwrap_or_default();
        match shares.iter_mut().find(|share| **share == most && most > 1) {
            Some(share) => *share -= 1,
            None => break,
        }
    }
    shares
}

/// Spreads objects over so many phases; the last one takes what is left, in lists if it must.
fn spread(objects: Vec<Value>, share: usize) -> Vec<Vec<Value>> {
    let mut phases: Vec<Vec<Value>> = Vec::with_capacity(share);
    let mut rest = objects;
    while !rest.is_empty() {
        if phases.len() + 1 < share && rest.len() > ENTRIES_PER_PHASE {
            let further = rest.split_off(ENTRIES_PER_PHASE);
            phases.push(std::mem::replace(&mut rest, further));
        } else {
            phases.push(packed(std::mem::take(&mut rest)));
        }
    }
    phases
}

/// Puts objects into at most as many entries as a phase may have.
fn packed(objects: Vec<Value>) -> Vec<Value> {
    if objects.len() <= ENTRIES_PER_PHASE {
        return objects;
    }
    let per_entry = objects.len().div_ceil(ENTRIES_PER_PHASE);
    let mut entries = Vec::with_capacity(ENTRIES_PER_PHASE);
    let mut objects = objects.into_iter().peekable();
    while objects.peek().is_some() {
        let mut items: Vec<Value> = objects.by_ref().take(per_entry).collect();
        entries.push(match items.len() {
            1 => items.remove(0),
            _ => json!({"apiVersion": "v1", "kind": "List", "items": items}),
        });
    }
    entries
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn object(api_version: &str, kind: &str, name: usize) -> Value {
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": format!("x{name:05}")}})
    }

    fn names(phases: &[Phase]) -> Vec<(&str, usize)> {
        phases
            .iter()
            .map(|phase| (phase.name.as_str(), phase.objects.len()))
            .collect()
    }

    #[test]
    fn a_phase_with_too_many_objects_is_split() {
        let objects = (0..120).map(|index| object("v1", "ConfigMap", index));
        let phases = phases_of(objects);
        assert_eq!(
            names(&phases),
            [
                ("configuration", 50),
                ("configuration-2", 50),
                ("configuration-3", 20)
            ]
        );
    }

    #[test]
    fn objects_share_an_entry_only_when_phases_run_out() {
        let objects = (0..1100)
            .map(|index| object("v1", "ConfigMap", index))
            .chain((0..60).map(|index| object("apps/v1", "Deployment", index)));
        let phases = phases_of(objects);
        assert_eq!(phases.len(), PHASES_PER_REVISION);
        assert_eq!(phases[17].name, "configuration-18");
        assert_eq!(
            phases[17].objects[0].object.as_ref().expect("inline")["kind"],
            "List"
        );
        assert_eq!(names(&phases)[18..], [("deploy", 50), ("deploy-2", 10)]);
        let all: usize = phases
            .iter()
            .flat_map(|phase| &phase.objects)
            .map(|entry| objects_of(entry.object.clone().expect("inline")).len())
            .sum();
        assert_eq!(all, 1160);
    }

    #[test]
    fn only_what_a_revision_may_say_stays() {
        let mut object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "status": {"a": 1},
            "metadata": {"name": "a", "uid": "u", "creationTimestamp": null, "annotations": {LAST_APPLIED: "{}"}},
        });
        reduce(&mut object);
        assert_eq!(
            object,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn nothing_is_lost_and_no_limit_is_passed(counts in proptest::collection::vec(0_usize..700, 4)) {
            let kinds = [("v1", "ConfigMap"), ("v1", "ServiceAccount"), ("apps/v1", "Deployment"), ("a.b/v1", "C")];
            let objects: Vec<Value> = kinds
                .iter()
                .zip(&counts)
                .flat_map(|((api_version, kind), count)| (0..*count).map(move |index| object(api_version, kind, index)))
                .collect();
            let phases = phases_of(objects.iter().rev().cloned());
            prop_assert!(phases.len() <= PHASES_PER_REVISION);
            prop_assert!(phases.iter().all(|phase| (1..=ENTRIES_PER_PHASE).contains(&phase.objects.len())));
            let mut found: Vec<String> = phases
                .into_iter()
                .flat_map(|phase| phase.objects)
                .flat_map(|entry| objects_of(entry.object.expect("inline")))
                .map(|object| object.to_string())
                .collect();
            let mut wanted: Vec<String> = objects.iter().map(Value::to_string).collect();
            found.sort();
            wanted.sort();
            prop_assert_eq!(found, wanted);
        }
    }
}
