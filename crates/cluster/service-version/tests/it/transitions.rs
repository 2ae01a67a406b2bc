//! Replays the recorded transitions of versions: one look at each, and everything that comes of it.

use std::collections::BTreeMap;

use apply::object::{label, text};
use bundle::cluster_service_version::GroupVersionKind;
use classic::{Kind, Write, keys};
use serde_json::{Value, json};
use service_version::{decide, operator_group};

use crate::support::differences::Differences;
use crate::support::{Cluster, at, cases, pruned};

/// Shortly after the certificates of the recordings were made.
const NOW: &str = "2026-11-15T20:00:00Z";

/// The kinds of which upstream sees only what has its label.
const FILTERED: [&str; 8] = [
    "Deployment",
    "Service",
    "Secret",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
];

/// Cases in which the versions are looked at from the oldest to the newest, since upstream looked at the newest first and
/// then still had its old phase in its cache.
const FROM_THE_OLDEST: [&str; 1] = ["TestTransitionCSV/CSVMultipleDeletedToGone"];

fn cluster(case: &Value) -> Cluster {
    let objects = case["initial"].as_array().expect("objects").iter();
    let seen = objects.filter(|object| {
        !FILTERED.contains(&text(object, "/kind")) || label(object, keys::MANAGED).is_some()
    });
    let mut objects: Vec<Value> = seen.cloned().collect();
    bring_about(text(case, "/apiReconciliation"), &mut objects);
    let mut cluster = Cluster::of(objects);
    "v0.0.0-master+$Format:%H$".clone_into(&mut cluster.world.server_version);
    cluster.world.served.insert(GroupVersionKind {
        group: "a1".to_owned(),
        version: "v1".to_owned(),
        kind: "a1Kind".to_owned(),
    });
    cluster
}

/// Makes groups so that the version gets a verdict that upstream's test only claims.
fn bring_about(verdict: &str, objects: &mut Vec<Value>) {
    let (is_provided, is_taken) = match verdict {
        "APIConflict" => (false, true),
        "AddAPIs" => (false, false),
        "RemoveAPIs" => (true, true),
        _ => (true, false),
    };
    if !is_provided {
        let mut groups = objects.iter_mut();
        let group = groups.find(|object| text(object, "/kind") == "OperatorGroup");
        group.expect("a group")["metadata"]["annotations"][keys::PROVIDED_APIS] = json!("a1Kind.v1.a1");
    }
    if is_taken {
        objects.push(json!({
            "kind": "OperatorGroup", "spec": {}, "status": {"namespaces": [""]},
            "metadata": {"name": "other", "namespace": "other", "annotations": {keys::PROVIDED_APIS: "c1.v1.g1"}},
        }));
    }
}

/// Looks at a version as upstream does at once: its finalizer first, and then the rest; its group is told to it in a look of its
/// own, or together with the finalizer.
fn look(cluster: &mut Cluster, name: &str) -> Option<String> {
    loop {
        let decision = decide(&cluster.world, "ns", name, &at(NOW));
        cluster.act(&decision);
        let only_finalizer = decision.writes.iter().all(|write| {
            matches!(write, Write::Merge { patch, .. }
                if patch.pointer("/metadata/finalizers").is_some() && patch.pointer("/metadata/annotations").is_none())
        });
        if decision.writes.is_empty() || !only_finalizer {
            return decision.trouble;
        }
    }
}

