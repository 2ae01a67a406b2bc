//! Manifests come from strangers: whatever they hold, a plan is made of them or refused, and nothing panics.

use classic::World;
use install_plan::plan::{self, Next, Outcome, Progress};
use install_plan::selection::Content;
use install_plan::settings::Settings;
use install_plan::steps;
use jiff::Timestamp;
use proptest::prelude::*;
use resolve::classic::entry::CatalogKey;
use serde_json::{Value, json};

/// Words that the rules look for, so that the values reach them.
fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "apiVersion",
        "kind",
        "metadata",
        "name",
        "namespace",
        "spec",
        "status",
        "labels",
        "annotations",
        "ownerReferences",
        "install",
        "deployments",
        "permissions",
        "rules",
        "versions",
        "Role",
        "ServiceAccount",
        "CustomResourceDefinition",
        "ClusterServiceVersion",
        "BundleImage",
        "ConfigMap",
        "v1",
        "a.v1",
    ])
    .prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(word(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn kind() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "ClusterServiceVersion",
        "CustomResourceDefinition",
        "Subscription",
        "BundleSecret",
        "Secret",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "ServiceAccount",
        "Service",
        "ConfigMap",
        "NetworkPolicy",
        "PriorityClass",
        "Other",
    ])
}

proptest! {
    #[test]
    fn any_manifest_is_taken_or_refused(kind in kind(), manifest in value(), existing in value()) {
        let mut world = World::default();
        world.put(json!({
            "kind": "OperatorGroup", "metadata": {"name": "og", "namespace": "ns"},
            "status": {"namespaces": ["ns"]},
        }));
        let mut existing = existing;
        if existing.is_object() {
            existing["kind"] = json!(kind);
            existing["metadata"] = json!({"name": "name", "namespace": "ns"});
            world.put(existing);
        }
        world.put(json!({
            "kind": "InstallPlan", "metadata": {"name": "p", "namespace": "ns"},
            "status": {"phase": "Installing", "plan": [{
                "resolving": "a.v1", "status": "Unknown",
                "resource": {"kind": kind, "name": "name", "manifest": manifest.to_string()},
            }]},
        }));
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let mut progress = Progress::default();
        for _ in 0..8 {
            match plan::decide(&world, "ns", "p", &progress, &(), &Settings::default(), now) {
                Next::Rest(_) | Next::Bundle(_) => break,
                Next::Write(action) => progress.record(action.step, Outcome::Exists, Vec::new()),
                Next::Look(id) => progress.looked(id),
                Next::Check(upgrade) => progress.checked(&upgrade.name, Ok(()).into()),
            }
        }
    }

    #[test]
    fn any_bundle_is_taken_or_refused(
        service_version in value(),
        objects in prop::collection::vec(value(), 0..3),
    ) {
        let mut service_version = service_version;
        if service_version.is_object() {
            service_version["apiVersion"] = json!("operators.coreos.com/v1alpha1");
            service_version["kind"] = json!("ClusterServiceVersion");
        }
        let content = Content { service_version, objects, properties: Vec::new() };
        let source = CatalogKey::new("ns", "cat");
        let _ = steps::of_bundle(&content, &[], "ns", "a.v0", &source);
    }
}
