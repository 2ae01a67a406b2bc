//! Replays the recorded syncs of OperatorGroups, with their members and copies.

use apply::object::{label, text};
use classic::{Kind, keys};
use serde_json::{Value, json};
use service_version::{Concern, concerns, operator_group};

use crate::support::differences::Differences;
use crate::support::{Cluster, at, cases, pruned};

const NOW: &str = "2026-11-15T20:00:00Z";

/// How many rounds a cluster may take to settle.
const ROUNDS: usize = 40;

fn cluster(case: &Value) -> Cluster {
    let objects = case["initial"].as_array().expect("objects").iter();
    let mut cluster = Cluster::of(objects.map(|object| {
        let mut object = object.clone();
        // The fake server of the recording leaves them out.
        if let Some(kind) = Kind::named(text(&object, "/kind")) {
            object["apiVersion"] = Value::from(kind.naming().api_version);
        }
        object
    }));
    "v0.0.0-master+$Format:%H$".clone_into(&mut cluster.world.server_version);
    cluster
}

/// Looks at everything until nothing is left to do; Deployments are always healthy.
fn settle(cluster: &mut Cluster) {
    for _ in 0..ROUNDS {
        let mut is_quiet = true;
        for concern in Concern::all(&cluster.world) {
            if matches!(
                concern,
                Concern::Operator(_) | Concern::Components(_) | Concern::OperatorCondition(_)
            ) {
                // Upstream has other controllers for these, which were not running.
                continue;
            }
            let decision = concern.decide(&cluster.world, &at(NOW));
            is_quiet &= decision.writes.is_empty() && decision.attempt.is_none();
            cluster.act(&decision);
            heal(cluster);
        }
        if is_quiet {
            return;
        }
    }
    panic!("it doesn't settle: {:?}", cluster.changes());
}

fn heal(cluster: &mut Cluster) {
    let deployments: Vec<Value> = cluster
        .world
        .all(Kind::Deployment)
        .map(|object| (**object).clone())
        .collect();
    for mut deployment in deployments {
        let healthy = json!({"conditions": [{"type": "Available", "status": "True"}]});
        if label(&deployment, keys::OWNER).is_some() && deployment["status"] != healthy {
            deployment["status"] = healthy;
            cluster.put(deployment);
        }
    }
}

#[test]
fn groups_and_their_members_come_out_as_upstreams() {
    let Some(cases) = cases("operatorgroups/cases.json") else {
        return;
    };
    assert_eq!(cases.len(), 16);
    let mut failures = Vec::new();
    for case in &cases {
        let id = text(case, "/id");
        let failed = check(case);
        failures.extend(failed.into_iter().map(|failure| format!("{id}: {failure}")));
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Takes from what is expected what we do better, each with its reason.
fn corrected(case: &Value) -> Value {
    let mut expected = case["expected"].clone();
    match text(case, "/id") {
        // Upstream copied the version before it noticed that its group doesn't suit it, and left the copy behind.
        "TestSyncOperatorGroups/AllNamespaces/CSVPresent/InstallModeNotSupported" => {
            let is_copy = |object: &Value| text(object, "/metadata/namespace") == "target-ns";
            let objects = expected["objects"].as_array_mut().expect("objects");
            objects.retain(|object| !is_copy(object));
            let created = expected["created"].as_array_mut().expect("names");
            created.retain(|name| name != "ClusterServiceVersion/target-ns/csv1");
        }
        // Upstream forgets the account again when it writes the namespaces, until its next look; and it applies its
        // label to the account each time, although it has it.
        "TestOperatorGroupConditions/ValidOperatorGroup/ValidServiceAccount" => {
            let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "name": "sa", "namespace": "operator-ns"});
            expected["status"]["serviceAccountRef"] = account.clone();
            let changed = expected["changed"].as_array_mut().expect("names");
            changed.retain(|name| name != "ServiceAccount/operator-ns/sa");
            let objects = expected["objects"].as_array_mut().expect("objects");
            objects.retain(|object| text(object, "/kind") == "OperatorGroup");
            objects[0]["status"]["serviceAccountRef"] = account;
        }
        _ => {}
    }
    expected
}

fn check(case: &Value) -> Vec<String> {
    let mut differences = Differences::default();
    let mut cluster = cluster(case);
    let (namespace, name) = text(case, "/operatorGroup").split_once('/').expect("a group");
    let expected = &corrected(case);
    let decision = operator_group::decide(&cluster.world, namespace, name, &at(NOW));
    differences.compare("error", json!(decision.trouble), &expected["error"]);
    cluster.act(&decision);
    if text(case, "/id").starts_with("TestSyncOperatorGroups") {
        settle(&mut cluster);
    }
    let group = cluster
        .world
        .get(Kind::OperatorGroup, namespace, name)
        .expect("a group");
    differences.compare(
        "status",
        timeless(&group["status"]),
        &timeless(&expected["status"]),
    );
    let annotations = group
        .pointer("/metadata/annotations")
        .cloned()
        .unwrap_or_default();
    differences.compare("annotations", annotations, &expected["annotations"]);
    differences.in_cluster(&cluster, expected, comparable);
    differences.found
}

/// Takes times from a value, and what Go leaves out when it is empty.
fn timeless(value: &Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|key, _| !key.ends_with("Time") && key != "lastUpdated");
                map.values_mut().for_each(strip);
            }
            Value::Array(list) => list.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = value.clone();
    strip(&mut value);
    pruned(&value)
}

fn comparable(object: &Value) -> Value {
    let mut object = timeless(object);
    if let Some(map) = object.as_object_mut() {
        map.remove("apiVersion");
        if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("resourceVersion");
        }
        if text(&Value::Object(map.clone()), "/kind") == "Deployment" {
            map.remove("status");
        }
    }
    object
}

#[test]
fn a_namespace_that_is_labelled_reaches_a_group_that_selects_it() {
    let mut cluster = Cluster::real();
    cluster.put(
        json!({"kind": "Namespace", "metadata": {"name": "a", "labels": {}}, "status": {"phase": "Active"}}),
    );
    cluster.put(json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
        "metadata": {"name": "og", "namespace": "n", "uid": "og"}, "spec": {"selector": {"matchLabels": {"x": "y"}}},
    }));
    let before = cluster.world.get(Kind::Namespace, "", "a").cloned();
    cluster.put(json!({
        "kind": "Namespace", "metadata": {"name": "a", "uid": "uid-1", "labels": {"x": "y"}}, "status": {"phase": "Active"},
    }));
    let after = cluster.world.get(Kind::Namespace, "", "a").cloned();
    let woken = concerns(&cluster.world, before.as_deref(), after.as_deref());
    assert!(
        woken
            .iter()
            .any(|concern| matches!(concern, Concern::OperatorGroup(place) if place.name == "og"))
    );
    settle(&mut cluster);
    let group = cluster
        .world
        .get(Kind::OperatorGroup, "n", "og")
        .expect("a group");
    assert_eq!(group["status"]["namespaces"], json!(["a"]));
    let namespace = cluster.world.get(Kind::Namespace, "", "a").expect("a namespace");
    assert_eq!(label(namespace, "olm.operatorgroup.uid/og"), Some(""));
}