#[test]
fn every_recorded_transition_is_made() {
    let Some(cases) = cases("csv-transitions/cases.json") else {
        return;
    };
    assert_eq!(cases.len(), 61);
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

fn check(case: &Value) -> Vec<String> {
    let mut differences = Differences::default();
    let mut cluster = cluster(case);
    let mut troubles = BTreeMap::new();
    let mut order = crate::support::texts(&case["sync"]);
    if FROM_THE_OLDEST.contains(&text(case, "/id")) {
        order.sort();
    }
    for name in order {
        if let Some(trouble) = look(&mut cluster, &name) {
            troubles.insert(name, trouble);
        }
    }
    let expected = &case["expected"];
    for (name, theirs) in expected["csvs"].as_object().expect("versions") {
        let found = cluster.world.get(Kind::ClusterServiceVersion, "ns", name);
        let mut ours = json!({"exists": found.is_some()});
        for field in ["phase", "reason", "message"] {
            let value = found.map_or("", |found| text(found, &format!("/status/{field}")));
            if !value.is_empty() {
                ours[field] = Value::from(value);
            }
        }
        differences.compare(name, ours, theirs);
        if let Some(theirs) = expected["requirementStatus"].get(name) {
            let ours = found.and_then(|found| found.pointer("/status/requirementStatus"));
            differences.compare("requirements", ours.cloned().unwrap_or_default(), theirs);
        }
    }
    for (name, theirs) in expected["errors"].as_object().expect("errors") {
        differences.compare("error", json!(troubles.get(name)), theirs);
    }
    differences.in_cluster(&cluster, expected, comparable);
    differences.found
}

/// Takes from an object what differs from run to run.
fn comparable(object: &Value) -> Value {
    let mut object = object.clone();
    let serves = object
        .pointer("/spec/template/metadata/annotations/olmcahash")
        .is_some();
    if serves {
        object["spec"]["template"]["metadata"]["annotations"]["olmcahash"] = json!("<cert>");
        // It is a hash of the certificate, too.
        object["metadata"]["labels"][keys::DEPLOYMENT_SPEC_HASH] = json!("<hash>");
    }
    if object.pointer("/spec/caBundle").is_some() {
        object["spec"]["caBundle"] = json!("<cert>");
    }
    if let Some(map) = object.as_object_mut() {
        map.remove("apiVersion");
        map.remove("status");
    }
    pruned(&object)
}

#[test]
fn a_chain_of_versions_is_walked_in_any_order() {
    let Some(cases) = cases("csv-transitions/updates.json") else {
        return;
    };
    assert_eq!(cases.len(), 6);
    for case in &cases {
        let id = text(case, "/id");
        let order = id.rsplit('/').next().expect("an order");
        walk(case, order);
    }
}

fn walk(case: &Value, order: &str) {
    let mut cluster = Cluster::real();
    "v1.36.3".clone_into(&mut cluster.world.server_version);
    cluster.put(json!({"kind": "Namespace", "metadata": {"name": "ns"}, "status": {"phase": "Active"}}));
    cluster.put(json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
        "metadata": {"name": "og", "namespace": "ns", "uid": "og"}, "spec": {"targetNamespaces": ["ns"]},
    }));
    cluster.put(json!({"kind": "CustomResourceDefinition", "metadata": {"name": "things.g"}, "spec": {
        "group": "g", "names": {"kind": "Thing"}, "versions": [{"name": "v1", "served": true}],
    }, "status": {"conditions": [{"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "True"}]}}));
    for letter in order.chars() {
        let (name, replaces) = match letter {
            'a' => ("csvA", ""),
            'b' => ("csvB", "csvA"),
            _ => ("csvC", "csvB"),
        };
        cluster.put(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {
                "replaces": replaces,
                "customresourcedefinitions": {"owned": [{"name": "things.g", "version": "v1", "kind": "Thing"}]},
                "installModes": [{"type": "OwnNamespace", "supported": true}],
                "install": {"strategy": "deployment", "spec": {"deployments": [{"name": "dep", "spec": {
                    "selector": {"matchLabels": {"app": name}}, "template": {"spec": {"containers": [{"name": name}]}},
                }}]}},
            },
        }));
    }
    let phase = |cluster: &Cluster, name: &str| {
        let found = cluster.world.get(Kind::ClusterServiceVersion, "ns", name);
        found.map_or_else(
            || "deleted".to_owned(),
            |found| text(found, "/status/phase").to_owned(),
        )
    };
    // The joint phases, each time one of them changes.
    let mut seen: Vec<BTreeMap<&str, String>> = Vec::new();
    for _ in 0..60 {
        for name in ["csvA", "csvB", "csvC"] {
            let group = operator_group::decide(&cluster.world, "ns", "og", &at(NOW));
            cluster.act(&group);
            let decision = decide(&cluster.world, "ns", name, &at(NOW));
            cluster.act(&decision);
            make_ready(&mut cluster);
            let now: BTreeMap<&str, String> = ["csvA", "csvB", "csvC"]
                .into_iter()
                .map(|name| (name, phase(&cluster, name)))
                .collect();
            if seen.last() != Some(&now) {
                seen.push(now);
            }
        }
    }
    let mut moments = seen.iter();
    for step in case["sequence"].as_array().expect("a sequence") {
        let (name, wanted) = (text(step, "/when/name"), text(step, "/when/phase"));
        let others = step["shouldBe"].as_object().expect("phases");
        let is_so = |moment: &&BTreeMap<&str, String>| {
            moment[name] == wanted
                && others
                    .iter()
                    .all(|(other, phase)| moment[other.as_str()] == phase.as_str().expect("a phase"))
        };
        assert!(
            moments.any(|moment| is_so(&moment)),
            "{order}: never {step} in {seen:#?}"
        );
    }
}

fn make_ready(cluster: &mut Cluster) {
    let deployments: Vec<Value> = cluster
        .world
        .all(Kind::Deployment)
        .map(|object| (**object).clone())
        .collect();
    for mut deployment in deployments {
        if deployment.get("status").is_none() {
            deployment["status"] = json!({"conditions": [{"type": "Available", "status": "True"}]});
            cluster.put(deployment);
        }
    }
}
